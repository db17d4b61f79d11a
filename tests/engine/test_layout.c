/* SPDX-License-Identifier: MIT
 *
 * Who owns which token, by hand and by counting every token. */
#include "engine/layout.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_all.h"

static const uint32_t rank_counts[] = {1, 2, 3, 4, 5, 7, 8, 13};
static const uint64_t token_counts[] = {13, 14, 16, 26, 27, 64, 2992, 2999, 3000};

static void every_token_has_one_owner_and_positions_ascend(void **state)
{
    (void)state;
    for (int kind = 0; kind < RING_N_LAYOUTS; kind++) {
        for (size_t n = 0; n < sizeof rank_counts / sizeof *rank_counts; n++) {
            for (size_t t = 0; t < sizeof token_counts / sizeof *token_counts; t++) {
                struct ring_layout layout = {(enum ring_layout_kind)kind, token_counts[t], rank_counts[n]};
                unsigned char *owners = calloc(layout.tokens, 1);
                uint64_t most = 0;
                for (uint32_t rank = 0; rank < layout.n_ranks; rank++) {
                    struct ring_shard shard = ring_layout_shard(&layout, rank);
                    most = shard.tokens > most ? shard.tokens : most;
                    for (uint64_t i = 0; i < shard.tokens; i++) {
                        uint64_t position = ring_shard_position(&shard, i);
                        assert_true(position < layout.tokens);
                        assert_true(i == 0 || position > ring_shard_position(&shard, i - 1));
                        owners[position]++;
                    }
                }
                for (uint64_t i = 0; i < layout.tokens; i++)
                    assert_int_equal(owners[i], 1);
                assert_int_equal(ring_layout_max_tokens(&layout), most);
                free(owners);
            }
        }
    }
}

static void sixteen_tokens_on_three_ranks_are_six_five_five(void **state)
{
    struct ring_layout layout = {RING_LAYOUT_CONTIGUOUS, 16, 3};

    (void)state;
    assert_int_equal(ring_layout_shard(&layout, 0).tokens, 6);
    assert_int_equal(ring_layout_shard(&layout, 1).tokens, 5);
    assert_int_equal(ring_layout_shard(&layout, 2).tokens, 5);
    struct ring_shard last = ring_layout_shard(&layout, 2);
    assert_int_equal(ring_shard_position(&last, 4), 15);
}

static void zigzag_gives_rank_r_the_chunks_r_and_2n_minus_1_minus_r(void **state)
{
    struct ring_layout layout = {RING_LAYOUT_ZIGZAG, 16, 4};
    const uint64_t of_rank_1[] = {2, 3, 12, 13};
    struct ring_shard shard = ring_layout_shard(&layout, 1);

    (void)state;
    assert_int_equal(shard.tokens, 4);
    for (uint64_t i = 0; i < 4; i++)
        assert_int_equal(ring_shard_position(&shard, i), of_rank_1[i]);
}

static void striped_gives_rank_r_every_nth_token(void **state)
{
    struct ring_layout layout = {RING_LAYOUT_STRIPED, 10, 4};
    struct ring_shard shard = ring_layout_shard(&layout, 1);

    (void)state;
    assert_int_equal(shard.tokens, 3);
    assert_int_equal(ring_shard_position(&shard, 0), 1);
    assert_int_equal(ring_shard_position(&shard, 2), 9);
}

static void more_ranks_than_tokens_are_refused_with_what_fits(void **state)
{
    struct ring_error error;
    struct ring_layout layout = {RING_LAYOUT_ZIGZAG, 3, 4};

    (void)state;
    assert_int_equal(ring_layout_check(&layout, &error), RING_BAD_INPUT);
    assert_non_null(strstr(error.text, "at most 3 devices"));
    layout.n_ranks = 0;
    assert_int_equal(ring_layout_check(&layout, &error), RING_BAD_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_token_has_one_owner_and_positions_ascend),
        cmocka_unit_test(sixteen_tokens_on_three_ranks_are_six_five_five),
        cmocka_unit_test(zigzag_gives_rank_r_the_chunks_r_and_2n_minus_1_minus_r),
        cmocka_unit_test(striped_gives_rank_r_every_nth_token),
        cmocka_unit_test(more_ranks_than_tokens_are_refused_with_what_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
