/* SPDX-License-Identifier: MIT
 *
 * What a rank's device must hold, item by item, as a table and as JSON; and what there is to say of a step
 * that no device holds, which is neither simulated nor started. */
#ifndef TOOL_MEMORY_H
#define TOOL_MEMORY_H

#include <jansson.h>

#include "tools/reader.h"
#include "tools/result.h"
#include "tools/setup.h"

/* The items of the fullest device's rank, their sum, and what the device has. */
enum ring_status tool_memory_print(const struct tool_result *result, FILE *file, struct ring_error *error);

/* "fits", "rank", "needed_bytes", "capacity_bytes", "largest_tokens", "smallest_ranks" and "items". */
json_t *tool_memory_json(const struct model_fit *fit);
void tool_memory_read(struct tool_reader *reader, const json_t *object, struct model_fit *fit);

/* The largest sequence for so many ranks, and the fewest ranks for such a sequence, in a sentence. */
void tool_memory_advice(const struct model_fit *fit, const struct ring_plan_spec *plan, char *text,
                        size_t size);

/* The answer where it does not fit: the question, each rank's work and memory, and the verdict. No times. */
enum ring_status tool_memory_unfit(const struct tool_setup *setup, const char *world,
                                   struct tool_result *result, struct ring_error *error);

/* RING_BAD_INPUT, with what would fit, if the plan does not: for commands that are about to run it. */
enum ring_status tool_memory_refuse(const struct tool_setup *setup, struct ring_error *error);

#endif
