/* SPDX-License-Identifier: MIT
 *
 * Of all that ranks and mpirun say when a run fails, the one line that tells most. Ranks speak in any order,
 * and most of them only because another one is gone. */
#ifndef TOOL_LAST_WORDS_H
#define TOOL_LAST_WORDS_H

#include <stddef.h>

enum { TOOL_LAST_WORDS_LINE = 1024 };

/* Zero it before use. */
struct tool_last_words {
    char (*lines)[TOOL_LAST_WORDS_LINE]; /* of ranks, as they came */
    size_t n_lines;
    char death[TOOL_LAST_WORDS_LINE]; /* mpirun saw a rank die of a signal */
    char other[TOOL_LAST_WORDS_LINE]; /* the first of the others that is not decoration */
};

/* A line of a rank, without its mark; and any other line. */
void tool_last_words_of_rank(struct tool_last_words *words, const char *line);
void tool_last_words_of_mpirun(struct tool_last_words *words, const char *line);

/* The line, "" if nothing was said. */
void tool_last_words_tell(const struct tool_last_words *words, char *out, size_t size);
void tool_last_words_fini(struct tool_last_words *words);

#endif
