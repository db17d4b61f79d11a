/* SPDX-License-Identifier: MIT
 *
 * Faults for readers: as a sentence, and as the list of a scenario in a result's document. */
#ifndef TOOL_FAULT_WORDS_H
#define TOOL_FAULT_WORDS_H

#include <jansson.h>
#include <stddef.h>

#include "models/fault.h"

/* "has 50 % of its bandwidth from 3.000 ms to 8.000 ms"; shortened to size. */
void tool_fault_words(const struct model_fault *fault, char *text, size_t size);

/* The list as a scenario has it, a new value; NULL without memory. */
json_t *tool_faults_json(const struct model_faults *faults);

/* A note for each fault, or the first few. */
struct tool_result;
void tool_faults_note(struct tool_result *result, const struct model_faults *faults);

/* The list as text that lives as long as the result. */
const char *tool_faults_keep(struct tool_result *result, const struct model_faults *faults);

#endif
