/* SPDX-License-Identifier: MIT
 *
 * See options.h. */
#include "exec/options.h"

#include <argp.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEY_SET = 256,
    KEY_DUMP,
    KEY_MAX_ROWS,
    KEY_PROGRESS,
    KEY_STAMP,
    KEY_SECONDS,
    KEY_DEVICE,
    KEY_MOVE,
    KEY_REPEAT,
};

static const struct argp_option argp_options[] = {
    {"set", KEY_SET, "KEY=VALUE", 0, "Override a key of the scenario", 0},
    {"out", 'o', "FILE", 0, "Write the result there, whole or not at all (default: standard output)", 0},
    {"dump", KEY_DUMP, "DIR", 0, "verify: write the tensors as .npy files", 0},
    {"max-rows", KEY_MAX_ROWS, "N", 0, "verify: rows to compare of each head on each rank (0: all)", 0},
    {"repeat", KEY_REPEAT, "N", 0, "verify: run N times, and fail unless all give the same bits", 0},
    {"device", KEY_DEVICE, "WORD", 0,
     "Compute on cpu (the default), cuda or auto; calibrate: what to measure", 0},
    {"move", KEY_MOVE, "WORD", 0,
     "How blocks move between devices: auto (the default), aware, peer or staged", 0},
    {"seconds", KEY_SECONDS, "T", 0, "calibrate: time to spend (default: 15)", 0},
    {"stamp", KEY_STAMP, "TEXT", 0, "calibrate: a line to leave in the files, to recognise them by", 0},
    {"progress", KEY_PROGRESS, NULL, 0, "Write progress lines even if nobody seems to watch", 0},
    {0},
};

/* Which of some names a word is. */
static unsigned choose(const char *option, const char *word, const char *const *names, unsigned n,
                       struct argp_state *state)
{
    for (unsigned i = 0; i < n; i++)
        if (strcmp(word, names[i]) == 0)
            return i;
    argp_error(state, "--%s '%s' is none of the words it takes (see --help)", option, word);
    return 0;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct exec_options *options = state->input;
    char *end = NULL;

    switch (key) {
    case KEY_SET:
        if (options->n_sets == EXEC_MAX_SETS)
            argp_error(state, "more than %d --set", EXEC_MAX_SETS);
        options->sets[options->n_sets++] = argument;
        return 0;
    case 'o':
        options->out = argument;
        return 0;
    case KEY_DUMP:
        options->dump = argument;
        return 0;
    case KEY_MAX_ROWS:
        options->max_rows = strtoull(argument, &end, 10);
        if (*end || end == argument || *argument == '-')
            argp_error(state, "--max-rows '%s' is not a whole number", argument);
        return 0;
    case KEY_REPEAT:
        options->repeats = (uint32_t)strtoul(argument, &end, 10);
        if (*end || end == argument || *argument == '-')
            argp_error(state, "--repeat '%s' is not a whole number", argument);
        return 0;
    case KEY_SECONDS:
        options->seconds = strtod(argument, &end);
        if (*end || end == argument || !(options->seconds > 0))
            argp_error(state, "--seconds '%s' is not a time in seconds", argument);
        return 0;
    case KEY_DEVICE:
        options->device = choose("device", argument, exec_device_names, EXEC_N_DEVICES, state);
        return 0;
    case KEY_MOVE:
        options->move = choose("move", argument, exec_move_names, EXEC_N_MOVES, state);
        return 0;
    case KEY_STAMP:
        options->stamp = argument;
        return 0;
    case KEY_PROGRESS:
        options->progress = true;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num == 0)
            options->command = argument;
        else if (state->arg_num == 1)
            options->scenario = argument;
        else
            argp_error(state, "one scenario, please: '%s' is one too many", argument);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {argp_options,
                                 parse,
                                 "measure SCENARIO\nverify SCENARIO\ncalibrate\ndevices",
                                 "One rank of a real ring-attention run: start it with mpirun or srun.",
                                 NULL,
                                 NULL,
                                 NULL};

bool exec_options_parse(struct exec_options *options, int argc, char **argv, bool silent)
{
    argp_err_exit_status = EXEC_EXIT_USAGE;
    return argp_parse(&argp, argc, argv, silent ? ARGP_SILENT & ~ARGP_NO_EXIT : 0, NULL, options) == 0;
}
