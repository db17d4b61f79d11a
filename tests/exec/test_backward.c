/* SPDX-License-Identifier: MIT
 *
 * Gradients of whole rings, with every byte moved as the plan says, against plain loops; and what must give
 * the same bits. */
#include <math.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/exec/ring_turn.h"
#include "tests/support/cmocka_all.h"

static const struct data_spec noise = {.kind = DATA_RANDOM, .seed = 23};

/* The largest error of the three gradients on any rank. */
static double worst_error(const struct ring_turn *turn, const struct plain_gradients *plain)
{
    double worst = 0.0;
    for (uint32_t rank = 0; rank < turn->plan.n_ranks; rank++) {
        worst = fmax(worst, ring_turn_error(turn, TURN_D_Q, rank, plain->d_q));
        worst = fmax(worst, ring_turn_error(turn, TURN_D_K, rank, plain->d_k));
        worst = fmax(worst, ring_turn_error(turn, TURN_D_V, rank, plain->d_v));
        if (isnan(worst))
            return INFINITY;
    }
    return worst;
}

/* Runs a ring on random numbers and holds every rank to u (32 + 2 T) and the kernel's weight_u. Returns the
 * worst error. */
static double assert_right(const struct ring_plan_spec *spec, const char *kernel)
{
    struct ring_turn turn;
    ring_turn_open(&turn, spec, kernel, &noise);
    ring_turn_run(&turn);
    struct plain_gradients plain = plain_gradients_of(&turn);
    double worst = worst_error(&turn, &plain);
    double u = turn.kernel->state == RING_FP64 ? 0x1p-53 : 0x1p-24;
    double bound = u * (32.0 + 2.0 * plain.t) + turn.kernel->weight_u;
    if (worst > bound)
        fail_msg("%s, %u ranks, %s, %s, %u:%u heads: error %g of %g", turn.kernel->name, spec->n_ranks,
                 ring_layout_names[spec->layout], ring_mask_names[spec->problem.mask], spec->problem.heads,
                 spec->problem.kv_heads, worst, bound);
    plain_gradients_free(&plain);
    ring_turn_close(&turn);
    return worst;
}

/* Every layout and mask, and rings of every size. */
static double assert_right_anywhere(uint64_t tokens, uint32_t heads, uint32_t kv_heads, uint32_t head_dim,
                                    enum ring_dtype dtype, const char *kernel)
{
    static const uint32_t sizes[] = {1, 2, 3, 4, 5, 7, 8};
    double worst = 0.0;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (int layout = 0; layout < RING_N_LAYOUTS; layout++)
            for (int mask = 0; mask < RING_N_MASKS; mask++) {
                struct ring_plan_spec spec =
                    ring_turn_spec(sizes[i], tokens, heads, kv_heads, head_dim, dtype);
                spec.layout = (enum ring_layout_kind)layout;
                spec.problem.mask = (enum ring_mask)mask;
                worst = fmax(worst, assert_right(&spec, kernel));
            }
    return worst;
}

static void eight_tokens_a_rank_and_two_heads_come_home_within_2e_6(void **state)
{
    (void)state;
    for (uint32_t n_ranks = 2; n_ranks <= 4; n_ranks += 2)
        for (int mask = 0; mask < RING_N_MASKS; mask++)
            for (int layout = 0; layout < RING_N_LAYOUTS; layout++) {
                struct ring_plan_spec spec = ring_turn_spec(n_ranks, 8 * n_ranks, 2, 2, 8, RING_FP32);
                spec.problem.mask = (enum ring_mask)mask;
                spec.layout = (enum ring_layout_kind)layout;
                assert_true(assert_right(&spec, "auto") <= 2e-6);
                assert_true(assert_right(&spec, "reference") <= 2e-6);
            }
}

static void gradients_are_within_their_bounds_for_gqa_and_mqa_in_any_ring(void **state)
{
    (void)state;
    assert_true(assert_right_anywhere(61, 8, 2, 16, RING_FP32, "auto") <= 2e-6);
    assert_true(assert_right_anywhere(64, 3, 1, 24, RING_FP32, "auto") <= 2e-6);
}

static void a_head_dim_that_is_no_multiple_of_8_is_as_right(void **state)
{
    (void)state;
    assert_true(assert_right_anywhere(48, 2, 1, 10, RING_FP32, "auto") <= 2e-6);
}

static void the_fp64_reference_is_exact_to_1e_12_in_any_ring(void **state)
{
    (void)state;
    assert_true(assert_right_anywhere(53, 4, 2, 8, RING_FP64, "auto") <= 1e-12);
}

static void bf16_inputs_are_within_the_bounds_of_the_rounded_inputs(void **state)
{
    (void)state;
    assert_true(assert_right_anywhere(61, 4, 2, 16, RING_BF16, "tiled") <= 2e-6);
    assert_right_anywhere(61, 4, 2, 16, RING_BF16, "auto");
}

static void blocks_longer_than_a_span_and_tiles_are_right_too(void **state)
{
    (void)state;
    for (int layout = 0; layout < RING_N_LAYOUTS; layout++)
        for (int mask = 0; mask < RING_N_MASKS; mask++) {
            struct ring_plan_spec spec = ring_turn_spec(2, 1250, 2, 1, 8, RING_FP32);
            spec.layout = (enum ring_layout_kind)layout;
            spec.problem.mask = (enum ring_mask)mask;
            assert_right(&spec, "auto");
            spec.problem.dtype = RING_BF16;
            assert_right(&spec, "auto");
        }
}

