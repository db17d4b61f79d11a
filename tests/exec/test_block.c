/* SPDX-License-Identifier: MIT
 *
 * Every block kernel that this machine can run, against figures worked by hand and against a textbook
 * softmax. */
#include "exec/kernels/block.h"

#include <math.h>
#include <string.h>

#include "exec/kernels/data.h"
#include "tests/exec/block_case.h"
#include "tests/support/cmocka_all.h"

/* The bounds hold for a group of sizes and masks on every kernel that serves them. */
static void assert_within_bounds(const struct block_case *given)
{
    for (size_t i = 0; block_kernels[i] != NULL; i++) {
        const struct block_kernel *kernel = block_kernels[i];
        if (!kernel->supports(given->head_dim))
            continue;
        struct block_arrays arrays;
        block_case_open(&arrays, given, kernel->dtype, kernel->state);
        block_case_run(&arrays, kernel);
        struct block_errors errors = block_case_errors(&arrays, kernel);
        if (!(errors.out <= 1.0 && errors.lse <= 1.0))
            print_error(
                "%s %s, %zu queries, %zu keys, head_dim %zu, causal %d: out %.2f, lse %.2f of the bounds\n",
                kernel->name, ring_dtype_names[kernel->dtype], given->q_tokens, given->k_tokens,
                given->head_dim, given->causal, errors.out, errors.lse);
        assert_true(errors.out <= 1.0 && errors.lse <= 1.0);
        block_case_close(&arrays);
    }
}

static void logits_0_and_ln_3_weigh_a_quarter_and_three_quarters(void **state)
{
    (void)state;
    for (size_t i = 0; block_kernels[i] != NULL; i++) {
        const struct block_kernel *kernel = block_kernels[i];
        if (!kernel->supports(8))
            continue;
        struct block_arrays arrays;
        block_case_open(&arrays, &(struct block_case){.q_tokens = 1, .k_tokens = 2, .head_dim = 8},
                        kernel->dtype, kernel->state);
        struct block_forward *call = &arrays.call;
        call->scale = log(3.0); /* as sharp as the type of m, not of the inputs */
        for (size_t dim = 0; dim < 8; dim++) {
            data_store(kernel->dtype, (void *)call->q, dim, dim == 5 ? 1.0 : 0.0);
            data_store(kernel->dtype, (void *)call->k, dim, 0.0);
            data_store(kernel->dtype, (void *)call->k, 8 + dim, dim == 5 ? 1.0 : 7.0);
            data_store(kernel->dtype, (void *)call->v, dim, 4.0);
            data_store(kernel->dtype, (void *)call->v, 8 + dim, 8.0 * (double)dim);
        }
        block_case_run(&arrays, kernel);
        /* 4 / 4 + 3 / 4 * 8 dim = 1 + 6 dim; lse = ln (1 + 3) */
        for (size_t dim = 0; dim < 8; dim++)
            assert_true(fabs(data_load(kernel->state, arrays.out, dim) - (1.0 + 6.0 * (double)dim)) <
                        1e-5 + kernel->weight_u * 8.0 * (double)(dim + 1));
        assert_true(fabs(data_load(kernel->state, arrays.lse, 0) - log(4.0)) < 1e-6);
        block_case_close(&arrays);
    }
}

static void all_head_dims_agree_with_the_textbook(void **state)
{
    (void)state;
    for (size_t head_dim = 8; head_dim <= 256; head_dim += 8)
        assert_within_bounds(&(struct block_case){.q_tokens = 49,
                                                  .k_tokens = 131,
                                                  .head_dim = head_dim,
                                                  .causal = head_dim % 16 == 0,
                                                  .q_first = 90});
    assert_within_bounds(&(struct block_case){.q_tokens = 9, .k_tokens = 130, .head_dim = 1});
    assert_within_bounds(
        &(struct block_case){.q_tokens = 9, .k_tokens = 130, .head_dim = 20, .causal = true});
    assert_within_bounds(&(struct block_case){.q_tokens = 9, .k_tokens = 130, .head_dim = 264});
}

