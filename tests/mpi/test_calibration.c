/* SPDX-License-Identifier: MIT
 *
 * The arithmetic of a calibration, by hand: how the machine's mood is smoothed and read, how hops become
 * classes, and how what was held out is graded. Needs no MPI at run time. */
#include <math.h>

#include "exec/calibrate_shapes.h"
#include "tests/support/cmocka_all.h"

static void assert_near(double actual, double expected)
{
    if (!(fabs(actual - expected) <= 1e-9 * fabs(expected)))
        fail_msg("%.12g, expected %.12g", actual, expected);
}

/* Windows of five, cut at the ends: 1 1 5, 1 1 5 1, 1 1 5 1 2, 1 5 1 2 2, 5 1 2 2 2, 1 2 2 2, 2 2 2. */
static void a_spike_of_the_reference_is_no_mood(void **state)
{
    struct exec_mood moods[] = {{0, 1}, {1, 1}, {2, 5}, {3, 1}, {4, 2}, {5, 2}, {6, 2}};
    const double smooth[] = {1, 1, 1, 2, 2, 2, 2};

    (void)state;
    exec_mood_smooth(moods, 7);
    for (int i = 0; i < 7; i++)
        assert_true(moods[i].ratio == smooth[i]);
    struct exec_mood one = {3, 1.5};
    exec_mood_smooth(&one, 1);
    assert_true(one.ratio == 1.5);
}

static void between_two_looks_the_mood_is_on_a_straight_line(void **state)
{
    const struct exec_mood moods[] = {{10, 1}, {20, 2}, {30, 1}};

    (void)state;
    assert_true(exec_mood_at(moods, 3, 12.5) == 1.25);
    assert_true(exec_mood_at(moods, 3, 25) == 1.5);
    assert_true(exec_mood_at(moods, 3, 20) == 2);
    assert_true(exec_mood_at(moods, 3, 5) == 1 && exec_mood_at(moods, 3, 99) == 1);
    assert_true(exec_mood_at(moods, 0, 5) == 1);
}

/* Errors of +10, -10, 0 and +5 %. Of 20 the 19th decides p95, of 4 the last. */
static void a_grade_is_of_sizes_and_its_bias_of_signs(void **state)
{
    const double predicted[] = {11, 9, 10, 10.5}, measured[] = {10, 10, 10, 10};
    struct model_grade grade = exec_grade(predicted, measured, 4);
    double many[20], ones[20];

    (void)state;
    assert_int_equal(grade.n, 4);
    assert_near(grade.median, 0.075);
    assert_near(grade.p95, 0.1);
    assert_near(grade.worst, 0.1);
    assert_near(grade.bias, 0.0125);
    for (int i = 0; i < 20; i++) {
        ones[i] = 1;
        many[i] = i == 7 ? 1.5 : i == 3 ? 0.98 : 1;
    }
    grade = exec_grade(many, ones, 20);
    assert_true(grade.median == 0);
    assert_near(grade.p95, 0.02);
    assert_near(grade.worst, 0.5);
    assert_near(grade.bias, 0.024);
}

/* 1 KiB in 10 us: 9 of latency, the rest at 1.024 GB/s. 3 KiB more in 3.072 us more: 1 GB/s, and 13.072 less
 * 4.096 us of latency. 12 KiB more in no time: all bytes, for nothing may arrive before it begins. */
static void a_class_passes_through_its_size_and_the_one_before(void **state)
{
    const struct exec_hop hops[] = {{1024, false, 10e-6},
                                    {2048, true, 99e-6},
                                    {4096, false, 13.072e-6},
                                    {8192, true, 99e-6},
                                    {16384, false, 13.072e-6}};
    struct model_size_class classes[3];

    (void)state;
    assert_int_equal(exec_calibration_classes(hops, 5, classes), 3);
    assert_near(classes[0].latency_s, 9e-6);
    assert_near(classes[0].bytes_per_s, 1.024e9);
    assert_near(classes[1].latency_s, 8.976e-6);
    assert_near(classes[1].bytes_per_s, 1e9);
    assert_true(classes[1].up_to_bytes == 4096);
    assert_true(classes[2].latency_s == 0);
    assert_near(classes[2].bytes_per_s, 16384 / 13.072e-6);
}