static void more_buffers_kept_blocks_and_a_batch_change_nothing(void **state)
{
    (void)state;
    for (uint32_t n_buffers = 2; n_buffers <= 4; n_buffers++)
        for (int keep = 0; keep < 2; keep++) {
            struct ring_plan_spec spec = ring_turn_spec(5, 61, 4, 2, 8, RING_FP32);
            spec.problem.batch = 2;
            spec.n_buffers = n_buffers;
            spec.keep_kv = keep == 1;
            assert_right(&spec, "auto");
        }
}

static void assert_same_gradients(const struct ring_turn *a, const struct ring_turn *b)
{
    for (int tensor = TURN_D_Q; tensor <= TURN_D_V; tensor++) {
        double *x = ring_turn_gather(a, (enum ring_turn_tensor)tensor);
        double *y = ring_turn_gather(b, (enum ring_turn_tensor)tensor);
        const struct ring_problem *problem = &a->plan.problem;
        size_t heads = tensor == TURN_D_Q ? problem->heads : problem->kv_heads;
        assert_memory_equal(x, y,
                            problem->batch * heads * problem->tokens * problem->head_dim * sizeof(double));
        free(x);
        free(y);
    }
}

static void the_same_ring_twice_has_the_same_bits(void **state)
{
    (void)state;
    struct ring_plan_spec spec = ring_turn_spec(3, 200, 4, 2, 16, RING_BF16);
    struct ring_turn once, again;
    ring_turn_open(&once, &spec, "auto", &noise);
    ring_turn_open(&again, &spec, "auto", &noise);
    ring_turn_run(&once);
    ring_turn_run(&again);
    assert_same_gradients(&once, &again);
    ring_turn_run(&again); /* and after a reset */
    assert_same_gradients(&once, &again);
    ring_turn_close(&once);
    ring_turn_close(&again);
}

static void a_backward_pass_after_a_prefill_has_the_bits_of_both_passes(void **state)
{
    (void)state;
    struct ring_plan_spec spec = ring_turn_spec(4, 200, 4, 2, 16, RING_FP32);
    struct ring_turn both, backward;
    struct ring_error error;
    ring_turn_open(&both, &spec, "auto", &noise);
    spec.pass = RING_PASS_BACKWARD;
    ring_turn_open(&backward, &spec, "auto", &noise);
    for (uint32_t rank = 0; rank < 4; rank++)
        assert_int_equal(attention_prefill(backward.attention[rank], rank, &noise, &error), RING_OK);
    ring_turn_run(&both);
    ring_turn_run(&backward);
    assert_same_gradients(&both, &backward);
    ring_turn_run(&backward); /* a repeat finds the forward pass's state still there */
    assert_same_gradients(&both, &backward);
    ring_turn_close(&both);
    ring_turn_close(&backward);
}

static void gradients_that_travel_in_bf16_are_rounded_at_each_hop(void **state)
{
    (void)state;
    struct ring_plan_spec spec = ring_turn_spec(8, 128, 2, 1, 16, RING_BF16);
    struct ring_turn turn;
    spec.gradient_dtype = RING_BF16;
    ring_turn_open(&turn, &spec, "auto", &noise);
    ring_turn_run(&turn);
    struct plain_gradients plain = plain_gradients_of(&turn);
    for (uint32_t rank = 0; rank < 8; rank++) {
        double error = ring_turn_error(&turn, TURN_D_V, rank, plain.d_v);
        assert_true(error <= 8 * 0x1p-8 && error > 0x1p-11);
        assert_true(ring_turn_error(&turn, TURN_D_Q, rank, plain.d_q) <= 2e-6 + turn.kernel->weight_u);
    }
    plain_gradients_free(&plain);
    ring_turn_close(&turn);
}

static void a_shared_dq_carries_a_childs_work_to_its_parent(void **state)
{
    enum { N = 20 * 8 };
    struct ring_plan_spec spec = ring_turn_spec(1, 20, 1, 1, 8, RING_FP32);
    struct ring_turn alone;
    struct attention *attention;
    struct ring_error error;
    (void)state;
    ring_turn_open(&alone, &spec, "auto", &noise);
    ring_turn_run(&alone);
    assert_int_equal(attention_open(&attention, &alone.plan, 0, alone.kernel, alone.q[0], true, &error),
                     RING_OK);
    assert_int_equal(attention_open_backward(attention, alone.d_out[0], &error), RING_OK);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct attention *own = alone.attention[0];
        alone.attention[0] = attention;
        ring_turn_run(&alone);
        alone.attention[0] = own;
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_memory_equal(attention_d_q(attention), attention_d_q(alone.attention[0]), N * sizeof(float));
    attention_close(attention);
    ring_turn_close(&alone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eight_tokens_a_rank_and_two_heads_come_home_within_2e_6),
        cmocka_unit_test(gradients_are_within_their_bounds_for_gqa_and_mqa_in_any_ring),
        cmocka_unit_test(a_head_dim_that_is_no_multiple_of_8_is_as_right),
        cmocka_unit_test(the_fp64_reference_is_exact_to_1e_12_in_any_ring),
        cmocka_unit_test(bf16_inputs_are_within_the_bounds_of_the_rounded_inputs),
        cmocka_unit_test(blocks_longer_than_a_span_and_tiles_are_right_too),
        cmocka_unit_test(more_buffers_kept_blocks_and_a_batch_change_nothing),
        cmocka_unit_test(the_same_ring_twice_has_the_same_bits),
        cmocka_unit_test(a_backward_pass_after_a_prefill_has_the_bits_of_both_passes),
        cmocka_unit_test(gradients_that_travel_in_bf16_are_rounded_at_each_hop),
        cmocka_unit_test(a_shared_dq_carries_a_childs_work_to_its_parent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
