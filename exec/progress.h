/* SPDX-License-Identifier: MIT
 *
 * Lines for whoever watches a run, with a mark in front that the launcher knows. */
#ifndef EXEC_PROGRESS_H
#define EXEC_PROGRESS_H

#include <stdarg.h>
#include <stdio.h>

/* about: what goes on, as "calibrating: "; "" is fine. file NULL: nobody watches. */
void exec_progress_line(FILE *file, const char *about, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

#endif
