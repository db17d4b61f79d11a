/* SPDX-License-Identifier: MIT
 *
 * See options.h. */
#include "tools/options.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/place.h"
#include "tools/commands.h"
#include "tools/names.h"

enum { USAGE = 2 };

enum key {
    KEY_SET = 's',
    KEY_WORLD = 'w',
    KEY_JSON = 'j',
    KEY_OUT = 'o',
    KEY_STEPS = 256,
    KEY_SHOW,
    KEY_MPIRUN,
    KEY_MPI_ARGS,
    KEY_DEVICE,
    KEY_MOVE,
    KEY_DUMP,
    KEY_MAX_ROWS,
    KEY_EFFORT,
    KEY_KEEP_DEVICES,
    KEY_SEEDS,
    KEY_SIMGRID,
    KEY_IMPORT,
    KEY_ROUNDS,
    KEY_PROTECT,
    KEY_AS_CALIBRATED,
    KEY_REPEAT,
    KEY_RANKS,
};

struct choice {
    unsigned taken; /* shown to commands that take this bit */
    struct argp_option argp;
};

static const struct choice all_options[] = {
    {TOOL_TAKES_SET,
     {"set", KEY_SET, "KEY=VALUE", 0, "Change a key of the scenario, e.g. ring.layout=striped", 0}},
    {TOOL_TAKES_WORLD, {"world", KEY_WORLD, "WORLD", 0, NULL, 0}},
    {TOOL_TAKES_DRIFT,
     {"as-calibrated", KEY_AS_CALIBRATED, NULL, 0,
      "Predict this machine as it was calibrated, not as fast as it ran in the last minutes", 0}},
    {TOOL_TAKES_JSON, {"json", KEY_JSON, NULL, 0, "One JSON document on standard output", 0}},
    {TOOL_TAKES_OUT_FILE, {"out", KEY_OUT, "FILE", 0, "Write the JSON document to FILE as well", 0}},
    {TOOL_TAKES_OUT_FOLDER, {"out", KEY_OUT, "DIR", 0, "Write predicted.json and measured.json into DIR", 0}},
    {TOOL_TAKES_PLOT, {"out", KEY_OUT, "FILE", 0, "The picture, .svg or .png (default: RESULT.svg)", 0}},
    {TOOL_TAKES_STEPS, {"steps", KEY_STEPS, NULL, 0, "Per-step rows in the JSON beyond 64 ranks too", 0}},
    {TOOL_TAKES_SHOW,
     {"show", KEY_SHOW, NULL, 0, "Print the scenario with all defaults filled, and run nothing", 0}},
    {TOOL_TAKES_SEEDS,
     {"seeds", KEY_SEEDS, "N", 0, "Play N seeds of the faults: median, p95 and worst step", 0}},
    {TOOL_TAKES_MPI, {"mpirun", KEY_MPIRUN, "PROGRAM", 0, "The mpirun to use", 0}},
    {TOOL_TAKES_MPI, {"mpi-args", KEY_MPI_ARGS, "WORDS", 0, "Words for mpirun in place of ours", 0}},
    {TOOL_TAKES_DEVICE, {"device", KEY_DEVICE, "WORD", 0, "Compute on cpu (default), cuda or auto", 0}},
    {TOOL_TAKES_DEVICE,
     {"move", KEY_MOVE, "WORD", 0,
      "How blocks move between CUDA devices: auto (default), aware, peer or staged", 0}},
    {TOOL_TAKES_VERIFY,
     {"dump", KEY_DUMP, "DIR", 0, "Write q, k, v, out and lse as NumPy .npy files into DIR", 0}},
    {TOOL_TAKES_VERIFY,
     {"max-rows", KEY_MAX_ROWS, "N", 0, "Check N query rows of each head and rank (default 64; 0: all)", 0}},
    {TOOL_TAKES_VERIFY, {"repeat", KEY_REPEAT, "N", 0, "Run N times: every run must give the same bits", 0}},
    {TOOL_TAKES_RANKS,
     {"ranks", KEY_RANKS, "N", 0, "Ranks to measure with (default: one a processor, or one a CUDA device)",
      0}},
    {TOOL_TAKES_PLACE,
     {"keep-devices", KEY_KEEP_DEVICES, NULL, 0, "Only reorder the devices that the scenario has", 0}},
    {TOOL_TAKES_PLACE,
     {"effort", KEY_EFFORT, "WORD", 0, "How long to search: quick, normal or thorough (default normal)", 0}},
    {TOOL_TAKES_TOPOLOGY, {"out", KEY_OUT, "FILE", 0, "Where to write it", 0}},
    {TOOL_TAKES_TOPOLOGY,
     {"simgrid", KEY_SIMGRID, NULL, 0, "Write SimGrid's platform XML (default: to standard output)", 0}},
    {TOOL_TAKES_TOPOLOGY,
     {"import", KEY_IMPORT, "KIND", 0,
      "Make a topology file of FILE: nvidia-smi (its topo -m) or hwloc (lstopo --of xml)", 0}},
    {TOOL_TAKES_VALIDATE,
     {"out", KEY_OUT, "DIR", 0, "Where ACCURACY.md and accuracy.svg go (default: docs)", 0}},
    {TOOL_TAKES_VALIDATE,
     {"rounds", KEY_ROUNDS, "N", 0, "Go through all scenarios N times (default 3, at most 32)", 0}},
    {TOOL_TAKES_VALIDATE,
     {"protect", KEY_PROTECT, NULL, 0, "Run ranks at a real-time priority, ahead of other load (needs root)",
      0}},
};
enum { N_OPTIONS = sizeof all_options / sizeof all_options[0] };

