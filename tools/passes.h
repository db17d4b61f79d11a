/* SPDX-License-Identifier: MIT
 *
 * Splits a step that runs forward and then backward into its two passes: the time, the computing, the exposed
 * transfer and the bytes of each. */
#ifndef TOOL_PASSES_H
#define TOOL_PASSES_H

#include "engine/trace.h"
#include "tools/result.h"

/* Which passes there are and what the plan sends in each; the times stay 0. */
void tool_passes_init(struct tool_result *result, const struct ring_plan *plan);

/* The times, from every rank's parts of every step, [n_ranks][n_steps]. */
void tool_passes_of_steps(struct tool_result *result, const struct ring_parts *steps);

/* The same from the ranks' sums in result, and those over the forward pass alone, [n_ranks]; NULL where there
 * is one pass. */
void tool_passes_of_totals(struct tool_result *result, const struct ring_parts *forward);

/* Holds what a world really sent to the plan: the bytes that the rows say each rank sent in each pass.
 * RING_WORLD with the first rank that sent another number. */
enum ring_status tool_passes_check(const struct ring_plan *plan, const struct ring_trace *rows,
                                   struct ring_error *error);

/* Time of the backward pass over that of the forward one; NaN where there is one alone. */
double tool_passes_ratio(const struct tool_result *result);

#endif
