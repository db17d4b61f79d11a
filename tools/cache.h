/* SPDX-License-Identifier: MIT
 *
 * `cluster: this-machine`: the calibrated files in the user's cache folder, made when a scenario asks for
 * them and they are missing, old, or another machine's. */
#ifndef TOOL_CACHE_H
#define TOOL_CACHE_H

#include "config/config.h"
#include "tools/options.h"

/* config_scenario_load, but for a scenario on this machine, calibrates first where the files are missing,
 * damaged or old, and says so on standard error; with options->show, nothing is run and what is there is
 * taken. */
enum ring_status tool_cache_load(const char *path, const struct config_overrides *overrides,
                                 const struct tool_options *options, struct config_scenario **out,
                                 struct ring_error *error);

/* Measures this machine with a rank on each processor and writes the files. */
enum ring_status tool_cache_calibrate(const struct tool_options *options, struct ring_error *error);

/* Whether what was recorded beside this machine's calibration (load, how much of its core a rank had,
 * spreads) says that the figures are not worth much, and why in a sentence. modelled: times of blocks count
 * as well. */
bool tool_cache_noise(bool modelled, char *out, size_t size);

/* Adds a note of that where the scenario is on this machine. */
struct tool_result;
struct tool_setup;
void tool_cache_doubt(struct tool_result *result, const struct tool_setup *setup);

#endif
