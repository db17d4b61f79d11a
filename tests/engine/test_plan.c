/* SPDX-License-Identifier: MIT
 *
 * The ring plan: which block is where at which step, what it sends, and what it refuses. */
#include "engine/plan.h"

#include <string.h>

#include "tests/support/cmocka_all.h"

static struct ring_plan_spec spec_of(uint64_t tokens, uint32_t n_ranks)
{
    return (struct ring_plan_spec){
        .strategy = "ring",
        .problem = {.tokens = tokens,
                    .batch = 1,
                    .heads = 4,
                    .kv_heads = 2,
                    .head_dim = 8,
                    .dtype = RING_FP32,
                    .mask = RING_MASK_CAUSAL},
        .layout = RING_LAYOUT_CONTIGUOUS,
        .pass = RING_PASS_FORWARD,
        .n_ranks = n_ranks,
        .n_buffers = 2,
    };
}

static void blocks_rotate_by_one_rank_a_step(void **state)
{
    /* the table in engine/plans/ring.c */
    const uint32_t block_in_hand[4][4] = {{0, 3, 2, 1}, {1, 0, 3, 2}, {2, 1, 0, 3}, {3, 2, 1, 0}};
    struct ring_plan_spec spec = spec_of(16, 4);
    struct ring_plan plan;
    struct ring_plan_step step;

    (void)state;
    assert_int_equal(ring_plan_init(&plan, &spec, NULL), RING_OK);
    assert_int_equal(plan.n_steps, 4);
    for (uint32_t rank = 0; rank < 4; rank++) {
        for (uint32_t s = 0; s < 4; s++) {
            ring_plan_step(&plan, rank, s, &step);
            assert_int_equal(step.block, block_in_hand[rank][s]);
            assert_int_equal(step.n_sends, s < 3 ? 1 : 0);
            if (s < 3)
                assert_int_equal(step.sends[0].peer, (rank + 1) % 4);
        }
    }
}

static void blocks_in_the_future_are_forwarded_but_not_computed(void **state)
{
    struct ring_plan_spec spec = spec_of(16, 4);
    struct ring_plan plan;
    struct ring_plan_step step;

    (void)state;
    assert_int_equal(ring_plan_init(&plan, &spec, NULL), RING_OK);
    ring_plan_step(&plan, 0, 1, &step); /* rank 0 has block 3 in hand: all its keys come later */
    assert_false(step.computes);
    assert_int_equal(step.n_sends, 1);
    ring_plan_step(&plan, 3, 1, &step); /* rank 3 has block 2: every key visible */
    assert_true(step.computes);
    assert_int_equal(step.work.visible_pairs, 16);
}

static void one_hop_carries_k_and_v_of_the_kv_heads_only(void **state)
{
    struct ring_plan_spec spec = spec_of(65536, 8);
    struct ring_plan plan;
    struct ring_plan_step step;

    (void)state;
    spec.problem.heads = 32;
    spec.problem.kv_heads = 8;
    spec.problem.head_dim = 128;
    spec.problem.dtype = RING_BF16;
    assert_int_equal(ring_plan_init(&plan, &spec, NULL), RING_OK);
    ring_plan_step(&plan, 5, 0, &step);
    /* 2 (K and V) * 8192 tokens * 8 heads * 128 * 2 bytes = 32 MiB; seven hops */
    assert_int_equal(step.sends[0].bytes, 33554432);
    assert_int_equal(ring_plan_bytes_sent(&plan, 5), 234881024);
}

static void one_rank_computes_and_sends_nothing(void **state)
{
    struct ring_plan_spec spec = spec_of(16, 1);
    struct ring_plan plan;
    struct ring_plan_step step;
    uint32_t target;

    (void)state;
    assert_int_equal(ring_plan_init(&plan, &spec, NULL), RING_OK);
    assert_int_equal(plan.n_steps, 1);
    assert_int_equal(plan.n_slots, 1);
    ring_plan_step(&plan, 0, 0, &step);
    assert_true(step.computes);
    assert_int_equal(step.n_sends + step.n_receives + step.n_await_receives + step.n_await_sends, 0);
    assert_int_equal(ring_plan_bytes_sent(&plan, 0), 0);
    assert_int_equal(ring_plan_targets(&plan, 0, &target), 0);
}

static void two_ranks_have_one_peer_on_both_sides(void **state)
{
    struct ring_plan_spec spec = spec_of(16, 2);
    struct ring_plan plan;
    struct ring_plan_step step;

    (void)state;
    assert_int_equal(ring_plan_init(&plan, &spec, NULL), RING_OK);
    ring_plan_step(&plan, 1, 0, &step);
    assert_int_equal(step.sends[0].peer, 0);
    assert_int_equal(step.receives[0].peer, 0);
}

