/* SPDX-License-Identifier: MIT
 *
 * The page of `ringlab validate`, in Markdown: under which circumstances, the figures over all scenarios and
 * over each kind of them, and every scenario. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/units.h"
#include "tools/validate.h"

/* A kind of scenario: one value of one key. */
struct kind {
    const char *text;
    bool (*has)(const struct tool_trial *trial);
};

#define KIND(name, condition)                                                                                \
    static bool name(const struct tool_trial *trial)                                                         \
    {                                                                                                        \
        const struct ring_plan_spec *plan = &trial->plan;                                                    \
        return condition;                                                                                    \
    }
KIND(any, plan != NULL)
KIND(of_one, plan->n_ranks == 1)
KIND(of_two, plan->n_ranks == 2)
KIND(of_more, plan->n_ranks > 2)
KIND(is_forward, plan->pass == RING_PASS_FORWARD)
KIND(is_backward, plan->pass == RING_PASS_BACKWARD)
KIND(is_both, plan->pass == RING_PASS_BOTH)
KIND(is_fp32, plan->problem.dtype == RING_FP32)
KIND(is_bf16, plan->problem.dtype == RING_BF16)
KIND(is_full, plan->problem.mask == RING_MASK_FULL)
KIND(is_contiguous, plan->problem.mask == RING_MASK_CAUSAL && plan->layout == RING_LAYOUT_CONTIGUOUS)
KIND(is_zigzag, plan->problem.mask == RING_MASK_CAUSAL && plan->layout == RING_LAYOUT_ZIGZAG)
KIND(is_striped, plan->problem.mask == RING_MASK_CAUSAL && plan->layout == RING_LAYOUT_STRIPED)
KIND(of_dim_64, plan->problem.head_dim == 64)
KIND(of_dim_128, plan->problem.head_dim == 128)
#undef KIND

static const struct kind kinds[] = {
    {"**all**", any},
    {"1 rank", of_one},
    {"2 ranks", of_two},
    {"more ranks", of_more},
    {"forward", is_forward},
    {"backward", is_backward},
    {"both passes", is_both},
    {"fp32", is_fp32},
    {"bf16", is_bf16},
    {"full mask", is_full},
    {"causal, contiguous", is_contiguous},
    {"causal, zigzag", is_zigzag},
    {"causal, striped", is_striped},
    {"head_dim 64", of_dim_64},
    {"head_dim 128", of_dim_128},
};

static void write_row(const char *name, const struct tool_accuracy *accuracy, FILE *file)
{
    fprintf(file, "| %s | %zu | %.1f %% | %.1f %% | %.1f %% | %+.1f %% | ", name, accuracy->n,
            100 * accuracy->median, 100 * accuracy->p95, 100 * accuracy->worst, 100 * accuracy->bias);
    if (accuracy->n_pairs > 0)
        fprintf(file, "%.1f %% of %zu |\n", 100.0 * (double)accuracy->n_right / (double)accuracy->n_pairs,
                accuracy->n_pairs);
    else
        fprintf(file, "- |\n");
}

static enum ring_status write_kinds(const struct tool_trial *trials, size_t n, FILE *file,
                                    struct ring_error *error)
{
    struct tool_trial *some = malloc((n + 1) * sizeof *some);
    enum ring_status status = some == NULL ? ring_fail(error, RING_NO_MEMORY, "out of memory") : RING_OK;
    fputs("| scenarios | n | median | p95 | worst | bias | order right |\n|---|--:|--:|--:|--:|--:|--:|\n",
          file);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && status == RING_OK; i++) {
        struct tool_accuracy accuracy;
        size_t n_some = 0;
        for (size_t j = 0; j < n; j++)
            if (kinds[i].has(&trials[j]))
                some[n_some++] = trials[j];
        status = tool_accuracy_find(some, n_some, false, &accuracy, error);
        if (status == RING_OK && n_some > 0)
            write_row(kinds[i].text, &accuracy, file);
        if (status == RING_OK && i == 0) {
            status = tool_accuracy_find(some, n_some, true, &accuracy, error);
            if (status == RING_OK)
                write_row("all, predicted as calibrated", &accuracy, file);
        }
    }
    free(some);
    return status;
}

