/* SPDX-License-Identifier: MIT
 *
 * The recurrence for regular schedules: one sweep over all ranks for each step. At every step each rank sends
 * at most one block and one gradient, and awaits the oldest that it expects, so a step needs only what ranks
 * knew when it began, and the memory is a few numbers a rank. Which of the steps move what, and how far ahead
 * their receives were posted, is read off rank 0's steps (pattern.h), since all ranks do alike. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "models/pattern.h"
#include "models/play.h"
#include "models/sides.h"

/* A message of each sender at this step. */
struct movement {
    double movable_s, moved_s;
};

struct sweep {
    const struct model_ring *ring;
    uint32_t step;
    struct model_pattern *patterns; /* [n_steps] */
    struct model_sides sides;
    uint32_t *targets;              /* [n_ranks] */
    uint32_t *sources;              /* [n_ranks] */
    double *latency_in_s;           /* [n_ranks] of the hop that ends here */
    double *kv_bytes;               /* [n_blocks] */
    double *gradient_bytes;         /* [n_blocks] */
    double (*add_bytes)[2];         /* [n_blocks] of an addition, of one that begins */
    uint32_t *blocks, *last_blocks; /* [n_ranks] in hand at this step, and at the one before */
    double *compute_s;              /* [n_ranks] of this step */
    double *add_s;                  /* [n_ranks] of this step */
    struct movement *kv, *gradient; /* [n_ranks] of this step, by sender */
    double *begins_s;               /* [n_buffers][n_ranks] when the last steps began, a ring of them */
};

static void release(struct sweep *sweep)
{
    model_sides_fini(&sweep->sides);
    free(sweep->patterns);
    free(sweep->targets);
    free(sweep->sources);
    free(sweep->latency_in_s);
    free(sweep->kv_bytes);
    free(sweep->gradient_bytes);
    free(sweep->add_bytes);
    free(sweep->blocks);
    free(sweep->last_blocks);
    free(sweep->compute_s);
    free(sweep->add_s);
    free(sweep->kv);
    free(sweep->gradient);
    free(sweep->begins_s);
}

static enum ring_status allocate(struct sweep *sweep, const struct model_ring *ring, struct ring_error *error)
{
    const struct ring_plan *plan = ring->plan;
    size_t n = plan->n_ranks;

    *sweep = (struct sweep){
        .ring = ring,
        .patterns = calloc(plan->n_steps, sizeof *sweep->patterns),
        .targets = calloc(n, sizeof *sweep->targets),
        .sources = calloc(n, sizeof *sweep->sources),
        .latency_in_s = calloc(n, sizeof *sweep->latency_in_s),
        .kv_bytes = calloc(n, sizeof *sweep->kv_bytes),
        .gradient_bytes = calloc(n, sizeof *sweep->gradient_bytes),
        .add_bytes = calloc(n, sizeof *sweep->add_bytes),
        .blocks = calloc(n, sizeof *sweep->blocks),
        .last_blocks = calloc(n, sizeof *sweep->last_blocks),
        .compute_s = calloc(n, sizeof *sweep->compute_s),
        .add_s = calloc(n, sizeof *sweep->add_s),
        .kv = calloc(n, sizeof *sweep->kv),
        .gradient = calloc(n, sizeof *sweep->gradient),
        .begins_s = calloc(n * plan->n_buffers, sizeof *sweep->begins_s),
    };
    if (sweep->patterns && sweep->targets && sweep->sources && sweep->latency_in_s && sweep->kv_bytes &&
        sweep->gradient_bytes && sweep->add_bytes && sweep->blocks && sweep->last_blocks &&
        sweep->compute_s && sweep->add_s && sweep->kv && sweep->gradient && sweep->begins_s)
        return RING_OK;
    return ring_fail(error, RING_NO_MEMORY, "out of memory for %" PRIu32 " ranks", plan->n_ranks);
}

static bool read_neighbours(const struct model_ring *ring, struct sweep *sweep)
{
    uint32_t n = ring->plan->n_ranks;

    if (n == 1)
        return ring->hop_first[1] == 0;
    for (uint32_t rank = 0; rank < n; rank++)
        sweep->sources[rank] = UINT32_MAX;
    for (uint32_t rank = 0; rank < n; rank++) {
        if (ring->hop_first[rank + 1] - ring->hop_first[rank] != 1)
            return false;
        const struct model_hop *hop = &ring->hops[ring->hop_first[rank]];
        if (sweep->sources[hop->target] != UINT32_MAX)
            return false;
        sweep->targets[rank] = hop->target;
        sweep->sources[hop->target] = rank;
        sweep->latency_in_s[hop->target] = hop->latency_s;
    }
    return true;
}

static void size_blocks(const struct ring_plan *plan, struct sweep *sweep)
{
    for (uint32_t block = 0; block < plan->n_ranks; block++) {
        sweep->kv_bytes[block] = (double)ring_plan_payload_bytes(plan, RING_KV, block);
        sweep->gradient_bytes[block] = (double)ring_plan_payload_bytes(plan, RING_GRADIENT, block);
        for (int begins = 0; begins < 2; begins++)
            sweep->add_bytes[block][begins] = model_add_bytes(plan, block, begins);
    }
}

