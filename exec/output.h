/* SPDX-License-Identifier: MIT
 *
 * A file that is written whole or not at all: into a temporary neighbour first, renamed when complete. */
#ifndef EXEC_OUTPUT_H
#define EXEC_OUTPUT_H

#include <limits.h>
#include <stdio.h>

#include "engine/status.h"

struct exec_output {
    FILE *file; /* write here; NULL when not open */
    char path[PATH_MAX], temporary[PATH_MAX];
};

/* RING_IO with the path and the system's reason. */
enum ring_status exec_output_open(struct exec_output *output, const char *path, struct ring_error *error);

/* Closes and renames. On failure nothing is left but what stood at path before. */
enum ring_status exec_output_commit(struct exec_output *output, struct ring_error *error);

/* Closes and forgets; a no-op if it is not open. */
void exec_output_discard(struct exec_output *output);

#endif
