/* SPDX-License-Identifier: MIT
 *
 * The CPU of this process, its memory, and the kernels of exec/kernels/. See processor.h. */
#include <inttypes.h>

#include "exec/crew.h"
#include "exec/memory.h"
#include "exec/processor.h"

static enum ring_status no_memory(const struct exec_session *session, uint64_t bytes,
                                  struct ring_error *error)
{
    return ring_fail(error, RING_NO_MEMORY, "rank %d: out of memory for %" PRIu64 " bytes", session->rank,
                     bytes);
}

static bool serves(const struct exec_session *session)
{
    (void)session;
    return true;
}

static enum ring_status open_cpu(struct exec_session *session, struct ring_error *error)
{
    (void)session;
    (void)error;
    return RING_OK;
}

static void close_cpu(struct exec_session *session)
{
    if (session->attention)
        attention_close(session->attention);
    exec_memory_free(session->q);
    exec_memory_free(session->d_out);
}

static enum ring_status take(struct exec_session *session, uint64_t bytes, void **memory,
                             struct ring_error *error)
{
    *memory = exec_memory_alloc(bytes);
    return *memory ? RING_OK : no_memory(session, bytes, error);
}

static void give(struct exec_session *session, void *memory)
{
    (void)session;
    exec_memory_free(memory);
}

/* What a backward pass starts from: dO, and the state of a forward pass where the plan has none itself. */
static enum ring_status open_backward(struct exec_session *session, uint64_t q_bytes,
                                      struct ring_error *error)
{
    session->d_out = exec_memory_alloc(q_bytes);
    if (!session->d_out)
        return no_memory(session, q_bytes, error);
    data_fill(&session->data, &session->plan.problem, DATA_DO, &session->shard, session->d_out);
    enum ring_status status = attention_open_backward(session->attention, session->d_out, error);
    if (status == RING_OK && session->plan.pass == RING_PASS_BACKWARD)
        status = attention_prefill(session->attention, (uint32_t)session->rank, &session->data, error);
    return status;
}

static enum ring_status open_data(struct exec_session *session, struct ring_error *error)
{
    const struct ring_problem *problem = &session->plan.problem;
    const struct config_places *places = &session->scenario->places;

    uint32_t threads = session->scenario->compute.threads;
    enum ring_status chosen = exec_crew_check(threads, places->threads, error);
    if (chosen == RING_OK)
        chosen = block_kernel_choose(session->scenario->measure.kernel, problem->dtype, problem->head_dim,
                                     places->dtype, places->kernel, &session->kernel, error);
    if (chosen != RING_OK)
        return chosen;
    uint64_t q_bytes = (uint64_t)problem->batch * problem->heads * session->shard.tokens * problem->head_dim *
                       ring_dtype_bytes(problem->dtype);
    session->q = exec_memory_alloc(q_bytes);
    if (!session->q)
        return no_memory(session, q_bytes, error);
    char *home = session->memory.slots[RING_HOME_SLOT].data;
    uint64_t k_bytes = ring_problem_kv_bytes(problem, session->shard.tokens) / 2;
    data_fill(&session->data, problem, DATA_Q, &session->shard, session->q);
    data_fill(&session->data, problem, DATA_K, &session->shard, home);
    data_fill(&session->data, problem, DATA_V, &session->shard, home + k_bytes);

    enum ring_status status = attention_open(&session->attention, &session->plan, (uint32_t)session->rank,
                                             session->kernel, session->q, false, error);
    if (status == RING_OK && session->plan.pass != RING_PASS_FORWARD)
        status = open_backward(session, q_bytes, error);
    if (status == RING_OK && threads > 1)
        status = attention_open_hands(session->attention, threads, error);
    if (status == RING_OK) {
        session->work = attention_compute(session->attention);
        session->compute = (struct exec_compute){.kernel = &session->work};
    }
    return status;
}

/* MPI takes blocks from where they lie. */
static enum ring_status open_mover(struct exec_session *session, struct ring_error *error)
{
    (void)session;
    (void)error;
    return RING_OK;
}

static void close_mover(struct exec_session *session)
{
    (void)session;
}

static enum ring_status reset(struct exec_session *session, struct ring_error *error)
{
    (void)error;
    if (session->attention)
        attention_reset(session->attention);
    return RING_OK;
}

static enum ring_status results(struct exec_session *session, void *out, void *lse,
                                struct exec_results *found, struct ring_error *error)
{
    (void)error;
    attention_finish(session->attention, out, lse);
    *found = (struct exec_results){.out = out, .lse = lse};
    if (session->plan.pass != RING_PASS_FORWARD) {
        found->d_q = attention_d_q(session->attention);
        found->gradient = session->memory.slots[ring_plan_own_gradient_slot(&session->plan)].data;
    }
    return RING_OK;
}

static void describe(const struct exec_session *session, char *out, size_t size)
{
    (void)session;
    if (size)
        out[0] = '\0';
}

const struct exec_processor exec_processor_cpu = {
    .name = "cpu",
    .serves = serves,
    .open = open_cpu,
    .close = close_cpu,
    .take = take,
    .give = give,
    .open_data = open_data,
    .open_mover = open_mover,
    .close_mover = close_mover,
    .reset = reset,
    .results = results,
    .describe = describe,
};
