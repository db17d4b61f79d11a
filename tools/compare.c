/* SPDX-License-Identifier: MIT
 *
 * `ringlab compare`: gets two results, by running both worlds or from files, and works out where they differ.
 */
#include "tools/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/commands.h"
#include "tools/drift.h"
#include "tools/file.h"
#include "tools/measured.h"
#include "tools/memory.h"
#include "tools/simulate.h"

const char *const tool_part_names[TOOL_N_PARTS] = {"compute", "transfer", "wait", "overhead"};

double tool_pair_error(struct tool_pair pair)
{
    return pair.predicted_s == pair.measured_s ? 0 : (pair.predicted_s - pair.measured_s) / pair.measured_s;
}

double tool_compare_scaled(const struct tool_result *predicted, const struct tool_result *measured)
{
    double busiest_s = 0;
    for (uint32_t i = 0; i < predicted->n_ranks; i++)
        busiest_s = fmax(busiest_s, predicted->ranks[i].compute_s);
    double known = predicted->slowdown > 0 ? predicted->slowdown : 1; /* already in the prediction */
    return measured->drift > 0 ? predicted->time_s + (measured->drift / known - 1) * busiest_s
                               : predicted->time_s;
}

static double difference(struct tool_pair pair)
{
    return pair.predicted_s - pair.measured_s;
}

static double rank_part(const struct tool_rank *rank, enum tool_part part)
{
    const double parts[] = {rank->compute_s, rank->transfer_s, rank->wait_s, rank->overhead_s};
    return parts[part];
}

static double step_part(const struct ring_parts *step, enum tool_part part)
{
    const double parts[] = {step->compute_s, step->transfer_s, step->wait_s, step->overhead_s};
    return parts[part];
}

static double mean_part(const struct tool_result *result, enum tool_part part)
{
    double sum = 0;
    for (uint32_t i = 0; i < result->n_ranks; i++)
        sum += rank_part(&result->ranks[i], part);
    return sum / result->n_ranks;
}

/* Mean over ranks of one part of one step. */
static double mean_step_part(const struct tool_result *result, uint32_t step, enum tool_part part)
{
    double sum = 0;
    for (uint32_t i = 0; i < result->n_ranks; i++)
        sum += step_part(&result->steps[(size_t)i * result->n_steps + step], part);
    return sum / result->n_ranks;
}

static double mean_step_time(const struct tool_result *result, uint32_t step)
{
    double sum = 0;
    for (uint32_t i = 0; i < result->n_ranks; i++) {
        const struct ring_parts *parts = &result->steps[(size_t)i * result->n_steps + step];
        sum += parts->end_s - parts->begin_s;
    }
    return sum / result->n_ranks;
}

/* What the two questions differ in, in a word; the first that is found. */
static const char *find_different(const struct tool_question *a, const struct tool_question *b)
{
    const struct ring_problem *p = &a->plan.problem, *q = &b->plan.problem;
    if (a->plan.n_ranks != b->plan.n_ranks)
        return "devices";
    if (p->tokens != q->tokens)
        return "tokens";
    if (p->batch != q->batch || p->heads != q->heads || p->kv_heads != q->kv_heads ||
        p->head_dim != q->head_dim)
        return "shapes";
    if (p->dtype != q->dtype || p->mask != q->mask)
        return "dtype or mask";
    if (a->plan.layout != b->plan.layout)
        return "layout";
    if (a->plan.pass != b->plan.pass || strcmp(a->plan.strategy, b->plan.strategy) != 0 ||
        a->plan.n_buffers != b->plan.n_buffers)
        return "pass, strategy or buffers";
    if (a->plan.pass != RING_PASS_FORWARD &&
        (a->plan.gradient_dtype != b->plan.gradient_dtype || a->plan.keep_kv != b->plan.keep_kv))
        return "gradients or keep_kv";
    if (a->compute.block_s != b->compute.block_s || a->compute.core_free != b->compute.core_free)
        return "compute";
    if (strcmp(a->faults == NULL ? "" : a->faults, b->faults == NULL ? "" : b->faults) != 0 ||
        (a->faults != NULL && a->fault_seed != b->fault_seed))
        return "faults";
    if (a->compute.threads != b->compute.threads)
        return "threads";
    return a->progress != b->progress ? "progress" : NULL;
}

static void compare_passes(const struct tool_result *predicted, const struct tool_result *measured,
                           struct tool_comparison *comparison)
{
    if (predicted->n_passes != measured->n_passes)
        return;
    for (uint32_t i = 0; i < predicted->n_passes; i++) {
        const struct tool_pass *first = &predicted->passes[i], *second = &measured->passes[i];
        if (first->pass != second->pass)
            return;
        comparison->passes[i] = (struct tool_pair){first->time_s, second->time_s};
        comparison->pass_names[i] = first->pass;
    }
    comparison->n_passes = predicted->n_passes;
    comparison->backward_step = predicted->passes[predicted->n_passes > 1 ? 1 : 0].first_step;
}

static void find_worst(const struct tool_result *predicted, const struct tool_result *measured,
                       struct tool_comparison *comparison)
{
    double worst = -1;
    for (enum tool_part part = 0; part < TOOL_N_PARTS; part++) {
        if (fabs(difference(comparison->all.parts[part])) > worst) {
            worst = fabs(difference(comparison->all.parts[part]));
            comparison->worst = part;
        }
    }
    worst = -1;
    for (uint32_t i = 0; comparison->same_ranks && i < predicted->n_ranks; i++) {
        double now = fabs(rank_part(&predicted->ranks[i], comparison->worst) -
                          rank_part(&measured->ranks[i], comparison->worst));
        if (now > worst) {
            worst = now;
            comparison->worst_rank = i;
        }
    }
    worst = -1;
    for (uint32_t i = 0; i < comparison->n_steps; i++) {
        double now = fabs(difference(comparison->steps[i].parts[comparison->worst]));
        if (now > worst) {
            worst = now;
            comparison->worst_step = i;
        }
    }
}

