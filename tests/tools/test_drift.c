/* SPDX-License-Identifier: MIT
 *
 * Looks at the machine's speed: which count, and what they come to. The times in the file are set by hand. */
#include "tools/drift.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/cmocka_all.h"

#define EXACT 1e-12

static char cache[] = "/tmp/ringlab-drift-XXXXXX", looks[128], calibration[128];

static void expect(double value, double wanted)
{
    if (!(fabs(value - wanted) <= EXACT))
        fail_msg("%.15g where %.15g is expected", value, wanted);
}

/* A file of the cache with that text, last changed so many seconds ago. */
static void leave(const char *path, const char *text, double age_s)
{
    FILE *file = fopen(path, "w");
    struct timespec now, times[2];
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    clock_gettime(CLOCK_REALTIME, &now);
    now.tv_sec -= (time_t)age_s;
    times[0] = times[1] = now;
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* Lines of looks that were taken that many seconds ago. */
static void leave_looks(const double (*age_and_ratio)[2], size_t n)
{
    char text[8192] = "";
    for (size_t i = 0; i < n; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%.3f %.4f look 0\n",
                 (double)time(NULL) - age_and_ratio[i][0], age_and_ratio[i][1]);
    leave(looks, text, 0);
}

static double recent(size_t wanted)
{
    size_t n;
    double age_s, ratio = tool_drift_recent(tool_drift_look(), &n, &age_s);
    assert_int_equal(n, wanted);
    return ratio;
}

static void without_looks_the_machine_is_as_it_was(void **state)
{
    (void)state;
    leave(calibration, "", 100);
    unlink(looks);
    expect(recent(0), 1);
}

static void the_median_of_the_looks_counts(void **state)
{
    (void)state;
    leave(calibration, "", 100);
    leave_looks((const double[][2]){{40, 1.02}, {30, 1.5}, {20, 1.04}, {10, 1.00}}, 4);
    expect(recent(4), 1.03); /* 1.00 1.02 | 1.04 1.5 */
}

static void looks_from_before_the_calibration_do_not_count(void **state)
{
    (void)state;
    leave(calibration, "", 50);
    leave_looks((const double[][2]){{60, 2}, {55, 2}, {20, 1.1}}, 3);
    expect(recent(1), 1.1);
}

static void looks_older_than_two_minutes_do_not_count(void **state)
{
    (void)state;
    leave(calibration, "", 1000);
    leave_looks((const double[][2]){{500, 2}, {125, 2}, {100, 0.9}}, 3);
    expect(recent(1), 0.9);
}

static void only_the_latest_5_looks_count(void **state)
{
    (void)state;
    double rows[60][2];
    for (size_t i = 0; i < 60; i++) {
        rows[i][0] = 60.0 - (double)i;
        rows[i][1] = i < 55 ? 1.4 : 1.1;
    }
    leave(calibration, "", 1000);
    leave_looks((const double(*)[2])rows, 60);
    expect(recent(5), 1.1);
}

static void what_is_no_ratio_of_two_times_does_not_count(void **state)
{
    (void)state;
    leave(calibration, "", 1000);
    leave_looks((const double[][2]){{50, 0}, {40, -1}, {30, 1000}, {20, 1.2}}, 4);
    expect(recent(1), 1.2);
    leave(looks, "nonsense\n1 2 look", 0);
    expect(recent(0), 1);
}

static void a_line_cut_off_does_not_hide_those_behind_it(void **state)
{
    char text[128];
    (void)state;
    leave(calibration, "", 1000);
    snprintf(text, sizeof text, "1764\n\n%.3f 1.3 look 0\nnonsense\n%.3f 1.1 look 0", (double)time(NULL) - 20,
             (double)time(NULL) - 10);
    leave(looks, text, 0);
    expect(recent(2), 1.2);
}

static void looks_that_are_noted_are_found_again(void **state)
{
    (void)state;
    leave(calibration, "", 1000);
    unlink(looks);
    tool_drift_note(tool_drift_look(), (const double[]){1.05, 0, 1.07, (double)NAN}, 4);
    tool_drift_note(tool_drift_look(), (const double[]){1.06}, 1);
    expect(recent(3), 1.06);
}

/* Predicted 100 ms of blocks with a slowdown of 1.25, so 80 ms as calibrated; they took 90. */
static void a_run_counts_for_others_of_its_kind_alone(void **state)
{
    (void)state;
    struct ring_plan_spec plan = {.n_ranks = 1, .pass = RING_PASS_BACKWARD, .problem = {.dtype = RING_BF16}};
    struct ring_plan_spec other = plan;
    struct tool_rank blocks = {.compute_s = 0.1}, took = {.compute_s = 0.09};
    struct tool_result predicted = {.n_ranks = 1, .ranks = &blocks, .slowdown = 1.25},
                       measured = {.n_ranks = 1, .ranks = &took, .drift = 1.5};
    size_t n;
    double age_s;
    other.problem.tokens = 1; /* of the kind, but not the same */
    leave(calibration, "", 1000);
    unlink(looks);
    tool_drift_note_run(&plan, &predicted, &measured);
    expect(tool_drift_recent(tool_drift_runs(&other), &n, &age_s), 1.125);
    assert_int_equal(n, 1);
    expect(recent(1), 1.5);
    other.pass = RING_PASS_FORWARD;
    expect(tool_drift_recent(tool_drift_runs(&other), &n, &age_s), 1);
    assert_int_equal(n, 0);
    expect(tool_drift_recent(tool_drift_runs(&plan), &n, &age_s), 1);
    assert_int_equal(n, 0);
}

/* 2 s predicted with a slowdown of 1.1, and the step took 3: 1.65. Their blocks took each other's time. */
static void of_ranks_that_take_turns_the_whole_step_counts(void **state)
{
    (void)state;
    struct ring_plan_spec plan = {.n_ranks = 100000}, other = {.n_ranks = 100001}, alone = {.n_ranks = 1};
    struct tool_rank rank = {.compute_s = 1};
    struct tool_result predicted = {.n_ranks = 1, .ranks = &rank, .time_s = 2, .slowdown = 1.1},
                       measured = {.n_ranks = 1, .ranks = &rank, .time_s = 3, .drift = 1};
    size_t n;
    double age_s;
    leave(calibration, "", 1000);
    unlink(looks);
    tool_drift_note_run(&plan, &predicted, &measured);
    expect(tool_drift_recent(tool_drift_runs(&other), &n, &age_s), 1.65);
    tool_drift_recent(tool_drift_runs(&alone), &n, &age_s);
    assert_int_equal(n, 0);
}

static int make_cache(void **state)
{
    char folder[64];
    (void)state;
    if (mkdtemp(cache) == NULL)
        return 1;
    snprintf(folder, sizeof folder, "%s/ringlab", cache);
    snprintf(looks, sizeof looks, "%s/this-machine-looks.txt", folder);
    snprintf(calibration, sizeof calibration, "%s/this-machine.yaml", folder);
    return setenv("XDG_CACHE_HOME", cache, 1) != 0 || mkdir(folder, 0700) != 0;
}

static int clear_cache(void **state)
{
    char folder[64];
    (void)state;
    unlink(looks);
    unlink(calibration);
    snprintf(folder, sizeof folder, "%s/ringlab", cache);
    return rmdir(folder) != 0 || rmdir(cache) != 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_looks_the_machine_is_as_it_was),
        cmocka_unit_test(the_median_of_the_looks_counts),
        cmocka_unit_test(looks_from_before_the_calibration_do_not_count),
        cmocka_unit_test(looks_older_than_two_minutes_do_not_count),
        cmocka_unit_test(only_the_latest_5_looks_count),
        cmocka_unit_test(what_is_no_ratio_of_two_times_does_not_count),
        cmocka_unit_test(a_line_cut_off_does_not_hide_those_behind_it),
        cmocka_unit_test(looks_that_are_noted_are_found_again),
        cmocka_unit_test(a_run_counts_for_others_of_its_kind_alone),
        cmocka_unit_test(of_ranks_that_take_turns_the_whole_step_counts),
    };
    return cmocka_run_group_tests(tests, make_cache, clear_cache);
}
