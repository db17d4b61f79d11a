/* SPDX-License-Identifier: MIT
 *
 * Sums over a whole plan: bytes of each hop and link, lower bounds of the time, memory of a rank. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "models/price.h"

/* Regular schedules need no walk over every rank's every step: rank 0 tells at
 * which steps blocks move, and the block in hand tells how large they are. */
static enum ring_status count_regular(struct model_ring *ring, struct ring_error *error)
{
    const struct ring_plan *plan = ring->plan;
    double *block_bytes = malloc(plan->n_ranks * sizeof *block_bytes);

    if (!block_bytes)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for %" PRIu32 " blocks", plan->n_ranks);
    for (uint32_t block = 0; block < plan->n_ranks; block++)
        block_bytes[block] = (double)ring_plan_block_bytes(plan, block);
    for (uint32_t s = 0; s < plan->n_steps; s++) {
        struct ring_plan_step step;
        ring_plan_step(plan, 0, s, &step);
        for (uint32_t rank = 0; rank < plan->n_ranks && step.n_sends > 0; rank++)
            ring->hops[ring->hop_first[rank]].bytes += block_bytes[plan->kind->block(plan, rank, s)];
    }
    free(block_bytes);
    return RING_OK;
}

/* Two messages on one hop at the same time share its links. */
static void note_sharing(struct model_ring *ring, const struct model_hop *hop)
{
    if (ring->shared || hop->n_links == 0)
        return;
    ring->shared = true;
    ring->shared_what = ring->topology->links[hop->links[0]].name;
}

static enum ring_status count_steps(struct model_ring *ring, struct ring_error *error)
{
    const struct ring_plan *plan = ring->plan;
    struct ring_plan_step step;

    for (uint32_t rank = 0; rank < plan->n_ranks; rank++)
        for (uint32_t s = 0; s < plan->n_steps; s++) {
            ring_plan_step(plan, rank, s, &step);
            for (uint32_t i = 0; i < step.n_sends; i++) {
                const struct model_hop *hop = model_ring_hop(ring, rank, step.sends[i].peer);
                if (!hop)
                    return ring_fail(error, RING_BAD_INPUT,
                                     "plan %s: rank %" PRIu32 " sends to rank %" PRIu32 " at step %" PRIu32
                                     ", which is not one of its targets",
                                     plan->kind->name, rank, step.sends[i].peer, s);
                ring->hops[hop - ring->hops].bytes += (double)step.sends[i].bytes;
                for (uint32_t j = 0; j < i; j++)
                    if (step.sends[j].peer == step.sends[i].peer)
                        note_sharing(ring, hop);
            }
        }
    return RING_OK;
}

enum ring_status model_ring_count_bytes(struct model_ring *ring, struct ring_error *error)
{
    uint32_t n_ranks = ring->plan->n_ranks, n_hops = ring->hop_first[n_ranks];
    bool regular = model_is_regular(ring->plan) && n_hops == n_ranks;

    ring->link_bytes = calloc(ring->topology->n_links + 1, sizeof *ring->link_bytes);
    if (!ring->link_bytes)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for %zu links", ring->topology->n_links);
    enum ring_status status = regular ? count_regular(ring, error) : count_steps(ring, error);
    for (uint32_t h = 0; h < n_hops; h++)
        for (uint32_t i = 0; i < ring->hops[h].n_links; i++)
            ring->link_bytes[ring->hops[h].links[i]] += ring->hops[h].bytes;
    return status;
}

void model_ring_link_bytes(const struct model_ring *ring, double *bytes)
{
    for (size_t i = 0; i < ring->topology->n_links; i++)
        bytes[i] = ring->link_bytes[i];
}

/* Computing of one rank over the whole plan. A shape is priced when it differs from the last one. */
static double rank_compute_s(const struct model_ring *ring, uint32_t rank)
{
    const struct ring_plan *plan = ring->plan;
    struct ring_work last = {.visible_pairs = 0}, work;
    struct ring_plan_step step;
    double last_s = 0, sum_s = 0;

    for (uint32_t s = 0; s < plan->n_steps; s++) {
        if (model_is_regular(plan)) {
            work = ring_plan_work(plan, rank, plan->kind->block(plan, rank, s));
        } else {
            ring_plan_step(plan, rank, s, &step);
            work = step.computes ? step.work : (struct ring_work){.visible_pairs = 0};
        }
        if (work.q_tokens != last.q_tokens || work.k_tokens != last.k_tokens ||
            work.visible_pairs != last.visible_pairs) {
            last = work;
            last_s = model_ring_block_s(ring, rank, &work);
        }
        sum_s += last_s;
    }
    return sum_s;
}

struct model_bound model_ring_bound(const struct model_ring *ring)
{
    struct model_bound bound = {.compute_s = 0};
    uint32_t n_ranks = ring->plan->n_ranks, n_hops = ring->hop_first[n_ranks];

    for (uint32_t rank = 0; rank < n_ranks; rank++)
        bound.compute_s = fmax(bound.compute_s, rank_compute_s(ring, rank));
    for (uint32_t h = 0; h < n_hops; h++) {
        const struct model_hop *hop = &ring->hops[h];
        if (hop->bytes > 0)
            bound.network_s = fmax(bound.network_s, hop->bytes / hop->bytes_per_s + hop->latency_s);
    }
    for (size_t i = 0; i < ring->topology->n_links; i++)
        bound.network_s = fmax(bound.network_s, ring->link_bytes[i] / ring->link_bytes_per_s[i]);
    bound.time_s = fmax(bound.compute_s, bound.network_s);
    return bound;
}

struct model_memory model_ring_memory(const struct ring_plan *plan, uint32_t rank)
{
    const struct ring_problem *problem = &plan->problem;
    uint64_t rows = ring_layout_shard(&plan->layout, rank).tokens * problem->batch * problem->heads;
    uint64_t wide = problem->dtype == RING_FP64 ? 8 : 4; /* bytes of an accumulator */
    struct model_memory memory = {
        .q_bytes = rows * problem->head_dim * ring_dtype_bytes(problem->dtype),
        .kv_bytes = ring_plan_slot_bytes(plan, rank, RING_HOME_SLOT),
        .out_bytes = rows * problem->head_dim * ring_dtype_bytes(problem->dtype),
        .state_bytes = rows * (problem->head_dim + UINT64_C(2)) * wide,
        .lse_bytes = rows * wide,
    };

    for (uint32_t slot = RING_HOME_SLOT + 1; slot < plan->n_slots; slot++)
        memory.buffer_bytes += ring_plan_slot_bytes(plan, rank, slot);
    memory.total_bytes = memory.q_bytes + memory.kv_bytes + memory.buffer_bytes + memory.out_bytes +
                         memory.state_bytes + memory.lse_bytes;
    return memory;
}
