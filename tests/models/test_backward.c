/* SPDX-License-Identifier: MIT
 *
 * The backward ring by hand, step by step; docs/MODEL.md has the same tables, and tests/sim/test_backward.c
 * holds the simulated world to them. K/V of the next step leave at once, a gradient one step after its block,
 * so from step 1 on two messages are on each hop; the last step brings the gradients home. Milliseconds. */
#include <math.h>

#include "tests/models/ring_case.h"

/* A circle of 4: K/V alone take kv_ms a hop (8 kB in bf16), gradients twice that (16 kB in fp32) or, in bf16,
 * as long. */
static void build_circle(struct ring_case *that, enum ring_pass pass, double kv_ms, double latency_ms)
{
    ring_case_init(that);
    that->spec.n_ranks = 4;
    that->spec.pass = pass;
    that->spec.problem.tokens = 4 * 2; /* 2 * 2 tokens * 1000 * 2 B = 8000 B */
    that->spec.problem.dtype = RING_BF16;
    for (uint32_t i = 0; i < 4; i++)
        topology_builder_device(&that->cluster, "g%u", i);
    for (uint32_t i = 0; i < 4; i++)
        topology_builder_link(&that->cluster, i, (i + 1) % 4, 8000 / (kv_ms * 1e-3), latency_ms * 1e-3);
}

static void assert_steps_ms(const struct ring_case *that, const double (*ends_ms)[4])
{
    for (uint32_t step = 0; step < that->plan.n_steps; step++)
        for (uint32_t rank = 0; rank < 4; rank++)
            assert_ms(ring_case_step(that, rank, step)->end_s, ends_ms[step][rank]);
}

static void a_compute_bound_ring_of_4_shows_the_way_home_alone(void **state)
{
    /* Blocks of 4; K/V 1 alone, gradients 2, latency 0.1. Steps 1 and 2 have both: K/V through at 2,
     * gradients at 3: hidden. Four steps of 4, then 2 + 0.1. */
    const double ends_ms[][4] = {
        {4, 4, 4, 4}, {8, 8, 8, 8}, {12, 12, 12, 12}, {16, 16, 16, 16}, {18.1, 18.1, 18.1, 18.1}};
    struct ring_case that;

    (void)state;
    build_circle(&that, RING_PASS_BACKWARD, 1, 0.1);
    that.compute = (struct model_compute){.block_s = 1.6e-3};
    ring_case_build(&that);
    ring_case_play(&that);
    assert_steps_ms(&that, ends_ms);
    assert_ms(that.totals[1].compute_s, 16);
    assert_ms(that.totals[1].transfer_s, 2.1);
    ring_case_fini(&that);
}

static void a_network_bound_ring_of_4_moves_3_blocks_and_4_gradients(void **state)
{
    /* Blocks of 1; K/V 2 alone, gradients 4, latency 0.5. Step 0: 2.5. Steps 1 and 2: K/V at 4, gradients at
     * 2
     * + 4 = 6, and 0.5. Steps 3 and 4: 4.5 each. */
    const double ends_ms[][4] = {{2.5, 2.5, 2.5, 2.5},
                                 {9, 9, 9, 9},
                                 {15.5, 15.5, 15.5, 15.5},
                                 {20, 20, 20, 20},
                                 {24.5, 24.5, 24.5, 24.5}};
    struct ring_case that;

    (void)state;
    build_circle(&that, RING_PASS_BACKWARD, 2, 0.5);
    that.compute = (struct model_compute){.block_s = 3e-3, .backward_block_s = 1e-3};
    ring_case_build(&that);
    ring_case_play(&that);
    assert_steps_ms(&that, ends_ms);
    assert_ms(ring_case_step(&that, 2, 1)->compute_s, 1);
    assert_ms(ring_case_step(&that, 2, 1)->transfer_s, 5.5);
    ring_case_fini(&that);
}

static void gradients_in_bf16_shorten_a_network_bound_ring(void **state)
{
    /* As above with gradients of 2: K/V and gradients of steps 1 and 2 both through at 4: 4.5; 2.5 each
     * after.
     */
    const double ends_ms[][4] = {{2.5, 2.5, 2.5, 2.5},
                                 {7, 7, 7, 7},
                                 {11.5, 11.5, 11.5, 11.5},
                                 {14, 14, 14, 14},
                                 {16.5, 16.5, 16.5, 16.5}};
    struct ring_case that;

    (void)state;
    build_circle(&that, RING_PASS_BACKWARD, 2, 0.5);
    that.spec.gradient_dtype = RING_BF16;
    that.compute = (struct model_compute){.block_s = 3e-3, .backward_block_s = 1e-3};
    ring_case_build(&that);
    ring_case_play(&that);
    assert_steps_ms(&that, ends_ms);
    ring_case_fini(&that);
}

