/* SPDX-License-Identifier: MIT
 *
 * What one rank of a run owns. See session.h; what it does with it is in pass.c. */
#include "exec/session.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "exec/memory.h"

/* Before a scenario has said how patient to be. */
#define OPENING_TIMEOUT_S 60.0

static enum ring_status load(struct exec_session *session, const struct exec_session_spec *spec,
                             struct ring_error *error)
{
    enum ring_status status =
        config_scenario_load(spec->scenario_path, &spec->overrides, &session->scenario, error);
    if (status != RING_OK)
        return status;
    const struct config_scenario *scenario = session->scenario;
    if (scenario->plan.n_ranks != (uint32_t)session->n_ranks)
        return ring_fail(error, RING_BAD_INPUT,
                         "%s: ring.devices is %" PRIu32 ", but %d ranks were started (start %" PRIu32
                         ", or --set ring.devices=%d)",
                         spec->scenario_path, scenario->plan.n_ranks, session->n_ranks,
                         scenario->plan.n_ranks, session->n_ranks);
    return ring_plan_init(&session->plan, &scenario->plan, error);
}

static enum ring_status find_data(struct exec_session *session, struct ring_error *error)
{
    const struct config_data *data = &session->scenario->data;

    session->data.seed = data->seed;
    for (int kind = 0; kind < DATA_N_KINDS; kind++) {
        if (strcmp(data->kind, data_kind_names[kind]) == 0) {
            session->data.kind = (enum data_kind)kind;
            return RING_OK;
        }
    }
    return ring_fail(error, RING_UNSUPPORTED, "data.kind '%s' cannot be run", data->kind);
}

static enum ring_status no_memory(const struct exec_session *session, uint64_t bytes,
                                  struct ring_error *error)
{
    return ring_fail(error, RING_NO_MEMORY, "rank %d: out of memory for %" PRIu64 " bytes", session->rank,
                     bytes);
}

static enum ring_status open_slots(struct exec_session *session, struct ring_error *error)
{
    struct ring_memory *memory = &session->memory;
    uint32_t rank = (uint32_t)session->rank;

    memory->n_slots = session->plan.n_slots;
    memory->slots = calloc(memory->n_slots, sizeof *memory->slots);
    if (!memory->slots)
        return no_memory(session, memory->n_slots * sizeof *memory->slots, error);
    for (uint32_t slot = 0; slot < memory->n_slots; slot++) {
        uint64_t bytes = ring_plan_slot_bytes(&session->plan, rank, slot);
        memory->slots[slot] = (struct ring_buffer){exec_memory_alloc(bytes), bytes};
        if (!memory->slots[slot].data)
            return no_memory(session, bytes, error);
    }
    return RING_OK;
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

/* The rank's own Q, K and V, and the kernel that will work on them. */
static enum ring_status open_data(struct exec_session *session, struct ring_error *error)
{
    const struct ring_problem *problem = &session->plan.problem;
    const char *name = session->scenario->measure.kernel;

    session->kernel = block_kernel_find(name, problem->dtype, problem->head_dim);
    if (!session->kernel)
        return ring_fail(error, RING_UNSUPPORTED,
                         "measure.kernel '%s': no such CPU kernel for %s and head_dim %" PRIu32,
                         name ? name : "auto", ring_dtype_names[problem->dtype], problem->head_dim);
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
    if (status == RING_OK)
        session->compute = attention_compute(session->attention);
    return status;
}

static enum ring_status open_transport(struct exec_session *session, const struct exec_session_spec *spec,
                                       struct ring_error *error)
{
    const struct config_scenario *scenario = session->scenario;
    bool timed = !session->kernel;
    struct exec_transport_spec transport = {
        .comm = session->comm,
        .progress = scenario->progress,
        .compute = {.kernel = timed ? NULL : &session->compute,
                    .block_s = timed ? scenario->compute.block_s : 0,
                    .backward_block_s = scenario->compute.backward_block_s,
                    .core_free = scenario->compute.core_free},
        .bound = session->bound,
        .clock_offset_s = session->clock.offset_s,
        .fault = spec->fault,
        .hardship = &session->hardship,
    };
    return exec_transport_open(&session->transport, &transport, error);
}

/* The part in which each rank works alone. */
static enum ring_status open_own(struct exec_session *session, bool needs_data, struct ring_error *error)
{
    enum ring_status status = find_data(session, error);

    session->shard = ring_layout_shard(&session->plan.layout, (uint32_t)session->rank);
    session->baseline_bytes = exec_memory_resident();
    if (status == RING_OK)
        status = exec_hardship_open(&session->hardship, session->scenario, (uint32_t)session->rank, error);
    if (status == RING_OK)
        status = open_slots(session, error);
    if (status == RING_OK && (needs_data || session->scenario->compute.block_s <= 0))
        status = open_data(session, error);
    return status;
}

enum ring_status exec_session_open(struct exec_session *session, const struct exec_session_spec *spec,
                                   struct ring_error *error)
{
    *session = (struct exec_session){.comm = spec->comm, .progress = spec->progress};
    MPI_Comm_rank(spec->comm, &session->rank);
    MPI_Comm_size(spec->comm, &session->n_ranks);
    MPI_Comm_set_errhandler(spec->comm, MPI_ERRORS_RETURN);
    session->bound = (struct exec_bound){OPENING_TIMEOUT_S, spec->stop, true, session->rank};

    enum ring_status status = load(session, spec, error);
    status = exec_agree(session->comm, &session->bound, status, error);
    if (status == RING_OK) {
        session->bound.timeout_s = session->scenario->measure.timeout_s;
        status = exec_clock_agree(session->comm, &session->bound, &session->clock, error);
        session->bound.crowded = session->clock.ranks_here > session->clock.cores_here;
        session->pass_bound = session->bound;
        session->pass_bound.timeout_s *= session->plan.n_steps + 1.0;
    }
    if (status == RING_OK) {
        status = open_own(session, spec->needs_data, error);
        status = exec_agree_when_done(session->comm, &session->bound, status, error);
    }
    if (status == RING_OK)
        status = open_transport(session, spec, error);
    if (status != RING_OK)
        exec_session_close(session);
    return status;
}

void exec_session_close(struct exec_session *session)
{
    exec_transport_close(session->transport);
    exec_hardship_close(&session->hardship);
    if (session->attention)
        attention_close(session->attention);
    exec_memory_free(session->q);
    exec_memory_free(session->d_out);
    for (uint32_t slot = 0; session->memory.slots && slot < session->memory.n_slots; slot++)
        exec_memory_free(session->memory.slots[slot].data);
    free(session->memory.slots);
    if (session->scenario)
        config_scenario_free(session->scenario);
    *session = (struct exec_session){.comm = MPI_COMM_NULL};
}