static const char *const devices[] = {"cpu", "cuda", "auto", NULL};
static const char *const moves[] = {"auto", "aware", "peer", "staged", NULL};

struct parse {
    const struct tool_command *command;
    struct tool_options *options;
};

static void check_world(const struct parse *parse, const char *word, struct argp_state *state)
{
    const char *const *worlds = parse->command->worlds;
    char list[128] = "";
    for (size_t i = 0; worlds[i] != NULL; i++) {
        if (strcmp(worlds[i], word) == 0) {
            parse->options->world = worlds[i];
            return;
        }
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i == 0 ? "" : ", ", worlds[i]);
    }
    const char *near = tool_name_nearest(word, worlds);
    argp_error(state, "--world '%s': one of %s is wanted%s%s%s", word, list,
               near != NULL ? "; did you mean '" : "", near != NULL ? near : "", near != NULL ? "'?" : "");
}

/* The word itself, if it is one of a list. */
static const char *one_of(const char *option, const char *word, const char *const *words,
                          struct argp_state *state)
{
    char list[128] = "";
    for (size_t i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], word) == 0)
            return words[i];
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i == 0 ? "" : ", ", words[i]);
    }
    argp_error(state, "--%s '%s': one of %s is wanted", option, word, list);
    return NULL;
}

static unsigned effort_of(const char *word, struct argp_state *state)
{
    for (unsigned i = 0; i < MODEL_N_EFFORTS; i++)
        if (strcmp(model_effort_names[i], word) == 0)
            return i;
    argp_error(state, "--effort '%s': one of quick, normal, thorough is wanted", word);
    return MODEL_EFFORT_NORMAL;
}

static uint64_t whole_number(const char *name, const char *word, struct argp_state *state)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(word, &end, 10);
    if (word[0] < '0' || word[0] > '9' || *end != '\0' || errno != 0)
        argp_error(state, "--%s '%s': a whole number is wanted", name, word);
    return value;
}

static uint32_t number_to(const char *name, const char *word, uint32_t most, struct argp_state *state)
{
    uint64_t n = whole_number(name, word, state);
    if (n == 0 || n > most)
        argp_error(state, "--%s '%s': 1 to %u are wanted", name, word, most);
    return (uint32_t)n;
}

static void add_file(const struct parse *parse, const char *word, struct argp_state *state)
{
    struct tool_options *options = parse->options;
    if (options->n_files == parse->command->max_files)
        argp_error(state, "'%s': %s", word,
                   parse->command->max_files == 0 ? "no file is wanted" : "too many files");
    const char **files = (const char **)options->files;
    files[options->n_files++] = word;
}