static enum ring_status write_parts(const struct tool_trial *trials, size_t n, FILE *file,
                                    struct ring_error *error)
{
    struct tool_accuracy accuracy;
    enum ring_status status = tool_accuracy_find(trials, n, false, &accuracy, error);
    fputs("\nBy part (predicted - measured, mean over ranks, as a share of the measured step; of ranks that "
          "take turns on a core, a predicted block lasts as long as its turns, and a measured one counts "
          "without "
          "the others'):\n\n"
          "| part | bias | median of the absolute value |\n|---|--:|--:|\n",
          file);
    for (enum tool_part part = 0; part < TOOL_N_PARTS && status == RING_OK; part++)
        fprintf(file, "| %s | %+.1f %% | %.1f %% |\n", tool_part_names[part], 100 * accuracy.part_bias[part],
                100 * accuracy.part_median[part]);
    return status;
}

static void write_circumstances(const struct tool_trial *trials, size_t n, const struct tool_circumstances *c,
                                FILE *file)
{
    double slowdown = 0, slowest = 0, fastest = INFINITY, share = 0, least = INFINITY;
    size_t n_share = 0;
    for (size_t i = 0; i < n; i++) {
        slowdown += trials[i].slowdown / (double)n;
        slowest = fmax(slowest, trials[i].slowdown);
        fastest = fmin(fastest, trials[i].slowdown);
        share += trials[i].core_share;
        n_share += trials[i].core_share > 0;
        if (trials[i].core_share > 0)
            least = fmin(least, trials[i].core_share);
    }
    fprintf(file, "- **When, where:** %s; %s, %" PRIu32 " processors\n- **Load:** %s\n", c->date,
            c->processor, c->n_processors, c->load);
    fprintf(file, "- **Protection:** %s\n",
            c->real_time ? "ranks ran as real-time processes (SCHED_RR, priority 1)"
                         : "none: ranks shared the processors with whatever else ran");
    if (n_share > 0)
        fprintf(file, "- **Core share** (processor time over time, mean over ranks): mean %.2f, least %.2f\n",
                share / (double)n_share, least);
    fprintf(file,
            "- **Drift** (what blocks were stretched by: what recent runs of the kind took over what was "
            "predicted for "
            "them, or looks): mean %.3f, %.3f to %.3f\n",
            slowdown, fastest, slowest);
    if (c->calibrated[0] != '\0')
        fprintf(file, "- **Predicted from:** %s\n", c->calibrated);
    fprintf(file,
            "- **How:** %zu scenarios, each predicted and measured in %" PRIu32
            " round%s through all of them; of each scenario the round with the median time; %.0f s in all\n",
            n, c->n_rounds, c->n_rounds > 1 ? "s" : "", c->seconds);
    if (c->n_failed > 0)
        fprintf(file, "- **Did not run:** %zu scenarios; the first: %s\n", c->n_failed, c->first_failure);
}

enum ring_status tool_validate_page(const struct tool_trial *trials, size_t n,
                                    const struct tool_circumstances *circumstances, FILE *file,
                                    struct ring_error *error)
{
    fputs(
        "# Predicted against measured\n\nWritten by `ringlab validate`; not edited. An error is (predicted - "
        "measured) / measured of the step's time.\n\n",
        file);
    write_circumstances(trials, n, circumstances, file);
    fputs("\n![Predicted against measured times, and the signed error by part](accuracy.svg)\n\n", file);
    enum ring_status status = write_kinds(trials, n, file, error);
    if (status == RING_OK)
        status = write_parts(trials, n, file, error);
    if (status != RING_OK)
        return status;
    fputs(
        "\n*Median*, *p95* and *worst* are of the absolute error, *bias* is the mean of the signed one. "
        "*Order "
        "right*: of all pairs of scenarios whose measured times differ by more than 5 %, the share that the "
        "prediction ranks as the measurement does.\n\n"
        "| scenario | predicted ms | measured ms | error | rounds ms | drift | core share |\n"
        "|---|--:|--:|--:|--:|--:|--:|\n",
        file);
    for (size_t i = 0; i < n; i++) {
        const struct tool_trial *trial = &trials[i];
        fprintf(file, "| %s | %.3f | %.3f | %+.1f %% | %.3f to %.3f | ", trial->label,
                1e3 * trial->predicted_s, 1e3 * trial->measured_s, 100 * tool_trial_error(trial, false),
                1e3 * trial->lowest_s, 1e3 * trial->highest_s);
        fprintf(file, "%.3f | ", trial->slowdown);
        trial->core_share > 0 ? fprintf(file, "%.2f |\n", trial->core_share) : fprintf(file, "- |\n");
    }
    return RING_OK;
}
