/* SPDX-License-Identifier: MIT
 *
 * Simulation without a simulator. Where no link and no device is shared, a message never slows another, and
 * the times are a max-plus recurrence over ranks and steps:
 *
 *   moved  = max(sender's post, receiver's post) + bytes / bandwidth
 *   end    = max(begin + compute, moved + latency of what the rank receives, moved of what it sends)
 *
 * where a lazy message moves from the receiver's wait on, not from its post, one at a time. Two messages of
 * one sender on one hop (a backward pass: a block and a gradient) share it, half the bandwidth each until the
 * shorter is through, which is max-min fair where no other hop uses its links; an addition follows the waits.
 * It plays exactly the waits of struct ring_plan_step, of any plan, thousands of times faster than sim/, and
 * refuses where it would be wrong. */
#ifndef MODEL_RECURRENCE_H
#define MODEL_RECURRENCE_H

#include "engine/parts.h"
#include "models/ring.h"

/* ends_s [n_ranks]: when each rank finished; totals [n_ranks]: each rank's four parts over the whole run
 * (begin 0, end ends_s); steps, if not NULL, [n_ranks][n_steps]. All the caller's. Every rank starts at 0.
 * RING_UNSUPPORTED if ring->shared, with what is shared, or if three messages, or two that were not posted in
 * the same step, could be on one hop at once;
 * RING_BAD_INPUT if the plan is not one (see ring_plan_check); RING_DEADLOCK; RING_NO_MEMORY. Memory is a few
 * words a rank for a plan of regular steps, and a few hundred for others. */
enum ring_status model_recurrence(const struct model_ring *ring, double *ends_s, struct ring_parts *totals,
                                  struct ring_parts *steps, struct ring_error *error);

/* The same, and *moving_s (may be NULL): how long something was on its way over a hop, latency included,
 * added up over all hops; two messages on one hop at once count once. */
enum ring_status model_recurrence_moving(const struct model_ring *ring, double *ends_s,
                                         struct ring_parts *totals, struct ring_parts *steps,
                                         double *moving_s, struct ring_error *error);

/* Whether it holds for this ring, faults and all. */
bool model_recurrence_serves(const struct model_ring *ring);

#endif
