/* SPDX-License-Identifier: MIT
 *
 * A reader's life, its memory, and the one line of its first failure. What a value may be is in values.c. */
#include "config/reader.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

enum ring_status config_reader_open(struct config_reader *reader, struct ring_error *error)
{
    *reader = (struct config_reader){.status = RING_OK, .error = error};
    reader->keep = config_pool_open();
    reader->scratch = config_pool_open();
    reader->devices.pool = reader->scratch;
    if (!reader->keep || !reader->scratch)
        config_fail_memory(reader);
    return reader->status;
}

void config_reader_close(struct config_reader *reader)
{
    config_pool_close(reader->scratch);
    config_pool_close(reader->keep);
    *reader = (struct config_reader){.status = reader->status};
}

void config_make_printable(char *text)
{
    size_t n = strlen(text);

    for (unsigned char *c = (unsigned char *)text; *c; c++) {
        if (*c < ' ' || *c == 0x7f) {
            *c = ' ';
        } else if (c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0) {
            c[0] = c[1] = ' ';
        } else if (c[0] == 0xe2 && c[1] == 0x80 && (c[2] == 0xa8 || c[2] == 0xa9)) {
            c[0] = c[1] = c[2] = ' ';
        }
    }
    size_t tail = 0;
    while (tail < n && tail < 3 && ((unsigned char)text[n - 1 - tail] & 0xc0) == 0x80)
        tail++;
    unsigned char lead = tail < n ? (unsigned char)text[n - 1 - tail] : 0;
    size_t wanted = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : 0;
    if (wanted > tail)
        text[n - 1 - tail] = 0;
}

/* "FILE:LINE:COLUMN" or "--set KEY"; how long that is. */
static int write_place(const struct config_mark *mark, char *out, size_t size)
{
    if (mark->source->is_file)
        return snprintf(out, size, "%s:%" PRIu32 ":%" PRIu32, mark->source->name, mark->line, mark->column);
    return snprintf(out, size, "%s", mark->source->name);
}

static void fail(struct config_reader *reader, enum ring_status status, const struct config_mark *mark,
                 const char *format, va_list arguments)
{
    struct ring_error line = {""};
    int n = 0;

    if (!config_ok(reader))
        return;
    reader->status = status;
    if (mark)
        n = write_place(mark, line.text, sizeof line.text - sizeof ": ");
    size_t at = n < 0 ? 0 : strlen(line.text);
    const char *between = mark ? ": " : "";
    at += (size_t)snprintf(line.text + at, sizeof line.text - at, "%s", between);
    vsnprintf(line.text + at, sizeof line.text - at, format, arguments);
    config_make_printable(line.text);
    if (reader->error)
        *reader->error = line;
}

void config_fail(struct config_reader *reader, const struct config_mark *mark, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fail(reader, RING_BAD_INPUT, mark, format, arguments);
    va_end(arguments);
}

void config_fail_as(struct config_reader *reader, enum ring_status status, const struct config_mark *mark,
                    const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fail(reader, status, mark, format, arguments);
    va_end(arguments);
}

const char *config_place_text(struct config_reader *reader, const struct config_mark *mark)
{
    char text[sizeof((struct ring_error *)0)->text];

    write_place(mark, text, sizeof text);
    config_make_printable(text);
    return config_keep_text(reader, text);
}

void config_fail_memory(struct config_reader *reader)
{
    config_fail_as(reader, RING_NO_MEMORY, NULL, "out of memory");
}

static void *allocate(struct config_reader *reader, struct config_pool *pool, size_t n, size_t size)
{
    void *memory = config_ok(reader) ? config_pool_alloc(pool, n, size) : NULL;

    if (!memory)
        config_fail_memory(reader);
    return memory;
}

void *config_keep(struct config_reader *reader, size_t n, size_t size)
{
    return allocate(reader, reader->keep, n, size);
}

void *config_scratch(struct config_reader *reader, size_t n, size_t size)
{
    return allocate(reader, reader->scratch, n, size);
}

void *config_grown(struct config_reader *reader, void *array, size_t n, size_t *room, size_t size)
{
    if (n < *room)
        return array;
    size_t larger = *room ? 2 * *room : 64;
    void *moved = config_scratch(reader, larger, size);
    if (!moved)
        return NULL;
    if (n > 0)
        memcpy(moved, array, n * size);
    *room = larger;
    return moved;
}

const char *config_keep_text(struct config_reader *reader, const char *text)
{
    char *copy = config_ok(reader) && text ? config_pool_text(reader->keep, text, strlen(text)) : NULL;

    if (text && !copy)
        config_fail_memory(reader);
    return copy;
}

const char *config_text(struct config_reader *reader, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    size_t size = length < 0 ? 1 : (size_t)length + 1;
    char *text = config_scratch(reader, size, 1);
    if (!text)
        return "";
    va_start(arguments, format);
    vsnprintf(text, size, format, arguments);
    va_end(arguments);
    return text;
}

const char *config_found(struct config_reader *reader, const struct config_node *node)
{
    enum { SHOWN = 60 };

    if (node->kind != CONFIG_SCALAR)
        return node->kind == CONFIG_LIST ? "a list" : "a map";
    if (node->plain && !node->text[0])
        return "nothing";
    size_t length = strlen(node->text);
    size_t shown = length <= SHOWN ? length : SHOWN;
    while (shown > 0 && shown < length && ((unsigned char)node->text[shown] & 0xc0) == 0x80)
        shown--; /* not in the middle of a character */
    return config_text(reader, "'%.*s%s'", (int)shown, node->text, shown < length ? "..." : "");
}

const char *config_did_you_mean(struct config_reader *reader, const char *nearest)
{
    return nearest ? config_text(reader, "; did you mean '%s'?", nearest) : "";
}
