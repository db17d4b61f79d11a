/* SPDX-License-Identifier: MIT
 *
 * Both passes on real data over MPI: every layout and mask, grouped heads, even and uneven shares, threads,
 * each rank's every row and gradient within its bound of the fp64 single shot, and as many bytes sent as the
 * formula says. */
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "exec/kernels/verify.h"
#include "exec/kernels/verify_gradient.h"
#include "exec/memory.h"
#include "exec/session.h"
#include "tests/mpi/ranks.h"

enum { TOKENS = 16, KV_HEADS = 2, HEADS = 4, HEAD_DIM = 8 }; /* tokens of a rank where all have as many */

struct run {
    enum ring_layout_kind layout;
    enum ring_mask mask;
    enum ring_pass pass;
    enum ring_dtype dtype, gradients;
    uint64_t tokens;
    int threads; /* 0: one */
};

static enum ring_status open_session(const struct seat *seat, const struct run *run,
                                     struct exec_session *session, struct ring_error *error)
{
    char texts[12][64];
    const char *sets[12];
    size_t n = 0;

    snprintf(texts[n++], 64, "problem.tokens=%" PRIu64, run->tokens);
    snprintf(texts[n++], 64, "problem.heads=%d", HEADS);
    snprintf(texts[n++], 64, "problem.kv_heads=%d", KV_HEADS);
    snprintf(texts[n++], 64, "problem.head_dim=%d", HEAD_DIM);
    snprintf(texts[n++], 64, "problem.dtype=%s", ring_dtype_names[run->dtype]);
    snprintf(texts[n++], 64, "problem.mask=%s", ring_mask_names[run->mask]);
    snprintf(texts[n++], 64, "ring.devices=%d", seat->n_ranks);
    snprintf(texts[n++], 64, "ring.layout=%s", ring_layout_names[run->layout]);
    snprintf(texts[n++], 64, "ring.pass=%s", ring_pass_names[run->pass]);
    snprintf(texts[n++], 64, "ring.gradients=%s", ring_dtype_names[run->gradients]);
    snprintf(texts[n++], 64, "threads=%d", run->threads > 1 ? run->threads : 1);
    for (size_t i = 0; i < n; i++)
        sets[i] = texts[i];
    const struct exec_session_spec spec = {.comm = seat->comm,
                                           .scenario_path = "tests/mpi/small.yaml",
                                           .overrides = {sets, n},
                                           .needs_data = true};
    return exec_session_open(session, &spec, error);
}

/* Rows and gradients of this rank that are out of bounds. */
static enum ring_status count_bad(const struct exec_session *session, uint64_t *n_bad,
                                  struct ring_error *error)
{
    const struct ring_plan *plan = &session->plan;
    uint32_t rank = (uint32_t)session->rank;
    uint64_t rows = (uint64_t)plan->problem.heads * session->shard.tokens;
    struct verify_report report = {.n_bad = 0};
    struct verify_gradient_report gradients = {.n_bad = 0};
    struct oracle *oracle = NULL;
    struct oracle_gradient *oracle_gradient = NULL;
    void *out = exec_memory_alloc(rows * HEAD_DIM * 8), *lse = exec_memory_alloc(rows * 8);

    enum ring_status status =
        out && lse ? RING_OK : ring_fail(error, RING_NO_MEMORY, "rank %" PRIu32 ": out of memory", rank);
    if (status == RING_OK)
        status = oracle_open(&oracle, &plan->problem, &session->data, error);
    if (status == RING_OK)
        status = oracle_gradient_open(&oracle_gradient, &plan->problem, &session->data, error);
    if (status == RING_OK) {
        attention_finish(session->attention, out, lse);
        verify_rank_rough(plan, rank, oracle, session->kernel->state, out, lse, session->kernel->weight_u, 0,
                          &report);
    }
    if (status == RING_OK && plan->pass != RING_PASS_FORWARD)
        verify_gradient_rough(plan, rank, oracle_gradient, session->kernel->state,
                              attention_d_q(session->attention),
                              session->memory.slots[ring_plan_own_gradient_slot(plan)].data,
                              session->kernel->weight_u, 0, &gradients);
    *n_bad = report.n_bad + gradients.n_bad;
    oracle_close(oracle);
    oracle_gradient_close(oracle_gradient);
    exec_memory_free(out);
    exec_memory_free(lse);
    return status;
}