enum ring_status tool_compare_results(const struct tool_result *predicted, const struct tool_result *measured,
                                      struct tool_comparison *comparison, struct ring_error *error)
{
    memset(comparison, 0, sizeof *comparison);
    comparison->all.time = (struct tool_pair){predicted->time_s, measured->time_s};
    for (enum tool_part part = 0; part < TOOL_N_PARTS; part++)
        comparison->all.parts[part] =
            (struct tool_pair){mean_part(predicted, part), mean_part(measured, part)};
    compare_passes(predicted, measured, comparison);
    comparison->same_ranks = predicted->n_ranks == measured->n_ranks;
    comparison->different = find_different(&predicted->question, &measured->question);
    if (comparison->same_ranks && predicted->n_steps == measured->n_steps && predicted->steps != NULL &&
        measured->steps != NULL) {
        comparison->n_steps = predicted->n_steps;
        comparison->steps = calloc(predicted->n_steps, sizeof *comparison->steps);
        if (comparison->steps == NULL)
            return ring_fail(error, RING_NO_MEMORY, "out of memory for %u steps", predicted->n_steps);
    }
    for (uint32_t i = 0; i < comparison->n_steps; i++) {
        struct tool_compared_step *step = &comparison->steps[i];
        step->time = (struct tool_pair){mean_step_time(predicted, i), mean_step_time(measured, i)};
        for (enum tool_part part = 0; part < TOOL_N_PARTS; part++)
            step->parts[part] =
                (struct tool_pair){mean_step_part(predicted, i, part), mean_step_part(measured, i, part)};
    }
    find_worst(predicted, measured, comparison);
    return RING_OK;
}

static enum ring_status save_both(const struct tool_result *predicted, const struct tool_result *measured,
                                  bool with_steps, const char *folder, struct ring_error *error)
{
    char path[4096];
    const struct tool_result *const results[] = {predicted, measured};
    static const char *const names[] = {"predicted.json", "measured.json"};
    enum ring_status status = tool_make_folder(folder, error);
    for (int i = 0; i < 2 && status == RING_OK; i++) {
        int length = snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        if (length < 0 || (size_t)length >= sizeof path)
            return ring_fail(error, RING_IO, "%.200s...: the path is too long", folder);
        status = tool_result_save(results[i], with_steps, path, error);
    }
    return status;
}

static enum ring_status show(const struct tool_result *predicted, const struct tool_result *measured,
                             bool with_steps, const struct tool_options *options, struct ring_error *error)
{
    struct tool_comparison comparison;
    enum ring_status status = RING_OK;
    if (options->out != NULL)
        status = save_both(predicted, measured, with_steps, options->out, error);
    if (status != RING_OK)
        return status;
    status = tool_compare_results(predicted, measured, &comparison, error);
    if (status == RING_OK)
        status = options->json
                     ? tool_compare_write(predicted, measured, &comparison, with_steps, stdout, error)
                     : tool_compare_print(predicted, measured, &comparison, stdout, error);
    free(comparison.steps);
    return status;
}

static enum ring_status compare_files(const struct tool_options *options, struct ring_error *error)
{
    struct tool_result predicted, measured;
    tool_result_init(&measured);
    enum ring_status status = tool_result_load(&predicted, options->files[0], error);
    if (status == RING_OK)
        status = tool_result_load(&measured, options->files[1], error);
    if (status == RING_OK)
        status = show(&predicted, &measured, true, options, error);
    tool_result_fini(&predicted);
    tool_result_fini(&measured);
    return status;
}

enum ring_status tool_compare_run(struct tool_setup *setup, const struct tool_options *options,
                                  bool with_steps, struct tool_result *predicted,
                                  struct tool_result *measured, struct ring_error *error)
{
    tool_result_init(predicted);
    enum ring_status status = tool_measure_run(setup, options, measured, error);
    if (status != RING_OK)
        return status;
    tool_drift_note(tool_drift_look(), measured->looks, measured->n_looks);
    if (!options->as_calibrated)
        status = tool_setup_price(setup, tool_drift_of(setup->scenario), error);
    if (status == RING_OK)
        status = tool_simulate(setup, options->world, with_steps, predicted, error);
    if (status == RING_OK)
        tool_drift_note_run(&setup->scenario->plan, predicted, measured);
    return status;
}

enum ring_status tool_compare(const struct tool_options *options, struct ring_error *error)
{
    struct tool_setup setup;
    struct tool_result predicted, measured;
    if (options->n_files == 2)
        return compare_files(options, error);
    enum ring_status status = options->out != NULL ? tool_make_folder(options->out, error) : RING_OK;
    if (status == RING_OK)
        status = tool_setup_open(&setup, options, error);
    if (status != RING_OK)
        return status;
    bool with_steps = options->steps || setup.plan.n_ranks <= TOOL_STEPS_RANKS;
    status = tool_compare_run(&setup, options, true, &predicted, &measured, error);
    if (status == RING_OK)
        status = show(&predicted, &measured, with_steps, options, error);
    tool_result_fini(&predicted);
    tool_result_fini(&measured);
    tool_setup_close(&setup);
    return status;
}
