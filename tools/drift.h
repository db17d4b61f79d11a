/* SPDX-License-Identifier: MIT
 *
 * Looks at this machine: how long a fixed block took, over what it took when the machine was calibrated. Runs
 * leave them beside the calibration, and predictions of the next minutes are stretched by them, because a
 * machine's speed wanders by several per cent and a calibration is of one minute. */
#ifndef TOOL_DRIFT_H
#define TOOL_DRIFT_H

#include <stddef.h>

#include "tools/result.h"
#include "tools/setup.h"

/* Remembers looks, oldest first, as taken now. Without effect where they cannot be kept: nobody fails for
 * want of them. Values that are no ratio of two times are left out. */
void tool_drift_note(const double *looks, size_t n);

/* The median of the latest looks of the last minutes that are younger than the calibration; 1 if there are
 * none. *n: how many they were; *age_s: of the youngest. */
double tool_drift_recent(size_t *n, double *age_s);

/* By how much a scenario's kernels are to be stretched: tool_drift_recent where its cluster is this machine
 * as calibrated and its blocks are modelled, else 1. */
double tool_drift_of(const struct config_scenario *scenario);

/* Tells the reader of a prediction that it was stretched. */
void tool_drift_say(struct tool_result *result, const struct tool_setup *setup);

#endif
