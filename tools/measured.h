/* SPDX-License-Identifier: MIT
 *
 * Measures: runs a scenario under MPI and turns what the ranks leave into a result like any other. */
#ifndef TOOL_MEASURED_H
#define TOOL_MEASURED_H

#include "tools/options.h"
#include "tools/result.h"
#include "tools/setup.h"

/* result is initialised here and the caller's to finish, whatever comes back. Steps are always kept. */
enum ring_status tool_measure_run(const struct tool_setup *setup, const struct tool_options *options,
                                  struct tool_result *result, struct ring_error *error);

/* The second half: from the file that the ranks left (docs/FORMATS.md). */
enum ring_status tool_measure_read(const struct tool_setup *setup, const char *path,
                                   struct tool_result *result, struct ring_error *error);

#endif
