/* SPDX-License-Identifier: MIT
 *
 * The figures of `ringlab validate`, worked out by hand, and the rows of its page. Times in ms. */
#include "tools/validate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_all.h"

enum { MOST = 32 };
#define PERCENT 0.01
#define EXACT   1e-12

/* cmocka's own comparison is of floats. */
static void expect(double value, double wanted, double tolerance)
{
    if (!(fabs(value - wanted) <= tolerance))
        fail_msg("%.15g where %.15g is expected", value, wanted);
}

/* Predicted and measured times; the one as calibrated is the same. */
static struct tool_accuracy figures_of(const double (*times)[2], size_t n, bool calibrated)
{
    struct tool_trial trials[MOST] = {0};
    struct tool_accuracy accuracy;
    for (size_t i = 0; i < n; i++) {
        trials[i].predicted_s = trials[i].calibrated_s = 1e-3 * times[i][0];
        trials[i].measured_s = 1e-3 * times[i][1];
    }
    assert_int_equal(tool_accuracy_find(trials, n, calibrated, &accuracy, NULL), RING_OK);
    return accuracy;
}

/* Errors +10 %, -5 %, 0 and +2 %: absolute and sorted 0, 2, 5, 10. */
static void errors_of_10_5_0_and_2_percent_have_the_median_3_and_a_half(void **state)
{
    (void)state;
    const double times[][2] = {{110, 100}, {190, 200}, {400, 400}, {51, 50}};
    struct tool_accuracy accuracy = figures_of(times, 4, false);
    assert_int_equal(accuracy.n, 4);
    expect(accuracy.median, 3.5 * PERCENT, EXACT);
    expect(accuracy.p95, 10 * PERCENT, EXACT);
    expect(accuracy.worst, 10 * PERCENT, EXACT);
    assert_int_equal(accuracy.worst_at, 0);
    expect(accuracy.bias, 1.75 * PERCENT, EXACT); /* (10 - 5 + 0 + 2) / 4 */
}

static void an_odd_number_has_the_one_in_the_middle_as_its_median(void **state)
{
    (void)state;
    const double times[][2] = {{101, 100}, {93, 100}, {104, 100}};
    expect(figures_of(times, 3, false).median, 4 * PERCENT, EXACT);
}

/* Of 20 errors of 1 to 20 %, 95 % are 19, so 19 % is the least that so many do not exceed; of 21 it takes 20.
 */
static void the_p95_is_the_least_that_95_percent_do_not_exceed(void **state)
{
    (void)state;
    double times[21][2];
    for (int i = 0; i < 21; i++) {
        times[i][0] = 100 + (20 - i) + 1;
        times[i][1] = 100;
    }
    expect(figures_of((const double(*)[2])times + 1, 20, false).p95, 19 * PERCENT, EXACT);
    expect(figures_of((const double(*)[2])times, 21, false).p95, 20 * PERCENT, EXACT);
}

/* 100 and 104 differ by 4 %, 104 and 108 by less; 100 and 108 by 8 %, and 200 by more from all: 4 pairs. */
static void pairs_that_differ_by_less_than_5_percent_are_not_ranked(void **state)
{
    (void)state;
    const double times[][2] = {{100, 100}, {104, 104}, {108, 108}, {200, 200}};
    struct tool_accuracy accuracy = figures_of(times, 4, false);
    assert_int_equal(accuracy.n_pairs, 4);
    assert_int_equal(accuracy.n_right, 4);
}

/* Measured 100 < 120 < 150. Predicted 120, 120, 110: a draw and two the wrong way round. */
static void a_draw_or_the_wrong_way_round_is_not_the_right_order(void **state)
{
    (void)state;
    const double times[][2] = {{120, 100}, {120, 120}, {110, 150}};
    struct tool_accuracy accuracy = figures_of(times, 3, false);
    assert_int_equal(accuracy.n_pairs, 3);
    assert_int_equal(accuracy.n_right, 0);
}

/* A compute part that is 10 ms too long in 100 and 10 ms too short in 200: +10 % and -5 % of the step. */
static void a_part_s_difference_counts_as_a_share_of_the_measured_step(void **state)
{
    (void)state;
    struct tool_trial trials[2] = {{.predicted_s = 0.1, .measured_s = 0.1},
                                   {.predicted_s = 0.2, .measured_s = 0.2}};
    struct tool_accuracy accuracy;
    trials[0].parts_s[TOOL_PART_COMPUTE] = 0.01;
    trials[1].parts_s[TOOL_PART_COMPUTE] = -0.01;
    assert_int_equal(tool_accuracy_find(trials, 2, false, &accuracy, NULL), RING_OK);
    expect(accuracy.part_bias[TOOL_PART_COMPUTE], 2.5 * PERCENT, EXACT);
    expect(accuracy.part_median[TOOL_PART_COMPUTE], 7.5 * PERCENT, EXACT);
    expect(accuracy.part_median[TOOL_PART_WAIT], 0, EXACT);
}

