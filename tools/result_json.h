/* SPDX-License-Identifier: MIT
 *
 * What the files that speak JSON share: the name of the format, a number that JSON may not have, how writing
 * ends. */
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

/* What becomes of a document that was written to stream: RING_OK if good, or if the stream failed, for who
 * closes it knows its name and says why (tool_file_commit; main, for standard output). Else RING_NO_MEMORY.
 */
enum ring_status tool_json_done(bool good, FILE *stream, const char *what, struct ring_error *error);

/* A value as text that lives as long as the result; NULL for NULL, or without memory. */
const char *tool_json_keep(struct tool_result *result, const json_t *value);

#endif
