/* SPDX-License-Identifier: MIT
 *
 * See measured.h. */
#include "tools/measured.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/estimate.h"
#include "tools/memory.h"
#include "tools/passes.h"
#include "tools/ranks.h"
#include "tools/simulate.h"
#include "tools/traffic.h"
#include "tools/verdict.h"

/* The file while it is read. */
struct reading {
    const char *path;
    struct tool_result *result;
    struct ring_error *error;
    uint32_t n_ranks, n_steps;
    double first_s;
    char *peak_rss, *baseline_rss, *device; /* the lines' values; NULL: not there */
};

/* All numbers of a line into repeats_s. */
static enum ring_status read_repeats(struct reading *reading, const char *text)
{
    struct tool_result *result = reading->result;
    for (;;) {
        char *end;
        double value = strtod(text, &end);
        if (end == text)
            break;
        double *repeats_s = realloc(result->repeats_s, (result->n_repeats + 1) * sizeof *repeats_s);
        if (repeats_s == NULL)
            return ring_fail(reading->error, RING_NO_MEMORY, "%s: out of memory", reading->path);
        result->repeats_s = repeats_s;
        result->repeats_s[result->n_repeats++] = value;
        text = end;
    }
    return RING_OK;
}

/* Mean of all numbers of a line; 0 if there are none. */
static double mean_of(const char *text)
{
    double sum = 0;
    int n = 0;
    for (char *end;; text = end, n++) {
        double value = strtod(text, &end);
        if (end == text)
            return n > 0 ? sum / n : 0;
        sum += value;
    }
}

static void read_looks(struct tool_result *result, const char *text)
{
    for (char *end; result->n_looks < TOOL_LOOKS; text = end) {
        double value = strtod(text, &end);
        if (end == text)
            return;
        result->looks[result->n_looks++] = value;
    }
}

static enum ring_status read_key(struct reading *reading, const char *key, const char *text)
{
    struct tool_result *result = reading->result;
    if (strcmp(key, "ranks") == 0)
        reading->n_ranks = (uint32_t)strtoul(text, NULL, 10);
    else if (strcmp(key, "steps") == 0)
        reading->n_steps = (uint32_t)strtoul(text, NULL, 10);
    else if (strcmp(key, "kernel") == 0)
        result->kernel = tool_result_keep(result, "%s", text);
    else if (strcmp(key, "transport") == 0)
        result->world_detail = tool_result_keep(result, "%s", text);
    else if (strcmp(key, "first_s") == 0)
        reading->first_s = strtod(text, NULL);
    else if (strcmp(key, "drift") == 0)
        result->drift = strtod(text, NULL);
    else if (strcmp(key, "drift_before") == 0)
        read_looks(result, text);
    else if (strcmp(key, "core_share") == 0)
        result->core_share = mean_of(text);
    else if (strcmp(key, "peak_rss_bytes") == 0)
        reading->peak_rss = strdup(text);
    else if (strcmp(key, "baseline_rss_bytes") == 0)
        reading->baseline_rss = strdup(text);
    else if (strcmp(key, "device_bytes") == 0)
        reading->device = strdup(text);
    else if (strcmp(key, "repeats_s") == 0)
        return read_repeats(reading, text);
    return RING_OK; /* a key of a newer ringlab-rank is no harm */
}

static enum ring_status read_head(struct reading *reading, FILE *file)
{
    char *line = NULL;
    size_t size = 0;
    enum ring_status status = RING_OK;
    bool first = true, in_trace = false;
    while (status == RING_OK && !in_trace && getline(&line, &size, file) > 0) {
        line[strcspn(line, "\n")] = '\0';
        char *blank = strchr(line, ' ');
        if (blank != NULL)
            *blank = '\0';
        if (first && (strcmp(line, "ringlab-measure") != 0 || blank == NULL || strcmp(blank + 1, "1") != 0))
            status =
                ring_fail(reading->error, RING_WORLD, "%s: not a file of this ringlab-rank", reading->path);
        else if (!first && strcmp(line, "trace") == 0)
            in_trace = true;
        else if (!first)
            status = read_key(reading, line, blank == NULL ? "" : blank + 1);
        first = false;
    }
    free(line);
    if (status == RING_OK && !in_trace)
        status = ring_fail(reading->error, RING_WORLD, "%s: the ranks left no trace", reading->path);
    return status;
}

/* What each rank's process had in memory at most, above what it had before it had its blocks; where those lay
 * on a device, what it had taken there. A timed run has the blocks alone. */