static void odd_numbers_of_queries_and_keys_agree_with_the_textbook(void **state)
{
    static const size_t sizes[] = {1, 2, 7, 8, 15, 17, 33, 64, 127, 129, 193, 257};
    (void)state;
    for (size_t q = 0; q < sizeof sizes / sizeof *sizes; q++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
            assert_within_bounds(&(struct block_case){.q_tokens = sizes[q],
                                                      .k_tokens = sizes[k],
                                                      .head_dim = 24,
                                                      .causal = (q + k) % 2 == 0,
                                                      .q_first = 3});
}

static void causal_masks_of_every_layout_agree_with_the_textbook(void **state)
{
    static const struct block_case cases[] = {
        {.q_tokens = 200, .k_tokens = 200, .head_dim = 16, .causal = true}, /* the diagonal */
        {.q_tokens = 200, .k_tokens = 200, .head_dim = 16, .causal = true, .q_first = 200},
        {.q_tokens = 200, .k_tokens = 200, .head_dim = 16, .causal = true, .q_first = 100},
        {.q_tokens = 200, .k_tokens = 200, .head_dim = 16, .causal = true, .k_first = 100},
        /* striped over five: a key block before and one after the queries' own */
        {.q_tokens = 160,
         .k_tokens = 160,
         .head_dim = 16,
         .causal = true,
         .q_first = 2,
         .q_stride = 5,
         .k_stride = 5},
        {.q_tokens = 160,
         .k_tokens = 160,
         .head_dim = 16,
         .causal = true,
         .q_stride = 5,
         .k_first = 4,
         .k_stride = 5},
        {.q_tokens = 90,
         .k_tokens = 300,
         .head_dim = 16,
         .causal = true,
         .q_first = 1ull << 40,
         .k_first = 1ull << 40},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_within_bounds(&cases[i]);
}

static void rows_whose_keys_are_all_masked_stay_empty(void **state)
{
    (void)state;
    for (size_t i = 0; block_kernels[i] != NULL; i++) {
        const struct block_kernel *kernel = block_kernels[i];
        if (!kernel->supports(8))
            continue;
        struct block_arrays arrays;
        /* queries 0..99, keys from 50 on: rows 0..49 see nothing */
        block_case_open(&arrays,
                        &(struct block_case){
                            .q_tokens = 100, .k_tokens = 140, .head_dim = 16, .causal = true, .k_first = 50},
                        kernel->dtype, kernel->state);
        block_case_run(&arrays, kernel);
        for (size_t row = 0; row < 50; row++) {
            assert_true(data_load(kernel->state, arrays.state.m, row) == -INFINITY);
            assert_true(data_load(kernel->state, arrays.state.l, row) == 0.0);
            assert_true(data_load(kernel->state, arrays.lse, row) == -INFINITY);
            for (size_t dim = 0; dim < 16; dim++) {
                assert_true(data_load(kernel->state, arrays.state.o, row * 16 + dim) == 0.0);
                assert_true(data_load(kernel->state, arrays.out, row * 16 + dim) == 0.0);
            }
        }
        struct block_errors errors = block_case_errors(&arrays, kernel);
        assert_true(errors.out <= 1.0 && errors.lse <= 1.0);
        block_case_close(&arrays);
    }
}

static void logits_of_ten_thousand_neither_overflow_nor_leave_the_bounds(void **state)
{
    (void)state;
    for (int causal = 0; causal < 2; causal++) /* logits of variance q_size^2 */
        assert_within_bounds(&(struct block_case){.q_tokens = 70,
                                                  .k_tokens = 300,
                                                  .head_dim = 64,
                                                  .causal = causal == 1,
                                                  .q_size = 3e3,
                                                  .seed = 7});
}

static void a_query_that_is_not_a_number_shows_in_its_own_row_alone(void **state)
{
    (void)state;
    for (size_t i = 0; block_kernels[i] != NULL; i++) {
        const struct block_kernel *kernel = block_kernels[i];
        if (!kernel->supports(8))
            continue;
        struct block_arrays arrays;
        block_case_open(&arrays, &(struct block_case){.q_tokens = 20, .k_tokens = 140, .head_dim = 8},
                        kernel->dtype, kernel->state);
        data_store(kernel->dtype, (void *)arrays.call.q, 11 * 8 + 3, NAN);
        block_case_run(&arrays, kernel);
        for (size_t row = 0; row < 20; row++) {
            assert_int_equal(isnan(data_load(kernel->state, arrays.lse, row)) != 0, row == 11);
            for (size_t dim = 0; dim < 8; dim++)
                assert_int_equal(isnan(data_load(kernel->state, arrays.out, row * 8 + dim)) != 0, row == 11);
        }
        block_case_close(&arrays);
    }
}

static void no_keys_and_no_queries_change_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; block_kernels[i] != NULL; i++) {
        const struct block_kernel *kernel = block_kernels[i];
        if (!kernel->supports(8))
            continue;
        struct block_arrays arrays;
        block_case_open(&arrays, &(struct block_case){.q_tokens = 3, .k_tokens = 3, .head_dim = 8},
                        kernel->dtype, kernel->state);
        block_case_run_part(&arrays, kernel, 0, 3, 0, 0);
        block_case_run_part(&arrays, kernel, 2, 2, 0, 3);
        for (size_t row = 0; row < 3; row++)
            assert_true(data_load(kernel->state, arrays.state.m, row) == -INFINITY);
        block_case_close(&arrays);
    }
}

