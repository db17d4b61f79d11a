/* SPDX-License-Identifier: MIT
 *
 * Two results side by side: figures only; compare.c prints them. */
#ifndef TOOL_COMPARE_H
#define TOOL_COMPARE_H

#include "tools/options.h"
#include "tools/result.h"
#include "tools/setup.h"

enum tool_part { TOOL_PART_COMPUTE, TOOL_PART_TRANSFER, TOOL_PART_WAIT, TOOL_PART_OVERHEAD, TOOL_N_PARTS };
extern const char *const tool_part_names[TOOL_N_PARTS];

/* The two values of one thing. */
struct tool_pair {
    double predicted_s, measured_s;
};

/* A step of the ring, or all of them: means over ranks. */
struct tool_compared_step {
    struct tool_pair time; /* of a step: its duration; of all: the step time, no mean but the last end */
    struct tool_pair parts[TOOL_N_PARTS];
};

struct tool_comparison {
    struct tool_compared_step all;
    struct tool_pair passes[TOOL_MAX_PASSES]; /* their times */
    enum ring_pass pass_names[TOOL_MAX_PASSES];
    uint32_t n_passes;                /* 0: the two do not have the same passes */
    uint32_t backward_step;           /* the first of the second pass, where there are two */
    struct tool_compared_step *steps; /* [n_steps]; NULL where the results do not have the same steps */
    uint32_t n_steps;
    enum tool_part worst;  /* the part that differs most */
    uint32_t worst_step;   /* where that part differs most */
    uint32_t worst_rank;   /* whose part differs most over the whole step */
    bool same_ranks;       /* false: worst_rank and steps mean nothing */
    const char *different; /* a word for what the two questions differ in; NULL: nothing */
};

/* (predicted - measured) / measured. */
double tool_pair_error(struct tool_pair pair);

/* What the prediction would be if all computing were slower by the drift that the measured run saw; the
 * prediction itself where it saw none. */
double tool_compare_scaled(const struct tool_result *predicted, const struct tool_result *measured);

/* steps is the caller's to free. RING_NO_MEMORY. */
enum ring_status tool_compare_results(const struct tool_result *predicted, const struct tool_result *measured,
                                      struct tool_comparison *comparison, struct ring_error *error);

/* Measures, and then predicts with this machine as fast as it was in looks before that: the run itself is not
 * looked at. Both results are initialised here and the caller's to finish, whatever comes back. */
enum ring_status tool_compare_run(struct tool_setup *setup, const struct tool_options *options,
                                  bool with_steps, struct tool_result *predicted,
                                  struct tool_result *measured, struct ring_error *error);

/* compare_print.c: which part differs most, in a sentence or two; and everything as text. */
void tool_compare_sentence(const struct tool_result *predicted, const struct tool_result *measured,
                           const struct tool_comparison *comparison, char *out, size_t size);
enum ring_status tool_compare_print(const struct tool_result *predicted, const struct tool_result *measured,
                                    const struct tool_comparison *comparison, FILE *file,
                                    struct ring_error *error);

/* compare_json.c: as one JSON document with both results in it. */
enum ring_status tool_compare_write(const struct tool_result *predicted, const struct tool_result *measured,
                                    const struct tool_comparison *comparison, bool with_steps, FILE *file,
                                    struct ring_error *error);

#endif