static void take_memory(struct reading *reading, const struct ring_plan *plan)
{
    struct tool_result *result = reading->result;
    const char *peak = reading->device != NULL ? reading->device : reading->peak_rss,
               *baseline = reading->baseline_rss;
    result->on_device = reading->device != NULL;
    bool timed = result->kernel != NULL && strcmp(result->kernel, "timed") == 0;
    for (uint32_t i = 0; i < result->n_ranks; i++) {
        struct tool_rank *rank = &result->ranks[i];
        if (timed)
            rank->run_bytes = 0;
        for (uint32_t slot = 0; timed && slot < plan->n_slots; slot++)
            rank->run_bytes += ring_plan_slot_bytes(plan, i, slot);
        if (peak == NULL || baseline == NULL)
            continue;
        char *peak_end, *baseline_end;
        uint64_t most = strtoull(peak, &peak_end, 10), before = strtoull(baseline, &baseline_end, 10);
        if (peak_end == peak || baseline_end == baseline)
            break;
        if (result->on_device)
            before = 0;
        rank->resident_bytes = most > before ? most - before : 0;
        peak = peak_end;
        baseline = baseline_end;
    }
}

static enum ring_status take_trace(struct reading *reading, const struct tool_setup *setup,
                                   struct ring_trace *trace)
{
    struct tool_result *result = reading->result;
    uint32_t n = setup->plan.n_ranks, n_steps = setup->plan.n_steps;
    if (reading->n_ranks != n || reading->n_steps != n_steps || result->n_repeats == 0)
        return ring_fail(reading->error, RING_WORLD,
                         "%s: %" PRIu32 " ranks and %" PRIu32 " steps where the plan has %" PRIu32
                         " and %" PRIu32,
                         reading->path, reading->n_ranks, reading->n_steps, n, n_steps);
    enum ring_status status = tool_result_allocate(result, n, n_steps, true, reading->error);
    if (status == RING_OK)
        status = ring_parts_from_trace(trace, n, n_steps, reading->first_s, result->steps, reading->error);
    if (status == RING_OK)
        status = tool_traffic_moving(trace, &result->moving_s, reading->error);
    if (status == RING_OK)
        status = tool_passes_check(&setup->plan, trace, reading->error);
    if (status != RING_OK)
        return status;
    for (size_t i = 0; i < (size_t)n * n_steps; i++) {
        result->steps[i].begin_s -= reading->first_s;
        result->steps[i].end_s -= reading->first_s;
    }
    tool_add_up(result, result->steps);
    tool_passes_init(result, &setup->plan);
    tool_passes_of_steps(result, result->steps);
    status = tool_describe(result, setup, reading->error);
    if (status == RING_OK)
        status = tool_traffic_links(trace, &setup->ring, result, reading->error);
    return status;
}

enum ring_status tool_measure_read(const struct tool_setup *setup, const char *path,
                                   struct tool_result *result, struct ring_error *error)
{
    struct reading reading = {.path = path, .result = result, .error = error};
    struct ring_trace trace;
    tool_result_init(result);
    result->world = "mpi";
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return ring_fail(error, RING_WORLD, "the ranks left no result (%s: %s)", path, strerror(errno));
    ring_trace_init(&trace);
    enum ring_status status = read_head(&reading, file);
    if (status == RING_OK)
        status = ring_trace_read(&trace, file, error);
    fclose(file);
    if (status == RING_OK)
        status = take_trace(&reading, setup, &trace);
    if (status == RING_OK) {
        take_memory(&reading, &setup->plan);
        tool_verdict_find(result, &setup->ring);
    }
    free(reading.peak_rss);
    free(reading.baseline_rss);
    free(reading.device);
    ring_trace_fini(&trace);
    return status;
}

enum ring_status tool_measure_run(const struct tool_setup *setup, const struct tool_options *options,
                                  struct tool_result *result, struct ring_error *error)
{
    char path[4096], cached[4096];
    struct ring_error ignored;
    struct tool_ranks ranks = {.task = "measure",
                               .scenario = setup->path,
                               .n_ranks = setup->plan.n_ranks,
                               .timeout_s = tool_ranks_timeout(setup)};
    tool_result_init(result);
    enum ring_status status = tool_memory_refuse(setup, error);
    if (status == RING_OK)
        status = model_faults_real(&setup->scenario->faults, setup->scenario->places.faults, error);
    if (status == RING_OK)
        status = tool_ranks_fit(setup, options, error);
    if (status == RING_OK)
        tool_estimate_say(setup, options, false,
                          setup->scenario->measure.repeats + setup->scenario->measure.warmups);
    if (status == RING_OK)
        status = tool_ranks_run(&ranks, options, path, sizeof path, error);
    if (status != RING_OK)
        return status;
    status = tool_measure_read(setup, path, result, error);
    tool_ranks_forget(path);
    uint32_t threads = setup->scenario->compute.threads;
    if (status == RING_OK && options->mpi_args == NULL &&
        setup->plan.n_ranks * threads > tool_ranks_processors())
        tool_result_note(result, "%" PRIu32 " ranks%s took turns on %" PRIu32 " processors",
                         setup->plan.n_ranks, threads > 1 ? " of several threads" : "",
                         tool_ranks_processors());
    if (status == RING_OK && options->mpi_args == NULL &&
        config_cache_path(cached, sizeof cached,
                          result->on_device ? "this-machine-cuda.yaml" : "this-machine.yaml",
                          &ignored) == RING_OK &&
        strcmp(cached, setup->scenario->cluster_path) != 0)
        tool_result_note(result, "the run was on this machine, whatever cluster the scenario names");
    return status;
}
