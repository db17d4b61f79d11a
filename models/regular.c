/* SPDX-License-Identifier: MIT
 *
 * The recurrence for regular schedules: one sweep over all ranks for each step. At every step each rank sends
 * at most one block and one gradient, and awaits the oldest that it expects, so a step needs only what ranks
 * knew when it began, and the memory is a few numbers a rank. Which of the steps move what, and how far ahead
 * their receives were posted, is read off rank 0's steps (pattern.h), since all ranks do alike. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "models/sweep.h"

static void release(struct sweep *sweep)
{
    model_sides_fini(&sweep->sides);
    free(sweep->patterns);
    free(sweep->storage);
}

/* After the sides, whose kinds say how many prices a rank's messages have. */
static enum ring_status allocate(struct sweep *sweep, const struct model_ring *ring, struct ring_error *error)
{
    size_t n = ring->plan->n_ranks, n_kinds = sweep->sides.n_kinds;
    struct sweep_messages *kv = &sweep->kv, *gradient = &sweep->gradient;
    const struct {
        double **array;
        size_t n;
    } parts[] = {
        {&kv->alone_s, n_kinds * n},
        {&kv->movable_s, n + 1},
        {&kv->moved_s, n + 1},
        {&kv->arrived_s, n + 1},
        {&gradient->alone_s, n_kinds * n},
        {&gradient->movable_s, n + 1},
        {&gradient->moved_s, n + 1},
        {&gradient->arrived_s, n + 1},
        {&sweep->latency_s, n},
        {&sweep->compute_s, n},
        {&sweep->add_s, n},
        {&sweep->picked_s, n},
        {&sweep->total_compute_s, n},
        {&sweep->total_transfer_s, n},
        {&sweep->total_wait_s, n},
        {&sweep->begins_s, (n + 1) * ring->plan->n_buffers},
    };
    const size_t apart = 72; /* so that arrays of a power of two do not fight for the same lines of a cache */
    size_t n_all = 0;

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        n_all += parts[i].n + apart;
    sweep->storage = calloc(n_all, sizeof *sweep->storage);
    double *next = sweep->storage;
    if (!next)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for %zu ranks", n);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        *parts[i].array = next;
        next += parts[i].n + apart;
    }
    return RING_OK;
}

/* Every rank sends to the next one, and to nobody else. */
static bool is_circle(const struct model_ring *ring)
{
    uint32_t n = ring->plan->n_ranks;

    if (n == 1)
        return ring->hop_first[1] == 0;
    for (uint32_t rank = 0; rank < n; rank++)
        if (ring->hop_first[rank + 1] != rank + 1 || ring->hops[rank].target != (rank + 1) % n)
            return false;
    return true;
}

static void price_hops(struct sweep *sweep)
{
    const struct ring_plan *plan = sweep->ring->plan;
    uint32_t n_hops = sweep->ring->hop_first[plan->n_ranks];

    sweep->plain = true;
    for (uint32_t kind = 0; kind < sweep->sides.n_kinds; kind++) {
        uint32_t block = sweep->sides.first[kind];
        sweep->kv.bytes[kind] = (double)ring_plan_payload_bytes(plan, RING_KV, block);
        sweep->gradient.bytes[kind] = (double)ring_plan_payload_bytes(plan, RING_GRADIENT, block);
    }
    for (uint32_t rank = 0; rank < n_hops; rank++) {
        const struct model_hop *hop = &sweep->ring->hops[rank];
        sweep->plain = sweep->plain && !hop->lazy && !hop->changes;
        sweep->latency_s[rank] = hop->latency_s;
        for (uint32_t kind = 0; kind < sweep->sides.n_kinds; kind++) {
            size_t at = (size_t)kind * plan->n_ranks + rank;
            sweep->kv.alone_s[at] = sweep->kv.bytes[kind] / hop->bytes_per_s;
            sweep->gradient.alone_s[at] = sweep->gradient.bytes[kind] / hop->bytes_per_s;
        }
    }
}