static void as_calibrated_the_prediction_without_drift_counts(void **state)
{
    (void)state;
    struct tool_trial trial = {.predicted_s = 0.1, .calibrated_s = 0.12, .measured_s = 0.125};
    struct tool_accuracy accuracy;
    expect(tool_trial_error(&trial, false), -20 * PERCENT, EXACT);
    expect(tool_trial_error(&trial, true), -4 * PERCENT, EXACT);
    assert_int_equal(tool_accuracy_find(&trial, 1, true, &accuracy, NULL), RING_OK);
    expect(accuracy.bias, -4 * PERCENT, EXACT);
}

static void nothing_tried_gives_zeroes(void **state)
{
    (void)state;
    struct tool_accuracy accuracy;
    assert_int_equal(tool_accuracy_find(NULL, 0, false, &accuracy, NULL), RING_OK);
    assert_int_equal(accuracy.n, 0);
    assert_int_equal(accuracy.n_pairs, 0);
    expect(accuracy.worst, 0, EXACT);
}

static char *page_of(const struct tool_trial *trials, size_t n, const struct tool_circumstances *c)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    assert_int_equal(tool_validate_page(trials, n, c, file, NULL), RING_OK);
    fclose(file);
    return text;
}

static void the_page_says_how_it_came_about_and_has_a_row_for_each_kind_and_scenario(void **state)
{
    (void)state;
    struct tool_trial trials[] = {
        {.label = "a",
         .predicted_s = 0.11,
         .calibrated_s = 0.11,
         .measured_s = 0.1,
         .lowest_s = 0.1,
         .highest_s = 0.12,
         .slowdown = 1.02,
         .core_share = 0.9},
        {.label = "b",
         .predicted_s = 0.19,
         .calibrated_s = 0.2,
         .measured_s = 0.2,
         .lowest_s = 0.2,
         .highest_s = 0.2,
         .slowdown = 1.04,
         .core_share = 1},
    };
    struct tool_circumstances c = {.date = "2026-01-02",
                                   .processor = "P",
                                   .load = "0.1 before, 0.2 after",
                                   .n_processors = 2,
                                   .n_rounds = 3,
                                   .real_time = true};
    trials[0].plan.n_ranks = 1;
    trials[1].plan.n_ranks = 2;
    char *text = page_of(trials, 2, &c);
    assert_non_null(strstr(text, "2026-01-02; P, 2 processors"));
    assert_non_null(strstr(text, "real-time"));
    assert_non_null(strstr(text, "mean 0.95, least 0.90"));
    assert_non_null(strstr(text, "mean 1.030"));
    assert_non_null(strstr(text, "in 3 rounds"));
    assert_non_null(strstr(text, "| **all** | 2 | 7.5 % | 10.0 % | 10.0 % | +2.5 % | 100.0 % of 1 |"));
    assert_non_null(strstr(text, "as calibrated | 2 | 5.0 % | 10.0 % | 10.0 % | +5.0 % | 100.0 % of 1 |"));
    assert_non_null(strstr(text, "| 2 ranks | 1 | 5.0 % | 5.0 % | 5.0 % | -5.0 % | - |"));
    assert_null(strstr(text, "| more ranks |"));
    assert_non_null(strstr(text, "| a | 110.000 | 100.000 | +10.0 % | 100.000 to 120.000 | 1.020 | 0.90 |"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_of_10_5_0_and_2_percent_have_the_median_3_and_a_half),
        cmocka_unit_test(an_odd_number_has_the_one_in_the_middle_as_its_median),
        cmocka_unit_test(the_p95_is_the_least_that_95_percent_do_not_exceed),
        cmocka_unit_test(pairs_that_differ_by_less_than_5_percent_are_not_ranked),
        cmocka_unit_test(a_draw_or_the_wrong_way_round_is_not_the_right_order),
        cmocka_unit_test(a_part_s_difference_counts_as_a_share_of_the_measured_step),
        cmocka_unit_test(as_calibrated_the_prediction_without_drift_counts),
        cmocka_unit_test(nothing_tried_gives_zeroes),
        cmocka_unit_test(the_page_says_how_it_came_about_and_has_a_row_for_each_kind_and_scenario),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