static error_t parse_one(int key, char *word, struct argp_state *state)
{
    const struct parse *parse = state->input;
    struct tool_options *options = parse->options;
    switch (key) {
    case KEY_SET:
        options->sets[options->n_sets++] = word;
        return 0;
    case KEY_WORLD:
        check_world(parse, word, state);
        return 0;
    case KEY_JSON:
        options->json = true;
        return 0;
    case KEY_OUT:
        options->out = word;
        return 0;
    case KEY_STEPS:
        options->steps = true;
        return 0;
    case KEY_SHOW:
        options->show = true;
        return 0;
    case KEY_MPIRUN:
        options->mpirun = word;
        return 0;
    case KEY_MPI_ARGS:
        options->mpi_args = word;
        return 0;
    case KEY_DEVICE:
        options->device = one_of("device", word, devices, state);
        return 0;
    case KEY_MOVE:
        options->move = one_of("move", word, moves, state);
        return 0;
    case KEY_DUMP:
        options->dump = word;
        return 0;
    case KEY_MAX_ROWS:
        options->max_rows = whole_number("max-rows", word, state);
        options->max_rows_given = true;
        return 0;
    case KEY_SEEDS:
        options->n_seeds = number_to("seeds", word, 100000, state);
        return 0;
    case KEY_ROUNDS:
        options->n_rounds = number_to("rounds", word, 32, state);
        return 0;
    case KEY_AS_CALIBRATED:
        options->as_calibrated = true;
        return 0;
    case KEY_PROTECT:
        options->protect = true;
        return 0;
    case KEY_REPEAT:
        options->n_repeats = number_to("repeat", word, 1000000, state);
        return 0;
    case KEY_RANKS:
        options->n_ranks = number_to("ranks", word, 1024, state);
        return 0;
    case KEY_KEEP_DEVICES:
        options->keep_devices = true;
        return 0;
    case KEY_EFFORT:
        options->effort = effort_of(word, state);
        return 0;
    case KEY_SIMGRID:
        options->simgrid = true;
        return 0;
    case KEY_IMPORT:
        if (strcmp(word, "nvidia-smi") != 0 && strcmp(word, "hwloc") != 0)
            argp_error(state, "--import '%s': one of nvidia-smi, hwloc is wanted", word);
        options->import = word;
        return 0;
    case ARGP_KEY_ARG:
        add_file(parse, word, state);
        return 0;
    case ARGP_KEY_END:
        if (options->n_files < parse->command->min_files)
            argp_error(state, "a file is wanted");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

void tool_options_parse(const struct tool_command *command, int argc, char **argv,
                        struct tool_options *options)
{
    struct argp_option list[N_OPTIONS + 1] = {{0}};
    char name[64], worlds[128] = "";
    struct parse parse = {command, options};
    size_t n = 0;
    memset(options, 0, sizeof *options);
    options->world = "auto";
    options->effort = MODEL_EFFORT_NORMAL;
    options->files = calloc((size_t)argc + 1, sizeof *options->files);
    options->sets = calloc((size_t)argc + 1, sizeof *options->sets);
    if (options->files == NULL || options->sets == NULL) {
        fprintf(stderr, "ringlab: out of memory\n");
        exit(3);
    }
    for (size_t i = 0; command->worlds != NULL && command->worlds[i] != NULL; i++)
        snprintf(worlds + strlen(worlds), sizeof worlds - strlen(worlds), "%s%s", i == 0 ? "" : ", ",
                 command->worlds[i]);
    for (size_t i = 0; i < N_OPTIONS; i++) {
        if ((command->takes & all_options[i].taken) == 0)
            continue;
        list[n] = all_options[i].argp;
        if (list[n].key == KEY_WORLD)
            list[n].doc = worlds;
        n++;
    }
    struct argp argp = {list, parse_one, command->arguments, command->doc, NULL, NULL, NULL};
    snprintf(name, sizeof name, "ringlab %s", command->name);
    argv[0] = name;
    argp_err_exit_status = USAGE;
    argp_program_version = "ringlab " RINGLAB_VERSION;
    setenv("ARGP_HELP_FMT", "rmargin=100,no-dup-args-note", 0);
    argp_parse(&argp, argc, argv, 0, NULL, &parse);
}
