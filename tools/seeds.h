/* SPDX-License-Identifier: MIT
 *
 * One question, many seeds of its faults: how much of a step's time is luck. */
#ifndef TOOL_SEEDS_H
#define TOOL_SEEDS_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "engine/status.h"

struct tool_result;
struct tool_setup;

/* Of so many step times: the middle one (of two the mean), the least that 95 % do not exceed, the longest. */
struct tool_seeds {
    uint32_t n; /* 0: not asked for */
    double median_s, p95_s, worst_s;
};

/* Plays the scenario with fault_seed, fault_seed + 1 ... and fills result->seeds. world as in simulate.h. */
enum ring_status tool_seeds_find(struct tool_result *result, const struct tool_setup *setup,
                                 const char *world, uint32_t n_seeds, struct ring_error *error);

/* A line of the report; nothing if nobody asked. */
void tool_seeds_print(const struct tool_seeds *seeds, FILE *file);
json_t *tool_seeds_json(const struct tool_seeds *seeds);

#endif
