/* SPDX-License-Identifier: MIT
 *
 * Gradients of whole rings where their values are known otherwise: central differences of the loss, closed
 * forms, sums over heads, and what dO must and must not reach. */
#include <math.h>
#include <stdlib.h>

#include "tests/exec/ring_turn.h"
#include "tests/support/cmocka_all.h"

static const struct data_spec noise = {.kind = DATA_RANDOM, .seed = 23},
                              ramp = {.kind = DATA_RAMP, .seed = 5};

/* d L / d x of one element of q, k or v by central differences in long double. */
static double central_difference(const struct ring_problem *problem, double *all[4], int tensor, size_t index)
{
    const double step = 0x1p-21;
    double *x = &all[tensor][index], at = *x;
    *x = at + step;
    long double up = plain_loss(problem, all[0], all[1], all[2], all[3]);
    *x = at - step;
    long double down = plain_loss(problem, all[0], all[1], all[2], all[3]);
    *x = at;
    return (double)((up - down) / (2.0L * (long double)step));
}

static void twenty_random_elements_equal_their_central_differences(void **state)
{
    static const enum ring_turn_tensor gradients[] = {TURN_D_Q, TURN_D_K, TURN_D_V};
    (void)state;
    struct ring_plan_spec spec = ring_turn_spec(4, 30, 4, 2, 6, RING_FP64);
    struct ring_turn turn;
    ring_turn_open(&turn, &spec, "auto", &noise);
    ring_turn_run(&turn);
    double *all[4], *found[3];
    for (int tensor = 0; tensor < 4; tensor++)
        all[tensor] = ring_turn_gather(&turn, (enum ring_turn_tensor)(TURN_Q + tensor));
    for (int tensor = 0; tensor < 3; tensor++)
        found[tensor] = ring_turn_gather(&turn, gradients[tensor]);
    unsigned random = 12345;
    for (int i = 0; i < 20; i++) {
        int tensor = i % 3;
        random = random * 1664525u + 1013904223u;
        size_t index = (random >> 8) % (30u * 6u * (tensor == 0 ? 4u : 2u));
        double wanted = central_difference(&spec.problem, all, tensor, index);
        assert_true(fabs(found[tensor][index] - wanted) <= 1e-6 * fmax(1.0, fabs(wanted)));
    }
    for (int tensor = 0; tensor < 4; tensor++)
        free(all[tensor]);
    for (int tensor = 0; tensor < 3; tensor++)
        free(found[tensor]);
    ring_turn_close(&turn);
}

static void blocks_scaled_1_10_and_100_give_dq_of_their_central_differences(void **state)
{
    (void)state;
    struct ring_plan_spec spec = ring_turn_spec(3, 24, 2, 1, 8, RING_FP64);
    struct ring_turn turn;
    spec.problem.mask = RING_MASK_FULL;
    spec.layout = RING_LAYOUT_CONTIGUOUS;
    ring_turn_open(&turn, &spec, "auto", &noise);
    for (uint32_t rank = 0; rank < 3; rank++)
        for (size_t i = 0; i < ring_turn_size(&turn, TURN_K, rank); i++) {
            ring_turn_scale(&turn, TURN_K, rank, i, pow(10.0, rank));
            ring_turn_scale(&turn, TURN_V, rank, i, pow(10.0, rank));
        }
    ring_turn_run(&turn);
    double *d_q = ring_turn_gather(&turn, TURN_D_Q), *all[4];
    for (int tensor = 0; tensor < 4; tensor++)
        all[tensor] = ring_turn_gather(&turn, (enum ring_turn_tensor)(TURN_Q + tensor));
    bool any = false; /* most rows see one key alone, and give 0 */
    for (size_t i = 0; i < (size_t)2 * 24 * 8; i++) {
        double wanted = central_difference(&spec.problem, all, 0, i);
        any = any || fabs(wanted) > 1.0;
        if (fabs(d_q[i] - wanted) > 1e-6 * fmax(1.0, fabs(wanted)))
            fail_msg("dQ element %zu is %.12g, wanted %.12g", i, d_q[i], wanted);
    }
    assert_true(any);
    free(d_q);
    for (int tensor = 0; tensor < 4; tensor++)
        free(all[tensor]);
    ring_turn_close(&turn);
}

static void a_ramp_gives_sums_of_reciprocals_and_no_dk(void **state)
{
    (void)state;
    for (uint32_t n_ranks = 1; n_ranks <= 4; n_ranks++)
        for (int layout = 0; layout < RING_N_LAYOUTS; layout++) {
            struct ring_plan_spec spec = ring_turn_spec(n_ranks, 8, 2, 1, 8, RING_FP32);
            struct ring_turn turn;
            spec.layout = (enum ring_layout_kind)layout;
            ring_turn_open(&turn, &spec, "auto", &ramp);
            ring_turn_run(&turn);
            double *d_k = ring_turn_gather(&turn, TURN_D_K), *d_v = ring_turn_gather(&turn, TURN_D_V);
            for (size_t i = 0; i < 64; i++)
                assert_true(d_k[i] == 0.0);
            /* two query heads share the kv head, so twice sum over i >= j of 1 / (i + 1) */
            assert_true(fabs(d_v[0] - 2 * 2.7178571) < 1e-5);
            assert_true(fabs(d_v[7 * 8] - 2 * 0.125) < 1e-6);
            for (size_t key = 0; key < 8; key++) {
                double wanted = 0.0;
                for (size_t query = key; query < 8; query++)
                    wanted += 2.0 / (double)(query + 1);
                assert_true(fabs(d_v[key * 8 + 3] - wanted) < 4e-6);
            }
            free(d_k);
            free(d_v);
            ring_turn_close(&turn);
        }
}

