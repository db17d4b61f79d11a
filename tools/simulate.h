/* SPDX-License-Identifier: MIT
 *
 * Predicts: plays a priced ring in one of the two simulated worlds and fills a result. */
#ifndef TOOL_SIMULATE_H
#define TOOL_SIMULATE_H

#include "tools/result.h"
#include "tools/setup.h"

/* Steps of up to so many ranks are kept in any case. */
enum { TOOL_STEPS_RANKS = 64 };

/* world: "recurrence", "simgrid", or "auto": the recurrence where nothing is shared. result is initialised
 * here and the caller's to finish, whatever comes back. */
enum ring_status tool_simulate(const struct tool_setup *setup, const char *world, bool with_steps,
                               struct tool_result *result, struct ring_error *error);

/* Fills what is known before anything runs: the question, each rank's device, work, bytes and memory, the
 * links, the bound. result has its ranks already. */
enum ring_status tool_describe(struct tool_result *result, const struct tool_setup *setup,
                               struct ring_error *error);

/* Each rank's parts over its steps, [n_ranks][n_steps], added up into result->ranks; time_s from their ends.
 */
void tool_add_up(struct tool_result *result, const struct ring_parts *steps);

#endif
