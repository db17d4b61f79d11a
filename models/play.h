/* SPDX-License-Identifier: MIT
 *
 * The two ways to play the recurrence, which give the same times to the last bit: regular.c sweeps all ranks
 * step by step, for schedules whose ranks all do the same; dataflow.c follows each rank as far as it can go,
 * for any schedule. Internal to models/ and its tests. */
#ifndef MODEL_PLAY_H
#define MODEL_PLAY_H

#include "engine/parts.h"
#include "models/price.h"

struct model_play {
    const struct model_ring *ring;
    struct model_prices prices;
    double *ends_s;            /* as in recurrence.h, all borrowed */
    struct ring_parts *totals; /* zeroed */
    struct ring_parts *steps;  /* may be NULL */
    double *until_s;           /* [n_hops] up to when the hop's time is in moving_s; NULL: nobody asks */
    double *moving_s;          /* [n_hops] how long something moved */
};

enum ring_status model_play_dataflow(struct model_play *play, struct ring_error *error);

/* RING_UNSUPPORTED, without a line, if this plan's steps are not of the pattern that a sweep can follow. */
enum ring_status model_play_regular(struct model_play *play, struct ring_error *error);

/* Something was on its way over a hop, whose own of the play's these are; no moment counts twice. A hop's
 * messages come in the order in which they begin. */
static inline void model_count_moving(double *until_s, double *moving_s, double begin_s, double end_s)
{
    double from_s = begin_s > *until_s ? begin_s : *until_s;
    double to_s = end_s > from_s ? end_s : from_s;

    *moving_s += to_s - from_s;
    *until_s = to_s;
}

/* Two messages on one hop that nothing else uses: alone a message has all of the bandwidth, together each has
 * half (the fair share), until the shorter one is through. moved_s: when each has moved. Since when they may:
 * movable_s. */
static inline void model_share_hop(double bytes_per_s, const double movable_s[2], const double bytes[2],
                                   double moved_s[2])
{
    int first = movable_s[1] < movable_s[0], second = !first;
    double alone_s = movable_s[first] + bytes[first] / bytes_per_s;

    if (alone_s <= movable_s[second]) {
        moved_s[first] = alone_s;
        moved_s[second] = movable_s[second] + bytes[second] / bytes_per_s;
        return;
    }
    double left = bytes[first] - (movable_s[second] - movable_s[first]) * bytes_per_s;
    double shorter = left < bytes[second] ? left : bytes[second];
    double shorter_s = movable_s[second] + 2 * shorter / bytes_per_s;
    double longer_s = movable_s[second] + (left + bytes[second]) / bytes_per_s;
    moved_s[first] = left <= bytes[second] ? shorter_s : longer_s;
    moved_s[second] = left < bytes[second] ? longer_s : shorter_s;
}

/* Adds what a wait from begin_s to end_s on a message was: nothing while the device computed (until
 * computed_s), then wait until the message could move at movable_s, then transfer. */
static inline void model_account_wait(double begin_s, double end_s, double movable_s, double computed_s,
                                      double *wait_s, double *transfer_s)
{
    double from_s = begin_s > computed_s ? begin_s : computed_s;
    double to_s = end_s > from_s ? end_s : from_s;
    double split_s = movable_s < end_s ? movable_s : end_s;

    split_s = split_s > from_s ? split_s : from_s;
    *wait_s += split_s - from_s;
    *transfer_s += to_s - split_s;
}

/* A wait from *now_s on, which it takes to its end. */
static inline void model_wait_for(double *now_s, double end_s, double movable_s, double computed_s,
                                  struct ring_parts *parts)
{
    model_account_wait(*now_s, end_s, movable_s, computed_s, &parts->wait_s, &parts->transfer_s);
    *now_s = end_s > *now_s ? end_s : *now_s;
}

#endif
