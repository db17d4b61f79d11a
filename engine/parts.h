/* SPDX-License-Identifier: MIT
 *
 * Where the time of every step went. A step of a rank lasts from the end of its previous step to the end of
 * its last wait, and is split, without gap or overlap, into:
 *
 *   compute   the device worked on the block
 *   transfer  it did not, and a message it waited for was moving
 *   wait      it did not, and the message it waited for could not move yet because the peer had not come
 *   overhead  the rest: posting, launching, polling
 *
 * A message can move once both ends have posted it, so the rows of both ends are needed: all ranks' rows
 * together, on one clock. */
#ifndef RING_PARTS_H
#define RING_PARTS_H

#include "engine/plan.h"
#include "engine/trace.h"

struct ring_parts {
    double begin_s, end_s;
    double compute_s, transfer_s, wait_s, overhead_s; /* sum to end_s - begin_s */
};

/* rows: of all ranks, in each rank's own order. parts is [n_ranks][n_steps], row-major, the caller's.
 * begin_s is subtracted nowhere: times stay on the rows' clock; first_s gives each rank's start.
 * RING_BAD_INPUT if the rows are not a whole run of n_ranks ranks and n_steps steps. */
enum ring_status ring_parts_from_trace(const struct ring_trace *rows, uint32_t n_ranks, uint32_t n_steps,
                                       double first_s, struct ring_parts *parts, struct ring_error *error);

#endif
