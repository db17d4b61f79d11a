/* SPDX-License-Identifier: MIT
 *
 * The oracle against closed forms and a plain triple loop, and what verification lets pass and what it does
 * not. */
#include "exec/kernels/verify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/exec/ring_by_hand.h"
#include "tests/support/cmocka_all.h"

static const struct data_spec noise = {.kind = DATA_RANDOM, .seed = 11};

static struct ring_problem problem_of(enum ring_dtype dtype, enum ring_mask mask)
{
    return (struct ring_problem){
        .tokens = 600, .batch = 2, .heads = 4, .kv_heads = 2, .head_dim = 20, .dtype = dtype, .mask = mask};
}

/* dV of the first and last key and the middle of nothing: the ramp's weights are uniform. */
static void the_oracle_gives_the_ramps_closed_form(void **state)
{
    static const struct data_spec ramp = {.kind = DATA_RAMP, .seed = 1};
    (void)state;
    for (int mask = 0; mask < RING_N_MASKS; mask++) {
        struct ring_problem problem = problem_of(RING_FP64, (enum ring_mask)mask);
        struct oracle *oracle;
        struct ring_error error;
        double lse, t;
        assert_int_equal(oracle_open(&oracle, &problem, &ramp, &error), RING_OK);
        for (uint64_t i = 0; i < 600; i += 37) {
            double n_seen = mask == RING_MASK_CAUSAL ? (double)i + 1.0 : 600.0;
            const double *out = oracle_row(oracle, 1, 3, i, &lse, &t);
            assert_true(fabs(out[19] - (n_seen - 1.0) / 2.0) < 1e-11);
            assert_true(fabs(lse - log(n_seen)) < 1e-14);
            assert_true(t == 0.0);
        }
        assert_true(oracle_max_v(oracle) == 599.0);
        oracle_close(oracle);
    }
}

/* One number as the problem's dtype holds it. */
static double rounded(enum ring_dtype dtype, enum data_tensor tensor, uint32_t batch, uint32_t head,
                      uint64_t position, uint32_t dim)
{
    double element;
    data_store(dtype, &element, 0, data_value(&noise, tensor, batch, head, position, dim));
    return data_load(dtype, &element, 0);
}

static void the_oracle_agrees_with_three_plain_loops(void **state)
{
    (void)state;
    for (int dtype = 0; dtype < RING_N_DTYPES; dtype++) {
        const enum ring_dtype of = (enum ring_dtype)dtype;
        struct ring_problem problem = problem_of(of, RING_MASK_CAUSAL);
        struct oracle *oracle;
        struct ring_error error;
        double lse, t, sum = 0.0, wanted[20] = {0}, largest = 0.0;
        assert_int_equal(oracle_open(&oracle, &problem, &noise, &error), RING_OK);
        const double *out = oracle_row(oracle, 1, 2, 401, &lse, &t); /* query head 2 reads kv head 1 */
        for (uint64_t key = 0; key <= 401; key++) {
            double dot = 0.0, size = 0.0;
            for (uint32_t dim = 0; dim < 20; dim++) {
                double term = rounded(of, DATA_Q, 1, 2, 401, dim) * rounded(of, DATA_K, 1, 1, key, dim);
                dot += term;
                size += fabs(term);
            }
            largest = fmax(largest, size / sqrt(20.0));
            sum += exp(dot / sqrt(20.0));
            for (uint32_t dim = 0; dim < 20; dim++)
                wanted[dim] += exp(dot / sqrt(20.0)) * rounded(of, DATA_V, 1, 1, key, dim);
        }
        for (uint32_t dim = 0; dim < 20; dim++)
            assert_true(fabs(out[dim] - wanted[dim] / sum) < 1e-14);
        assert_true(fabs(lse - log(sum)) < 1e-13);
        assert_true(fabs(t - largest) < 1e-13);
        oracle_close(oracle);
    }
}