static void rounded_weights_cost_less_than_two_thousandths(void **state)
{
    (void)state;
    for (size_t i = 0; block_kernels[i] != NULL; i++)
        for (int causal = 0; causal < 2; causal++) {
            const struct block_kernel *kernel = block_kernels[i];
            struct block_case given = {
                .q_tokens = 512, .k_tokens = 512, .head_dim = 64, .causal = causal == 1};
            if (!kernel->supports(given.head_dim) || !(kernel->weight_u > 0.0))
                continue;
            struct block_arrays arrays;
            block_case_open(&arrays, &given, kernel->dtype, kernel->state);
            block_case_run(&arrays, kernel);
            assert_true(block_case_errors(&arrays, kernel).relative < 2e-3);
            block_case_close(&arrays);
        }
}

static void weights_are_rounded_for_bf16_alone_and_never_by_a_tiled_kernel(void **state)
{
    (void)state;
    for (size_t i = 0; block_kernels[i] != NULL; i++)
        assert_true(block_kernels[i]->weight_u == 0.0 || block_kernels[i]->dtype == RING_BF16);
    assert_true(block_kernel_find("tiled", RING_BF16, 64)->weight_u == 0.0);
    assert_true(block_kernel_find("auto", RING_FP32, 64)->weight_u == 0.0);
}

static void kernels_are_found_by_name_dtype_and_head_dim(void **state)
{
    (void)state;
    assert_string_equal(block_kernel_find("reference", RING_FP32, 64)->name, "reference-fp32");
    assert_string_equal(block_kernel_find("reference", RING_FP64, 64)->name, "reference-fp64");
    assert_string_equal(block_kernel_find("auto", RING_FP64, 64)->name, "reference-fp64");
    assert_string_equal(block_kernel_find("tiled-portable", RING_BF16, 64)->name, "tiled-portable");
    assert_memory_equal(block_kernel_find("auto", RING_FP32, 64)->name, "tiled-", 6);
    assert_ptr_equal(block_kernel_find(NULL, RING_FP32, 256), block_kernel_find("tiled", RING_FP32, 256));
    assert_ptr_equal(block_kernel_find(NULL, RING_BF16, 256), block_kernel_find("auto", RING_BF16, 256));
    assert_string_equal(block_kernel_find(NULL, RING_BF16, 257)->name, "reference-fp32");
    assert_string_equal(block_kernel_find(NULL, RING_FP32, 12)->name, "reference-fp32");
    assert_null(block_kernel_find("tiled", RING_FP32, 264));
    assert_null(block_kernel_find("tiled", RING_FP64, 64));
    assert_null(block_kernel_find("auto", RING_FP16, 64));
    assert_null(block_kernel_find("tile", RING_FP32, 64));
    assert_null(block_kernel_find("", RING_FP32, 64));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logits_0_and_ln_3_weigh_a_quarter_and_three_quarters),
        cmocka_unit_test(all_head_dims_agree_with_the_textbook),
        cmocka_unit_test(odd_numbers_of_queries_and_keys_agree_with_the_textbook),
        cmocka_unit_test(causal_masks_of_every_layout_agree_with_the_textbook),
        cmocka_unit_test(rows_whose_keys_are_all_masked_stay_empty),
        cmocka_unit_test(logits_of_ten_thousand_neither_overflow_nor_leave_the_bounds),
        cmocka_unit_test(a_query_that_is_not_a_number_shows_in_its_own_row_alone),
        cmocka_unit_test(no_keys_and_no_queries_change_nothing),
        cmocka_unit_test(rounded_weights_cost_less_than_two_thousandths),
        cmocka_unit_test(weights_are_rounded_for_bf16_alone_and_never_by_a_tiled_kernel),
        cmocka_unit_test(kernels_are_found_by_name_dtype_and_head_dim),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