/* Forward, N - 1 hops of a block; backward, as many and N hops of its gradient; nothing where there is one
 * rank. For ranks with equal shares. */
static uint64_t formula(const struct run *run, uint64_t n_ranks)
{
    uint64_t elements = 2 * TOKENS * KV_HEADS * HEAD_DIM, bytes = 0;

    if (n_ranks == 1)
        return 0;
    if (run->pass != RING_PASS_BACKWARD)
        bytes += (n_ranks - 1) * elements * ring_dtype_bytes(run->dtype);
    if (run->pass != RING_PASS_FORWARD)
        bytes += (n_ranks - 1) * elements * ring_dtype_bytes(run->dtype) +
                 n_ranks * elements * ring_dtype_bytes(run->gradients);
    return bytes;
}

static enum ring_status play(const struct seat *seat, const struct run *run, struct ring_error *error)
{
    struct exec_session session;
    uint64_t n_bad = 0;

    enum ring_status status = open_session(seat, run, &session, error);
    if (status != RING_OK)
        return status;
    status = exec_pass(&session, NULL, NULL, error);
    if (status == RING_OK)
        status = count_bad(&session, &n_bad, error);
    uint64_t sent = exec_transport_bytes_sent(session.transport);
    bool even = run->tokens == TOKENS * (uint64_t)seat->n_ranks;
    if (status == RING_OK && even && sent != formula(run, (uint64_t)seat->n_ranks))
        status = ring_fail(error, RING_WORLD, "rank %d of %d sent %" PRIu64 " bytes %s, expected %" PRIu64,
                           seat->rank, seat->n_ranks, sent, ring_pass_names[run->pass],
                           formula(run, (uint64_t)seat->n_ranks));
    if (status == RING_OK && n_bad > 0)
        status = ring_fail(
            error, RING_WORLD, "rank %d of %d: %" PRIu64 " out of bounds: %s, %s, %s, %s, gradients in %s",
            seat->rank, seat->n_ranks, n_bad, ring_pass_names[run->pass], ring_layout_names[run->layout],
            ring_mask_names[run->mask], ring_dtype_names[run->dtype], ring_dtype_names[run->gradients]);
    status = exec_agree(seat->comm, &seat->bound, status, error);
    exec_session_close(&session);
    return status;
}

enum ring_status test_passes(const struct seat *seat, struct ring_error *error)
{
    uint64_t even = TOKENS * (uint64_t)seat->n_ranks;
    enum ring_status status = RING_OK;
    int n_runs = 0;

    for (int layout = 0; layout < RING_N_LAYOUTS && status == RING_OK; layout++) {
        for (int mask = 0; mask < RING_N_MASKS && status == RING_OK; mask++, n_runs++) {
            const struct run run = {.layout = (enum ring_layout_kind)layout,
                                    .mask = (enum ring_mask)mask,
                                    .pass = RING_PASS_BOTH,
                                    .tokens = mask == RING_MASK_FULL ? even : even + 5};
            status = play(seat, &run, error);
        }
    }
    static const struct run more[] = {
        {RING_LAYOUT_ZIGZAG, RING_MASK_CAUSAL, RING_PASS_FORWARD, RING_FP32, RING_FP32, 0, 0},
        {RING_LAYOUT_ZIGZAG, RING_MASK_CAUSAL, RING_PASS_BACKWARD, RING_FP32, RING_FP32, 0, 0},
        {RING_LAYOUT_ZIGZAG, RING_MASK_CAUSAL, RING_PASS_BACKWARD, RING_BF16, RING_FP32, 0, 0},
        {RING_LAYOUT_ZIGZAG, RING_MASK_CAUSAL, RING_PASS_BACKWARD, RING_BF16, RING_BF16, 0, 0},
        {RING_LAYOUT_ZIGZAG, RING_MASK_CAUSAL, RING_PASS_BOTH, RING_FP32, RING_FP32, 0, 2},
    };
    for (size_t i = 0; i < sizeof more / sizeof *more && status == RING_OK; i++, n_runs++) {
        struct run run = more[i];
        run.tokens = even;
        if (run.threads > 1 && (seat->n_ranks > 2 || sysconf(_SC_NPROCESSORS_ONLN) < run.threads))
            continue;
        status = play(seat, &run, error);
    }
    if (status == RING_OK)
        report(seat, "%d ranks: %d runs exact", seat->n_ranks, n_runs);
    return status;
}
