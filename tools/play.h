/* SPDX-License-Identifier: MIT
 *
 * Plays a priced ring in one of the simulated worlds for its times or its trace alone: what a question of
 * "and what if" needs, again and again. A whole result is simulate.h's. */
#ifndef TOOL_PLAY_H
#define TOOL_PLAY_H

#include "engine/parts.h"
#include "models/ring.h"
#include "sim/sim.h"

/* time_s: when the last rank ends. steps: [n_ranks][n_steps], or NULL. */
enum ring_status tool_play(const struct model_ring *ring, bool simgrid, double *time_s,
                           struct ring_parts *steps, struct ring_error *error);

/* sim_run, with the rows of all ranks in one trace, in each rank's own order. all is initialised here and the
 * caller's to finish, whatever comes back. */
enum ring_status tool_play_traced(const struct sim_spec *spec, double *ends_s, struct ring_trace *all,
                                  struct ring_error *error);

#endif