static void a_ring_of_two_over_a_million_tokens_has_blocks_of_two_gib(void **state)
{
    struct ring_plan_spec spec = spec_of(1048576, 2);
    struct ring_plan plan;

    (void)state;
    spec.problem.heads = spec.problem.kv_heads = 8;
    spec.problem.head_dim = 128;
    spec.problem.dtype = RING_BF16;
    assert_int_equal(ring_plan_init(&plan, &spec, NULL), RING_OK);
    assert_int_equal(ring_plan_block_bytes(&plan, 0), UINT64_C(2147483648));
}

static void tags_stay_small_over_a_hundred_thousand_steps(void **state)
{
    struct ring_plan_spec spec = spec_of(10000000, 10000000);
    struct ring_plan plan;
    struct ring_plan_step step;

    (void)state;
    assert_int_equal(ring_plan_init(&plan, &spec, NULL), RING_OK);
    assert_int_equal(plan.n_steps, 10000000);
    for (uint32_t s = 0; s + 1 < plan.n_steps; s += s < 100000 ? 1 : 9973) {
        ring_plan_step(&plan, 7, s, &step);
        assert_true(step.sends[0].tag < RING_TAG_LIMIT);
        assert_int_equal(step.sends[0].step, s);
    }
}

static void uneven_shards_send_their_own_sizes(void **state)
{
    struct ring_plan_spec spec = spec_of(16, 3); /* 6, 5, 5 tokens; 2 * 2 heads * 8 * 4 bytes = 128 a token */
    struct ring_plan plan;
    struct ring_plan_step step;

    (void)state;
    assert_int_equal(ring_plan_init(&plan, &spec, NULL), RING_OK);
    ring_plan_step(&plan, 1, 0, &step);
    assert_int_equal(step.sends[0].bytes, 5 * 128);
    assert_int_equal(step.receives[0].bytes, 6 * 128);
    assert_int_equal(ring_plan_slot_bytes(&plan, 1, RING_HOME_SLOT), 5 * 128);
    assert_int_equal(ring_plan_slot_bytes(&plan, 1, 1), 6 * 128);
}

static void gradients_travel_one_step_behind_their_block_and_come_home(void **state)
{
    struct ring_plan_spec spec = spec_of(16, 4);
    struct ring_plan plan;
    struct ring_plan_step step;

    (void)state;
    spec.pass = RING_PASS_BACKWARD;
    assert_int_equal(ring_plan_init(&plan, &spec, NULL), RING_OK);
    assert_int_equal(plan.n_steps, 5);
    ring_plan_step(&plan, 3, 0, &step); /* K/V of block 3 leave at once; its gradient cannot yet */
    assert_int_equal(step.n_sends, 1);
    assert_int_equal(step.sends[0].payload, RING_KV);
    assert_true(step.adds && step.begins);
    ring_plan_step(&plan, 3, 2, &step); /* block 1 in hand; the gradient of block 2 leaves */
    assert_int_equal(step.n_sends, 2);
    assert_int_equal(step.sends[1].payload, RING_GRADIENT);
    assert_int_equal(step.sends[1].block, 2);
    assert_int_equal(step.receives[1].block, 1);
    assert_true(step.adds && !step.begins);
    ring_plan_step(&plan, 3, 4,
                   &step); /* the last hop: the gradient of block 0 goes home, that of block 3 comes */
    assert_false(step.computes || step.adds);
    assert_int_equal(step.n_sends, 1);
    assert_int_equal(step.sends[0].peer, 0);
    assert_int_equal(step.sends[0].block, 0);
    assert_int_equal(step.receives[0].block, 3);
    assert_int_equal(step.receives[0].slot, ring_plan_own_gradient_slot(&plan));
}

/* A block of 65536 / 8 tokens, 8 kv heads of 128, in bf16: 32 MiB of K and V, 64 MiB of dK and dV in fp32. */
static void backward_bytes_follow_the_formula(void **state)
{
    const uint64_t kv = 33554432;
    const struct {
        enum ring_pass pass;
        enum ring_dtype gradient_dtype;
        bool keep_kv;
        uint64_t wanted;
    } cases[] = {
        {RING_PASS_FORWARD, RING_FP32, false, 7 * kv},
        {RING_PASS_BACKWARD, RING_FP32, false, 7 * kv + 8 * 2 * kv},
        {RING_PASS_BACKWARD, RING_BF16, false, 7 * kv + 8 * kv},
        {RING_PASS_BOTH, RING_FP32, false, 14 * kv + 8 * 2 * kv},
        {RING_PASS_BOTH, RING_FP32, true, 7 * kv + 8 * 2 * kv},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ring_plan_spec spec = spec_of(65536, 8);
        struct ring_plan plan;
        spec.problem.heads = 32;
        spec.problem.kv_heads = 8;
        spec.problem.head_dim = 128;
        spec.problem.dtype = RING_BF16;
        spec.pass = cases[i].pass;
        spec.gradient_dtype = cases[i].gradient_dtype;
        spec.keep_kv = cases[i].keep_kv;
        assert_int_equal(ring_plan_init(&plan, &spec, NULL), RING_OK);
        assert_int_equal(ring_plan_bytes_sent(&plan, 3), cases[i].wanted);
    }
}

