/* SPDX-License-Identifier: MIT
 *
 * The runs of `ringlab validate`: which scenarios, each in both worlds, round after round through all of
 * them, so that a busy minute strikes none of them alone. A scenario that cannot run is counted and does not
 * stop the others. */
#include "tools/validate.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/launch.h"
#include "tools/setup.h"
#include "tools/simulate.h"

/* --- the scenarios ------------------------------------------------------------------------------------- */

enum ring_status tool_validate_load(struct tool_validation *v, struct ring_error *error)
{
    const struct tool_options *options = v->options;
    char path[4096];
    const char *standard[] = {path};
    const char *const *files = options->n_files > 0 ? options->files : standard;
    size_t n = options->n_files > 0 ? options->n_files : 1;
    enum ring_status status = RING_OK;
    if (options->n_files == 0)
        status = tool_data_path("scenarios/validate/this-machine.yaml", path, sizeof path, error);
    v->sets = calloc(n, sizeof *v->sets);
    if (status == RING_OK && v->sets == NULL)
        status = ring_fail(error, RING_NO_MEMORY, "out of memory for %zu sets", n);
    for (size_t i = 0; i < n && status == RING_OK; i++) {
        status = config_set_load(files[i], &v->sets[i], error);
        v->n_sets += status == RING_OK;
        v->n_attempts += v->sets[i].n_cases;
    }
    if (status != RING_OK)
        return status;
    v->attempts = calloc(v->n_attempts, sizeof *v->attempts);
    if (v->attempts == NULL)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for %zu scenarios", v->n_attempts);
    size_t at = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < v->sets[i].n_cases; j++)
            v->attempts[at++].from = &v->sets[i].cases[j];
    return RING_OK;
}

/* The case's changes, then those of the command line, which are for all. */
static enum ring_status open_case(const struct tool_validation *v, const struct config_case *from,
                                  const char ***sets, struct tool_options *options, struct tool_setup *setup,
                                  struct ring_error *error)
{
    size_t n = from->n_sets + v->options->n_sets;
    *options = *v->options;
    *sets = calloc(n + 1, sizeof **sets);
    if (*sets == NULL)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for a scenario");
    for (size_t i = 0; i < n; i++)
        (*sets)[i] = i < from->n_sets ? from->sets[i] : v->options->sets[i - from->n_sets];
    options->files = &from->scenario;
    options->n_files = 1;
    options->sets = *sets;
    options->n_sets = n;
    options->quiet = true;
    return tool_setup_open(setup, options, error);
}

static void describe(const struct ring_plan_spec *plan, const char *name, bool natural_name, char *out,
                     size_t size)
{
    const struct ring_problem *p = &plan->problem;
    int n =
        snprintf(out, size, "%s%s%u rank%s, %s, %s%s%s, %s, %u tokens, %u heads of %u",
                 natural_name ? "" : name, natural_name ? "" : ": ", plan->n_ranks,
                 plan->n_ranks > 1 ? "s" : "", ring_pass_names[plan->pass], ring_mask_names[p->mask],
                 plan->n_ranks > 1 ? ", " : "", plan->n_ranks > 1 ? ring_layout_names[plan->layout] : "",
                 ring_dtype_names[p->dtype], (unsigned)p->tokens, (unsigned)p->heads, (unsigned)p->head_dim);
    (void)n; /* cut where it is too long */
}

/* --- one run ------------------------------------------------------------------------------------------- */

/* The prediction as if the machine ran as it did when it was calibrated. */
static enum ring_status as_calibrated(struct tool_setup *setup, const struct tool_options *options,
                                      double *time_s, struct ring_error *error)
{
    struct tool_result result;
    enum ring_status status = tool_setup_price(setup, 1, error);
    if (status != RING_OK)
        return status;
    status = tool_simulate(setup, options->world, false, &result, error);
    *time_s = result.time_s;
    tool_result_fini(&result);
    return status;
}

