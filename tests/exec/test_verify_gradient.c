/* SPDX-License-Identifier: MIT
 *
 * The gradients' oracle against plain loops and a closed form, what verification of gradients lets pass and
 * what it does not, and that the error does not grow with the ring. */
#include "exec/kernels/verify_gradient.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/exec/ring_turn.h"
#include "tests/support/cmocka_all.h"

enum { N_ROWS = 64 }; /* that the error of a ring is taken from */

static const struct data_spec noise = {.kind = DATA_RANDOM, .seed = 31},
                              ramp = {.kind = DATA_RAMP, .seed = 2};

static struct oracle_gradient *oracle_for(const struct ring_problem *problem, const struct data_spec *data)
{
    struct oracle_gradient *oracle;
    struct ring_error error;
    if (oracle_gradient_open(&oracle, problem, data, &error) != RING_OK)
        fail_msg("%s", error.text);
    return oracle;
}

/* Largest distance of n numbers. */
static double apart(const double *a, const double *b, size_t n)
{
    double worst = 0.0;
    for (size_t i = 0; i < n; i++)
        worst = fmax(worst, fabs(a[i] - b[i]));
    return worst;
}

static void the_oracle_agrees_with_plain_loops(void **state)
{
    enum { S = 40, D = 12 };
    static const enum ring_dtype dtypes[] = {RING_FP32, RING_BF16, RING_FP64};
    (void)state;
    for (int i = 0; i < 6; i++) {
        struct ring_plan_spec spec = ring_turn_spec(1, S, 4, 2, D, dtypes[i / 2]);
        struct ring_turn turn;
        spec.problem.batch = 2;
        spec.problem.mask = i % 2 == 0 ? RING_MASK_FULL : RING_MASK_CAUSAL;
        ring_turn_open(&turn, &spec, "auto", &noise);
        struct plain_gradients plain = plain_gradients_of(&turn);
        struct oracle_gradient *oracle = oracle_for(&spec.problem, &noise);
        struct oracle_size size;
        double t = 0.0;
        for (uint32_t batch = 0; batch < 2; batch++)
            for (uint32_t position = 0; position < S; position++) {
                for (uint32_t head = 0; head < 4; head++) {
                    const double *d_q = oracle_gradient_query(oracle, batch, head, position, &size);
                    t = fmax(t, size.t);
                    assert_true(apart(d_q, plain.d_q + ((batch * 4 + head) * S + position) * D, D) < 1e-13);
                }
                for (uint32_t head = 0; head < 2; head++) {
                    size_t at = (size_t)((batch * 2 + head) * S + position) * D;
                    const double *d_kv = oracle_gradient_key(oracle, batch, head, position, &size);
                    assert_true(apart(d_kv, plain.d_k + at, D) < 1e-13);
                    assert_true(apart(d_kv + D, plain.d_v + at, D) < 1e-13);
                }
            }
        assert_true(fabs(t - plain.t) < 1e-12);
        oracle_gradient_close(oracle);
        plain_gradients_free(&plain);
        ring_turn_close(&turn);
    }
}

static void the_oracle_gives_the_ramps_closed_form(void **state)
{
    struct ring_problem problem = ring_turn_spec(1, 600, 2, 2, 20, RING_FP64).problem;
    struct oracle_gradient *oracle = oracle_for(&problem, &ramp);
    struct oracle_size size;
    (void)state;
    for (uint64_t key = 0; key < 600; key += 37) {
        double wanted = 0.0;
        for (uint64_t query = key; query < 600; query++)
            wanted += 1.0 / (double)(query + 1);
        const double *d_kv = oracle_gradient_key(oracle, 0, 1, key, &size);
        for (uint32_t dim = 0; dim < 20; dim++) {
            assert_true(d_kv[dim] == 0.0);
            assert_true(fabs(d_kv[20 + dim] - wanted) < 1e-12);
        }
    }
    oracle_gradient_close(oracle);
}

