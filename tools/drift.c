/* SPDX-License-Identifier: MIT
 *
 * See drift.h. What was seen are lines of a text file in the cache, "SECONDS RATIO KIND SCENARIO",
 * appended to by every run, and begun anew when there are too many. */
#include "tools/drift.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "tools/file.h"
#include "tools/ranks.h"
#include "tools/sort.h"

enum {
    MOST_RATIOS = 5,       /* that a median is taken of; of the youngest runs, as speed wanders */
    MAX_AGE_S = 120,       /* the speed of a shared machine holds for minutes, not for hours */
    MAX_BYTES = 64 * 1024, /* of the file */
    PATH_BYTES = 4096,
};

/* A machine that is said to run this much faster or slower is not drifting, it is another one. */
static const double least_ratio = 0.2, most_ratio = 5;

/* Below this a prediction is left as it is: medians differ by as much from themselves. */
static const double least_worth_saying = 0.01;

struct tool_drift_kind tool_drift_look(void)
{
    return (struct tool_drift_kind){.name = "look"};
}

/* FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv/ */
static uint64_t number_of(const char *text)
{
    uint64_t number = UINT64_C(0xcbf29ce484222325);
    for (; *text != '\0'; text++)
        number = (number ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return number;
}

/* Ranks share cores. */
static bool take_turns(const struct ring_plan_spec *plan)
{
    return plan->n_ranks > tool_ranks_processors();
}

struct tool_drift_kind tool_drift_runs(const struct ring_plan_spec *plan)
{
    const struct ring_problem *p = &plan->problem;
    struct tool_drift_kind kind;
    char text[256];
    snprintf(kind.name, sizeof kind.name, "%s-%s-%u%s", ring_pass_names[plan->pass],
             ring_dtype_names[p->dtype], (unsigned)p->head_dim, take_turns(plan) ? "-in-turns" : "");
    snprintf(text, sizeof text, "%u %s %s %llu %u %u %u", plan->n_ranks, ring_layout_names[plan->layout],
             ring_mask_names[p->mask], (unsigned long long)p->tokens, (unsigned)p->batch, (unsigned)p->heads,
             (unsigned)p->kv_heads);
    kind.scenario = number_of(text);
    return kind;
}

static bool find_paths(char *looks, char *calibration)
{
    struct ring_error ignored;
    return config_cache_path(looks, PATH_BYTES, "this-machine-looks.txt", &ignored) == RING_OK &&
           config_cache_path(calibration, PATH_BYTES, "this-machine.yaml", &ignored) == RING_OK;
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool is_ratio(double value)
{
    return value > least_ratio && value < most_ratio;
}

void tool_drift_note(struct tool_drift_kind kind, const double *ratios, size_t n)
{
    char path[PATH_BYTES], calibration[PATH_BYTES];
    struct stat info;
    if (n == 0 || !find_paths(path, calibration))
        return;
    bool full = stat(path, &info) == 0 && info.st_size > MAX_BYTES;
    FILE *file = fopen(path, full ? "we" : "ae");
    if (file == NULL)
        return;
    for (size_t i = 0; i < n; i++)
        if (is_ratio(ratios[i]))
            fprintf(file, "%.3f %.4f %s %016" PRIx64 "\n", now_s(), ratios[i], kind.name, kind.scenario);
    fclose(file);
}

static double compute_of_all(const struct tool_result *result)
{
    double sum_s = 0;
    for (uint32_t i = 0; i < result->n_ranks; i++)
        sum_s += result->ranks[i].compute_s;
    return sum_s;
}

void tool_drift_note_run(const struct ring_plan_spec *plan, const struct tool_result *predicted,
                         const struct tool_result *measured)
{
    double slowdown = predicted->slowdown > 0 ? predicted->slowdown : 1;
    double ratio = compute_of_all(measured) / compute_of_all(predicted);
    if (take_turns(plan)) /* blocks take each other's time, so that each alone says nothing */
        ratio = measured->time_s / predicted->time_s;
    ratio *= slowdown;
    tool_drift_note(tool_drift_look(), &measured->drift, measured->drift > 0);
    if (measured->drift > 0)
        tool_drift_note(tool_drift_runs(plan), &ratio, 1);
}

double tool_drift_recent(struct tool_drift_kind kind, size_t *n, double *age_s)
{
    char path[PATH_BYTES], calibration[PATH_BYTES], name[48], *text = NULL;
    struct stat info;
    struct ring_error ignored;
    double latest[MOST_RATIOS], time_s, ratio, now = now_s();
    size_t size, n_found = 0;
    uint64_t scenario;
    *n = 0;
    *age_s = 0;
    if (!find_paths(path, calibration) || stat(calibration, &info) != 0 ||
        tool_file_read(path, 2 * MAX_BYTES, &text, &size, &ignored) != RING_OK)
        return 1;
    double calibrated_s = (double)info.st_mtim.tv_sec + 1e-9 * (double)info.st_mtim.tv_nsec;
    char *rest = NULL;
    for (const char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        if (sscanf(line, "%lf %lf %47s %" SCNx64, &time_s, &ratio, name, &scenario) != 4)
            continue; /* a full disk may have cut it off; those behind it still count */
        bool timely = time_s >= calibrated_s && time_s <= now + 1 && now - time_s <= MAX_AGE_S;
        bool same = kind.scenario != 0 && scenario == kind.scenario;
        if (!timely || same || !is_ratio(ratio) || strcmp(name, kind.name) != 0)
            continue;
        latest[n_found++ % MOST_RATIOS] = ratio;
        *age_s = fmax(now - time_s, 0);
    }
    free(text);
    *n = n_found < MOST_RATIOS ? n_found : MOST_RATIOS;
    if (*n == 0)
        return 1;
    tool_sort(latest, *n);
    return (latest[(*n - 1) / 2] + latest[*n / 2]) / 2;
}

/* Of runs of this kind, or else of looks. */
static double recent(const struct ring_plan_spec *plan, const char **what, size_t *n, double *age_s)
{
    double ratio = tool_drift_recent(tool_drift_runs(plan), n, age_s);
    *what = *n == 1 ? "run of this kind" : "runs of this kind";
    if (*n > 0)
        return ratio;
    ratio = tool_drift_recent(tool_drift_look(), n, age_s);
    *what = *n == 1 ? "look" : "looks";
    return ratio;
}

double tool_drift_of(const struct config_scenario *scenario)
{
    char path[PATH_BYTES], calibration[PATH_BYTES];
    const char *what;
    size_t n;
    double age_s;
    if (scenario->compute.block_s > 0 || !find_paths(path, calibration) ||
        strcmp(scenario->cluster_path, calibration) != 0)
        return 1;
    double ratio = recent(&scenario->plan, &what, &n, &age_s);
    return fabs(ratio - 1) < least_worth_saying ? 1 : ratio;
}

void tool_drift_say(struct tool_result *result, const struct tool_setup *setup)
{
    const char *what;
    size_t n;
    double age_s, slowdown = setup->ring.compute.slowdown;
    if (!(slowdown > 0) || slowdown == 1)
        return;
    recent(&setup->scenario->plan, &what, &n, &age_s);
    result->slowdown = slowdown;
    tool_result_note(
        result,
        "blocks take %.3f x their calibrated time here, as they lately did on this machine (%zu %s, "
        "the last %.0f s ago); --as-calibrated leaves that out",
        slowdown, n, what, age_s);
}
