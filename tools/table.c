/* SPDX-License-Identifier: MIT
 *
 * See table.h. Cells are kept as text and measured when printed. */
#include "tools/table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void tool_table_init(struct tool_table *table, size_t n_columns, const char *const *headers)
{
    memset(table, 0, sizeof *table);
    table->n_columns = n_columns;
    for (size_t i = 0; i < n_columns; i++) {
        table->left[i] = headers[i][0] == '<';
        table->headers[i] = headers[i] + (table->left[i] ? 1 : 0);
    }
}

void tool_table_fini(struct tool_table *table)
{
    for (size_t i = 0; i < table->n_cells; i++)
        free(table->cells[i]);
    free(table->cells);
    memset(table, 0, sizeof *table);
}

static void clean(char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            *text = '?';
}

void tool_table_cell(struct tool_table *table, const char *format, ...)
{
    va_list arguments;
    char *text = NULL;
    if (table->n_cells == table->capacity) {
        size_t capacity = table->capacity == 0 ? 64 : 2 * table->capacity;
        char **cells = realloc(table->cells, capacity * sizeof *cells);
        if (cells == NULL) {
            table->failed = true;
            return;
        }
        table->cells = cells;
        table->capacity = capacity;
    }
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0) {
        table->failed = true;
        return;
    }
    clean(text);
    table->cells[table->n_cells++] = text;
}

size_t tool_text_width(const char *text)
{
    size_t width = 0;
    for (; *text != '\0'; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static const char *cell_at(const struct tool_table *table, size_t row, size_t column)
{
    size_t index = row * table->n_columns + column;
    return index < table->n_cells ? table->cells[index] : "";
}

static void print_cell(const struct tool_table *table, const char *text, size_t column, size_t width,
                       FILE *file)
{
    int padding = (int)(width - tool_text_width(text));
    bool last = column + 1 == table->n_columns, nothing = last && text[0] == '\0';
    if (column > 0 && !nothing)
        fputs("  ", file);
    if (nothing) /* no blanks at the end of a line */
        ;
    else if (!table->left[column])
        fprintf(file, "%*s%s", padding, "", text);
    else if (last)
        fputs(text, file);
    else
        fprintf(file, "%s%*s", text, padding, "");
    if (last)
        fputc('\n', file);
}

enum ring_status tool_table_print(const struct tool_table *table, int indent, FILE *file)
{
    struct tool_style style = tool_style_for(file);
    size_t widths[TOOL_MAX_COLUMNS] = {0};
    size_t n_rows = (table->n_cells + table->n_columns - 1) / table->n_columns;
    if (table->failed)
        return RING_NO_MEMORY;
    for (size_t column = 0; column < table->n_columns; column++) {
        widths[column] = tool_text_width(table->headers[column]);
        for (size_t row = 0; row < n_rows; row++) {
            size_t width = tool_text_width(cell_at(table, row, column));
            if (width > widths[column])
                widths[column] = width;
        }
    }
    fprintf(file, "%*s%s", indent, "", style.bold);
    for (size_t column = 0; column < table->n_columns; column++)
        print_cell(table, table->headers[column], column, widths[column], file);
    fputs(style.off, file);
    for (size_t row = 0; row < n_rows; row++) {
        fprintf(file, "%*s", indent, "");
        for (size_t column = 0; column < table->n_columns; column++)
            print_cell(table, cell_at(table, row, column), column, widths[column], file);
    }
    return RING_OK;
}

struct tool_style tool_style_for(FILE *stream)
{
    const struct tool_style plain = {"", "", "", ""};
    const struct tool_style coloured = {"\033[1m", "\033[32m", "\033[31m", "\033[0m"};
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    if (no_color != NULL && no_color[0] != '\0')
        return plain;
    if (term == NULL || strcmp(term, "dumb") == 0 || fileno(stream) < 0 || !isatty(fileno(stream)))
        return plain;
    return coloured;
}
