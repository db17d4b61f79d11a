/* SPDX-License-Identifier: MIT
 *
 * See ring_by_hand.h. */
#include "tests/exec/ring_by_hand.h"

#include <math.h>
#include <stdlib.h>

#include "exec/kernels/attention.h"
#include "exec/kernels/verify.h"
#include "tests/support/cmocka_all.h"

static void *take(size_t bytes)
{
    void *memory = malloc(bytes);
    assert_non_null(memory);
    return memory;
}

void ring_by_hand_open(struct ring_by_hand *ring, const struct ring_plan_spec *spec, const char *kernel,
                       const struct data_spec *data)
{
    struct ring_error error;
    if (ring_plan_init(&ring->plan, spec, &error) != RING_OK)
        fail_msg("%s", error.text);
    const struct ring_problem *problem = &ring->plan.problem;
    ring->kernel = block_kernel_find(kernel, problem->dtype, problem->head_dim);
    assert_non_null(ring->kernel);
    uint32_t n = ring->plan.n_ranks;
    ring->q = take(n * sizeof(void *));
    ring->kv = take(n * sizeof(void *));
    ring->out = take(n * sizeof(void *));
    ring->lse = take(n * sizeof(void *));
    for (uint32_t rank = 0; rank < n; rank++) {
        struct ring_shard shard = ring_layout_shard(&ring->plan.layout, rank);
        size_t rows = problem->batch * problem->heads * shard.tokens,
               real = ring_dtype_bytes(ring->kernel->state);
        size_t kv_bytes = ring_problem_kv_bytes(problem, shard.tokens);
        ring->q[rank] = take(rows * problem->head_dim * ring_dtype_bytes(problem->dtype));
        ring->kv[rank] = take(kv_bytes);
        ring->out[rank] = take(rows * problem->head_dim * real);
        ring->lse[rank] = take(rows * real);
        data_fill(data, problem, DATA_Q, &shard, ring->q[rank]);
        data_fill(data, problem, DATA_K, &shard, ring->kv[rank]);
        data_fill(data, problem, DATA_V, &shard, (char *)ring->kv[rank] + kv_bytes / 2);
    }
}

void ring_by_hand_close(struct ring_by_hand *ring)
{
    for (uint32_t rank = 0; rank < ring->plan.n_ranks; rank++) {
        free(ring->q[rank]);
        free(ring->kv[rank]);
        free(ring->out[rank]);
        free(ring->lse[rank]);
    }
    free(ring->q);
    free(ring->kv);
    free(ring->out);
    free(ring->lse);
}

static void run_block(struct ring_by_hand *ring, struct attention *attention, uint32_t rank, uint32_t step,
                      uint32_t block)
{
    struct ring_task task = {.rank = rank, .step = step, .block = block};
    task.work = ring_plan_work(&ring->plan, rank, block);
    task.kv.data = ring->kv[block];
    task.kv.bytes = ring_plan_block_bytes(&ring->plan, block);
    struct ring_compute compute = attention_compute(attention);
    struct ring_error error;
    uint32_t n_pieces = compute.n_pieces(compute.context, &task);
    for (uint32_t piece = 0; piece < n_pieces; piece++)
        if (compute.run_piece(compute.context, &task, piece, &error) != RING_OK)
            fail_msg("%s", error.text);
}

void ring_by_hand_run(struct ring_by_hand *ring, bool ascending)
{
    for (uint32_t rank = 0; rank < ring->plan.n_ranks; rank++) {
        struct attention *attention;
        struct ring_error error;
        if (attention_open(&attention, &ring->plan, rank, ring->kernel, ring->q[rank], false, &error) !=
            RING_OK)
            fail_msg("%s", error.text);
        for (uint32_t at = 0; ascending && at < ring->plan.n_ranks; at++)
            run_block(ring, attention, rank, at, at);
        for (uint32_t at = 0; !ascending && at < ring->plan.n_steps; at++) {
            struct ring_plan_step step;
            ring_plan_step(&ring->plan, rank, at, &step);
            if (step.computes)
                run_block(ring, attention, rank, at, step.block);
        }
        attention_finish(attention, ring->out[rank], ring->lse[rank]);
        attention_close(attention);
    }
}

double ring_by_hand_verify(const struct ring_by_hand *ring, const struct data_spec *data, uint64_t max_rows)
{
    const struct ring_problem *problem = &ring->plan.problem;
    struct oracle *oracle;
    struct ring_error error;
    double error2 = 0.0, norm2 = 0.0;
    if (oracle_open(&oracle, problem, data, &error) != RING_OK)
        fail_msg("%s", error.text);
    for (uint32_t rank = 0; rank < ring->plan.n_ranks; rank++) {
        struct verify_report report;
        verify_rank_rough(&ring->plan, rank, oracle, ring->kernel->state, ring->out[rank], ring->lse[rank],
                          ring->kernel->weight_u, max_rows, &report);
        if (report.n_bad > 0)
            fail_msg(
                "%s, %u tokens, %u ranks, %s, %s: rank %u has %u bad rows of %u, out %g of %g, lse %g of %g",
                ring->kernel->name, (unsigned)problem->tokens, ring->plan.n_ranks,
                ring_layout_names[ring->plan.layout.kind], ring_mask_names[problem->mask], rank,
                (unsigned)report.n_bad, (unsigned)report.rows_checked, report.out_worst, report.out_bound,
                report.lse_worst, report.lse_bound);
        error2 += report.out_error2;
        norm2 += report.out_norm2;
    }
    oracle_close(oracle);
    return sqrt(error2 / norm2);
}

/* The rank that owns a position, and the row of its out. */
static size_t find_row(const struct ring_by_hand *ring, uint32_t batch, uint32_t head, uint64_t position,
                       uint32_t *owner)
{
    for (*owner = 0; *owner < ring->plan.n_ranks; ++*owner) {
        struct ring_shard shard = ring_layout_shard(&ring->plan.layout, *owner);
        for (uint64_t i = 0; i < shard.tokens; i++)
            if (ring_shard_position(&shard, i) == position)
                return ((size_t)batch * ring->plan.problem.heads + head) * shard.tokens + i;
    }
    fail_msg("nobody owns position %u", (unsigned)position);
    return 0;
}

double ring_by_hand_out(const struct ring_by_hand *ring, uint32_t batch, uint32_t head, uint64_t position,
                        uint32_t dim)
{
    uint32_t owner;
    size_t row = find_row(ring, batch, head, position, &owner);
    return data_load(ring->kernel->state, ring->out[owner], row * ring->plan.problem.head_dim + dim);
}

double ring_by_hand_lse(const struct ring_by_hand *ring, uint32_t batch, uint32_t head, uint64_t position)
{
    uint32_t owner;
    size_t row = find_row(ring, batch, head, position, &owner);
    return data_load(ring->kernel->state, ring->lse[owner], row);
}