static enum ring_status both_worlds(struct tool_setup *setup, const struct tool_options *options,
                                    struct tool_trial *trial, struct ring_error *error)
{
    struct tool_result predicted, measured;
    struct tool_comparison comparison = {.steps = NULL};
    enum ring_status status = tool_compare_run(setup, options, false, &predicted, &measured, error);
    if (status == RING_OK)
        status = tool_compare_results(&predicted, &measured, &comparison, error);
    if (status == RING_OK) {
        trial->plan = setup->scenario->plan;
        trial->predicted_s = predicted.time_s;
        trial->measured_s = measured.time_s;
        trial->slowdown = predicted.slowdown > 0 ? predicted.slowdown : 1;
        trial->core_share = measured.core_share;
        for (enum tool_part part = 0; part < TOOL_N_PARTS; part++)
            trial->parts_s[part] =
                comparison.all.parts[part].predicted_s - comparison.all.parts[part].measured_s;
    }
    if (status == RING_OK)
        status = as_calibrated(setup, options, &trial->calibrated_s, error);
    free(comparison.steps);
    tool_result_fini(&predicted);
    tool_result_fini(&measured);
    return status;
}

static enum ring_status try_case(struct tool_validation *v, struct tool_attempt *attempt,
                                 struct ring_error *error)
{
    struct tool_options options;
    struct tool_setup setup;
    const char **sets;
    struct tool_trial *trial = &attempt->rounds[attempt->n_rounds];
    enum ring_status status = open_case(v, attempt->from, &sets, &options, &setup, error);
    if (status == RING_OK) {
        const char *source = setup.scenario->topology->source;
        if (source != NULL && v->circumstances.calibrated[0] == '\0')
            snprintf(v->circumstances.calibrated, sizeof v->circumstances.calibrated, "%s", source);
        describe(&setup.scenario->plan, setup.scenario->name, attempt->from->n_sets > 0, trial->label,
                 sizeof trial->label);
        status = both_worlds(&setup, &options, trial, error);
        tool_setup_close(&setup);
    }
    free(sets);
    if (status == RING_OK)
        attempt->n_rounds++;
    return status;
}

static bool stops_all(enum ring_status status, const struct ring_error *error)
{
    return status == RING_NO_MEMORY || tool_launch_interrupted(error);
}

enum ring_status tool_validate_rounds(struct tool_validation *v, struct ring_error *error)
{
    bool watched = isatty(STDERR_FILENO);
    for (uint32_t round = 0; round < v->circumstances.n_rounds; round++)
        for (size_t i = 0; i < v->n_attempts; i++) {
            struct tool_attempt *attempt = &v->attempts[i];
            if (attempt->failed)
                continue;
            if (watched)
                fprintf(stderr, "\rround %u of %u, scenario %zu of %zu \033[K", round + 1,
                        v->circumstances.n_rounds, i + 1, v->n_attempts);
            enum ring_status status = try_case(v, attempt, error);
            if (stops_all(status, error) && status != RING_OK)
                return status;
            if (status == RING_OK)
                continue;
            attempt->failed = true;
            if (v->circumstances.n_failed++ == 0)
                snprintf(v->circumstances.first_failure, sizeof v->circumstances.first_failure, "%.500s",
                         error->text);
            fprintf(stderr, "%sringlab: scenario %zu does not run: %s\n", watched ? "\r\033[K" : "", i + 1,
                    error->text);
        }
    if (watched)
        fputs("\r\033[K", stderr);
    return RING_OK;
}

static int by_time(const void *left, const void *right)
{
    const struct tool_trial *a = left, *b = right;
    return (a->measured_s > b->measured_s) - (a->measured_s < b->measured_s);
}

/* Of each scenario the round with the median time, of two in the middle the faster. */
size_t tool_validate_choose(struct tool_validation *v, struct tool_trial *trials)
{
    size_t n = 0;
    for (size_t i = 0; i < v->n_attempts; i++) {
        struct tool_attempt *attempt = &v->attempts[i];
        if (attempt->failed || attempt->n_rounds == 0)
            continue;
        qsort(attempt->rounds, attempt->n_rounds, sizeof *attempt->rounds, by_time);
        trials[n] = attempt->rounds[(attempt->n_rounds - 1) / 2];
        trials[n].lowest_s = attempt->rounds[0].measured_s;
        trials[n++].highest_s = attempt->rounds[attempt->n_rounds - 1].measured_s;
    }
    return n;
}

void tool_validate_fini(struct tool_validation *v)
{
    for (size_t i = 0; i < v->n_sets; i++)
        config_set_free(&v->sets[i]);
    free(v->sets);
    free(v->attempts);
}