static void one_slow_rank_of_4_meets_two_messages_a_hop(void **state)
{
    /* Blocks of 2, rank 2's of 4; K/V 1 alone, gradients 2, no latency. With a(r) = max(begin r, begin r+1):
     * step 0 K/V at a + 1; steps 1, 2 K/V at a + 2, gradients at a + 3; steps 3, 4 gradients at a + 2. */
    const double ends_ms[][4] = {
        {2, 2, 4, 2}, {5, 7, 8, 7}, {10, 11, 12, 11}, {13, 14, 16, 14}, {16, 18, 18, 18}};
    struct ring_case that;

    (void)state;
    build_circle(&that, RING_PASS_BACKWARD, 1, 0);
    for (uint32_t i = 0; i < 4; i++) /* forward; backward 2.5 times as long */
        ring_case_set_block_time(&that, i, i == 2 ? 1.6e-3 : 0.8e-3);
    ring_case_build(&that);
    ring_case_play(&that);
    assert_steps_ms(&that, ends_ms);
    /* rank 1, step 1: computed at 4, waits for rank 2 until 4 and for the gradient that it sends until 7 */
    assert_ms(ring_case_step(&that, 1, 1)->compute_s, 2);
    assert_ms(ring_case_step(&that, 1, 1)->transfer_s, 3);
    ring_case_fini(&that);
}

static void preparing_and_adding_take_what_memory_takes(void **state)
{
    /* The compute-bound ring again on memory of 160 MB/s. Contribution 16 kB, gradient 16 kB: to begin one is
     * 32 kB, 0.2; to add 48 kB, 0.3. Delta: 2 rows * (1000 * (4 + 2) + 4 * 4) B = 12032 B, 0.0752. Step 0: 4
     * + 0.0752 + 0.2, then 4 + 0.3 each, then 2.1. */
    struct ring_case that;

    (void)state;
    build_circle(&that, RING_PASS_BACKWARD, 1, 0.1);
    for (uint32_t i = 0; i < 4; i++) {
        ring_case_set_block_time(&that, i, 1.6e-3);
        that.devices[i].memory_bytes_per_s = 160e6;
    }
    ring_case_build(&that);
    ring_case_play(&that);
    const double ends_ms[] = {4.2752, 8.5752, 12.8752, 17.1752, 19.2752};
    for (uint32_t step = 0; step < 5; step++)
        assert_ms(ring_case_step(&that, 3, step)->end_s, ends_ms[step]);
    assert_ms(model_ring_bound(&that.ring).compute_s, 17.1752);
    ring_case_fini(&that);
}

static void each_job_explains_its_price(void **state)
{
    struct ring_case that;
    struct model_block_cost cost;

    (void)state;
    build_circle(&that, RING_PASS_BACKWARD, 1, 0.1);
    for (uint32_t i = 0; i < 4; i++) {
        ring_case_set_block_time(&that, i, 1.6e-3);
        that.devices[i].memory_bytes_per_s = 160e6;
    }
    ring_case_build(&that);
    struct ring_task task = {.job = RING_JOB_BACKWARD, .rank = 1, .block = 1, .first = true};
    task.work = ring_plan_work(&that.plan, 1, 1);
    assert_int_equal(model_ring_task(&that.ring, &task, &cost, NULL), RING_OK);
    assert_ms(cost.kernel_s, 4);
    assert_ms(cost.prepare_s, 0.0752);
    assert_ms(cost.total_s, 4.0752);
    assert_true(cost.flops == 2.5 * 4 * 1000 * 4);
    task.first = false;
    assert_ms(model_ring_task_s(&that.ring, &task), 4);
    task.job = RING_JOB_FORWARD;
    assert_ms(model_ring_task_s(&that.ring, &task), 1.6);
    task.job = RING_JOB_ADD;
    assert_ms(model_ring_task_s(&that.ring, &task), 0.3);
    task.first = true;
    assert_ms(model_ring_task_s(&that.ring, &task), 0.2);
    ring_case_fini(&that);
}

static void both_passes_follow_each_other(void **state)
{
    /* Forward blocks of 1.6 hide K/V of 1.1: 6.4. Then the compute-bound backward ring: 18.1. */
    struct ring_case that;

    (void)state;
    build_circle(&that, RING_PASS_BOTH, 1, 0.1);
    that.compute = (struct model_compute){.block_s = 1.6e-3};
    ring_case_build(&that);
    ring_case_play(&that);
    assert_ms(ring_case_step(&that, 0, 3)->end_s, 6.4);
    for (uint32_t rank = 0; rank < 4; rank++)
        assert_ms(that.ends_s[rank], 24.5);
    ring_case_fini(&that);
}

