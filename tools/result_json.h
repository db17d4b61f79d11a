/* SPDX-License-Identifier: MIT
 *
 * What the files that speak JSON share: the name of the format, and a number that JSON may not have. */
#ifndef TOOL_RESULT_JSON_H
#define TOOL_RESULT_JSON_H

#include <jansson.h>

#include "tools/result.h"

#define TOOL_RESULT_SCHEMA   "ringlab-result-1"
#define TOOL_COMPARE_SCHEMA  "ringlab-compare-1"
#define TOOL_VERIFY_SCHEMA   "ringlab-verify-1"
#define TOOL_VALIDATE_SCHEMA "ringlab-validate-1"

/* null where the value is not finite. */
json_t *tool_json_number(double value);

/* A value as text that lives as long as the result; NULL for NULL, or without memory. */
const char *tool_json_keep(struct tool_result *result, const json_t *value);

#endif
