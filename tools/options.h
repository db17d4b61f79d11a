/* SPDX-License-Identifier: MIT
 *
 * The command line after the command's name, parsed by argp into one struct that every command reads. Each
 * option exists once; a command says which of them it takes. */
#ifndef TOOL_OPTIONS_H
#define TOOL_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which options a command takes: bits. */
enum {
    TOOL_TAKES_SET = 1 << 0,
    TOOL_TAKES_WORLD = 1 << 1,
    TOOL_TAKES_JSON = 1 << 2,
    TOOL_TAKES_OUT_FILE = 1 << 3,
    TOOL_TAKES_OUT_FOLDER = 1 << 4,
    TOOL_TAKES_STEPS = 1 << 5,
    TOOL_TAKES_SHOW = 1 << 6,
    TOOL_TAKES_MPI = 1 << 7,
    TOOL_TAKES_VERIFY = 1 << 8,
    TOOL_TAKES_PLOT = 1 << 9,
    TOOL_TAKES_PLACE = 1 << 10,
    TOOL_TAKES_TOPOLOGY = 1 << 11,
    TOOL_TAKES_SEEDS = 1 << 12,
    TOOL_TAKES_DEVICE = 1 << 14,
    TOOL_TAKES_VALIDATE = 1 << 13,
    TOOL_TAKES_DRIFT = 1 << 15,
    TOOL_TAKES_RANKS = 1 << 16,
};

struct tool_options {
    const char *const *files; /* the arguments that are no options; borrowed, like every string here */
    size_t n_files;
    const char **sets; /* --set, in order */
    size_t n_sets;
    const char *world; /* "auto" if not given */
    const char *out;   /* NULL: none */
    const char *dump;
    const char *mpirun, *mpi_args;
    const char *device, *move; /* as ringlab-rank takes them; NULL: not given */
    uint64_t max_rows;         /* 0: all */
    bool max_rows_given;
    uint32_t n_repeats; /* 0: not given */
    uint32_t n_ranks;   /* to calibrate with; 0: not given */
    uint32_t n_seeds;   /* 0: not asked for */
    bool json, steps;
    bool show;       /* only look: nothing is run, not even a calibration */
    unsigned effort; /* an index of model_effort_names */
    bool keep_devices;
    bool simgrid;
    const char *import; /* NULL: none; nvidia-smi or hwloc */
    uint32_t n_rounds;  /* 0: not given */
    bool protect;       /* ranks at a real-time priority */
    bool as_calibrated; /* predictions are not stretched by how fast the machine was lately */
    bool quiet;         /* no command line: the mpirun command is not shown */
};

struct tool_command;

/* Parses argv of one command; argv[0] is replaced in messages by "ringlab NAME". Prints help or a usage error
 * and ends the program (0 or 2) where that is what the arguments ask for. files and sets are the caller's to
 * free. */
void tool_options_parse(const struct tool_command *command, int argc, char **argv,
                        struct tool_options *options);

#endif
