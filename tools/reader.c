/* SPDX-License-Identifier: MIT
 *
 * See reader.h. */
#include "tools/reader.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

void tool_reader_complain(struct tool_reader *reader, const char *format, ...)
{
    char text[512];
    va_list arguments;
    if (reader->status != RING_OK)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    reader->status = ring_fail(reader->error, RING_BAD_INPUT, "%s: %s", reader->path, text);
}

const json_t *tool_reader_member(struct tool_reader *reader, const json_t *object, const char *key,
                                 bool needed)
{
    const json_t *value = json_object_get(object, key);
    if (value == NULL && needed)
        tool_reader_complain(reader, "has no \"%s\"", key);
    return value;
}

double tool_reader_number(struct tool_reader *reader, const json_t *object, const char *key)
{
    const json_t *value = tool_reader_member(reader, object, key, true);
    if (value == NULL || json_is_null(value))
        return (double)NAN;
    if (!json_is_number(value))
        tool_reader_complain(reader, "\"%s\" is not a number", key);
    return json_number_value(value);
}

double tool_reader_amount(struct tool_reader *reader, const json_t *object, const char *key)
{
    double value = tool_reader_number(reader, object, key);
    if (!(value >= 0)) {
        tool_reader_complain(reader, "\"%s\" is not a number of 0 or more", key);
        return 0;
    }
    return value;
}

uint64_t tool_reader_count(struct tool_reader *reader, const json_t *object, const char *key, uint64_t limit)
{
    const json_t *value = tool_reader_member(reader, object, key, true);
    json_int_t n = json_integer_value(value);
    if (value == NULL)
        return 0;
    if (!json_is_integer(value) || n < 0 || (uint64_t)n > limit) {
        tool_reader_complain(reader, "\"%s\" is not a whole number from 0 to %" PRIu64, key, limit);
        return 0;
    }
    return (uint64_t)n;
}

const char *tool_reader_text(struct tool_reader *reader, const json_t *object, const char *key, bool needed)
{
    const json_t *value = tool_reader_member(reader, object, key, needed);
    if (value == NULL || json_is_null(value)) {
        if (needed && value != NULL)
            tool_reader_complain(reader, "\"%s\" is null", key);
        return NULL;
    }
    if (!json_is_string(value)) {
        tool_reader_complain(reader, "\"%s\" is not a text", key);
        return NULL;
    }
    const char *kept = tool_result_keep(reader->result, "%s", json_string_value(value));
    if (kept == NULL && reader->status == RING_OK)
        reader->status = ring_fail(reader->error, RING_NO_MEMORY, "%s: out of memory", reader->path);
    return kept;
}

int tool_reader_word(struct tool_reader *reader, const json_t *object, const char *key,
                     const char *const *names, int n)
{
    const char *found = json_string_value(tool_reader_member(reader, object, key, true));
    for (int i = 0; found != NULL && i < n; i++)
        if (strcmp(names[i], found) == 0)
            return i;
    tool_reader_complain(reader, "\"%s\" is '%s', which no result of this version has", key,
                         found == NULL ? "?" : found);
    return 0;
}

double tool_reader_seconds(struct tool_reader *reader, const json_t *object, const char *key)
{
    struct ring_error error = {""};
    double value = 0;
    const char *found = tool_reader_text(reader, object, key, true);
    if (found != NULL && config_quantity(found, CONFIG_SECONDS, &value, &error) != RING_OK)
        tool_reader_complain(reader, "\"%s\": %s", key, error.text);
    return value;
}