static void kept_blocks_leave_the_hops_to_the_gradients(void **state)
{
    /* The network-bound ring, forward blocks of 3: 2.5 hidden, 12. Backward, gradients alone: step 0 has
     * nothing to move, 1; then four steps of 4.5. Sent again, K/V make it 12 + 24.5. */
    struct ring_case that;

    (void)state;
    build_circle(&that, RING_PASS_BOTH, 2, 0.5);
    that.spec.keep_kv = true;
    that.compute = (struct model_compute){.block_s = 3e-3, .backward_block_s = 1e-3};
    ring_case_build(&that);
    ring_case_play(&that);
    for (uint32_t rank = 0; rank < 4; rank++)
        assert_ms(that.ends_s[rank], 12 + 1 + 4 * 4.5);
    ring_case_fini(&that);
}

static void lazy_messages_come_one_after_the_other(void **state)
{
    /* Copied by the receiver when it has computed (4): K/V in 1, then the gradient in 2, each 0.1 later.
     * Step 0: 4 + 1.1. Steps 1, 2: 4 + 1.1 + 2.1. Step 3: 4 + 2.1. Step 4: 2.1. */
    struct ring_case that;

    (void)state;
    build_circle(&that, RING_PASS_BACKWARD, 1, 0.1);
    that.progress = MODEL_PROGRESS_NONE;
    that.compute = (struct model_compute){.block_s = 1.6e-3};
    ring_case_build(&that);
    ring_case_play(&that);
    const double ends_ms[] = {5.1, 12.3, 19.5, 25.6, 27.7};
    for (uint32_t step = 0; step < 5; step++)
        assert_ms(ring_case_step(&that, 0, step)->end_s, ends_ms[step]);
    ring_case_fini(&that);
}

static void a_rank_sends_the_bytes_of_the_formula(void **state)
{
    /* 65536 tokens on 8, 8 K/V heads of 128, bf16: a block is 33554432 B, its gradient twice that in fp32. */
    const double block = 33554432;
    const struct {
        enum ring_pass pass;
        enum ring_dtype gradients;
        bool keep_kv;
        double bytes;
    } cases[] = {
        {RING_PASS_FORWARD, RING_FP32, false, 7 * block},
        {RING_PASS_BACKWARD, RING_FP32, false, 7 * block + 8 * 2 * block},
        {RING_PASS_BACKWARD, RING_BF16, false, 7 * block + 8 * block},
        {RING_PASS_BOTH, RING_FP32, false, 2 * 7 * block + 8 * 2 * block},
        {RING_PASS_BOTH, RING_FP32, true, 7 * block + 8 * 2 * block},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ring_case that;
        ring_case_init(&that);
        that.spec.n_ranks = 8;
        that.spec.pass = cases[i].pass;
        that.spec.gradient_dtype = cases[i].gradients;
        that.spec.keep_kv = cases[i].keep_kv;
        that.spec.problem = (struct ring_problem){.tokens = 65536,
                                                  .batch = 1,
                                                  .heads = 32,
                                                  .kv_heads = 8,
                                                  .head_dim = 128,
                                                  .dtype = RING_BF16,
                                                  .mask = RING_MASK_CAUSAL};
        topology_builder_star(&that.cluster, 8, 160e9, 0);
        that.compute.block_s = 1e-3;
        ring_case_build(&that);
        for (uint32_t rank = 0; rank < 8; rank++) {
            assert_true(model_ring_hop(&that.ring, rank, (rank + 1) % 8)->bytes == cases[i].bytes);
            assert_true((double)ring_plan_bytes_sent(&that.plan, rank) == cases[i].bytes);
        }
        ring_case_fini(&that);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_compute_bound_ring_of_4_shows_the_way_home_alone),
        cmocka_unit_test(a_network_bound_ring_of_4_moves_3_blocks_and_4_gradients),
        cmocka_unit_test(gradients_in_bf16_shorten_a_network_bound_ring),
        cmocka_unit_test(one_slow_rank_of_4_meets_two_messages_a_hop),
        cmocka_unit_test(preparing_and_adding_take_what_memory_takes),
        cmocka_unit_test(each_job_explains_its_price),
        cmocka_unit_test(both_passes_follow_each_other),
        cmocka_unit_test(kept_blocks_leave_the_hops_to_the_gradients),
        cmocka_unit_test(lazy_messages_come_one_after_the_other),
        cmocka_unit_test(a_rank_sends_the_bytes_of_the_formula),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