/* A ring that is right, to be spoilt. */
static struct oracle *open_good_ring(struct ring_by_hand *ring)
{
    struct ring_plan_spec spec = {
        .strategy = "ring",
        .problem = problem_of(RING_FP32, RING_MASK_CAUSAL),
        .layout = RING_LAYOUT_STRIPED,
        .pass = RING_PASS_FORWARD,
        .n_ranks = 4,
        .n_buffers = RING_MIN_BUFFERS,
    };
    struct oracle *oracle;
    struct ring_error error;
    ring_by_hand_open(ring, &spec, "auto", &noise);
    ring_by_hand_run(ring, false);
    assert_int_equal(oracle_open(&oracle, &spec.problem, &noise, &error), RING_OK);
    return oracle;
}

static struct verify_report report_of(const struct ring_by_hand *ring, const struct oracle *oracle,
                                      uint64_t max_rows)
{
    struct verify_report report;
    verify_rank(&ring->plan, 1, oracle, RING_FP32, ring->out[1], ring->lse[1], max_rows, &report);
    return report;
}

static void a_right_result_passes_and_is_counted(void **state)
{
    struct ring_by_hand ring;
    struct oracle *oracle = open_good_ring(&ring);
    (void)state;
    struct verify_report report = report_of(&ring, oracle, 0);
    assert_int_equal(report.rank, 1);
    assert_int_equal(report.rows_total, 2 * 4 * 150);
    assert_int_equal(report.rows_checked, 2 * 4 * 150);
    assert_int_equal(report.n_bad, 0);
    assert_true(report.out_worst > 0.0 && report.out_worst <= report.out_bound);
    assert_true(report.lse_worst > 0.0 && report.lse_worst <= report.lse_bound);
    assert_true(report.out_error2 > 0.0 && report.out_error2 < 1e-12 * report.out_norm2);
    assert_int_equal(report_of(&ring, oracle, 64).rows_checked, 8 * 64);
    assert_int_equal(report_of(&ring, oracle, 1).rows_checked, 8 * 2);
    assert_int_equal(report_of(&ring, oracle, 1000).rows_checked, 8 * 150);
    oracle_close(oracle);
    ring_by_hand_close(&ring);
}

/* Spoils one number of the first or last token, which any sample must see, and expects one bad row. */
static void assert_caught(float *number, float wrong, const struct ring_by_hand *ring,
                          const struct oracle *oracle)
{
    uint64_t checksum = report_of(ring, oracle, 2).checksum;
    float right = *number;
    *number = wrong;
    struct verify_report report = report_of(ring, oracle, 2);
    assert_int_equal(report.n_bad, 1);
    assert_true(report.checksum != checksum);
    *number = right;
    assert_true(report_of(ring, oracle, 2).checksum == checksum);
}

static void one_wrong_number_is_caught(void **state)
{
    struct ring_by_hand ring;
    struct oracle *oracle = open_good_ring(&ring);
    float *out = ring.out[1], *lse = ring.lse[1], *last = &out[1200 * 20 - 1];
    (void)state;
    assert_caught(&out[3], NAN, &ring, oracle);
    assert_caught(&out[3], INFINITY, &ring, oracle);
    assert_caught(&out[3], out[3] + 1e-4f, &ring, oracle);
    assert_caught(last, *last * 1.01f, &ring, oracle);
    assert_caught(last, 0.0f, &ring, oracle);
    assert_caught(&lse[0], NAN, &ring, oracle);
    assert_caught(&lse[0], -INFINITY, &ring, oracle);
    assert_caught(&lse[1199], lse[1199] + 1e-3f, &ring, oracle);
    oracle_close(oracle);
    ring_by_hand_close(&ring);
}

static void an_oracle_too_large_for_memory_is_refused(void **state)
{
    struct ring_problem problem = {
        .tokens = 1ull << 62, .batch = 1, .heads = 4, .kv_heads = 4, .head_dim = 128, .dtype = RING_FP32};
    struct oracle *oracle = NULL;
    struct ring_error error;
    (void)state;
    assert_int_equal(oracle_open(&oracle, &problem, &noise, &error), RING_NO_MEMORY);
    assert_null(oracle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_oracle_gives_the_ramps_closed_form),
        cmocka_unit_test(the_oracle_agrees_with_three_plain_loops),
        cmocka_unit_test(a_right_result_passes_and_is_counted),
        cmocka_unit_test(one_wrong_number_is_caught),
        cmocka_unit_test(an_oracle_too_large_for_memory_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
