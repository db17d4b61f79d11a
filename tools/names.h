/* SPDX-License-Identifier: MIT
 *
 * The nearest right word for a wrong one on the command line. */
#ifndef TOOL_NAMES_H
#define TOOL_NAMES_H

#include <stddef.h>

/* Letters to insert, remove, change or swap with their neighbour to make one word the other. */
size_t tool_name_distance(const char *one, const char *other);

/* The nearest of the names (ended by NULL), or NULL if none is near: more than a third of its letters, and
 * more than one, would have to change. */
const char *tool_name_nearest(const char *word, const char *const *names);

#endif
