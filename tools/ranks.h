/* SPDX-License-Identifier: MIT
 *
 * Starts ringlab-rank for the commands that need a real run: says what it starts, and keeps its result file
 * in a folder that goes away. */
#ifndef TOOL_RANKS_H
#define TOOL_RANKS_H

#include "tools/options.h"
#include "tools/setup.h"

/* One run of ringlab-rank. */
struct tool_ranks {
    const char *task;         /* "measure", "verify" or "calibrate" */
    const char *scenario;     /* NULL: none */
    const char *const *extra; /* more arguments, ended by NULL; NULL: none */
    uint32_t n_ranks;
    double timeout_s;
};

/* Runs it; the command goes to standard error before. out receives the path of the file that the ranks left,
 * in a folder of its own: hand it to tool_ranks_forget when it is read. Failures as tool_launch. */
enum ring_status tool_ranks_run(const struct tool_ranks *ranks, const struct tool_options *options, char *out,
                                size_t size, struct ring_error *error);
void tool_ranks_forget(char *out);

/* RING_BAD_INPUT if the scenario's ranks together need more memory than this machine has free. Nothing is
 * said of ranks that the user sends elsewhere with flags of their own, or whose blocks are to lie on devices.
 */
enum ring_status tool_ranks_fit(const struct tool_setup *setup, const struct tool_options *options,
                                struct ring_error *error);

/* Whether the user asks for devices, if there are some. */
bool tool_ranks_device(const struct tool_options *options);

/* Processors that this process may use, and what they call themselves, of characters that any file can hold.
 */
uint32_t tool_ranks_processors(void);
void tool_ranks_processor_name(char *out, size_t size);

/* Seconds after which a run of a scenario is given up: every wait in it is bounded by measure.timeout
 * already. */
double tool_ranks_timeout(const struct tool_setup *setup);

#endif