/* A wait for a message that ends at end_s, of a rank that has computed and was done with the wait before at
 * *at_s: what model_wait_for makes of it. */
static inline void wait_until(double *at_s, double end_s, double movable_s, struct ring_parts *parts)
{
    double to_s = model_later(end_s, *at_s);
    double split_s = model_later(movable_s < end_s ? movable_s : end_s, *at_s);

    parts->wait_s += split_s - *at_s;
    parts->transfer_s += to_s - split_s;
    *at_s = to_s;
}

/* The waits of one rank's step, in the order in which the engine waits: for up to two messages (NULL: there
 * is none) that come, for its own computing, and for those that it sends. What computing covers is no wait,
 * so all begin when it has computed. */
static inline struct ring_parts wait_all(const struct sweep *sweep, const struct sweep_messages *first,
                                         const struct sweep_messages *second, uint32_t rank, double begin_s)
{
    double at_s = begin_s + sweep->compute_s[rank];
    struct ring_parts parts = {.begin_s = begin_s, .compute_s = at_s - begin_s};

    if (first)
        wait_until(&at_s, first->arrived_s[rank], first->movable_s[rank], &parts);
    if (second)
        wait_until(&at_s, second->arrived_s[rank], second->movable_s[rank], &parts);
    if (first)
        wait_until(&at_s, first->moved_s[rank + 1], first->movable_s[rank + 1], &parts);
    if (second)
        wait_until(&at_s, second->moved_s[rank + 1], second->movable_s[rank + 1], &parts);
    parts.end_s = at_s;
    return parts;
}

static inline void add_to_totals(double *compute_s, double *transfer_s, double *wait_s,
                                 const struct ring_parts *parts)
{
    *compute_s += parts->compute_s;
    *transfer_s += parts->transfer_s;
    *wait_s += parts->wait_s;
}

/* The end of a step where nothing is faulty and nobody wants its parts: the loop that takes the time. */
static inline void end_plain(struct sweep *sweep, const struct sweep_messages *first,
                             const struct sweep_messages *second, const double *restrict begin_s,
                             double *restrict end_s)
{
    const double *restrict add_s = sweep->add_s;
    double *restrict compute_s = sweep->total_compute_s;
    double *restrict transfer_s = sweep->total_transfer_s;
    double *restrict wait_s = sweep->total_wait_s;

    for (uint32_t rank = 0; rank < sweep->sides.n_ranks; rank++) {
        struct ring_parts parts = wait_all(sweep, first, second, rank, begin_s[rank]);
        parts.compute_s += add_s[rank];
        end_s[rank] = parts.end_s + add_s[rank];
        add_to_totals(&compute_s[rank], &transfer_s[rank], &wait_s[rank], &parts);
    }
}

static void end_any(struct model_play *play, struct sweep *sweep, const struct sweep_messages *first,
                    const struct sweep_messages *second, const double *begin_s, double *end_s)
{
    for (uint32_t rank = 0; rank < sweep->sides.n_ranks; rank++) {
        struct ring_parts parts = wait_all(sweep, first, second, rank, begin_s[rank]);
        double add_s = model_fault_compute_s(sweep->ring, rank, sweep->step, parts.end_s, sweep->add_s[rank]);
        parts.compute_s += add_s;
        end_s[rank] = parts.end_s = parts.end_s + add_s;
        add_to_totals(&sweep->total_compute_s[rank], &sweep->total_transfer_s[rank],
                      &sweep->total_wait_s[rank], &parts);
        if (play->steps)
            play->steps[(size_t)rank * play->ring->plan->n_steps + sweep->step] = parts;
    }
}