static struct verify_gradient_report report_of(const struct ring_turn *turn, uint32_t rank,
                                               struct oracle_gradient *oracle, uint64_t max_rows)
{
    struct verify_gradient_report report;
    uint32_t slot = ring_plan_own_gradient_slot(&turn->plan);
    verify_gradient_rough(&turn->plan, rank, oracle, turn->kernel->state,
                          attention_d_q(turn->attention[rank]), turn->slots[rank][slot],
                          turn->kernel->weight_u, max_rows, &report);
    return report;
}

static void every_rank_of_a_right_ring_passes(void **state)
{
    static const enum ring_dtype dtypes[][2] = {
        {RING_FP32, RING_FP32}, {RING_BF16, RING_FP32}, {RING_BF16, RING_BF16}, {RING_FP64, RING_FP32}};
    (void)state;
    for (int i = 0; i < 24; i++) {
        struct ring_plan_spec spec = ring_turn_spec(4, 83, 4, 2, 16, dtypes[i / 6][0]);
        struct ring_turn turn;
        spec.layout = (enum ring_layout_kind)(i % 3);
        spec.problem.mask = i / 3 % 2 == 0 ? RING_MASK_FULL : RING_MASK_CAUSAL;
        spec.gradient_dtype = dtypes[i / 6][1];
        ring_turn_open(&turn, &spec, "auto", &noise);
        ring_turn_run(&turn);
        struct oracle_gradient *oracle = oracle_for(&spec.problem, &noise);
        for (uint32_t rank = 0; rank < 4; rank++) {
            struct verify_gradient_report all = report_of(&turn, rank, oracle, 0);
            struct verify_gradient_report some = report_of(&turn, rank, oracle, 3);
            uint64_t tokens = ring_layout_shard(&turn.plan.layout, rank).tokens;
            assert_int_equal(all.n_bad, 0);
            assert_int_equal(some.n_bad, 0);
            assert_int_equal(all.rows_checked, 4 * tokens);
            assert_int_equal(all.keys_checked, 2 * tokens);
            assert_int_equal(some.rows_checked, 4 * 3);
            assert_int_equal(some.keys_checked, 3); /* of one of the two kv heads */
            assert_true(all.checksum == some.checksum);
        }
        oracle_gradient_close(oracle);
        ring_turn_close(&turn);
    }
}

/* A lone token attends to itself alone: dQ and dK are what rounding leaves of a difference of equals. */
static void a_token_a_rank_passes_though_its_dq_is_zero(void **state)
{
    (void)state;
    for (uint32_t n_ranks = 1; n_ranks <= 3; n_ranks++) {
        struct ring_plan_spec spec = ring_turn_spec(n_ranks, n_ranks, 8, 4, 64, RING_FP32);
        struct ring_turn turn;
        spec.layout = RING_LAYOUT_CONTIGUOUS;
        ring_turn_open(&turn, &spec, "auto", &noise);
        ring_turn_run(&turn);
        struct oracle_gradient *oracle = oracle_for(&spec.problem, &noise);
        for (uint32_t rank = 0; rank < n_ranks; rank++) {
            struct verify_gradient_report report = report_of(&turn, rank, oracle, 0);
            assert_int_equal(report.n_bad, 0);
        }
        oracle_gradient_close(oracle);
        ring_turn_close(&turn);
    }
}

