/* SPDX-License-Identifier: MIT
 *
 * Between launch_command.c, which finds the words of an mpirun command, and launch.c, which runs them.
 * Everyone else includes launch.h. */
#ifndef TOOL_LAUNCH_COMMAND_H
#define TOOL_LAUNCH_COMMAND_H

#include "tools/launch.h"

enum { TOOL_LAUNCH_MAX_WORDS = 256 };

/* list is ended by NULL, as exec wants it; each word is ours to free. */
struct tool_launch_words {
    char *list[TOOL_LAUNCH_MAX_WORDS];
    size_t n;
};

enum ring_status tool_launch_words_init(struct tool_launch_words *words, const struct tool_launch_spec *spec,
                                        struct ring_error *error);
void tool_launch_words_fini(struct tool_launch_words *words);

/* One line for a shell, cut at size - 1. */
void tool_launch_words_text(const struct tool_launch_words *words, char *out, size_t size);

#endif
