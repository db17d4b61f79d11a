/* SPDX-License-Identifier: MIT
 *
 * Two results side by side, with figures worked out by hand. */
#include "tools/compare.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_all.h"
#include "tests/tools/sample.h"

static void means_differences_and_the_worst_are_found(void **state)
{
    (void)state;
    struct tool_result predicted, measured;
    struct tool_comparison comparison;
    struct ring_error error;
    sample_result(&predicted);
    sample_result(&measured);
    predicted.n_repeats = 0;
    /* Measured: rank 1 computes 1 s longer in step 1. */
    measured.ranks[1].compute_s = 7;
    measured.ranks[1].end_s = measured.time_s = 7.25;
    measured.steps[3].compute_s = 4;
    measured.steps[3].end_s = 7.25;
    assert_int_equal(tool_compare_results(&predicted, &measured, &comparison, &error), RING_OK);
    assert_true(comparison.all.time.predicted_s == 6.5 && comparison.all.time.measured_s == 7.25);
    assert_true(comparison.all.parts[TOOL_PART_COMPUTE].predicted_s == 5.5);
    assert_true(comparison.all.parts[TOOL_PART_COMPUTE].measured_s == 6);
    assert_true(comparison.all.parts[TOOL_PART_TRANSFER].predicted_s == 0.5);
    assert_int_equal(comparison.worst, TOOL_PART_COMPUTE);
    assert_int_equal(comparison.worst_rank, 1);
    assert_int_equal(comparison.worst_step, 1);
    assert_int_equal(comparison.n_steps, 2);
    assert_true(comparison.steps[1].time.predicted_s == (2 + 3.125) / 2);
    assert_true(comparison.steps[1].time.measured_s == (2 + 4.125) / 2);
    assert_null(comparison.different);
    double error_of_time = tool_pair_error(comparison.all.time);
    assert_true(error_of_time > -0.1035 && error_of_time < -0.1034); /* -0.75 / 7.25 */
    free(comparison.steps);
    tool_result_fini(&predicted);
    tool_result_fini(&measured);
}

static void other_questions_and_other_steps_are_noticed(void **state)
{
    (void)state;
    struct tool_result predicted, measured;
    struct tool_comparison comparison;
    struct ring_error error;
    sample_result(&predicted);
    sample_result(&measured);
    measured.question.plan.problem.tokens = 1;
    free(measured.steps);
    measured.steps = NULL;
    assert_int_equal(tool_compare_results(&predicted, &measured, &comparison, &error), RING_OK);
    assert_string_equal(comparison.different, "tokens");
    assert_null(comparison.steps);
    free(comparison.steps);
    measured.n_ranks = 1;
    measured.question.plan.n_ranks = 1;
    assert_int_equal(tool_compare_results(&predicted, &measured, &comparison, &error), RING_OK);
    assert_string_equal(comparison.different, "devices");
    assert_false(comparison.same_ranks);
    tool_result_fini(&predicted);
    tool_result_fini(&measured);
}

static void a_pair_of_zeros_has_no_error(void **state)
{
    (void)state;
    assert_true(tool_pair_error((struct tool_pair){0, 0}) == 0);
    assert_true(tool_pair_error((struct tool_pair){3, 2}) == 0.5);
}

static void the_sentence_names_the_part(void **state)
{
    (void)state;
    struct tool_result predicted, measured;
    struct tool_comparison comparison;
    struct ring_error error;
    char text[512];
    sample_result(&predicted);
    sample_result(&measured);
    predicted.n_repeats = 0;
    predicted.ranks[0].transfer_s = 3; /* 1 s more on the mean rank */
    predicted.time_s = 8.5;
    assert_int_equal(tool_compare_results(&predicted, &measured, &comparison, &error), RING_OK);
    tool_compare_sentence(&predicted, &measured, &comparison, text, sizeof text);
    assert_non_null(strstr(text, "The predicted step is 31 % above the measured step"));
    assert_non_null(strstr(text, "transfer differs most: 1.000 s too long"));
    free(comparison.steps);
    tool_result_fini(&predicted);
    tool_result_fini(&measured);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(means_differences_and_the_worst_are_found),
        cmocka_unit_test(other_questions_and_other_steps_are_noticed),
        cmocka_unit_test(a_pair_of_zeros_has_no_error),
        cmocka_unit_test(the_sentence_names_the_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
