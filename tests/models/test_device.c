/* SPDX-License-Identifier: MIT
 *
 * Reading rates off curves: at the points, between them, beyond them, and off the right curve. */
#include <math.h>
#include <string.h>

#include "models/device.h"
#include "tests/support/cmocka_all.h"

static void assert_close(double actual, double expected)
{
    if (!(fabs(actual - expected) <= 1e-12 * fabs(expected)))
        fail_msg("%.17g, expected %.17g", actual, expected);
}

static const double squares[] = {1024, 4096, 16384};
static const double causal_rates[] = {100e12, 200e12, 300e12};
static const double full_rates[] = {150e12, 250e12, 350e12};
static const double backward_rates[] = {50e12, 60e12, 70e12};
static const double fp32_q[] = {256, 1024}, fp32_k[] = {512, 2048};
static const double fp32_rates[] = {1e9, 2e9,  /* 256 queries */
                                    3e9, 8e9}; /* 1024 */

#define SQUARE .square = true, .n_q = 3, .q_tokens = squares
static const struct model_curve curves[] = {
    {.pass = RING_PASS_FORWARD,
     .dtype = RING_BF16,
     .head_dim = 128,
     .causal = true,
     SQUARE,
     .rates_flop_per_s = causal_rates},
    {.pass = RING_PASS_FORWARD, .dtype = RING_BF16, .head_dim = 128, SQUARE, .rates_flop_per_s = full_rates},
    {.pass = RING_PASS_BACKWARD,
     .dtype = RING_BF16,
     .head_dim = 128,
     SQUARE,
     .rates_flop_per_s = backward_rates},
    {.pass = RING_PASS_FORWARD,
     .dtype = RING_FP32,
     .head_dim = 64,
     .n_q = 2,
     .n_k = 2,
     .q_tokens = fp32_q,
     .k_tokens = fp32_k,
     .rates_flop_per_s = fp32_rates},
};
static const struct model_device device = {.name = "toy", .curves = curves, .n_curves = 4};

static const struct ring_problem bf16 = {
    .tokens = 65536, .batch = 1, .heads = 32, .kv_heads = 8, .head_dim = 128, .dtype = RING_BF16};
static const struct ring_problem fp32 = {
    .tokens = 65536, .batch = 1, .heads = 1, .kv_heads = 1, .head_dim = 64, .dtype = RING_FP32};

static struct ring_work full(uint64_t q, uint64_t k)
{
    return (struct ring_work){q, k, q * k};
}

static struct ring_work triangle(uint64_t n)
{
    return (struct ring_work){n, n, n * (n + 1) / 2};
}

static double rate_of(const struct ring_problem *problem, enum ring_pass pass, struct ring_work work)
{
    struct model_block_cost cost;

    assert_int_equal(model_device_block(&device, problem, pass, &work, &cost, NULL), RING_OK);
    assert_close(cost.kernel_s * cost.rate_flop_per_s, cost.flops);
    return cost.rate_flop_per_s;
}

static void flops_are_4_head_dim_a_pair_and_2_5_times_that_backward(void **state)
{
    (void)state;
    assert_close(model_attention_flops(1000, &bf16, RING_PASS_FORWARD), 512000);
    assert_close(model_attention_flops(1000, &bf16, RING_PASS_BACKWARD), 1280000);
}

static void a_block_takes_its_flops_over_the_rate_of_its_own_shape(void **state)
{
    struct ring_work work = triangle(4096);
    struct model_block_cost cost;

    (void)state;
    /* 4 * 128 * 32 heads * 4096 * 4097 / 2 = 1.37472e11 FLOP at 200 TFLOP/s */
    assert_int_equal(model_device_block(&device, &bf16, RING_PASS_FORWARD, &work, &cost, NULL), RING_OK);
    assert_close(cost.flops, 137472507904.0);
    assert_close(cost.total_s, 137472507904.0 / 200e12);
    assert_ptr_equal(cost.curve, &curves[0]);
    assert_false(cost.outside);
}

static void between_points_the_rate_is_linear_in_log2_of_the_tokens(void **state)
{
    (void)state;
    assert_close(rate_of(&bf16, RING_PASS_FORWARD, full(2048, 2048)),
                 200e12); /* half way from 1024 to 4096 */
    assert_close(rate_of(&bf16, RING_PASS_FORWARD, full(8192, 8192)), 300e12);
    assert_close(rate_of(&bf16, RING_PASS_FORWARD, full(1448, 1448)),
                 150e12 + 100e12 * log2(1448.0 / 1024) / 2);
    assert_close(rate_of(&bf16, RING_PASS_FORWARD, triangle(2048)), 150e12);
}

