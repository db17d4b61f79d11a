/* SPDX-License-Identifier: MIT
 *
 * What all schedules share: the table of them, what a plan refuses, sizes of blocks and slots, and the memo
 * of block work. The schedules themselves are in plans/. */
#include "engine/plan.h"

#include <inttypes.h>
#include <string.h>

#include "engine/plans/plans.h"

const struct ring_plan_kind *const ring_plan_kinds[] = {&ring_plan_ring, NULL};

static const struct ring_plan_kind *find_kind(const char *name)
{
    for (size_t i = 0; ring_plan_kinds[i]; i++)
        if (strcmp(ring_plan_kinds[i]->name, name) == 0)
            return ring_plan_kinds[i];
    return NULL;
}

/* Even shards repeat: what a rank's queries make of a block depends only on whether the block comes before,
 * at or after the rank in the layout's order. That memo is what makes rings of thousands cheap to price. */
static void remember_work(struct ring_plan *plan)
{
    uint64_t n_pieces = plan->layout.kind == RING_LAYOUT_ZIGZAG ? 2 * (uint64_t)plan->n_ranks : plan->n_ranks;

    plan->even = plan->problem.tokens % n_pieces == 0;
    if (!plan->even)
        return;
    plan->even_block_bytes = ring_problem_kv_bytes(&plan->problem, plan->problem.tokens / plan->n_ranks);
    uint32_t last = plan->n_ranks - 1;
    const uint32_t rank_block[3][2] = {{last, 0}, {0, 0}, {0, last}};
    for (int side = 0; side < 3; side++) {
        struct ring_shard queries = ring_layout_shard(&plan->layout, rank_block[side][0]);
        struct ring_shard keys = ring_layout_shard(&plan->layout, rank_block[side][1]);
        plan->by_side[side] = ring_work_count(plan->problem.mask, &queries, &keys);
    }
}

enum ring_status ring_plan_init(struct ring_plan *plan, const struct ring_plan_spec *spec,
                                struct ring_error *error)
{
    *plan = (struct ring_plan){
        .kind = find_kind(spec->strategy),
        .problem = spec->problem,
        .layout = {.kind = spec->layout, .tokens = spec->problem.tokens, .n_ranks = spec->n_ranks},
        .pass = spec->pass,
        .n_ranks = spec->n_ranks,
        .n_buffers = spec->n_buffers,
        .gradient_dtype = spec->gradient_dtype,
        .keep_kv = spec->keep_kv,
    };
    if (!plan->kind)
        return ring_fail(error, RING_BAD_INPUT, "strategy '%s' is unknown, the first known one is '%s'",
                         spec->strategy, ring_plan_kinds[0]->name);
    enum ring_status status = ring_problem_check(&plan->problem, error);
    if (status == RING_OK)
        status = ring_layout_check(&plan->layout, error);
    if (status != RING_OK)
        return status;
    if (plan->n_buffers < RING_MIN_BUFFERS || plan->n_buffers > RING_MAX_BUFFERS)
        return ring_fail(error, RING_BAD_INPUT,
                         "buffers is %" PRIu32
                         ", wanted %d to %d: one block in hand and at least one arriving",
                         plan->n_buffers, RING_MIN_BUFFERS, RING_MAX_BUFFERS);
    if (plan->gradient_dtype != RING_FP32 && plan->gradient_dtype != plan->problem.dtype)
        return ring_fail(error, RING_BAD_INPUT, "gradient dtype is %s, wanted fp32 or the problem's %s",
                         ring_dtype_names[plan->gradient_dtype], ring_dtype_names[plan->problem.dtype]);
    if (plan->keep_kv && plan->pass != RING_PASS_BOTH)
        return ring_fail(
            error, RING_BAD_INPUT,
            "keep_kv keeps the forward pass's blocks for the backward one: it needs pass 'both', found '%s'",
            ring_pass_names[plan->pass]);
    remember_work(plan);
    return plan->kind->init(plan, error);
}

void ring_plan_step(const struct ring_plan *plan, uint32_t rank, uint32_t step, struct ring_plan_step *out)
{
    plan->kind->step(plan, rank, step, out);
}

uint32_t ring_plan_targets(const struct ring_plan *plan, uint32_t rank, uint32_t *out)
{
    return plan->kind->targets(plan, rank, out);
}

struct ring_work ring_plan_work(const struct ring_plan *plan, uint32_t rank, uint32_t block)
{
    if (plan->even)
        return plan->by_side[block < rank ? 0 : block == rank ? 1 : 2];
    struct ring_shard queries = ring_layout_shard(&plan->layout, rank);
    struct ring_shard keys = ring_layout_shard(&plan->layout, block);
    return ring_work_count(plan->problem.mask, &queries, &keys);
}

uint64_t ring_plan_block_bytes(const struct ring_plan *plan, uint32_t block)
{
    if (plan->even)
        return plan->even_block_bytes;
    return ring_problem_kv_bytes(&plan->problem, ring_layout_shard(&plan->layout, block).tokens);
}

uint64_t ring_plan_payload_bytes(const struct ring_plan *plan, enum ring_payload payload, uint32_t block)
{
    uint64_t kv_bytes = ring_plan_block_bytes(plan, block);
    enum ring_dtype dtype = payload == RING_CONTRIBUTION ? RING_FP32 : plan->gradient_dtype;

    if (payload == RING_KV)
        return kv_bytes;
    if (plan->problem.dtype == RING_FP64) /* the fp64 reference sums in fp64 */
        dtype = RING_FP64;
    return kv_bytes / ring_dtype_bytes(plan->problem.dtype) * ring_dtype_bytes(dtype);
}

enum ring_payload ring_plan_slot(const struct ring_plan *plan, uint32_t slot)
{
    return plan->kind->slot(plan, slot);
}

uint32_t ring_plan_own_gradient_slot(const struct ring_plan *plan)
{
    return plan->own_gradient_slot;
}

uint64_t ring_plan_slot_bytes(const struct ring_plan *plan, uint32_t rank, uint32_t slot)
{
    bool own = slot == RING_HOME_SLOT || slot == plan->own_gradient_slot;
    enum ring_payload payload = ring_plan_slot(plan, slot);

    if (own)
        return ring_plan_payload_bytes(plan, payload, rank);
    uint64_t most = 0; /* the largest block is the first or the last rank's, see ring_layout_max_tokens */
    for (int end = 0; end < 2; end++) {
        uint64_t bytes = ring_plan_payload_bytes(plan, payload, end ? plan->n_ranks - 1 : 0);
        most = bytes > most ? bytes : most;
    }
    return most;
}

uint64_t ring_plan_pass_bytes(const struct ring_plan *plan, uint32_t rank, enum ring_pass pass)
{
    uint32_t first = pass == RING_PASS_BACKWARD ? plan->backward_step : 0;
    uint32_t end = pass == RING_PASS_FORWARD ? plan->backward_step : plan->n_steps;
    uint64_t bytes = 0;
    struct ring_plan_step step;

    for (uint32_t s = first; s < end; s++) {
        ring_plan_step(plan, rank, s, &step);
        for (uint32_t i = 0; i < step.n_sends; i++)
            bytes += step.sends[i].bytes;
    }
    return bytes;
}

uint64_t ring_plan_bytes_sent(const struct ring_plan *plan, uint32_t rank)
{
    return ring_plan_pass_bytes(plan, rank, RING_PASS_BOTH);
}

bool ring_plan_alike(const struct ring_plan *plan)
{
    return plan->even && plan->kind->block != NULL;
}
