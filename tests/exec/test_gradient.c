/* SPDX-License-Identifier: MIT
 *
 * Backward kernels on one block: every kernel of this machine against the fp64 reference, and what the
 * contract promises beside: cuts, masked rows, spans that nobody sees, and the two small steps around the
 * kernels. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exec/kernels/data.h"
#include "tests/exec/gradient_case.h"
#include "tests/support/cmocka_all.h"

static double error_of(const struct gradient_case *found, const struct gradient_case *wanted, size_t tensor,
                       size_t n)
{
    double error2 = 0.0, norm2 = 0.0;
    for (size_t i = 0; i < n; i++) {
        double reference = data_load(wanted->state, wanted->memory[tensor], i);
        double apart = data_load(found->state, found->memory[tensor], i) - reference;
        error2 += apart * apart;
        norm2 += reference * reference;
    }
    return norm2 > 0.0 ? sqrt(error2 / norm2) : error2;
}

static const struct block_gradient_kernel *reference(void)
{
    return block_gradient_find(block_kernel_find("reference", RING_FP64, 8));
}

static void every_kernel_agrees_with_the_fp64_reference(void **state)
{
    static const size_t shapes[][3] = {{1, 5, 8},     {96, 64, 16}, {97, 65, 24},   {48, 48, 64},
                                       {5, 700, 40},  {300, 3, 72}, {200, 600, 32}, {100, 100, 128},
                                       {60, 70, 256}, {33, 70, 12}};
    (void)state;
    for (size_t k = 0; block_gradient_kernels[k] != NULL; k++)
        for (size_t i = 0; i < 2 * sizeof(shapes) / sizeof(shapes[0]); i++) {
            const struct block_gradient_kernel *kernel = block_gradient_kernels[k];
            const size_t *shape = shapes[i / 2];
            struct gradient_case found, wanted;
            if (!kernel->supports(shape[2]))
                continue;
            /* queries from the middle of the keys on, so that some see few and some all */
            uint64_t q_first = 2 * (shape[1] / 3);
            gradient_case_open(&found, kernel->dtype, shape[0], shape[1], shape[2], i % 2 == 1, q_first + 1);
            gradient_case_open(&wanted, RING_FP64, shape[0], shape[1], shape[2], i % 2 == 1, q_first + 1);
            gradient_case_run(kernel, &found.block, SIZE_MAX, SIZE_MAX);
            gradient_case_run(reference(), &wanted.block, SIZE_MAX, SIZE_MAX);
            for (size_t tensor = CASE_D_Q; tensor <= CASE_D_V; tensor++) {
                size_t n = shape[2] * (tensor == CASE_D_Q ? shape[0] : shape[1]);
                double error = error_of(&found, &wanted, tensor, n);
                double bound = kernel->state == RING_FP64 ? 1e-13 : 2e-6 + kernel->weight_u;
                if (!(error < bound))
                    fail_msg("%s %s %zu x %zu x %zu%s: tensor %zu is off by %g", kernel->name,
                             ring_dtype_names[kernel->dtype], shape[0], shape[1], shape[2],
                             i % 2 == 1 ? " causal" : "", tensor, error);
            }
            gradient_case_close(&found);
            gradient_case_close(&wanted);
        }
}

/* Groups are what decides the bits: of queries for dK and dV, of keys for dQ. */
static void a_cut_at_whole_groups_does_not_change_a_bit(void **state)
{
    enum { Q = 96 * 3 + 11, K = 64 * 9 + 5, D = 24 };
    (void)state;
    for (size_t k = 0; block_gradient_kernels[k] != NULL; k++) {
        const struct block_gradient_kernel *kernel = block_gradient_kernels[k];
        struct gradient_case whole, cut;
        if (!kernel->supports(D))
            continue;
        gradient_case_open(&whole, kernel->dtype, Q, K, D, true, 301);
        gradient_case_open(&cut, kernel->dtype, Q, K, D, true, 301);
        gradient_case_run(kernel, &whole.block, SIZE_MAX, SIZE_MAX);
        gradient_case_run(kernel, &cut.block, 2 * BLOCK_GRADIENT_QUERY_GROUP, BLOCK_GRADIENT_KEY_GROUP);
        size_t real = ring_dtype_bytes(kernel->state);
        assert_memory_equal(whole.memory[CASE_D_Q], cut.memory[CASE_D_Q], (size_t)Q * D * real);
        assert_memory_equal(whole.memory[CASE_D_K], cut.memory[CASE_D_K], (size_t)K * D * real);
        assert_memory_equal(whole.memory[CASE_D_V], cut.memory[CASE_D_V], (size_t)K * D * real);
        gradient_case_close(&whole);
        gradient_case_close(&cut);
    }
}

