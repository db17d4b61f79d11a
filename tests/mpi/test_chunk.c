/* SPDX-License-Identifier: MIT
 *
 * Where a message is cut that is too long for MPI's int counts. No memory of that size is needed. */
#include <limits.h>

#include "engine/plan.h"
#include "exec/chunk.h"
#include "tests/support/cmocka_all.h"

/* Every byte in exactly one chunk, in order. */
static void assert_covers(uint64_t bytes)
{
    uint64_t next = 0;

    for (uint64_t i = 0; i < exec_chunk_count(bytes); i++) {
        assert_int_equal(exec_chunk_offset(bytes, i), next);
        assert_true(exec_chunk_length(bytes, i) >= 0 && exec_chunk_length(bytes, i) < INT_MAX);
        next += (uint64_t)exec_chunk_length(bytes, i);
    }
    assert_int_equal(next, bytes);
}

static void chunks_cover_every_byte_once(void **state)
{
    const uint64_t gib = UINT64_C(1) << 30;
    const uint64_t sizes[] = {0,       1,       4096,    gib - 1,     gib,
                              gib + 1, INT_MAX, 2 * gib, 2 * gib + 1, 7 * gib + 12345};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        assert_covers(sizes[i]);
}

static void a_message_of_nothing_is_one_message(void **state)
{
    (void)state;
    assert_int_equal(exec_chunk_count(0), 1);
    assert_int_equal(exec_chunk_length(0, 0), 0);
}

/* K and V of 524288 tokens, 8 heads of 128 elements of 2 bytes: 2 * 524288 * 8 * 128 * 2 = 2147483648, one
 * more than INT_MAX. */
static void a_block_of_a_million_tokens_on_two_ranks_is_cut_in_two(void **state)
{
    struct ring_plan_spec spec = {
        .strategy = "ring",
        .problem = {.tokens = 1048576,
                    .batch = 1,
                    .heads = 32,
                    .kv_heads = 8,
                    .head_dim = 128,
                    .dtype = RING_BF16,
                    .mask = RING_MASK_CAUSAL},
        .layout = RING_LAYOUT_CONTIGUOUS,
        .pass = RING_PASS_FORWARD,
        .n_ranks = 2,
        .n_buffers = 2,
    };
    struct ring_plan plan;
    struct ring_error error;

    (void)state;
    assert_int_equal(ring_plan_init(&plan, &spec, &error), RING_OK);
    uint64_t bytes = ring_plan_block_bytes(&plan, 0);
    assert_int_equal(bytes, UINT64_C(2147483648));
    assert_int_equal(exec_chunk_count(bytes), 2);
    assert_int_equal(exec_chunk_length(bytes, 0), 1073741824);
    assert_int_equal(exec_chunk_length(bytes, 1), 1073741824);
    assert_covers(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_cover_every_byte_once),
        cmocka_unit_test(a_message_of_nothing_is_one_message),
        cmocka_unit_test(a_block_of_a_million_tokens_on_two_ranks_is_cut_in_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
