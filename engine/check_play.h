/* SPDX-License-Identifier: MIT
 *
 * Private to the checker: the abstract ranks that check.c drives and check_play.c moves. */
#ifndef RING_CHECK_PLAY_H
#define RING_CHECK_PLAY_H

#include <stddef.h>

#include "engine/check.h"

#define CHECK_NOTHING UINT32_MAX

/* What a slot of a rank holds and does. A message is in flight from its post until it is waited for. */
struct slot_state {
    uint32_t block;   /* or CHECK_NOTHING */
    uint32_t n_ranks; /* a gradient: how many ranks have added to it; it counts and travels with the block */
    bool receiving, received;
    bool sending, sent;
};

/* A posted message that has not met its other end. */
struct pending {
    struct ring_message message;
    bool is_send;
};

struct rank_state {
    uint32_t step;
    bool posted;
    struct ring_plan_step now; /* the step being played, once posted */
    struct slot_state *slots;
    struct pending *pending; /* in order of posting; at most one per slot and direction */
    size_t n_pending;
    uint8_t *computed; /* [n_ranks], a bit for each job done on the block: CHECK_FORWARD, CHECK_BACKWARD */
};

enum { CHECK_FORWARD = 1, CHECK_BACKWARD = 2 };

struct check {
    const struct ring_plan *plan;
    struct rank_state *ranks;
    struct slot_state *all_slots;
    struct pending *all_pending;
    uint8_t *all_computed;
    struct ring_error *error;
};

/* One fault in one line: which rank and step, and what. Returns RING_BAD_INPUT. */
enum ring_status ring_check_fault(struct check *check, uint32_t rank, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Generates the rank's current step and posts it: RING_BAD_INPUT if it reads or overwrites what it must not.
 */
enum ring_status ring_check_post_step(struct check *check, uint32_t rank);

/* Ends the step if all it waits for has moved; *ended says whether. */
enum ring_status ring_check_end_step(struct check *check, uint32_t rank, bool *ended);

#endif
