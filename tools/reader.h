/* SPDX-License-Identifier: MIT
 *
 * Reads the members of a JSON document that somebody else may have written: each is there and of its kind, or
 * the document is bad and the first reason is kept. Knows nothing of what the members mean. */
#ifndef TOOL_READER_H
#define TOOL_READER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "tools/result.h"

/* The first failure sticks: after it every call returns something harmless. */
struct tool_reader {
    struct tool_result *result;
    const char *path;
    struct ring_error *error;
    enum ring_status status;
};

void tool_reader_complain(struct tool_reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The member of an object; NULL where it is missing, with a complaint if it is needed. */
const json_t *tool_reader_member(struct tool_reader *reader, const json_t *object, const char *key,
                                 bool needed);

/* A number; NaN for null. */
double tool_reader_number(struct tool_reader *reader, const json_t *object, const char *key);

/* A figure that time and size are made of: there, and not negative. */
double tool_reader_amount(struct tool_reader *reader, const json_t *object, const char *key);

/* A whole number from 0 to limit. */
uint64_t tool_reader_count(struct tool_reader *reader, const json_t *object, const char *key, uint64_t limit);

/* A text, kept by the result; NULL where it is missing or null, with a complaint if it is needed. */
const char *tool_reader_text(struct tool_reader *reader, const json_t *object, const char *key, bool needed);

/* Index of a word in one of the engine's lists of n names. */
int tool_reader_word(struct tool_reader *reader, const json_t *object, const char *key,
                     const char *const *names, int n);

/* A time with its unit. */
double tool_reader_seconds(struct tool_reader *reader, const json_t *object, const char *key);

#endif