static void price_step(struct model_play *play, struct sweep *sweep, const struct model_pattern *pattern)
{
    const struct ring_plan *plan = play->ring->plan;
    bool backward = pattern->job == RING_JOB_BACKWARD;

    if (pattern->job != sweep->sides.job)
        model_sides_turn(&sweep->sides, pattern->job);
    uint32_t *blocks = sweep->last_blocks;
    sweep->last_blocks = sweep->blocks;
    sweep->blocks = blocks;
    for (uint32_t rank = 0; rank < plan->n_ranks; rank++) {
        uint32_t block = blocks[rank] = plan->kind->block(plan, rank, pattern->s);
        double block_s = pattern->works ? model_sides_block_s(&sweep->sides, rank, block) : 0;
        sweep->compute_s[rank] = block_s;
        sweep->add_s[rank] = 0;
        if (!backward || !(block_s > 0)) /* no time: nothing to see, nothing to add */
            continue;
        sweep->add_s[rank] = model_adding_s(play->ring, rank, sweep->add_bytes[block][pattern->first]);
        if (pattern->first)
            sweep->compute_s[rank] += model_prices_prepare_s(&play->prices, rank);
    }
}

/* A message that moves alone from movable_s on. */
static struct movement alone(const struct model_ring *ring, const struct model_hop *hop, double movable_s,
                             double bytes)
{
    double moved_s = hop->changes ? model_fault_moved_s(ring, hop, movable_s, bytes)
                                  : movable_s + bytes / hop->bytes_per_s;
    return (struct movement){movable_s, moved_s};
}

static inline double later(double a, double b)
{
    return a > b ? a : b;
}

/* Sent from begin_s on; the receiver's posts were at posted_s (the block) and target_s (the gradient). */
static void move_at_once(const struct model_ring *ring, const struct model_hop *hop,
                         const struct model_pattern *pattern, double begin_s, double posted_s,
                         double target_s, const double bytes[2], struct movement *kv,
                         struct movement *gradient)
{
    const double movable_s[2] = {later(begin_s, posted_s), later(begin_s, target_s)};
    double moved_s[2];

    if (pattern->moves_kv && pattern->moves_gradient) {
        model_share_hop(hop->bytes_per_s, movable_s, bytes, moved_s);
        *kv = (struct movement){movable_s[0], moved_s[0]};
        *gradient = (struct movement){movable_s[1], moved_s[1]};
    } else if (pattern->moves_kv) {
        *kv = alone(ring, hop, movable_s[0], bytes[0]);
    } else {
        *gradient = alone(ring, hop, movable_s[1], bytes[1]);
    }
}

/* The same of a lazy hop, whose receiver comes for one after the other from here_s on. */
static void move_when_awaited(const struct model_ring *ring, const struct model_hop *hop,
                              const struct model_pattern *pattern, double begin_s, double here_s,
                              const double bytes[2], struct movement *kv, struct movement *gradient)
{
    if (pattern->moves_kv) {
        *kv = alone(ring, hop, later(begin_s, here_s), bytes[0]);
        here_s = later(here_s, kv->moved_s + hop->latency_s);
    }
    if (pattern->moves_gradient)
        *gradient = alone(ring, hop, later(begin_s, here_s), bytes[1]);
}

static void move_messages(const struct model_ring *ring, struct sweep *sweep,
                          const struct model_pattern *pattern, const double *begin_s, const double *posted_s)
{
    const struct ring_plan *plan = ring->plan;

    for (uint32_t rank = 0; rank < plan->n_ranks; rank++) {
        const struct model_hop *hop = &ring->hops[rank];
        uint32_t target = sweep->targets[rank];
        double bytes[2] = {0};
        if (pattern->moves_kv)
            bytes[0] = sweep->kv_bytes[sweep->blocks[rank]];
        if (pattern->moves_gradient)
            bytes[1] = sweep->gradient_bytes[sweep->last_blocks[rank]];
        if (hop->lazy)
            move_when_awaited(ring, hop, pattern, begin_s[rank], begin_s[target] + sweep->compute_s[target],
                              bytes, &sweep->kv[rank], &sweep->gradient[rank]);
        else
            move_at_once(ring, hop, pattern, begin_s[rank], posted_s[target], begin_s[target], bytes,
                         &sweep->kv[rank], &sweep->gradient[rank]);
        if (hop->changes)
            sweep->latency_in_s[target] = model_fault_latency_s(ring, hop, sweep->kv[rank].moved_s);
    }
}