/* Sums are in the same order, exponentials differ by a few units in the last place. */
static void instruction_sets_with_fused_sums_nearly_agree(void **state)
{
    enum { Q = 130, K = 150, D = 40 };
    struct gradient_case calls[2];
    size_t n = 0;
    (void)state;
    for (size_t k = 0; block_gradient_kernels[k] != NULL && n < 2; k++) {
        const struct block_gradient_kernel *kernel = block_gradient_kernels[k];
        if (kernel->dtype != RING_FP32 || strncmp(kernel->name, "tiled-avx", 9) != 0 || !kernel->supports(D))
            continue;
        gradient_case_open(&calls[n], RING_FP32, Q, K, D, true, 31);
        gradient_case_run(kernel, &calls[n++].block, SIZE_MAX, SIZE_MAX);
    }
    for (size_t tensor = CASE_D_Q; n == 2 && tensor <= CASE_D_V; tensor++)
        assert_true(error_of(&calls[0], &calls[1], tensor, (tensor == CASE_D_Q ? Q : K) * (size_t)D) < 1e-6);
    while (n > 0)
        gradient_case_close(&calls[--n]);
}

static void a_row_that_sees_no_key_gives_and_gets_nothing(void **state)
{
    (void)state;
    for (size_t k = 0; block_gradient_kernels[k] != NULL; k++) {
        const struct block_gradient_kernel *kernel = block_gradient_kernels[k];
        struct gradient_case call, rest;
        if (!kernel->supports(16))
            continue;
        gradient_case_open(&call, kernel->dtype, 60, 50, 16, true, 0); /* query 0 is before every key */
        gradient_case_open(&rest, kernel->dtype, 60, 50, 16, true, 0);
        assert_true(data_load(call.state, call.memory[CASE_LSE], 0) == -INFINITY);
        for (size_t i = 0; i < 16; i++) /* would reach dK and dV if the row did */
            data_store(call.dtype, rest.memory[CASE_D_OUT], i, 1e6);
        gradient_case_run(kernel, &call.block, SIZE_MAX, SIZE_MAX);
        gradient_case_run(kernel, &rest.block, SIZE_MAX, SIZE_MAX);
        for (size_t i = 0; i < 16; i++)
            assert_true(data_load(call.state, call.memory[CASE_D_Q], i) == 0.0);
        for (size_t tensor = CASE_D_Q; tensor <= CASE_D_V; tensor++)
            for (size_t i = 0; i < (size_t)16 * (tensor == CASE_D_Q ? 60 : 50); i++)
                assert_true(data_load(call.state, call.memory[tensor], i) ==
                            data_load(rest.state, rest.memory[tensor], i));
        /* and the same row when its keys are not hidden but its lse says that it saw none */
        data_store(call.state, call.memory[CASE_LSE], 59, -INFINITY);
        data_store(call.state, call.memory[CASE_DELTA], 59, 0.0);
        for (size_t i = 0; i < 16 * 60; i++)
            data_store(call.state, call.memory[CASE_D_Q], i, 0.0);
        gradient_case_run(kernel, &call.block, SIZE_MAX, SIZE_MAX);
        for (size_t i = 0; i < 16; i++)
            assert_true(data_load(call.state, call.memory[CASE_D_Q], 59 * 16 + i) == 0.0);
        gradient_case_close(&call);
        gradient_case_close(&rest);
    }
}

static void a_span_that_no_query_sees_gets_zeros(void **state)
{
    (void)state;
    for (size_t k = 0; block_gradient_kernels[k] != NULL; k++) {
        const struct block_gradient_kernel *kernel = block_gradient_kernels[k];
        struct gradient_case call;
        if (!kernel->supports(8))
            continue;
        for (size_t q_tokens = 0; q_tokens <= 1; q_tokens++) { /* none at all, or one before every key */
            gradient_case_open(&call, kernel->dtype, 10, 70, 8, true, 0);
            memset(call.memory[CASE_D_K], 0xff, 70 * 8 * ring_dtype_bytes(kernel->state));
            memset(call.memory[CASE_D_V], 0xff, 70 * 8 * ring_dtype_bytes(kernel->state));
            call.block.q_tokens = q_tokens;
            gradient_case_run(kernel, &call.block, SIZE_MAX, SIZE_MAX);
            for (size_t i = 0; i < (size_t)70 * 8; i++) {
                assert_true(data_load(call.state, call.memory[CASE_D_K], i) == 0.0);
                assert_true(data_load(call.state, call.memory[CASE_D_V], i) == 0.0);
            }
            gradient_case_close(&call);
        }
    }
}

