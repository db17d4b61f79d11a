/* SPDX-License-Identifier: MIT
 *
 * What holds bit for bit across rings. A rank's rows depend on the order in which it meets the blocks and on
 * where those are cut, and on nothing else. So, with contiguous slices of a multiple of 128 keys: met in
 * ascending order, any number of ranks gives the bits of one; in the ring's own order (own block first) rank
 * 0 of a causal ring does, as it sees its own block alone, and the others do not. */
#include <stdlib.h>
#include <string.h>

#include "tests/exec/ring_by_hand.h"
#include "tests/support/cmocka_all.h"

static const struct data_spec noise = {.kind = DATA_RANDOM, .seed = 5};

static void open_ring(struct ring_by_hand *ring, uint32_t n_ranks, enum ring_layout_kind layout,
                      enum ring_dtype dtype, enum ring_mask mask)
{
    struct ring_plan_spec spec = {
        .strategy = "ring",
        .problem = {.tokens = 2048,
                    .batch = 1,
                    .heads = 2,
                    .kv_heads = 1,
                    .head_dim = 32,
                    .dtype = dtype,
                    .mask = mask},
        .layout = layout,
        .pass = RING_PASS_FORWARD,
        .n_ranks = n_ranks,
        .n_buffers = RING_MIN_BUFFERS,
    };
    ring_by_hand_open(ring, &spec, "auto", &noise);
}

/* The bits of rank's rows in ring b are those of the same positions in ring a, which has one rank. */
static void assert_same_rows(const struct ring_by_hand *a, const struct ring_by_hand *b, uint32_t rank)
{
    size_t d = a->plan.problem.head_dim, real = ring_dtype_bytes(a->kernel->state);
    struct ring_shard shard = ring_layout_shard(&b->plan.layout, rank);
    for (uint32_t head = 0; head < a->plan.problem.heads; head++)
        for (uint64_t i = 0; i < shard.tokens; i++) {
            size_t in_a = head * a->plan.problem.tokens + ring_shard_position(&shard, i),
                   in_b = head * shard.tokens + i;
            assert_memory_equal((char *)a->out[0] + in_a * d * real, (char *)b->out[rank] + in_b * d * real,
                                d * real);
            assert_memory_equal((char *)a->lse[0] + in_a * real, (char *)b->lse[rank] + in_b * real, real);
        }
}

static void blocks_met_in_ascending_order_give_the_bits_of_one_rank(void **state)
{
    static const enum ring_dtype dtypes[] = {RING_FP32, RING_BF16};
    (void)state;
    for (size_t dtype = 0; dtype < 2; dtype++)
        for (int mask = 0; mask < RING_N_MASKS; mask++) {
            struct ring_by_hand one, many;
            open_ring(&one, 1, RING_LAYOUT_CONTIGUOUS, dtypes[dtype], (enum ring_mask)mask);
            ring_by_hand_run(&one, false);
            for (uint32_t n = 2; n <= 8; n *= 2) {
                open_ring(&many, n, RING_LAYOUT_CONTIGUOUS, dtypes[dtype], (enum ring_mask)mask);
                ring_by_hand_run(&many, true);
                for (uint32_t rank = 0; rank < n; rank++)
                    assert_same_rows(&one, &many, rank);
                ring_by_hand_close(&many);
            }
            ring_by_hand_close(&one);
        }
}

static void rank_0_of_a_causal_ring_has_the_bits_of_one_rank(void **state)
{
    struct ring_by_hand one, many;
    (void)state;
    open_ring(&one, 1, RING_LAYOUT_CONTIGUOUS, RING_FP32, RING_MASK_CAUSAL);
    ring_by_hand_run(&one, false);
    for (uint32_t n = 2; n <= 8; n *= 2) {
        open_ring(&many, n, RING_LAYOUT_CONTIGUOUS, RING_FP32, RING_MASK_CAUSAL);
        ring_by_hand_run(&many, false);
        assert_same_rows(&one, &many, 0);
        ring_by_hand_close(&many);
    }
    ring_by_hand_close(&one);
}

static void the_same_ring_twice_has_the_same_bits(void **state)
{
    (void)state;
    for (int layout = 0; layout < RING_N_LAYOUTS; layout++) {
        struct ring_by_hand a, b;
        open_ring(&a, 3, (enum ring_layout_kind)layout, RING_FP32, RING_MASK_CAUSAL);
        open_ring(&b, 3, (enum ring_layout_kind)layout, RING_FP32, RING_MASK_CAUSAL);
        ring_by_hand_run(&a, false);
        ring_by_hand_run(&b, false);
        for (uint32_t rank = 0; rank < 3; rank++) {
            size_t rows = 2 * ring_layout_shard(&a.plan.layout, rank).tokens;
            assert_memory_equal(a.out[rank], b.out[rank], rows * 32 * sizeof(float));
            assert_memory_equal(a.lse[rank], b.lse[rank], rows * sizeof(float));
        }
        ring_by_hand_close(&a);
        ring_by_hand_close(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_met_in_ascending_order_give_the_bits_of_one_rank),
        cmocka_unit_test(rank_0_of_a_causal_ring_has_the_bits_of_one_rank),
        cmocka_unit_test(the_same_ring_twice_has_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
