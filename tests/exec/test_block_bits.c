/* SPDX-License-Identifier: MIT
 *
 * What a kernel's bits do not depend on: the run, the other queries in the call, where a block is cut between
 * groups of keys, and keys that the mask hides. How far it depends on the instruction set. */
#include <math.h>

#include "exec/kernels/block.h"
#include "tests/exec/block_case.h"
#include "tests/support/cmocka_all.h"

static const struct block_case cases[] = {
    {.q_tokens = 210, .k_tokens = 400, .head_dim = 40},
    {.q_tokens = 210, .k_tokens = 400, .head_dim = 40, .causal = true, .q_first = 201},
    {.q_tokens = 64,
     .k_tokens = 515,
     .head_dim = 64,
     .causal = true,
     .q_first = 3,
     .q_stride = 7,
     .k_stride = 2},
};
enum { N_CASES = sizeof cases / sizeof *cases };

typedef void run_otherwise(struct block_arrays *arrays, const struct block_kernel *kernel);

/* Each kernel gives the same bits when a case is run at once and otherwise. */
static void assert_same_bits_when(run_otherwise *otherwise)
{
    for (size_t i = 0; block_kernels[i] != NULL; i++)
        for (size_t at = 0; at < N_CASES; at++) {
            const struct block_kernel *kernel = block_kernels[i];
            if (!kernel->supports(cases[at].head_dim))
                continue;
            struct block_arrays a, b;
            block_case_open(&a, &cases[at], kernel->dtype, kernel->state);
            block_case_open(&b, &cases[at], kernel->dtype, kernel->state);
            block_case_run(&a, kernel);
            otherwise(&b, kernel);
            block_case_assert_same_bits(&a, &b);
            block_case_close(&a);
            block_case_close(&b);
        }
}

static void again(struct block_arrays *arrays, const struct block_kernel *kernel)
{
    block_case_run(arrays, kernel);
}

/* Pieces of 1, 2, 3 ... queries, so that every width of tile has its turn. */
static void by_growing_pieces(struct block_arrays *arrays, const struct block_kernel *kernel)
{
    size_t n = arrays->call.q_tokens;
    for (size_t from = 0, width = 1; from < n; from += width, width++)
        block_case_run_part(arrays, kernel, from, from + width < n ? from + width : n, 0,
                            arrays->call.k_tokens);
}

static void one_by_one(struct block_arrays *arrays, const struct block_kernel *kernel)
{
    for (size_t from = 0; from < arrays->call.q_tokens; from++)
        block_case_run_part(arrays, kernel, from, from + 1, 0, arrays->call.k_tokens);
}

static void by_groups_of_keys(struct block_arrays *arrays, const struct block_kernel *kernel)
{
    size_t n = arrays->call.k_tokens;
    for (size_t from = 0; from < n; from += BLOCK_KEY_GROUP)
        block_case_run_part(arrays, kernel, 0, arrays->call.q_tokens, from,
                            n - from < BLOCK_KEY_GROUP ? n : from + BLOCK_KEY_GROUP);
}

static void the_same_run_twice_has_the_same_bits(void **state)
{
    (void)state;
    assert_same_bits_when(again);
}

static void any_split_of_the_queries_has_the_same_bits(void **state)
{
    (void)state;
    assert_same_bits_when(by_growing_pieces);
    assert_same_bits_when(one_by_one);
}

static void a_block_cut_between_groups_of_keys_has_the_same_bits(void **state)
{
    (void)state;
    assert_same_bits_when(by_groups_of_keys);
}

static void keys_behind_the_mask_change_no_bit(void **state)
{
    (void)state;
    for (size_t i = 0; block_kernels[i] != NULL; i++) {
        const struct block_kernel *kernel = block_kernels[i];
        if (!kernel->supports(32))
            continue;
        /* queries 0..99 see keys 0..99 at most; the rest of the 300 is never seen */
        struct block_case given = {.q_tokens = 100, .k_tokens = 300, .head_dim = 32, .causal = true};
        struct block_arrays a, b;
        block_case_open(&a, &given, kernel->dtype, kernel->state);
        block_case_open(&b, &given, kernel->dtype, kernel->state);
        block_case_run(&a, kernel);
        block_case_run_part(&b, kernel, 0, 100, 0, 100);
        block_case_assert_same_bits(&a, &b);
        block_case_close(&a);
        block_case_close(&b);
    }
}

/* Scores are summed in the same order, so that maxima have the same bits. The exponentials differ by a few
 * roundings, as AVX-512 has instructions for them that AVX2 lacks; so then do sums and outputs. */
static void avx2_and_avx512_agree_to_a_few_roundings(void **state)
{
    (void)state;
    for (int dtype = 0; dtype < RING_N_DTYPES; dtype++)
        for (size_t at = 0; at < N_CASES; at++) {
            const struct block_kernel *avx2 = block_kernel_find("tiled-avx2", (enum ring_dtype)dtype, 64);
            const struct block_kernel *avx512 = block_kernel_find("tiled-avx512", (enum ring_dtype)dtype, 64);
            if (avx2 == NULL || avx512 == NULL)
                continue;
            struct block_arrays a, b;
            block_case_open(&a, &cases[at], avx2->dtype, avx2->state);
            block_case_open(&b, &cases[at], avx2->dtype, avx2->state);
            block_case_run(&a, avx2);
            block_case_run(&b, avx512);
            assert_memory_equal(a.state.m, b.state.m, cases[at].q_tokens * sizeof(float));
            for (size_t row = 0; row < cases[at].q_tokens; row++) {
                float l = ((float *)a.state.l)[row], few = 16.0f * 0x1p-24f * l;
                assert_true(fabsf(((float *)b.state.l)[row] - l) <= few);
                for (size_t i = row * cases[at].head_dim; i < (row + 1) * cases[at].head_dim; i++)
                    assert_true(fabsf(((float *)b.state.o)[i] - ((float *)a.state.o)[i]) <=
                                few * sqrtf(3.0f));
            }
            block_case_close(&a);
            block_case_close(&b);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_run_twice_has_the_same_bits),
        cmocka_unit_test(any_split_of_the_queries_has_the_same_bits),
        cmocka_unit_test(a_block_cut_between_groups_of_keys_has_the_same_bits),
        cmocka_unit_test(keys_behind_the_mask_change_no_bit),
        cmocka_unit_test(avx2_and_avx512_agree_to_a_few_roundings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