static void lse_and_delta_come_from_the_running_state(void **state)
{
    /* row 0: m = 2, l = 4, o = (8, 4), dO = (1, -3): lse = 2 + ln 4, delta = (8 - 12) / 4; row 1 is empty */
    float m[] = {2.0f, -INFINITY}, l[] = {4.0f, 0.0f}, o[] = {8.0f, 4.0f, 0.0f, 0.0f},
          d_out[] = {1.0f, -3.0f, 5.0f, 6.0f};
    float lse[2], delta[2];
    struct block_state from = {RING_FP32, 2, 2, m, l, o};
    (void)state;
    block_gradient_prepare(&from, RING_FP32, d_out, lse, delta);
    assert_true(fabsf(lse[0] - 3.3862944f) < 1e-6f);
    assert_true(delta[0] == -1.0f);
    assert_true(lse[1] == -INFINITY && delta[1] == 0.0f);
}

static void a_sum_in_bf16_goes_to_the_nearest_and_from_the_middle_to_the_even(void **state)
{
    /* bf16 has 8 significant bits: numbers are 2^-7 apart above 1 and 2^-8 below */
    static const float added[] = {0x1p-9f, 0x1p-8f, 0x1.8p-8f, 0x3p-8f, 0.0f, -0x1p-9f, INFINITY};
    static const double wanted[] = {1.0, 1.0, 1.0 + 0x1p-7, 1.0 + 0x1p-6, 1.0, 1.0, INFINITY};
    uint16_t gradient[7];
    float nan = NAN;
    (void)state;
    for (size_t i = 0; i < 7; i++)
        data_store(RING_BF16, gradient, i, 1.0);
    block_gradient_add(RING_BF16, gradient, RING_FP32, added, 7, false);
    for (size_t i = 0; i < 7; i++)
        if (i != 5)
            assert_true(data_load(RING_BF16, gradient, i) == wanted[i]);
    assert_true(data_load(RING_BF16, gradient, 5) == 1.0 - 0x1p-8 ||
                data_load(RING_BF16, gradient, 5) == 1.0);
    block_gradient_add(RING_BF16, gradient, RING_FP32, added, 7, true); /* all of them are bf16 numbers */
    for (size_t i = 0; i < 7; i++)
        assert_true(data_load(RING_BF16, gradient, i) == (double)added[i]);
    block_gradient_add(RING_BF16, gradient, RING_FP32, &nan, 1, false);
    assert_true(isnan(data_load(RING_BF16, gradient, 0)));
}

static void sums_in_fp32_and_fp64_are_plain_and_begin_with_the_contribution(void **state)
{
    float narrow[] = {NAN, 2.0f}, more[] = {1.5f, 0.25f};
    double wide[] = {NAN, 2.0}, much[] = {1.5, 0x1p-50};
    (void)state;
    block_gradient_add(RING_FP32, narrow, RING_FP32, more, 1, true);
    block_gradient_add(RING_FP32, narrow + 1, RING_FP32, more + 1, 1, false);
    assert_true(narrow[0] == 1.5f && narrow[1] == 2.25f);
    block_gradient_add(RING_FP64, wide, RING_FP64, much, 1, true);
    block_gradient_add(RING_FP64, wide + 1, RING_FP64, much + 1, 1, false);
    assert_true(wide[0] == 1.5 && wide[1] == 2.0 + 0x1p-50);
}

static void every_forward_kernel_has_its_companion(void **state)
{
    (void)state;
    for (size_t i = 0; block_kernels[i] != NULL; i++) {
        const struct block_gradient_kernel *kernel = block_gradient_find(block_kernels[i]);
        assert_string_equal(kernel->name, block_kernels[i]->name);
        assert_int_equal(kernel->dtype, block_kernels[i]->dtype);
        assert_int_equal(kernel->state, block_kernels[i]->state);
        assert_true(kernel->weight_u == block_kernels[i]->weight_u);
        assert_int_equal(kernel->q_tile % BLOCK_GRADIENT_QUERY_GROUP, 0);
        assert_int_equal(kernel->k_span % BLOCK_GRADIENT_KEY_GROUP, 0);
        for (size_t d = 1; d < 300; d++)
            assert_int_equal(kernel->supports(d), block_kernels[i]->supports(d));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_agrees_with_the_fp64_reference),
        cmocka_unit_test(a_cut_at_whole_groups_does_not_change_a_bit),
        cmocka_unit_test(instruction_sets_with_fused_sums_nearly_agree),
        cmocka_unit_test(a_row_that_sees_no_key_gives_and_gets_nothing),
        cmocka_unit_test(a_span_that_no_query_sees_gets_zeros),
        cmocka_unit_test(lse_and_delta_come_from_the_running_state),
        cmocka_unit_test(a_sum_in_bf16_goes_to_the_nearest_and_from_the_middle_to_the_even),
        cmocka_unit_test(sums_in_fp32_and_fp64_are_plain_and_begin_with_the_contribution),
        cmocka_unit_test(every_forward_kernel_has_its_companion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