static void end_step(struct model_play *play, struct sweep *sweep, const struct model_pattern *pattern,
                     const double *begin_s, double *end_s)
{
    const struct sweep_messages *kv = &sweep->kv, *gradient = &sweep->gradient;
    bool both = pattern->moves_kv && pattern->moves_gradient;
    bool plain = !play->steps && !play->ring->faulty;

    if (plain && both)
        end_plain(sweep, kv, gradient, begin_s, end_s);
    else if (plain && pattern->moves_kv)
        end_plain(sweep, kv, NULL, begin_s, end_s);
    else
        end_any(play, sweep,
                pattern->moves_kv         ? kv
                : pattern->moves_gradient ? gradient
                                          : NULL,
                both ? gradient : NULL, begin_s, end_s);
    end_s[sweep->sides.n_ranks] = end_s[0];
}

/* When the ranks began that step, one of the last n_buffers or the next. */
static double *begins_of(const struct sweep *sweep, uint32_t step)
{
    return sweep->begins_s +
           (size_t)(step % sweep->ring->plan->n_buffers) * ((size_t)sweep->sides.n_ranks + 1);
}

static void sweep_step(struct model_play *play, struct sweep *sweep, uint32_t step)
{
    const struct model_pattern *pattern = &sweep->patterns[step];
    const double *begin_s = begins_of(sweep, step);
    bool moves = pattern->moves_kv || pattern->moves_gradient;

    sweep->step = step;
    model_sides_price(&sweep->sides, pattern, sweep->compute_s, sweep->add_s);
    for (uint32_t rank = 0; rank < sweep->sides.n_ranks && sweep->ring->faulty; rank++)
        sweep->compute_s[rank] =
            model_fault_compute_s(sweep->ring, rank, step, begin_s[rank], sweep->compute_s[rank]);
    if (moves)
        model_sweep_move(sweep, pattern, begin_s, begins_of(sweep, step - pattern->lag));
    if (moves && play->until_s)
        model_sweep_count_moving(play, sweep, pattern);
    end_step(play, sweep, pattern, begin_s, begins_of(sweep, step + 1));
}

/* Something died, and the ring with it. */
static bool never_ends(const struct model_play *play)
{
    for (uint32_t rank = 0; play->ring->faulty && rank < play->ring->plan->n_ranks; rank++)
        if (isinf(play->ends_s[rank]))
            return true;
    return false;
}

static void sweep_all(struct model_play *play, struct sweep *sweep)
{
    uint32_t n_steps = play->ring->plan->n_steps;

    price_hops(sweep);
    for (uint32_t s = 0; s < n_steps; s++)
        sweep_step(play, sweep, s);
    for (uint32_t rank = 0; rank < sweep->sides.n_ranks; rank++) {
        play->ends_s[rank] = begins_of(sweep, n_steps)[rank];
        play->totals[rank].compute_s = sweep->total_compute_s[rank];
        play->totals[rank].transfer_s = sweep->total_transfer_s[rank];
        play->totals[rank].wait_s = sweep->total_wait_s[rank];
    }
}

enum ring_status model_play_regular(struct model_play *play, struct ring_error *error)
{
    const struct ring_plan *plan = play->ring->plan;
    struct sweep sweep = {.ring = play->ring};

    if (!plan->kind->block || !is_circle(play->ring))
        return RING_UNSUPPORTED;
    sweep.patterns = calloc(plan->n_steps, sizeof *sweep.patterns);
    if (!sweep.patterns)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for %" PRIu32 " steps", plan->n_steps);
    enum ring_status status = model_patterns_read(plan, sweep.patterns) ? RING_OK : RING_UNSUPPORTED;
    if (status == RING_OK)
        status = model_sides_init(&sweep.sides, &play->prices, error);
    if (status == RING_OK)
        status = allocate(&sweep, play->ring, error);
    if (status == RING_OK) {
        sweep_all(play, &sweep);
        if (never_ends(play)) /* the other way knows who waits for whom */
            status = RING_UNSUPPORTED;
    }
    release(&sweep);
    return status;
}