static void what_is_wrong_is_found(void **state)
{
    struct ring_plan_spec spec = ring_turn_spec(3, 60, 4, 2, 16, RING_FP32);
    struct ring_turn turn;
    (void)state;
    ring_turn_open(&turn, &spec, "auto", &noise);
    ring_turn_run(&turn);
    struct oracle_gradient *oracle = oracle_for(&spec.problem, &noise);
    uint32_t slot = ring_plan_own_gradient_slot(&turn.plan);
    size_t n = ring_turn_size(&turn, TURN_D_K, 1);
    float *gradient = turn.slots[1][slot], *copy = malloc(2 * n * sizeof(float));
    assert_non_null(copy);
    uint64_t checksum = report_of(&turn, 1, oracle, 0).checksum;
    memcpy(copy, gradient, 2 * n * sizeof(float));

    memcpy(gradient, copy + n, n * sizeof(float)); /* dK and dV swapped */
    memcpy(gradient + n, copy, n * sizeof(float));
    assert_int_equal(report_of(&turn, 1, oracle, 0).n_bad, 2);
    memcpy(gradient, copy, 2 * n * sizeof(float));

    gradient[n + 7] += 1e-3f; /* one element of dV */
    assert_int_equal(report_of(&turn, 1, oracle, 0).n_bad, 1);
    gradient[n + 7] = NAN;
    assert_int_equal(report_of(&turn, 1, oracle, 0).n_bad, 1);
    memcpy(gradient, copy, 2 * n * sizeof(float));

    memcpy(gradient, turn.slots[2][slot], 2 * n * sizeof(float)); /* another rank's */
    assert_int_equal(report_of(&turn, 1, oracle, 0).n_bad, 2);
    memcpy(gradient, copy, 2 * n * sizeof(float));

    gradient[5 * 16 + 1] += 1.0f; /* a row that is not looked at still changes the checksum */
    assert_int_equal(report_of(&turn, 1, oracle, 2).n_bad, 0);
    assert_true(report_of(&turn, 1, oracle, 2).checksum != checksum);
    memcpy(gradient, copy, 2 * n * sizeof(float));
    assert_true(report_of(&turn, 1, oracle, 2).checksum == checksum);

    /* another rank's dQ */
    struct verify_gradient_report report;
    verify_gradient(&turn.plan, 1, oracle, RING_FP32, attention_d_q(turn.attention[0]), gradient, 0, &report);
    assert_int_equal(report.n_bad, 1);
    free(copy);
    oracle_gradient_close(oracle);
    ring_turn_close(&turn);
}

/* Relative Frobenius error of all gradients over all ranks, on rows at the same positions whatever the ring.
 */
static double error_of_some_rows(const struct ring_turn *turn, const double *const wanted[3])
{
    double error2 = 0.0, norm2 = 0.0;
    for (int tensor = 0; tensor < 3; tensor++) {
        double *found = ring_turn_gather(turn, (enum ring_turn_tensor)(TURN_D_Q + tensor));
        for (size_t row = 0; row < N_ROWS; row++)
            for (size_t dim = 0; dim < 64; dim++) {
                double reference = wanted[tensor][row * 64 + dim];
                double off = found[(row * (turn->plan.problem.tokens / N_ROWS) + 5) * 64 + dim] - reference;
                error2 += off * off;
                norm2 += reference * reference;
            }
        free(found);
    }
    return sqrt(error2 / norm2);
}

/* Rows of the first head, at the positions that error_of_some_rows looks at. */
static void fill_wanted(const struct ring_problem *problem, double *wanted[3])
{
    struct oracle_gradient *oracle = oracle_for(problem, &noise);
    struct oracle_size size;
    for (uint64_t row = 0; row < N_ROWS; row++) {
        uint64_t position = row * (problem->tokens / N_ROWS) + 5;
        memcpy(wanted[0] + row * 64, oracle_gradient_query(oracle, 0, 0, position, &size),
               64 * sizeof(double));
        const double *d_kv = oracle_gradient_key(oracle, 0, 0, position, &size);
        memcpy(wanted[1] + row * 64, d_kv, 64 * sizeof(double));
        memcpy(wanted[2] + row * 64, d_kv + 64, 64 * sizeof(double));
    }
    oracle_gradient_close(oracle);
}

