/* SPDX-License-Identifier: MIT
 *
 * Aligned text tables: a header, rows of cells, numbers to the right and words to the left. Knows nothing of
 * what the cells mean. Cells that come from files are cleaned of control characters, so that no file can
 * drive a terminal. */
#ifndef TOOL_TABLE_H
#define TOOL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "engine/status.h"

enum { TOOL_MAX_COLUMNS = 12 };

/* Owns its text. Out of memory is remembered and reported by tool_table_print. */
struct tool_table {
    const char *headers[TOOL_MAX_COLUMNS]; /* borrowed */
    bool left[TOOL_MAX_COLUMNS];           /* words; otherwise numbers, to the right */
    size_t n_columns;
    char **cells; /* row after row */
    size_t n_cells, capacity;
    bool failed;
};

/* headers: so many names; one that starts with '<' is a column of words (the sign is not shown). */
void tool_table_init(struct tool_table *table, size_t n_columns, const char *const *headers);
void tool_table_fini(struct tool_table *table);

/* The next cell, left to right, row after row. */
void tool_table_cell(struct tool_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints with two blanks between columns and the indent given; a last row that is not full is padded.
 * RING_NO_MEMORY if a cell was lost. */
enum ring_status tool_table_print(const struct tool_table *table, int indent, FILE *file);

/* Columns that a text takes on a terminal: its UTF-8 characters. */
size_t tool_text_width(const char *text);

/* Marks text for a terminal. All are "" unless stream is a terminal and NO_COLOR is not set. */
struct tool_style {
    const char *bold, *good, *bad, *off;
};
struct tool_style tool_style_for(FILE *stream);

#endif
