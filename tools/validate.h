/* SPDX-License-Identifier: MIT
 *
 * How right predictions are: trials, each a scenario predicted and measured, and figures over many of them.
 * validate.c makes the trials, validate_figures.c the figures, validate_write.c the page and validate_plot.c
 * the picture. */
#ifndef TOOL_VALIDATE_H
#define TOOL_VALIDATE_H

#include <stdio.h>

#include "config/config.h"
#include "tools/compare.h"
#include "tools/options.h"

/* One scenario in both worlds. Of a scenario measured in several rounds, the round with the median time. */
struct tool_trial {
    char label[192]; /* the scenario, in short */
    struct ring_plan_spec plan;
    double predicted_s, measured_s;
    double calibrated_s;          /* the prediction as if the machine ran as when it was calibrated */
    double lowest_s, highest_s;   /* the medians of all rounds lie between these */
    double parts_s[TOOL_N_PARTS]; /* predicted - measured, mean over ranks */
    double slowdown;              /* what the prediction was stretched by; 1: nothing */
    double core_share;            /* mean over ranks: processor time over time; 0: unknown */
};

/* Figures over n trials. An error is (predicted - measured) / measured of the step's time. */
struct tool_accuracy {
    size_t n;
    double median, p95, worst; /* of the absolute error; p95: the least that 95 % do not exceed */
    size_t worst_at;           /* index of that trial */
    double bias;               /* mean of the signed error */
    size_t n_pairs, n_right;   /* pairs whose measured times differ by more than 5 % of the shorter one, and
                                  those among them that the prediction ranks as the measurement does */
    double part_bias[TOOL_N_PARTS];   /* mean of the part's difference as a share of the measured step */
    double part_median[TOOL_N_PARTS]; /* median of its absolute value */
};

/* (predicted - measured) / measured, of the prediction as calibrated if calibrated. */
double tool_trial_error(const struct tool_trial *trial, bool calibrated);

/* RING_NO_MEMORY. No trials: all figures are zero. Both: as predicted, and as calibrated. */
enum ring_status tool_accuracy_find(const struct tool_trial *trials, size_t n, bool calibrated,
                                    struct tool_accuracy *accuracy, struct ring_error *error);
enum ring_status tool_accuracy_find_both(const struct tool_trial *trials, size_t n,
                                         struct tool_accuracy *as_is, struct tool_accuracy *calibrated,
                                         struct ring_error *error);

/* Under which circumstances. */
struct tool_circumstances {
    char date[40], processor[128], load[32]; /* load: before and after */
    char calibrated[512];                    /* the source line of the topology predicted on */
    uint32_t n_processors, n_rounds;
    bool real_time; /* ranks ran at a real-time priority */
    double seconds;
    size_t n_failed; /* scenarios that did not run in one of the worlds */
    char first_failure[512];
};

enum { TOOL_VALIDATE_ROUNDS = 32 };

/* A scenario, and what came of it in each round. */
struct tool_attempt {
    const struct config_case *from;
    struct tool_trial rounds[TOOL_VALIDATE_ROUNDS];
    uint32_t n_rounds;
    bool failed;
};

struct tool_validation {
    const struct tool_options *options;
    struct config_set *sets;
    size_t n_sets;
    struct tool_attempt *attempts;
    size_t n_attempts;
    struct tool_circumstances circumstances;
    double begun_s;
};

/* validate.c. Load: the sets of the command line, or the one that comes with the project. Rounds: runs them;
 * a scenario that fails is counted, and only lack of memory or an interrupt ends all. Choose: one trial a
 * scenario that ran, into trials (room for n_attempts); returns how many. v is zeroed before, but for options
 * and n_rounds, and finished whatever comes back. */
enum ring_status tool_validate_load(struct tool_validation *v, struct ring_error *error);
enum ring_status tool_validate_rounds(struct tool_validation *v, struct ring_error *error);
size_t tool_validate_choose(struct tool_validation *v, struct tool_trial *trials);
void tool_validate_fini(struct tool_validation *v);

/* validate_write.c: the page, in Markdown. */
enum ring_status tool_validate_page(const struct tool_trial *trials, size_t n,
                                    const struct tool_circumstances *circumstances, FILE *file,
                                    struct ring_error *error);

/* validate_json.c: all of it as one JSON document. */
enum ring_status tool_validate_write(const struct tool_trial *trials, size_t n,
                                     const struct tool_circumstances *circumstances, FILE *file,
                                     struct ring_error *error);

/* validate_plot.c: a gnuplot script that draws predicted against measured, and the signed error by part. */
void tool_validate_script(const struct tool_trial *trials, size_t n, const char *output, FILE *script);

#endif