static void nonsense_is_refused_with_the_field_and_what_fits(void **state)
{
    struct ring_plan plan;
    struct ring_error error;

    (void)state;
    const struct {
        uint64_t tokens;
        uint32_t n_ranks, heads, kv_heads, n_buffers;
        const char *strategy, *wanted;
    } cases[] = {
        {0, 1, 4, 2, 2, "ring", "tokens is 0"},          {16, 0, 4, 2, 2, "ring", "devices is 0"},
        {16, 17, 4, 2, 2, "ring", "at most 16 devices"}, {16, 2, 0, 2, 2, "ring", "heads is 0"},
        {16, 2, 4, 3, 2, "ring", "not a multiple"},      {16, 2, 4, 2, 1, "ring", "buffers is 1"},
        {16, 2, 4, 2, 2, "rign", "strategy 'rign'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ring_plan_spec spec = spec_of(cases[i].tokens, cases[i].n_ranks);
        spec.problem.heads = cases[i].heads;
        spec.problem.kv_heads = cases[i].kv_heads;
        spec.n_buffers = cases[i].n_buffers;
        spec.strategy = cases[i].strategy;
        assert_int_equal(ring_plan_init(&plan, &spec, &error), RING_BAD_INPUT);
        assert_non_null(strstr(error.text, cases[i].wanted));
    }
}

/* 16 tokens on 4: a block is 2 * 4 tokens * 2 heads * 8 = 128 elements. Forward makes 3 hops of it; backward
 * 3 of K/V and 4 of the gradient, which the last brings home. */
static void each_pass_sends_what_the_formula_says(void **state)
{
    static const struct {
        enum ring_dtype dtype, gradients;
        bool keep_kv;
        uint64_t forward_bytes, backward_bytes;
    } cases[] = {
        {RING_FP32, RING_FP32, false, 3 * 512, 3 * 512 + 4 * 512},
        {RING_BF16, RING_FP32, false, 3 * 256, 3 * 256 + 4 * 512},
        {RING_BF16, RING_BF16, false, 3 * 256, 3 * 256 + 4 * 256},
        {RING_BF16, RING_FP32, true, 3 * 256, 4 * 512},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ring_plan_spec spec = spec_of(16, 4);
        struct ring_plan plan;
        spec.problem.dtype = cases[i].dtype;
        spec.pass = RING_PASS_BOTH;
        spec.gradient_dtype = cases[i].gradients;
        spec.keep_kv = cases[i].keep_kv;
        assert_int_equal(ring_plan_init(&plan, &spec, NULL), RING_OK);
        for (uint32_t rank = 0; rank < 4; rank++) {
            assert_int_equal(ring_plan_pass_bytes(&plan, rank, RING_PASS_FORWARD), cases[i].forward_bytes);
            assert_int_equal(ring_plan_pass_bytes(&plan, rank, RING_PASS_BACKWARD), cases[i].backward_bytes);
            assert_int_equal(ring_plan_bytes_sent(&plan, rank),
                             cases[i].forward_bytes + cases[i].backward_bytes);
        }
        assert_int_equal(ring_plan_step_pass(&plan, 3), RING_PASS_FORWARD);
        assert_int_equal(ring_plan_step_pass(&plan, 4), RING_PASS_BACKWARD);
    }
}

static void more_elements_than_bytes_can_count_are_refused(void **state)
{
    struct ring_plan_spec spec = spec_of(UINT64_C(1) << 31, 8);
    struct ring_plan plan;
    struct ring_error error;

    (void)state;
    spec.problem.batch = 65536;
    spec.problem.heads = spec.problem.kv_heads = 4096;
    spec.problem.head_dim = 4096; /* each in range; 2^71 elements together */
    assert_int_equal(ring_plan_init(&plan, &spec, &error), RING_BAD_INPUT);
    assert_non_null(strstr(error.text, "2^50"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_rotate_by_one_rank_a_step),
        cmocka_unit_test(blocks_in_the_future_are_forwarded_but_not_computed),
        cmocka_unit_test(one_hop_carries_k_and_v_of_the_kv_heads_only),
        cmocka_unit_test(one_rank_computes_and_sends_nothing),
        cmocka_unit_test(two_ranks_have_one_peer_on_both_sides),
        cmocka_unit_test(a_ring_of_two_over_a_million_tokens_has_blocks_of_two_gib),
        cmocka_unit_test(tags_stay_small_over_a_hundred_thousand_steps),
        cmocka_unit_test(uneven_shards_send_their_own_sizes),
        cmocka_unit_test(gradients_travel_one_step_behind_their_block_and_come_home),
        cmocka_unit_test(backward_bytes_follow_the_formula),
        cmocka_unit_test(more_elements_than_bytes_can_count_are_refused),
        cmocka_unit_test(nonsense_is_refused_with_the_field_and_what_fits),
        cmocka_unit_test(each_pass_sends_what_the_formula_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