static void an_oblong_block_is_read_off_a_square_curve_at_the_root_of_its_area(void **state)
{
    (void)state;
    assert_close(rate_of(&bf16, RING_PASS_FORWARD, full(1024, 4096)), 200e12); /* as 2048 x 2048 */
    assert_close(rate_of(&bf16, RING_PASS_FORWARD, full(4096, 1024)), 200e12);
}

static void a_table_is_bilinear_in_queries_and_keys(void **state)
{
    (void)state;
    assert_close(rate_of(&fp32, RING_PASS_FORWARD, full(256, 512)), 1e9);
    assert_close(rate_of(&fp32, RING_PASS_FORWARD, full(1024, 2048)), 8e9);
    assert_close(rate_of(&fp32, RING_PASS_FORWARD, full(512, 512)), 2e9);    /* between 1 and 3 */
    assert_close(rate_of(&fp32, RING_PASS_FORWARD, full(256, 1024)), 1.5e9); /* between 1 and 2 */
    assert_close(rate_of(&fp32, RING_PASS_FORWARD, full(512, 1024)), 3.5e9); /* the mean of all four */
}

static void beyond_the_ends_the_end_is_used_and_said(void **state)
{
    struct model_block_cost cost;
    struct ring_work small = full(16, 16), large = full(1u << 20, 1u << 20), oblong = full(512, 8192);

    (void)state;
    assert_int_equal(model_device_block(&device, &bf16, RING_PASS_FORWARD, &small, &cost, NULL), RING_OK);
    assert_close(cost.rate_flop_per_s, 150e12);
    assert_true(cost.outside);
    assert_int_equal(model_device_block(&device, &bf16, RING_PASS_FORWARD, &large, &cost, NULL), RING_OK);
    assert_close(cost.rate_flop_per_s, 350e12);
    assert_true(cost.outside);
    assert_int_equal(model_device_block(&device, &fp32, RING_PASS_FORWARD, &oblong, &cost, NULL), RING_OK);
    assert_close(cost.rate_flop_per_s, 5e9); /* at 2048 keys, between 2 and 8 */
    assert_true(cost.outside);
}

static void the_nearest_curve_stands_in_for_one_that_is_missing(void **state)
{
    struct ring_problem problem = bf16;
    struct model_block_cost cost;
    struct ring_work work = triangle(4096);

    (void)state;
    problem.dtype = RING_FP16; /* bf16 serves */
    assert_close(rate_of(&problem, RING_PASS_FORWARD, triangle(4096)), 200e12);
    problem.head_dim = 64;
    assert_close(rate_of(&problem, RING_PASS_FORWARD, triangle(4096)), 200e12);
    /* no causal backward curve: the full one */
    assert_int_equal(model_device_block(&device, &bf16, RING_PASS_BACKWARD, &work, &cost, NULL), RING_OK);
    assert_ptr_equal(cost.curve, &curves[2]);
    assert_close(cost.total_s, 2.5 * 137472507904.0 / 60e12);
}

static void the_curve_of_the_nearest_head_dim_is_taken(void **state)
{
    const double point[] = {1}, rates[] = {1, 2, 3};
    const uint32_t head_dims[] = {64, 128, 256};
    struct model_curve own[3];
    const struct {
        uint32_t head_dim, expected;
    } cases[] = {{32, 64}, {64, 64}, {80, 64}, {96, 128}, {160, 128}, {200, 256}, {512, 256}};

    (void)state;
    for (int i = 0; i < 3; i++)
        own[i] = (struct model_curve){.pass = RING_PASS_FORWARD,
                                      .dtype = RING_BF16,
                                      .head_dim = head_dims[i],
                                      .square = true,
                                      .n_q = 1,
                                      .q_tokens = point,
                                      .rates_flop_per_s = &rates[i]};
    struct model_device three = {.name = "three", .curves = own, .n_curves = 3};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ring_problem problem = bf16;
        struct ring_work work = full(16, 16);
        struct model_block_cost cost;
        problem.head_dim = cases[i].head_dim;
        assert_int_equal(model_device_block(&three, &problem, RING_PASS_FORWARD, &work, &cost, NULL),
                         RING_OK);
        assert_int_equal(cost.curve->head_dim, cases[i].expected);
    }
}

