/* SPDX-License-Identifier: MIT
 *
 * Plays a priced ring in one of the simulated worlds for its times alone: what a question of "and what if"
 * needs, again and again. A whole result is simulate.h's. */
#ifndef TOOL_PLAY_H
#define TOOL_PLAY_H

#include "engine/parts.h"
#include "models/ring.h"

/* time_s: when the last rank ends. steps: [n_ranks][n_steps], or NULL. */
enum ring_status tool_play(const struct model_ring *ring, bool simgrid, double *time_s,
                           struct ring_parts *steps, struct ring_error *error);

#endif
