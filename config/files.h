/* SPDX-License-Identifier: MIT
 *
 * Files as bytes and paths: reading one whole, refusing what is not text, and finding what a path inside a
 * file means. What the text says is not known here. */
#ifndef CONFIG_FILES_H
#define CONFIG_FILES_H

#include "config/reader.h"

enum { CONFIG_MAX_FILE = 16 << 20 };

/* The path that a scalar names, relative to the directory of what it stands in; in scratch. NULL after a
 * failure. */
const char *config_resolve(struct config_reader *reader, const struct config_node *node);

/* Reads and parses a whole file. named_by is the value that named it, for the message where it cannot be
 * read, or NULL where the caller's own argument did. NULL after a failure. */
const struct config_node *config_load_tree(struct config_reader *reader, const char *path,
                                           const struct config_node *named_by);

/* Whether something is there. */
bool config_exists(const char *path);

/* The path from the root of the file system, in keep, so that it means the same anywhere. NULL after a
 * failure. */
const char *config_absolute(struct config_reader *reader, const char *path);

#endif
