/* SPDX-License-Identifier: MIT
 *
 * The forward pass that a plan of the backward pass alone begins from, done by one rank for itself: the state
 * is a function of the data, and the data can be made anew, so nothing has to be moved. */
#include <stdlib.h>

#include "exec/kernels/attention_parts.h"

/* Every block's tokens in the order in which a forward plan would bring them. */
static enum ring_status fold_all(struct attention *attention, const struct ring_plan *plan, uint32_t rank,
                                 const struct data_spec *data, void *kv, struct ring_error *error)
{
    const struct ring_problem *problem = &plan->problem;
    struct ring_compute compute = attention_compute(attention);
    enum ring_status status = RING_OK;
    for (uint32_t s = 0; s < plan->n_steps && status == RING_OK; s++) {
        struct ring_plan_step step;
        ring_plan_step(plan, rank, s, &step);
        if (!step.computes)
            continue;
        struct ring_shard keys = ring_layout_shard(&plan->layout, step.block);
        struct ring_task task = {.job = RING_JOB_FORWARD, .rank = rank, .step = s, .block = step.block};
        task.kv = (struct ring_buffer){kv, ring_plan_block_bytes(plan, step.block)};
        data_fill(data, problem, DATA_K, &keys, kv);
        data_fill(data, problem, DATA_V, &keys, (char *)kv + task.kv.bytes / 2);
        uint32_t n = compute.n_pieces(compute.context, &task);
        for (uint32_t piece = 0; piece < n && status == RING_OK; piece++)
            status = compute.run_piece(compute.context, &task, piece, error);
    }
    return status;
}

enum ring_status attention_prefill(struct attention *attention, uint32_t rank, const struct data_spec *data,
                                   struct ring_error *error)
{
    const struct ring_plan *own = &attention->plan;
    struct ring_plan_spec spec = {
        .strategy = own->kind->name,
        .problem = own->problem,
        .layout = own->layout.kind,
        .pass = RING_PASS_FORWARD,
        .n_ranks = own->n_ranks,
        .n_buffers = own->n_buffers,
        .gradient_dtype = own->gradient_dtype,
    };
    struct ring_plan plan;
    enum ring_status status = ring_plan_init(&plan, &spec, error);
    if (status != RING_OK)
        return status;
    uint64_t bytes = ring_problem_kv_bytes(&plan.problem, ring_layout_max_tokens(&plan.layout));
    void *kv = aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64);
    if (kv == NULL)
        return ring_fail(error, RING_NO_MEMORY,
                         "rank %u: one block of %llu bytes for the forward pass before", rank,
                         (unsigned long long)bytes);
    attention_clear_state(attention);
    status = fold_all(attention, &plan, rank, data, kv, error);
    free(kv);
    return status;
}
