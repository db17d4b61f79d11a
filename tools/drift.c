/* SPDX-License-Identifier: MIT
 *
 * See drift.h. The looks are lines of a text file in the cache, "SECONDS RATIO", appended to by every run and
 * cut to the youngest now and then. */
#include "tools/drift.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "tools/file.h"
#include "tools/sort.h"

enum {
    MOST_LOOKS = 24,       /* that a median is taken of: a handful of runs */
    MAX_AGE_S = 120,       /* the speed of a shared machine holds for minutes, not for hours */
    MAX_BYTES = 64 * 1024, /* of the file; more is begun anew */
    PATH_BYTES = 4096,
};

/* A machine that is said to run this much faster or slower is not drifting, it is another one. */
static const double least_ratio = 0.2, most_ratio = 5;

/* Below this a prediction is left as it is: medians of looks differ by as much from themselves. */
static const double least_worth_saying = 0.01;

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

void tool_drift_note(const double *looks, size_t n)
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
        if (looks[i] > least_ratio && looks[i] < most_ratio)
            fprintf(file, "%.3f %.4f\n", now_s(), looks[i]);
    fclose(file);
}

double tool_drift_recent(size_t *n, double *age_s)
{
    char path[PATH_BYTES], calibration[PATH_BYTES], *text = NULL;
    struct stat info;
    struct ring_error ignored;
    double latest[MOST_LOOKS], time_s, ratio, now = now_s();
    size_t size, n_found = 0;
    int length;
    *n = 0;
    *age_s = 0;
    if (!find_paths(path, calibration) || stat(calibration, &info) != 0 ||
        tool_file_read(path, 2 * MAX_BYTES, &text, &size, &ignored) != RING_OK)
        return 1;
    double calibrated_s = (double)info.st_mtim.tv_sec + 1e-9 * (double)info.st_mtim.tv_nsec;
    for (const char *at = text; sscanf(at, "%lf %lf%n", &time_s, &ratio, &length) == 2; at += length) {
        if (!(time_s >= calibrated_s && time_s <= now + 1 && now - time_s <= MAX_AGE_S) || !isfinite(ratio) ||
            ratio <= least_ratio || ratio >= most_ratio)
            continue;
        latest[n_found++ % MOST_LOOKS] = ratio;
        *age_s = fmax(now - time_s, 0);
    }
    free(text);
    *n = n_found < MOST_LOOKS ? n_found : MOST_LOOKS;
    if (*n == 0)
        return 1;
    tool_sort(latest, *n);
    return (latest[(*n - 1) / 2] + latest[*n / 2]) / 2;
}

double tool_drift_of(const struct config_scenario *scenario)
{
    char path[PATH_BYTES], calibration[PATH_BYTES];
    size_t n;
    double age_s;
    if (scenario->compute.block_s > 0 || !find_paths(path, calibration) ||
        strcmp(scenario->cluster_path, calibration) != 0)
        return 1;
    double ratio = tool_drift_recent(&n, &age_s);
    return fabs(ratio - 1) < least_worth_saying ? 1 : ratio;
}

void tool_drift_say(struct tool_result *result, const struct tool_setup *setup)
{
    size_t n;
    double age_s, slowdown = setup->ring.compute.slowdown;
    if (!(slowdown > 0) || slowdown == 1)
        return;
    tool_drift_recent(&n, &age_s);
    result->slowdown = slowdown;
    tool_result_note(
        result,
        "this machine runs %.1f %% %s than when it was calibrated (%zu look%s at it, the last %.0f "
        "s ago): blocks take %.3f x their calibrated time here (--as-calibrated: as then)",
        100 * fabs(slowdown - 1), slowdown > 1 ? "slower" : "faster", n, n == 1 ? "" : "s", age_s, slowdown);
}
