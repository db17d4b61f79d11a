/* SPDX-License-Identifier: MIT
 *
 * The command line of `ringlab-rank`. */
#ifndef EXEC_OPTIONS_H
#define EXEC_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exec/session.h"

enum { EXEC_EXIT_USAGE = 2, EXEC_MAX_SETS = 128 };

struct exec_options {
    const char *command, *scenario;
    const char *sets[EXEC_MAX_SETS];
    size_t n_sets;
    const char *out, *dump, *stamp;
    uint64_t max_rows; /* 0: all */
    uint32_t repeats;
    double seconds;
    bool progress;
    enum exec_device device;
    enum exec_move move;
};

/* Fills in what was said, over the defaults that options has already. silent: where others say what is wrong.
 * Ends the process with EXEC_EXIT_USAGE, or after --help with 0; false where it cannot even do that. */
bool exec_options_parse(struct exec_options *options, int argc, char **argv, bool silent);

#endif
