/* SPDX-License-Identifier: MIT
 *
 * A result as text for people: what was asked, one row a rank, the totals, the verdict. */
#ifndef TOOL_REPORT_H
#define TOOL_REPORT_H

#include "tools/result.h"

/* Prints all of it. RING_NO_MEMORY. */
enum ring_status tool_report(const struct tool_result *result, FILE *file, struct ring_error *error);

/* report_tables.c: a row a rank; and the two passes side by side, where there are two. RING_NO_MEMORY,
 * without a line. */
enum ring_status tool_report_ranks(const struct tool_result *result, FILE *file);
enum ring_status tool_report_passes(const struct tool_result *result, FILE *file);

/* The two lines under a headline: the problem and the machine. Shared with the comparison. */
void tool_report_question(const struct tool_result *result, FILE *file);

/* The result's notes, a line or more each, with a mark in front. */
void tool_report_notes(const struct tool_result *result, const char *mark, FILE *file);

/* Breaks text into lines of at most 100 columns, indented. */
void tool_report_wrapped(const char *text, int indent, FILE *file);

#endif
