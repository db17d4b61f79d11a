/* SPDX-License-Identifier: MIT
 *
 * Simulation without a simulator. Where no link and no device is shared, a message never slows another, and the
 * times of a ring are a max-plus recurrence over ranks and steps:
 *
 *   moved(r, s)  = max(the sender's post, the receiver's post, and for a lazy hop the end of its computing) + B / W
 *   begin(r, s+1) = max(computed(r, s), moved(r, s) + L for what r receives, moved(target, s) for what r sends)
 *
 * It plays exactly the waits of struct ring_plan_step, any plan, thousands of times faster than sim/, and refuses
 * where it would be wrong. */
#ifndef MODEL_RECURRENCE_H
#define MODEL_RECURRENCE_H

#include "engine/parts.h"
#include "models/ring.h"

/* ends_s [n_ranks]: when each rank finished; totals [n_ranks]: each rank's four parts over the whole run (begin 0,
 * end ends_s); steps, if not NULL, [n_ranks][n_steps]. All the caller's. Every rank starts at 0.
 * RING_UNSUPPORTED if ring->shared, with what is shared; RING_DEADLOCK; RING_NO_MEMORY. */
enum ring_status model_recurrence(const struct model_ring *ring, double *ends_s, struct ring_parts *totals,
                                  struct ring_parts *steps, struct ring_error *error);

#endif
