/* SPDX-License-Identifier: MIT
 *
 * What verify found: read from the ranks' file, and told as text or as JSON. */
#ifndef TOOL_VERIFY_REPORT_H
#define TOOL_VERIFY_REPORT_H

#include <stdio.h>

#include "tools/verify.h"

/* The file that `ringlab-rank verify` leaves (docs/FORMATS.md). RING_WORLD if it is not one for n_ranks
 * ranks. */
enum ring_status tool_verify_read(const char *path, uint32_t n_ranks, struct tool_verified *verified,
                                  struct ring_error *error);

enum ring_status tool_verify_print(const struct tool_setup *setup, const struct tool_verified *verified,
                                   FILE *file, struct ring_error *error);
enum ring_status tool_verify_write(const struct tool_setup *setup, const struct tool_verified *verified,
                                   FILE *file, struct ring_error *error);

#endif