/* Everything at 1 GFLOP/s: 128 x 128 with 64 numbers a head are 4 194 304 FLOP, so 4.194304 ms, where 4 were
 * measured; of the causal one, 128 * 129 / 2 pairs, 2.113536 ms, where 2.113536 were. Backward 2.5 times as
 * many, where half the time was. A hop of 2 KiB: on the line, 10 us and a third of 3.072, where 11.024 were.
 */
static void the_model_is_asked_for_what_was_held_out(void **state)
{
    static struct exec_calibration c = {.n_tokens = 2, .tokens = {64, 256}, .n_tables = 2, .n_shapes = 4};
    const struct exec_hop hops[] = {{1024, false, 10e-6}, {2048, true, 11.024e-6}, {4096, false, 13.072e-6}};

    (void)state;
    for (int i = 0; i < 2; i++) {
        c.tables[i] = (struct exec_kernel_table){.pass = i ? RING_PASS_BACKWARD : RING_PASS_FORWARD,
                                                 .dtype = RING_FP32,
                                                 .head_dim = 64,
                                                 .kernel = "made up",
                                                 .causal = {1e9, 1e9},
                                                 .full = {{1e9, 1e9}, {1e9, 1e9}}};
    }
    const struct exec_block_shape block = {.dtype = RING_FP32,
                                           .head_dim = 64,
                                           .q_tokens = 128,
                                           .k_tokens = 128,
                                           .held_out = true,
                                           .time_s = 4e-3};
    c.shapes[0] = c.shapes[1] = c.shapes[2] = c.shapes[3] = block;
    c.shapes[1].causal = true;
    c.shapes[1].time_s = 2.113536e-3;
    c.shapes[2].table = 1;
    c.shapes[2].pass = RING_PASS_BACKWARD;
    c.shapes[2].time_s = 5.24288e-3;
    c.shapes[3].held_out = false; /* in a table: not asked for */
    c.n_hops = 3;
    for (int i = 0; i < 3; i++)
        c.hops[i] = hops[i];
    exec_calibration_grade(&c);
    assert_int_equal(c.grades[MODEL_GRADE_FORWARD].n, 2);
    assert_near(c.grades[MODEL_GRADE_FORWARD].worst, 0.048576);
    assert_near(c.grades[MODEL_GRADE_FORWARD].bias, 0.024288);
    assert_int_equal(c.grades[MODEL_GRADE_BACKWARD].n, 1);
    assert_near(c.grades[MODEL_GRADE_BACKWARD].bias, 1);
    assert_int_equal(c.grades[MODEL_GRADE_HEAD_DIM].n, 0);
    assert_int_equal(c.grades[MODEL_GRADE_HOPS].n, 1);
    assert_true(c.grades[MODEL_GRADE_HOPS].worst < 1e-9);
}

/* Of sides up to 1024: a table of 5 x 5 and 5 causal squares, and what is held out and fits: 96 x 96, 160 x
 * 640 and back, 384 x 384, 384 x 768; causal 96, 384, 768. A bench without a table: its four. */
static void what_is_held_out_is_in_no_table(void **state)
{
    static struct exec_calibration c = {.n_tokens = 5, .tokens = {64, 128, 256, 512, 1024}, .n_tables = 1};
    size_t n_held_out = 0;

    (void)state;
    exec_list_shapes(&c, 0, &exec_wanted[0]);
    for (size_t i = 0; i < c.n_shapes; i++) {
        const struct exec_block_shape *shape = &c.shapes[i];
        n_held_out += shape->held_out;
        for (size_t side = 0; side < 5 && shape->held_out; side++)
            assert_true(shape->q_tokens != c.tokens[side] && shape->k_tokens != c.tokens[side]);
    }
    assert_int_equal(c.n_shapes, 30 + 8);
    assert_int_equal(n_held_out, 8);
    exec_list_shapes(&c, 1, &exec_wanted[EXEC_N_TABLES]);
    assert_int_equal(c.n_shapes, 38 + 4);
    assert_true(c.shapes[41].held_out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_spike_of_the_reference_is_no_mood),
        cmocka_unit_test(between_two_looks_the_mood_is_on_a_straight_line),
        cmocka_unit_test(a_grade_is_of_sizes_and_its_bias_of_signs),
        cmocka_unit_test(a_class_passes_through_its_size_and_the_one_before),
        cmocka_unit_test(the_model_is_asked_for_what_was_held_out),
        cmocka_unit_test(what_is_held_out_is_in_no_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
