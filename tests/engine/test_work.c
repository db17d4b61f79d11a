/* SPDX-License-Identifier: MIT
 *
 * Visible pairs: the closed form against counting every pair, and the balance of the layouts by hand. */
#include "engine/work.h"

#include "tests/support/cmocka_all.h"

/* The definition, one pair at a time. */
static struct ring_work count_slowly(enum ring_mask mask, const struct ring_shard *queries,
                                     const struct ring_shard *keys)
{
    struct ring_work work = {0, 0, 0};

    for (uint64_t q = 0; q < queries->tokens; q++) {
        uint64_t seen = 0;
        for (uint64_t k = 0; k < keys->tokens; k++)
            seen += mask == RING_MASK_FULL || ring_shard_position(keys, k) <= ring_shard_position(queries, q);
        work.visible_pairs += seen;
        work.q_tokens += seen > 0;
    }
    for (uint64_t k = 0; k < keys->tokens; k++) {
        uint64_t last_query = ring_shard_position(queries, queries->tokens - 1);
        work.k_tokens += mask == RING_MASK_FULL || ring_shard_position(keys, k) <= last_query;
    }
    return work;
}

static void closed_form_equals_counting_every_pair(void **state)
{
    (void)state;
    for (int kind = 0; kind < RING_N_LAYOUTS; kind++) {
        for (uint32_t n_ranks = 1; n_ranks <= 7; n_ranks++) {
            for (uint64_t tokens = n_ranks; tokens <= 47; tokens++) {
                struct ring_layout layout = {(enum ring_layout_kind)kind, tokens, n_ranks};
                for (uint32_t i = 0; i < n_ranks * n_ranks * RING_N_MASKS; i++) {
                    struct ring_shard queries = ring_layout_shard(&layout, i % n_ranks);
                    struct ring_shard keys = ring_layout_shard(&layout, i / n_ranks % n_ranks);
                    enum ring_mask mask = (enum ring_mask)(i / (n_ranks * n_ranks));
                    struct ring_work fast = ring_work_count(mask, &queries, &keys);
                    struct ring_work slow = count_slowly(mask, &queries, &keys);
                    assert_int_equal(fast.visible_pairs, slow.visible_pairs);
                    assert_int_equal(fast.q_tokens, slow.q_tokens);
                    assert_int_equal(fast.k_tokens, slow.k_tokens);
                }
            }
        }
    }
}

static uint64_t pairs_of_rank(enum ring_layout_kind kind, uint64_t tokens, uint32_t n_ranks, uint32_t rank)
{
    struct ring_layout layout = {kind, tokens, n_ranks};
    struct ring_shard queries = ring_layout_shard(&layout, rank);
    uint64_t pairs = 0;

    for (uint32_t block = 0; block < n_ranks; block++) {
        struct ring_shard keys = ring_layout_shard(&layout, block);
        pairs += ring_work_count(RING_MASK_CAUSAL, &queries, &keys).visible_pairs;
    }
    return pairs;
}

/* 16 tokens on 4 ranks: rank r of contiguous sees rows 4r..4r+3, which have 4r+1..4r+4 keys: 10, 26, 42, 58.
 */
static void sixteen_tokens_on_four_ranks_have_the_hand_counted_balance(void **state)
{
    const uint64_t wanted[RING_N_LAYOUTS][4] = {
        [RING_LAYOUT_CONTIGUOUS] = {10, 26, 42, 58},
        [RING_LAYOUT_ZIGZAG] = {34, 34, 34, 34},
        [RING_LAYOUT_STRIPED] = {28, 32, 36, 40},
    };

    (void)state;
    for (int kind = 0; kind < RING_N_LAYOUTS; kind++)
        for (uint32_t rank = 0; rank < 4; rank++)
            assert_int_equal(pairs_of_rank((enum ring_layout_kind)kind, 16, 4, rank), wanted[kind][rank]);
}

static void zigzag_later_steps_are_full_rectangles_of_half_the_size(void **state)
{
    struct ring_layout layout = {RING_LAYOUT_ZIGZAG, 4096, 4};
    struct ring_shard one = ring_layout_shard(&layout, 1), two = ring_layout_shard(&layout, 2);
    struct ring_work past = ring_work_count(RING_MASK_CAUSAL, &two, &one);
    struct ring_work future = ring_work_count(RING_MASK_CAUSAL, &one, &two);

    (void)state;
    assert_int_equal(past.q_tokens, 1024); /* all queries on half the keys */
    assert_int_equal(past.k_tokens, 512);
    assert_int_equal(past.visible_pairs, 1024 * 512);
    assert_int_equal(future.q_tokens, 512); /* half the queries on all keys */
    assert_int_equal(future.k_tokens, 1024);
    assert_int_equal(future.visible_pairs, 512 * 1024);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_form_equals_counting_every_pair),
        cmocka_unit_test(sixteen_tokens_on_four_ranks_have_the_hand_counted_balance),
        cmocka_unit_test(zigzag_later_steps_are_full_rectangles_of_half_the_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
