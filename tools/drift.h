/* SPDX-License-Identifier: MIT
 *
 * How fast this machine is now, over what its calibration found: a shared machine's speed wanders by
 * several per cent, and a calibration is of one minute. Every real run leaves what it saw beside the
 * calibration, and predictions of the next minutes are stretched by it. Two kinds of things are seen:
 * looks, a fixed block's time over its calibrated time; and runs, how long all blocks of a run took over
 * what was predicted for them as calibrated. A run says more, but only of runs of its own kind. */
#ifndef TOOL_DRIFT_H
#define TOOL_DRIFT_H

#include <stddef.h>

#include "tools/result.h"
#include "tools/setup.h"

/* What a ratio is of: looks of any run, or the blocks of runs of one pass, type and head_dim, whose ranks
 * take turns on cores or do not. */
struct tool_drift_kind {
    char name[48];     /* "look", "backward-bf16-64", "forward-fp32-128-in-turns" */
    uint64_t scenario; /* of which runs: another number for another plan; 0: looks are of none */
};
struct tool_drift_kind tool_drift_look(void);
struct tool_drift_kind tool_drift_runs(const struct ring_plan_spec *plan);

/* Remembers ratios, oldest first, as of now. Without effect where they cannot be kept: nobody fails for want
 * of them. Values that are no ratio of two times are left out. */
void tool_drift_note(struct tool_drift_kind kind, const double *ratios, size_t n);

/* What is to be remembered of a run that has been predicted. Of ranks that take turns the whole step
 * counts. */
void tool_drift_note_run(const struct ring_plan_spec *plan, const struct tool_result *predicted,
                         const struct tool_result *measured);

/* The median of the latest of a kind in the last minutes, younger than the calibration; 1 if there are
 * none. Runs of the kind's own scenario do not count: what was measured is not predicted. *n: how many
 * they were; *age_s: of the youngest. */
double tool_drift_recent(struct tool_drift_kind kind, size_t *n, double *age_s);

/* By how much a scenario's kernels are to be stretched: by recent runs of its kind, else by recent looks,
 * where its cluster is this machine as calibrated and its blocks are modelled; else 1. */
double tool_drift_of(const struct config_scenario *scenario);

/* Tells the reader of a prediction that it was stretched. */
void tool_drift_say(struct tool_result *result, const struct tool_setup *setup);

#endif