static void the_error_does_not_grow_with_the_number_of_ranks(void **state)
{
    static const struct {
        enum ring_dtype dtype;
        const char *kernel;
        double bound;
    } kinds[] = {{RING_BF16, "tiled", 2e-6}, {RING_FP32, "auto", 2e-6}, {RING_BF16, "auto", 2e-3}};
    double *wanted[3];
    (void)state;
    for (int tensor = 0; tensor < 3; tensor++) {
        wanted[tensor] = malloc(N_ROWS * 64 * sizeof(double));
        assert_non_null(wanted[tensor]);
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct ring_plan_spec spec = ring_turn_spec(1, 2048, 4, 4, 64, kinds[i].dtype);
        double alone = 0.0;
        fill_wanted(&spec.problem, wanted);
        for (; spec.n_ranks <= 32; spec.n_ranks *= 2) {
            struct ring_turn turn;
            ring_turn_open(&turn, &spec, kinds[i].kernel, &noise);
            ring_turn_run(&turn);
            double error = error_of_some_rows(&turn, (const double *const *)wanted);
            ring_turn_close(&turn);
            alone = spec.n_ranks == 1 ? error : alone;
            assert_true(error <= kinds[i].bound);
            assert_true(error <= 1.05 * alone);
        }
    }
    for (int tensor = 0; tensor < 3; tensor++)
        free(wanted[tensor]);
}

static void a_backward_task_without_do_or_room_is_refused(void **state)
{
    struct ring_plan_spec spec = ring_turn_spec(1, 10, 1, 1, 8, RING_FP32);
    struct ring_plan plan;
    struct ring_error error;
    struct attention *attention;
    float q[80] = {0}, kv[160] = {0}, contribution[160], gradient[160];
    struct ring_task task = {.job = RING_JOB_BACKWARD,
                             .first = true,
                             .kv = {kv, sizeof(kv)},
                             .contribution = {contribution, sizeof(contribution)}};
    (void)state;
    assert_int_equal(ring_plan_init(&plan, &spec, &error), RING_OK);
    assert_int_equal(
        attention_open(&attention, &plan, 0, block_kernel_find("auto", RING_FP32, 8), q, false, &error),
        RING_OK);
    struct ring_compute compute = attention_compute(attention);
    assert_null(attention_d_q(attention));
    assert_int_equal(compute.run_piece(compute.context, &task, 0, &error), RING_BAD_INPUT);
    assert_string_equal(error.text, "block 0 at step 0: a backward task, but no dO was given");
    assert_int_equal(attention_open_backward(attention, q, &error), RING_OK);
    assert_int_equal(compute.n_pieces(compute.context, &task), 2); /* delta, and one tile */
    task.contribution.bytes = 636;
    assert_int_equal(compute.run_piece(compute.context, &task, 0, &error), RING_BAD_INPUT);
    assert_string_equal(error.text, "block 0 at step 0: 636 bytes of contribution, wanted 640");
    task.contribution.bytes = 640;
    task.kv.data = NULL;
    assert_int_equal(compute.run_piece(compute.context, &task, 0, &error), RING_BAD_INPUT);
    assert_string_equal(error.text, "block 0 at step 0: 0 bytes of K and V, wanted 640");
    task.job = RING_JOB_ADD;
    task.gradient = (struct ring_buffer){gradient, 639};
    assert_int_equal(compute.run_piece(compute.context, &task, 0, &error), RING_BAD_INPUT);
    assert_string_equal(error.text, "block 0 at step 0: 639 bytes of gradient, wanted 640");
    assert_int_equal(attention_backward_bytes(&plan, 0, RING_FP32), 10 * (8 + 2) * 4);
    attention_close(attention);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_oracle_agrees_with_plain_loops),
        cmocka_unit_test(the_oracle_gives_the_ramps_closed_form),
        cmocka_unit_test(every_rank_of_a_right_ring_passes),
        cmocka_unit_test(a_token_a_rank_passes_though_its_dq_is_zero),
        cmocka_unit_test(what_is_wrong_is_found),
        cmocka_unit_test(the_error_does_not_grow_with_the_number_of_ranks),
        cmocka_unit_test(a_backward_task_without_do_or_room_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