static void launch_and_merge_are_added_to_the_kernel(void **state)
{
    struct model_device slow = device;
    struct model_block_cost cost;
    struct ring_work half = full(4096, 8192);

    (void)state;
    slow.step_s = 10e-6;
    slow.merge_bytes_per_element = 28;
    slow.memory_bytes_per_s = 2e12;
    /* 4096 queries x 32 heads x 128 = 16777216 elements x 28 B / 2 TB/s = 234.88 us */
    assert_int_equal(model_device_block(&slow, &bf16, RING_PASS_FORWARD, &half, &cost, NULL), RING_OK);
    assert_close(cost.launch_s, 10e-6);
    assert_close(cost.merge_s, 16777216.0 * 28 / 2e12);
    assert_close(cost.total_s, cost.launch_s + cost.kernel_s + cost.merge_s);
    /* backward folds dQ in: fp32 read and written, the block's bf16 read */
    assert_int_equal(model_device_block(&slow, &bf16, RING_PASS_BACKWARD, &half, &cost, NULL), RING_OK);
    assert_close(cost.merge_s, 16777216.0 * 10 / 2e12);
    slow.merge_bytes_per_element = 0;
    assert_int_equal(model_device_block(&slow, &bf16, RING_PASS_BACKWARD, &half, &cost, NULL), RING_OK);
    assert_true(cost.merge_s == 0);
}

static void a_block_that_nobody_sees_costs_nothing(void **state)
{
    struct model_device slow = device;
    struct model_block_cost cost;
    const struct ring_work none = {.q_tokens = 0};

    (void)state;
    slow.step_s = 1;
    assert_int_equal(model_device_block(&slow, &bf16, RING_PASS_FORWARD, &none, &cost, NULL), RING_OK);
    assert_true(cost.total_s == 0);
    assert_null(cost.curve);
}

static void a_missing_curve_is_an_error_that_says_what_there_is(void **state)
{
    struct ring_problem problem = bf16;
    struct ring_work work = full(1024, 1024);
    struct model_block_cost cost;
    struct ring_error error;

    (void)state;
    problem.dtype = RING_FP64;
    assert_int_equal(model_device_block(&device, &problem, RING_PASS_FORWARD, &work, &cost, &error),
                     RING_BAD_INPUT);
    assert_string_equal(
        error.text,
        "device toy has no forward curve for fp64; it has forward bf16, backward bf16, forward fp32");
    problem.dtype = RING_FP32;
    assert_int_equal(model_device_block(&device, &problem, RING_PASS_BACKWARD, &work, &cost, &error),
                     RING_BAD_INPUT);
    const struct model_device bare = {.name = "bare"};
    assert_int_equal(model_device_block(&bare, &problem, RING_PASS_FORWARD, &work, &cost, &error),
                     RING_BAD_INPUT);
    assert_string_equal(error.text, "device bare has no forward curve for fp32; it has no curves at all");
    assert_int_equal(model_device_block(&device, &bf16, RING_PASS_BOTH, &work, &cost, &error),
                     RING_BAD_INPUT);
}

static void a_curve_that_cannot_be_read_is_refused(void **state)
{
    const double down[] = {4096, 1024}, rates[] = {1, 2}, zero[] = {1, 0}, up[] = {1024, 4096};
    struct model_curve curve = {
        .head_dim = 128, .square = true, .n_q = 2, .q_tokens = down, .rates_flop_per_s = rates};
    struct model_device own = {.name = "own", .curves = &curve, .n_curves = 1};
    struct ring_error error;

    (void)state;
    assert_int_equal(model_device_check(&device, &error), RING_OK);
    assert_int_equal(model_device_check(&own, &error), RING_BAD_INPUT);
    assert_non_null(strstr(error.text, "own"));
    curve.q_tokens = up;
    assert_int_equal(model_device_check(&own, &error), RING_OK);
    curve.rates_flop_per_s = zero;
    assert_int_equal(model_device_check(&own, &error), RING_BAD_INPUT);
    curve.rates_flop_per_s = rates;
    curve.n_q = 0;
    assert_int_equal(model_device_check(&own, &error), RING_BAD_INPUT);
    curve.n_q = 2;
    own.merge_bytes_per_element = 28;
    assert_int_equal(model_device_check(&own, &error), RING_BAD_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flops_are_4_head_dim_a_pair_and_2_5_times_that_backward),
        cmocka_unit_test(a_block_takes_its_flops_over_the_rate_of_its_own_shape),
        cmocka_unit_test(between_points_the_rate_is_linear_in_log2_of_the_tokens),
        cmocka_unit_test(an_oblong_block_is_read_off_a_square_curve_at_the_root_of_its_area),
        cmocka_unit_test(a_table_is_bilinear_in_queries_and_keys),
        cmocka_unit_test(beyond_the_ends_the_end_is_used_and_said),
        cmocka_unit_test(the_nearest_curve_stands_in_for_one_that_is_missing),
        cmocka_unit_test(the_curve_of_the_nearest_head_dim_is_taken),
        cmocka_unit_test(launch_and_merge_are_added_to_the_kernel),
        cmocka_unit_test(a_block_that_nobody_sees_costs_nothing),
        cmocka_unit_test(a_missing_curve_is_an_error_that_says_what_there_is),
        cmocka_unit_test(a_curve_that_cannot_be_read_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