/* dV of a kv head from one query head alone: dO of the others is nothing. */
static double *d_v_of_head(uint32_t head)
{
    struct ring_plan_spec spec = ring_turn_spec(3, 37, 8, 2, 8, RING_FP32);
    struct ring_turn turn;
    ring_turn_open(&turn, &spec, "auto", &noise);
    for (uint32_t rank = 0; rank < 3; rank++) {
        size_t n = ring_turn_size(&turn, TURN_D_OUT, rank), a_head = n / 8;
        for (size_t i = 0; i < n; i++)
            if (head < 8 && i / a_head != head)
                ring_turn_scale(&turn, TURN_D_OUT, rank, i, 0.0);
    }
    ring_turn_run(&turn);
    double *d_v = ring_turn_gather(&turn, TURN_D_V);
    ring_turn_close(&turn);
    return d_v;
}

static void dv_of_kv_head_0_sums_query_heads_0_to_3(void **state)
{
    enum { A_HEAD = 37 * 8 };
    double *all = d_v_of_head(8), sum[2 * A_HEAD] = {0};
    (void)state;
    for (uint32_t head = 0; head < 8; head++) {
        double *part = d_v_of_head(head);
        size_t own = head / 4 * A_HEAD, other = A_HEAD - own;
        for (size_t i = 0; i < A_HEAD; i++) {
            sum[own + i] += part[own + i];
            assert_true(part[other + i] == 0.0);
        }
        assert_true(part[own] != 0.0);
        free(part);
    }
    for (size_t i = 0; i < (size_t)2 * A_HEAD; i++)
        assert_true(fabs(all[i] - sum[i]) < 1e-5);
    free(all);
}

/* Runs with dO times factor, and returns a gradient. */
static double *with_d_out_times(double factor, enum ring_turn_tensor tensor)
{
    struct ring_plan_spec spec = ring_turn_spec(4, 100, 4, 2, 16, RING_FP32);
    struct ring_turn turn;
    ring_turn_open(&turn, &spec, "auto", &noise);
    for (uint32_t rank = 0; rank < 4; rank++)
        for (size_t i = 0; i < ring_turn_size(&turn, TURN_D_OUT, rank); i++)
            ring_turn_scale(&turn, TURN_D_OUT, rank, i, factor);
    ring_turn_run(&turn);
    double *gradient = ring_turn_gather(&turn, tensor);
    ring_turn_close(&turn);
    return gradient;
}

static void gradients_are_linear_in_do_to_the_last_bit(void **state)
{
    (void)state;
    for (int tensor = TURN_D_Q; tensor <= TURN_D_V; tensor++) {
        double *once = with_d_out_times(1.0, (enum ring_turn_tensor)tensor);
        double *twice = with_d_out_times(2.0, (enum ring_turn_tensor)tensor);
        double *never = with_d_out_times(0.0, (enum ring_turn_tensor)tensor);
        for (size_t i = 0; i < (size_t)(tensor == TURN_D_Q ? 4 : 2) * 100 * 16; i++) {
            assert_true(twice[i] == 2.0 * once[i]);
            assert_true(never[i] == 0.0);
        }
        free(once);
        free(twice);
        free(never);
    }
}

/* Rank 0 of a zigzag ring has the first and the last chunk. */
static void do_on_the_last_chunk_alone_reaches_every_key(void **state)
{
    (void)state;
    struct ring_plan_spec spec = ring_turn_spec(4, 80, 2, 1, 8, RING_FP32);
    struct ring_turn turn;
    ring_turn_open(&turn, &spec, "auto", &noise);
    for (uint32_t rank = 0; rank < 4; rank++) {
        struct ring_shard shard = ring_layout_shard(&turn.plan.layout, rank);
        for (size_t i = 0; i < ring_turn_size(&turn, TURN_D_OUT, rank); i++)
            if (ring_shard_position(&shard, i / 8 % shard.tokens) < 70)
                ring_turn_scale(&turn, TURN_D_OUT, rank, i, 0.0);
    }
    ring_turn_run(&turn);
    struct plain_gradients plain = plain_gradients_of(&turn);
    double *d_k = ring_turn_gather(&turn, TURN_D_K), *d_q = ring_turn_gather(&turn, TURN_D_Q);
    for (size_t i = 0; i < (size_t)80 * 8; i++)
        assert_true(d_k[i] != 0.0);
    for (size_t i = 0; i < (size_t)70 * 8; i++)
        assert_true(d_q[i] == 0.0);
    for (uint32_t rank = 0; rank < 4; rank++) {
        assert_true(ring_turn_error(&turn, TURN_D_K, rank, plain.d_k) <= 2e-6);
        assert_true(ring_turn_error(&turn, TURN_D_V, rank, plain.d_v) <= 2e-6);
    }
    free(d_k);
    free(d_q);
    plain_gradients_free(&plain);
    ring_turn_close(&turn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(twenty_random_elements_equal_their_central_differences),
        cmocka_unit_test(blocks_scaled_1_10_and_100_give_dq_of_their_central_differences),
        cmocka_unit_test(a_ramp_gives_sums_of_reciprocals_and_no_dk),
        cmocka_unit_test(dv_of_kv_head_0_sums_query_heads_0_to_3),
        cmocka_unit_test(gradients_are_linear_in_do_to_the_last_bit),
        cmocka_unit_test(do_on_the_last_chunk_alone_reaches_every_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
