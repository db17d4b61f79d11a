/* SPDX-License-Identifier: MIT
 *
 * Files that are written whole or not at all: into a temporary file in the same folder, renamed at the end.
 */
#ifndef TOOL_FILE_H
#define TOOL_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "engine/status.h"

/* One file being written. Zero it; stream is the caller's to write to. */
struct tool_file {
    FILE *stream;
    char *path, *temporary;
};

/* RING_IO with the path and why; RING_NO_MEMORY. */
enum ring_status tool_file_open(struct tool_file *file, const char *path, struct ring_error *error);

/* Flushes and renames; on failure nothing is left behind. Closes either way. */
enum ring_status tool_file_commit(struct tool_file *file, struct ring_error *error);

/* Gives up: removes the temporary file. Does nothing after commit or on a zeroed struct. */
void tool_file_discard(struct tool_file *file);

/* Whether a file could be written there: worth asking before a long run. Leaves nothing. */
enum ring_status tool_file_probe(const char *path, struct ring_error *error);

/* Makes a folder and its parents, as far as they are missing. RING_IO. */
enum ring_status tool_make_folder(const char *path, struct ring_error *error);

/* The whole file as text, freed by the caller. RING_IO; RING_BAD_INPUT if it is larger than max_bytes. */
enum ring_status tool_file_read(const char *path, size_t max_bytes, char **text, size_t *size,
                                struct ring_error *error);

/* One holder at a time, of all that use the same path: makes PATH.lock, and the folder, where they are
 * missing, and waits where somebody has it, after printing `words` to standard error. Returns what the
 * caller closes to let go, or -1: no lock is to be had there. *waited: somebody else had it before. */
int tool_file_lock(const char *path, const char *words, bool *waited);

#endif
