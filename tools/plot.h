/* SPDX-License-Identifier: MIT
 *
 * From results to a gnuplot script that draws their timeline. plot.c runs it. */
#ifndef TOOL_PLOT_H
#define TOOL_PLOT_H

#include <stdbool.h>
#include <stdio.h>

#include "tools/result.h"

enum { TOOL_PLOT_MAX_RESULTS = 4 };

struct tool_plot {
    const struct tool_result *results;
    size_t n_results;
    const char *output; /* path of the picture */
    bool svg;           /* otherwise PNG */
};

/* Each result is a panel; all have the same time axis. Ranks go down, time goes right; a step is drawn as its
 * computing, then the wait for a peer, then the transfer, then the overhead: their true lengths, in the order
 * in which they usually happen. A result without steps is drawn as the sums of each rank. */
void tool_plot_script(const struct tool_plot *plot, FILE *script);

/* Runs gnuplot on a script, from its beginning. RING_UNSUPPORTED if it is not installed; RING_WORLD with its
 * words. */
enum ring_status tool_plot_run(FILE *script, struct ring_error *error);

#endif
