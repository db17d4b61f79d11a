/* SPDX-License-Identifier: MIT
 *
 * The one place where an error's line is formatted. */
#include "engine/status.h"

#include <stdarg.h>
#include <stdio.h>

const char *ring_status_text(enum ring_status status)
{
    static const char *const texts[] = {
#define RING_STATUS_LINE(name, text) text,
        RING_STATUS(RING_STATUS_LINE)
#undef RING_STATUS_LINE
    };
    size_t n_texts = sizeof texts / sizeof texts[0];

    return (size_t)status < n_texts ? texts[status] : "unknown status";
}

enum ring_status ring_fail(struct ring_error *error, enum ring_status status, const char *format, ...)
{
    if (error) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(error->text, sizeof error->text, format, arguments);
        va_end(arguments);
    }
    return status;
}
