/* SPDX-License-Identifier: MIT
 *
 * See progress.h. */
#include "exec/progress.h"

void exec_progress_line(FILE *file, const char *about, const char *format, va_list arguments)
{
    if (!file)
        return;
    fprintf(file, "ringlab-progress: %s", about);
    vfprintf(file, format, arguments);
    fputc('\n', file);
    fflush(file);
}
