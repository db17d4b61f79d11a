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

/* What `PROGRAM WORD` prints on either stream, at most size - 1 bytes of it. Its exit status;
 * TOOL_LAUNCH_NOT_STARTED, as a shell has it, if it cannot be started; 128 and more if a signal ended it. */
enum { TOOL_LAUNCH_NOT_STARTED = 127 };
int tool_launch_ask(const char *program, const char *word, char *text, size_t size);

/* One line for a shell, cut at size - 1. */
void tool_launch_words_text(const struct tool_launch_words *words, char *out, size_t size);

#endif
