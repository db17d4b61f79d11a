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
};

enum ring_status model_play_dataflow(struct model_play *play, struct ring_error *error);

/* RING_UNSUPPORTED, without a line, if this plan's steps are not of the pattern that a sweep can follow. */
enum ring_status model_play_regular(struct model_play *play, struct ring_error *error);

/* Adds what a wait from begin_s to end_s on a message was: nothing while the device computed (until
 * computed_s), then wait until the message could move at movable_s, then transfer. */
static inline void model_account_wait(double begin_s, double end_s, double movable_s, double computed_s,
                                      double *wait_s, double *transfer_s)
{
    double from_s = begin_s > computed_s ? begin_s : computed_s;
    double to_s = end_s > from_s ? end_s : from_s;
    double split_s = movable_s > from_s ? movable_s : from_s;

    split_s = split_s < to_s ? split_s : to_s;
    *wait_s += split_s - from_s;
    *transfer_s += to_s - split_s;
}

#endif
