/* SPDX-License-Identifier: MIT
 *
 * Sums over a whole plan: bytes of each hop and link, lower bounds of the time, and the bandwidth that hides
 * its messages. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "models/pattern.h"
#include "models/sides.h"

/* Patterns of a regular plan in which each rank sends to one; NULL if it is not that (or there is no memory).
 */
static struct model_pattern *read_patterns(const struct model_ring *ring)
{
    const struct ring_plan *plan = ring->plan;
    struct model_pattern *patterns = NULL;

    if (plan->kind->block && (plan->n_ranks == 1 || ring->hop_first[plan->n_ranks] == plan->n_ranks))
        patterns = malloc(plan->n_steps * sizeof *patterns);
    if (patterns && model_patterns_read(plan, patterns))
        return patterns;
    free(patterns);
    return NULL;
}

/* Regular schedules need no walk over every rank's every step: the pattern tells at which steps what moves,
 * and the block in hand how large it is. */
static enum ring_status count_regular(struct model_ring *ring, const struct model_pattern *patterns,
                                      struct ring_error *error)
{
    const struct ring_plan *plan = ring->plan;
    double(*bytes)[2] = malloc(plan->n_ranks * sizeof *bytes); /* of a block, of its gradient */

    if (!bytes)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for %" PRIu32 " blocks", plan->n_ranks);
    for (uint32_t block = 0; block < plan->n_ranks; block++) {
        bytes[block][0] = (double)ring_plan_payload_bytes(plan, RING_KV, block);
        bytes[block][1] = (double)ring_plan_payload_bytes(plan, RING_GRADIENT, block);
    }
    uint32_t n_counted = ring_plan_alike(plan) ? 1 : plan->n_ranks;
    for (uint32_t i = 0; i < plan->n_steps; i++) {
        const struct model_pattern *pattern = &patterns[i];
        for (uint32_t rank = 0; rank < n_counted && pattern->moves_kv; rank++)
            ring->hops[rank].bytes += bytes[plan->kind->block(plan, rank, pattern->s)][0];
        for (uint32_t rank = 0; rank < n_counted && pattern->moves_gradient; rank++)
            ring->hops[rank].bytes += bytes[plan->kind->block(plan, rank, pattern->s - 1)][1];
    }
    for (uint32_t hop = n_counted; hop < ring->hop_first[plan->n_ranks]; hop++)
        ring->hops[hop].bytes = ring->hops[0].bytes;
    free(bytes);
    return RING_OK;
}

/* More messages on one hop at the same time than the recurrence can share out. */
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
                uint32_t n_together = 0;
                for (uint32_t j = 0; j < i; j++)
                    n_together += step.sends[j].peer == step.sends[i].peer;
                if (n_together > 1)
                    note_sharing(ring, hop);
            }
        }
    return RING_OK;
}

enum ring_status model_ring_count_bytes(struct model_ring *ring, struct ring_error *error)
{
    uint32_t n_ranks = ring->plan->n_ranks, n_hops = ring->hop_first[n_ranks];

    ring->link_bytes = calloc(ring->topology->n_links + 1, sizeof *ring->link_bytes);
    if (!ring->link_bytes)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for %zu links", ring->topology->n_links);
    struct model_pattern *patterns = read_patterns(ring);
    enum ring_status status = patterns ? count_regular(ring, patterns, error) : count_steps(ring, error);
    free(patterns);
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

/* Computing of each rank over the whole plan, into sums_s [3][n_ranks], the last two of which are room for
 * that of a step. */
static void add_up_regular(const struct ring_plan *plan, const struct model_pattern *patterns,
                           struct model_sides *sides, double *sums_s)
{
    double *compute_s = sums_s + plan->n_ranks, *add_s = compute_s + plan->n_ranks;

    for (uint32_t i = 0; i < plan->n_steps; i++) {
        model_sides_price(sides, &patterns[i], compute_s, add_s);
        for (uint32_t rank = 0; rank < plan->n_ranks; rank++)
            sums_s[rank] += compute_s[rank] + add_s[rank];
    }
}

/* The busiest rank of a regular plan; negative if it is not one, or there is no memory. */
static double regular_compute_s(const struct model_ring *ring)
{
    struct model_pattern *patterns = read_patterns(ring);
    double *sums_s = calloc((size_t)3 * ring->plan->n_ranks, sizeof *sums_s), most_s = -1;
    struct model_prices prices;
    struct model_sides sides;

    if (patterns && sums_s && model_prices_init(&prices, ring, NULL) == RING_OK) {
        if (model_sides_init(&sides, &prices, NULL) == RING_OK) {
            add_up_regular(ring->plan, patterns, &sides, sums_s);
            for (uint32_t rank = 0; rank < ring->plan->n_ranks; rank++)
                most_s = fmax(most_s, sums_s[rank] * model_fault_slowness(ring, rank));
            model_sides_fini(&sides);
        }
        model_prices_fini(&prices);
    }
    free(patterns);
    free(sums_s);
    return most_s;
}

static double rank_compute_s(const struct model_ring *ring, uint32_t rank)
{
    struct ring_plan_step step;
    double sum_s = 0;

    for (uint32_t s = 0; s < ring->plan->n_steps; s++) {
        ring_plan_step(ring->plan, rank, s, &step);
        sum_s += model_ring_step_s(ring, rank, &step) + model_ring_add_s(ring, rank, &step);
    }
    return sum_s;
}

struct model_bound model_ring_bound(const struct model_ring *ring)
{
    struct model_bound bound = {.compute_s = 0};
    double busiest_s = 0;
    uint32_t n_ranks = ring->plan->n_ranks, n_hops = ring->hop_first[n_ranks];

    bound.compute_s = regular_compute_s(ring);
    for (uint32_t rank = 0; rank < n_ranks && bound.compute_s < 0; rank++)
        busiest_s = fmax(busiest_s, rank_compute_s(ring, rank) * model_fault_slowness(ring, rank));
    bound.compute_s = fmax(bound.compute_s, busiest_s);
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

/* What one step moves, and how long there is for it. */
struct window {
    double bytes, latency_s, compute_s;
};

static struct window look_at_step(const struct model_ring *ring, uint32_t s, enum ring_job job)
{
    struct window window = {.bytes = 0};
    struct ring_plan_step step;

    for (uint32_t rank = 0; rank < ring->plan->n_ranks; rank++) {
        double bytes = 0;
        ring_plan_step(ring->plan, rank, s, &step);
        if (step.job != job)
            break; /* all ranks are in the same pass */
        for (uint32_t i = 0; i < step.n_sends; i++) {
            const struct model_hop *hop = model_ring_hop(ring, rank, step.sends[i].peer);
            bytes += (double)step.sends[i].bytes;
            window.latency_s = fmax(window.latency_s, hop->latency_s);
        }
        window.bytes = fmax(window.bytes, bytes);
        window.compute_s =
            fmax(window.compute_s, model_ring_step_s(ring, rank, &step) * model_fault_slowness(ring, rank));
    }
    return window;
}

double model_ring_crossover(const struct model_ring *ring, enum ring_pass pass)
{
    enum ring_job job = pass == RING_PASS_BACKWARD ? RING_JOB_BACKWARD : RING_JOB_FORWARD;
    double needed = 0;

    for (uint32_t s = 0; s < ring->plan->n_steps; s++) {
        struct window window = look_at_step(ring, s, job);
        double time_s = window.compute_s - window.latency_s;
        if (window.bytes > 0 && window.compute_s > 0)
            needed = fmax(needed, time_s > 0 ? window.bytes / time_s : INFINITY);
    }
    return needed;
}
