/* SPDX-License-Identifier: MIT
 *
 * Proves a plan without running it: every visible (query, key) pair is computed exactly once and by the
 * query's owner, the shards partition the sequence, every send meets a receive of the same tag, block and
 * size in order, no slot is read before it holds its block or overwritten while in use, and the ranks never
 * wait in a circle (messages taken as rendezvous, the strictest reading). */
#ifndef RING_CHECK_H
#define RING_CHECK_H

#include "engine/plan.h"

/* RING_OK; RING_DEADLOCK with who waits for whom at which hop; RING_BAD_INPUT for any other fault, with rank,
 * step and what is wrong; RING_NO_MEMORY. Memory is O(ranks * (slots + ranks)), time O(ranks * steps). */
enum ring_status ring_plan_check(const struct ring_plan *plan, struct ring_error *error);

#endif
