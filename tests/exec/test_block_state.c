/* SPDX-License-Identifier: MIT
 *
 * Partial results that become one: by hand, in every order, and with sides that are empty. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exec/kernels/block.h"
#include "tests/exec/block_case.h"
#include "tests/support/cmocka_all.h"

/* One row with head_dim 1, in fp32: the partial that normalises to (value, lse). */
struct partial {
    float m, l, o;
};

static struct block_state view(struct partial *partial)
{
    return (struct block_state){
        .state = RING_FP32, .rows = 1, .head_dim = 1, .m = &partial->m, .l = &partial->l, .o = &partial->o};
}

static void merge(struct partial *into, struct partial other)
{
    struct block_state a = view(into), b = view(&other);
    block_state_merge(&a, &b);
}

static void finish(struct partial partial, float *value, float *lse)
{
    struct block_state state = view(&partial);
    block_state_finish(&state, value, lse);
}

static const struct partial empty = {-INFINITY, 0.0f, 0.0f};

static void two_empty_partials_merge_to_an_empty_one(void **state)
{
    struct partial both = empty;
    float value, lse;
    (void)state;
    merge(&both, empty);
    assert_true(both.m == -INFINITY && both.l == 0.0f && both.o == 0.0f);
    finish(both, &value, &lse);
    assert_true(value == 0.0f && lse == -INFINITY);
}

static void an_empty_partial_then_3_with_lse_5_gives_3_with_lse_5(void **state)
{
    struct partial sum = empty, other = {5.0f, 1.0f, 3.0f};
    float value, lse;
    (void)state;
    merge(&sum, other);
    finish(sum, &value, &lse);
    assert_true(value == 3.0f && lse == 5.0f);
    merge(&sum, empty);
    finish(sum, &value, &lse);
    assert_true(value == 3.0f && lse == 5.0f);
}

static void equal_weights_give_the_mean_and_ln_2_more(void **state)
{
    struct partial sum = {5.0f, 1.0f, 3.0f}, other = {5.0f, 1.0f, 7.0f};
    float value, lse;
    (void)state;
    merge(&sum, other);
    finish(sum, &value, &lse);
    assert_true(value == 5.0f);
    assert_true(fabsf(lse - 5.693147f) < 1e-6f);
}

/* Distance in units in the last place, for numbers of one sign. */
static int ulps(float a, float b)
{
    int32_t x, y;
    memcpy(&x, &a, sizeof(x));
    memcpy(&y, &b, sizeof(y));
    return abs(x - y);
}

static void every_order_of_four_partials_two_of_them_empty_agrees_to_4_ulp(void **state)
{
    const struct partial parts[4] = {{5.0f, 1.0f, 3.0f}, empty, {4.25f, 2.5f, 19.0f}, empty};
    /* by hand: weights e^5 and 2.5 e^4.25 are 1 : 1.180916, so value = (3 + 1.180916 * 7.6) / 2.180916 */
    float value, lse;
    int n_orders = 0;
    (void)state;
    for (int order = 0; order < 256; order++) {
        int at[4] = {order & 3, order >> 2 & 3, order >> 4 & 3, order >> 6};
        if ((1 << at[0] | 1 << at[1] | 1 << at[2] | 1 << at[3]) != 15)
            continue;
        n_orders++;
        struct partial sum = empty;
        for (int i = 0; i < 4; i++)
            merge(&sum, parts[at[i]]);
        finish(sum, &value, &lse);
        assert_true(ulps(value, 5.4907949f) <= 4);
        assert_true(ulps(lse, 5.7797451f) <= 4);
    }
    assert_int_equal(n_orders, 24);
}

static void merging_parts_of_a_block_gives_the_whole_within_the_bounds(void **state)
{
    (void)state;
    for (size_t i = 0; block_kernels[i] != NULL; i++) {
        const struct block_kernel *kernel = block_kernels[i];
        if (!kernel->supports(32))
            continue;
        struct block_case given = {
            .q_tokens = 60, .k_tokens = 300, .head_dim = 32, .causal = true, .q_first = 100};
        struct block_arrays a, b;
        block_case_open(&a, &given, kernel->dtype, kernel->state);
        block_case_open(&b, &given, kernel->dtype, kernel->state);
        block_case_run_part(&a, kernel, 0, 60, 0, 130);
        block_case_run_part(&b, kernel, 0, 60, 130, 300); /* hidden from the first 30 rows */
        block_state_merge(&a.state, &b.state);
        block_case_finish(&a);
        struct block_errors errors = block_case_errors(&a, kernel);
        assert_true(errors.out <= 1.0 && errors.lse <= 1.0);
        block_case_close(&a);
        block_case_close(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_empty_partials_merge_to_an_empty_one),
        cmocka_unit_test(an_empty_partial_then_3_with_lse_5_gives_3_with_lse_5),
        cmocka_unit_test(equal_weights_give_the_mean_and_ln_2_more),
        cmocka_unit_test(every_order_of_four_partials_two_of_them_empty_agrees_to_4_ulp),
        cmocka_unit_test(merging_parts_of_a_block_gives_the_whole_within_the_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
