/* SPDX-License-Identifier: MIT
 *
 * Messages of one step of a sweep: when they may move, have moved and have arrived. One message on a hop that
 * is always the same is a line of arithmetic; everything else is looked at hop by hop. */
#include "models/sweep.h"

/* Into the place of the message of the sender before rank. */
static void set_times(struct sweep_messages *messages, uint32_t sender, double movable_s, double moved_s,
                      double latency_s)
{
    messages->movable_s[sender + 1] = movable_s;
    messages->moved_s[sender + 1] = moved_s;
    messages->arrived_s[sender + 1] = moved_s + latency_s;
}

/* A message that moves alone from movable_s on. */
static void move_alone(struct sweep *sweep, struct sweep_messages *messages, uint32_t rank, double movable_s,
                       double bytes)
{
    const struct model_hop *hop = &sweep->ring->hops[rank];
    double moved_s = movable_s + bytes / hop->bytes_per_s;

    if (hop->changes) {
        moved_s = model_fault_moved_s(sweep->ring, hop, movable_s, bytes);
        sweep->latency_s[rank] = model_fault_latency_s(sweep->ring, hop, moved_s);
    }
    set_times(messages, rank, movable_s, moved_s, sweep->latency_s[rank]);
}

/* One message of each rank, sent from begin_s on, whose receive the next rank posted at posted_s. */
static void move_one(struct sweep *sweep, struct sweep_messages *messages, const uint8_t *kinds,
                     const double *restrict begin_s, const double *restrict posted_s)
{
    uint32_t n = sweep->sides.n_ranks;
    const double *restrict latency_s = sweep->latency_s, *restrict alone_s = messages->alone_s;
    double *restrict movable_s = messages->movable_s + 1, *restrict moved_s = messages->moved_s + 1;
    double *restrict arrived_s = messages->arrived_s + 1;

    if (sweep->sides.n_kinds > 1) {
        model_sides_pick(&sweep->sides, messages->alone_s, kinds, sweep->picked_s);
        alone_s = sweep->picked_s;
    }
    for (uint32_t rank = 0; rank < n; rank++) {
        movable_s[rank] = model_later(begin_s[rank], posted_s[rank + 1]);
        moved_s[rank] = movable_s[rank] + alone_s[rank];
        arrived_s[rank] = moved_s[rank] + latency_s[rank];
    }
}

/* A block and a gradient of rank, sent from begin_s on; the receiver posted them at posted_s and target_s. */
static void move_both(struct sweep *sweep, uint32_t rank, double begin_s, double posted_s, double target_s,
                      const double bytes[2])
{
    const double movable_s[2] = {model_later(begin_s, posted_s), model_later(begin_s, target_s)};
    double moved_s[2];

    model_share_hop(sweep->ring->hops[rank].bytes_per_s, movable_s, bytes, moved_s);
    set_times(&sweep->kv, rank, movable_s[0], moved_s[0], sweep->latency_s[rank]);
    set_times(&sweep->gradient, rank, movable_s[1], moved_s[1], sweep->latency_s[rank]);
}

/* What rank sends over a lazy hop, whose receiver comes for one after the other from here_s on. */
static void move_when_awaited(struct sweep *sweep, const struct model_pattern *pattern, uint32_t rank,
                              double begin_s, double here_s, const double bytes[2])
{
    if (pattern->moves_kv) {
        move_alone(sweep, &sweep->kv, rank, model_later(begin_s, here_s), bytes[0]);
        here_s = model_later(here_s, sweep->kv.moved_s[rank + 1] + sweep->ring->hops[rank].latency_s);
    }
    if (pattern->moves_gradient)
        move_alone(sweep, &sweep->gradient, rank, model_later(begin_s, here_s), bytes[1]);
}

/* What rank sends, whatever its hop. */
static void move_of_rank(struct sweep *sweep, const struct model_pattern *pattern, uint32_t rank,
                         const double *begin_s, const double *posted_s, const double bytes[2])
{
    uint32_t target = rank + 1 == sweep->sides.n_ranks ? 0 : rank + 1;
    double here_s = begin_s[rank];

    if (sweep->ring->hops[rank].lazy)
        move_when_awaited(sweep, pattern, rank, here_s, begin_s[target] + sweep->compute_s[target], bytes);
    else if (pattern->moves_kv && pattern->moves_gradient)
        move_both(sweep, rank, here_s, posted_s[target], begin_s[target], bytes);
    else if (pattern->moves_kv)
        move_alone(sweep, &sweep->kv, rank, model_later(here_s, posted_s[target]), bytes[0]);
    else
        move_alone(sweep, &sweep->gradient, rank, model_later(here_s, begin_s[target]), bytes[1]);
}

static void close_circle(struct sweep_messages *messages, uint32_t n)
{
    messages->movable_s[0] = messages->movable_s[n];
    messages->moved_s[0] = messages->moved_s[n];
    messages->arrived_s[0] = messages->arrived_s[n];
}

void model_sweep_move(struct sweep *sweep, const struct model_pattern *pattern, const double *begin_s,
                      const double *posted_s)
{
    uint32_t n = sweep->sides.n_ranks;
    const uint8_t *kinds = model_sides_kinds(&sweep->sides, pattern->s);
    const uint8_t *last_kinds = pattern->s > 0 ? model_sides_kinds(&sweep->sides, pattern->s - 1) : kinds;

    if (sweep->plain && !pattern->moves_gradient)
        move_one(sweep, &sweep->kv, kinds, begin_s, posted_s);
    else if (sweep->plain && !pattern->moves_kv)
        move_one(sweep, &sweep->gradient, last_kinds, begin_s, begin_s);
    else
        for (uint32_t rank = 0; rank < n; rank++) {
            const double bytes[2] = {sweep->kv.bytes[kinds[rank]], sweep->gradient.bytes[last_kinds[rank]]};
            move_of_rank(sweep, pattern, rank, begin_s, posted_s, bytes);
        }
    close_circle(&sweep->kv, n);
    close_circle(&sweep->gradient, n);
}

static void count_one(struct model_play *play, const struct sweep_messages *messages, uint32_t n)
{
    const double *restrict movable_s = messages->movable_s + 1, *restrict arrived_s = messages->arrived_s + 1;
    double *restrict until_s = play->until_s, *restrict moving_s = play->moving_s;

    for (uint32_t rank = 0; rank < n; rank++)
        model_count_moving(&until_s[rank], &moving_s[rank], movable_s[rank], arrived_s[rank]);
}

void model_sweep_count_moving(struct model_play *play, const struct sweep *sweep,
                              const struct model_pattern *pattern)
{
    uint32_t n = sweep->sides.n_ranks;

    if (!pattern->moves_gradient || !pattern->moves_kv) {
        count_one(play, pattern->moves_kv ? &sweep->kv : &sweep->gradient, n);
        return;
    }
    for (uint32_t rank = 0; rank < n; rank++) {
        bool swapped = sweep->gradient.movable_s[rank + 1] < sweep->kv.movable_s[rank + 1];
        const struct sweep_messages *first = swapped ? &sweep->gradient : &sweep->kv;
        const struct sweep_messages *second = swapped ? &sweep->kv : &sweep->gradient;
        double *until_s = &play->until_s[rank], *moving_s = &play->moving_s[rank];
        model_count_moving(until_s, moving_s, first->movable_s[rank + 1], first->arrived_s[rank + 1]);
        model_count_moving(until_s, moving_s, second->movable_s[rank + 1], second->arrived_s[rank + 1]);
    }
}