/* Adds what moved on every hop at this step to the play's. */
static void count_moving(struct model_play *play, const struct sweep *sweep,
                         const struct model_pattern *pattern)
{
    for (uint32_t rank = 0; rank < play->ring->plan->n_ranks; rank++) {
        const struct movement *kv = &sweep->kv[rank], *gradient = &sweep->gradient[rank];
        double latency_s = sweep->latency_in_s[sweep->targets[rank]];
        bool swapped = pattern->moves_kv && pattern->moves_gradient && gradient->movable_s < kv->movable_s;
        if (swapped)
            model_count_moving(play, rank, gradient->movable_s, gradient->moved_s + latency_s);
        if (pattern->moves_kv)
            model_count_moving(play, rank, kv->movable_s, kv->moved_s + latency_s);
        if (pattern->moves_gradient && !swapped)
            model_count_moving(play, rank, gradient->movable_s, gradient->moved_s + latency_s);
    }
}

/* The waits of one rank's step, in the order in which the engine waits; returns when the step ends. */
static inline double wait_all(const struct sweep *sweep, const struct model_pattern *pattern, uint32_t rank,
                              double begin_s, struct ring_parts *parts)
{
    double computed_s = begin_s + sweep->compute_s[rank], now_s = begin_s;
    uint32_t source = sweep->sources[rank];

    *parts = (struct ring_parts){.begin_s = begin_s, .compute_s = computed_s - begin_s};
    if (pattern->moves_kv)
        model_wait_for(&now_s, sweep->kv[source].moved_s + sweep->latency_in_s[rank],
                       sweep->kv[source].movable_s, computed_s, parts);
    if (pattern->moves_gradient)
        model_wait_for(&now_s, sweep->gradient[source].moved_s + sweep->latency_in_s[rank],
                       sweep->gradient[source].movable_s, computed_s, parts);
    now_s = later(now_s, computed_s);
    if (pattern->moves_kv)
        model_wait_for(&now_s, sweep->kv[rank].moved_s, sweep->kv[rank].movable_s, computed_s, parts);
    if (pattern->moves_gradient)
        model_wait_for(&now_s, sweep->gradient[rank].moved_s, sweep->gradient[rank].movable_s, computed_s,
                       parts);
    double add_s = sweep->add_s[rank];
    if (sweep->ring->faulty)
        add_s = model_fault_compute_s(sweep->ring, rank, sweep->step, now_s, add_s);
    parts->compute_s += add_s;
    return parts->end_s = now_s + add_s;
}

static void sweep_step(struct model_play *play, struct sweep *sweep, uint32_t step)
{
    const struct ring_plan *plan = play->ring->plan;
    const struct model_pattern *pattern = &sweep->patterns[step];
    uint32_t n = plan->n_ranks, window = plan->n_buffers;
    const double *begin_s = sweep->begins_s + (size_t)(step % window) * n;
    double *end_s = sweep->begins_s + (size_t)((step + 1) % window) * n;

    sweep->step = step;
    price_step(play, sweep, pattern);
    for (uint32_t rank = 0; rank < n && sweep->ring->faulty; rank++)
        sweep->compute_s[rank] =
            model_fault_compute_s(sweep->ring, rank, step, begin_s[rank], sweep->compute_s[rank]);
    if (pattern->moves_kv || pattern->moves_gradient)
        move_messages(play->ring, sweep, pattern, begin_s,
                      sweep->begins_s + (size_t)((step - pattern->lag) % window) * n);
    if (play->until_s && (pattern->moves_kv || pattern->moves_gradient))
        count_moving(play, sweep, pattern);
    for (uint32_t rank = 0; rank < n; rank++) {
        struct ring_parts parts, *total = &play->totals[rank];
        end_s[rank] = wait_all(sweep, pattern, rank, begin_s[rank], &parts);
        total->compute_s += parts.compute_s;
        total->transfer_s += parts.transfer_s;
        total->wait_s += parts.wait_s;
        if (play->steps)
            play->steps[(size_t)rank * plan->n_steps + step] = parts;
    }
}

/* Something died, and the ring with it. */
static bool never_ends(const struct model_play *play)
{
    for (uint32_t rank = 0; play->ring->faulty && rank < play->ring->plan->n_ranks; rank++)
        if (isinf(play->ends_s[rank]))
            return true;
    return false;
}

enum ring_status model_play_regular(struct model_play *play, struct ring_error *error)
{
    const struct ring_plan *plan = play->ring->plan;
    struct sweep sweep;

    if (!plan->kind->block)
        return RING_UNSUPPORTED;
    enum ring_status status = allocate(&sweep, play->ring, error);
    if (status == RING_OK &&
        !(model_patterns_read(plan, sweep.patterns) && read_neighbours(play->ring, &sweep)))
        status = RING_UNSUPPORTED;
    if (status == RING_OK)
        status = model_sides_init(&sweep.sides, &play->prices, error);
    if (status == RING_OK) {
        size_blocks(plan, &sweep);
        for (uint32_t s = 0; s < plan->n_steps; s++)
            sweep_step(play, &sweep, s);
        for (uint32_t rank = 0; rank < plan->n_ranks; rank++)
            play->ends_s[rank] =
                sweep.begins_s[(size_t)(plan->n_steps % plan->n_buffers) * plan->n_ranks + rank];
        if (never_ends(play)) /* the other way knows who waits for whom */
            status = RING_UNSUPPORTED;
    }
    release(&sweep);
    return status;
}
