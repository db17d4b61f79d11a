/* SPDX-License-Identifier: MIT
 *
 * Memory of a rank against sums by hand, whether it fits, the longest sequence and the fewest devices. */
#include "tests/models/ring_case.h"

/* 65536 tokens on 8, 32 query heads, 8 K/V heads of 128, bf16: T = 8192 tokens and R = 262144 rows a rank. */
static struct ring_plan_spec spec_64k_on_8(enum ring_pass pass)
{
    return (struct ring_plan_spec){.strategy = "ring",
                                   .problem = {.tokens = 65536,
                                               .batch = 1,
                                               .heads = 32,
                                               .kv_heads = 8,
                                               .head_dim = 128,
                                               .dtype = RING_BF16,
                                               .mask = RING_MASK_CAUSAL},
                                   .layout = RING_LAYOUT_ZIGZAG,
                                   .pass = pass,
                                   .n_ranks = 8,
                                   .n_buffers = 2,
                                   .gradient_dtype = RING_FP32};
}

static struct model_memory memory_of(const struct ring_plan_spec *spec, uint32_t rank)
{
    struct ring_plan plan;
    struct ring_error error;

    if (ring_plan_init(&plan, spec, &error) != RING_OK)
        fail_msg("%s", error.text);
    return model_ring_memory(&plan, rank);
}

static void a_forward_pass_holds_queries_blocks_and_state(void **state)
{
    struct ring_plan_spec spec = spec_64k_on_8(RING_PASS_FORWARD);
    struct model_memory memory = memory_of(&spec, 5);

    (void)state;
    assert_int_equal(memory.q_bytes, 67108864);      /* R * 128 * 2 */
    assert_int_equal(memory.kv_bytes, 33554432);     /* home: 2 * 8192 * 8 * 128 * 2 */
    assert_int_equal(memory.buffer_bytes, 67108864); /* two travelling blocks */
    assert_int_equal(memory.out_bytes, 67108864);    /* bf16 */
    assert_int_equal(memory.state_bytes, 136314880); /* R * (128 + 2) * 4 */
    assert_int_equal(memory.lse_bytes, 1048576);     /* R * 4 */
    assert_int_equal(memory.d_out_bytes + memory.d_q_bytes + memory.delta_bytes + memory.contribution_bytes +
                         memory.gradient_bytes + memory.own_gradient_bytes + memory.staging_bytes,
                     0);
    assert_int_equal(memory.total_bytes, 372244480);
    assert_int_equal(memory.run_bytes, 304087040); /* without out and lse */
}

static void a_backward_pass_adds_gradients_of_queries_and_blocks(void **state)
{
    struct ring_plan_spec spec = spec_64k_on_8(RING_PASS_BACKWARD);
    struct model_memory memory = memory_of(&spec, 0);

    (void)state;
    assert_int_equal(memory.d_out_bytes, 67108864);        /* bf16 */
    assert_int_equal(memory.d_q_bytes, 134217728);         /* R * 128 * 4 */
    assert_int_equal(memory.delta_bytes, 1048576);         /* R * 4 */
    assert_int_equal(memory.contribution_bytes, 67108864); /* fp32 */
    assert_int_equal(memory.gradient_bytes, 134217728);    /* two, fp32 */
    assert_int_equal(memory.own_gradient_bytes, 67108864); /* fp32 */
    assert_int_equal(memory.total_bytes, 372244480 + 470810624);
    assert_int_equal(memory.run_bytes, 843055104 - 67108864); /* lse is kept now */
    spec.pass = RING_PASS_BOTH;
    assert_int_equal(memory_of(&spec, 0).total_bytes, 843055104);
    spec.gradient_dtype = RING_BF16; /* what travels and comes home is half as large */
    assert_int_equal(memory_of(&spec, 0).total_bytes, 843055104 - 67108864 - 33554432);
    spec.keep_kv = true; /* seven blocks instead of two */
    assert_int_equal(memory_of(&spec, 0).total_bytes, 742391808 + 5 * 33554432);
}

static void one_device_holds_no_travellers(void **state)
{
    struct ring_plan_spec spec = spec_64k_on_8(RING_PASS_BACKWARD);

    (void)state;
    spec.n_ranks = 1;
    spec.problem = (struct ring_problem){
        .tokens = 10, .batch = 2, .heads = 6, .kv_heads = 3, .head_dim = 7, .dtype = RING_FP64};
    spec.gradient_dtype = RING_FP64;
    struct model_memory memory = memory_of(&spec, 0);
    assert_int_equal(memory.buffer_bytes + memory.gradient_bytes, 0);
    assert_int_equal(memory.state_bytes, 120 * 9 * 8); /* 2 * 6 * 10 rows */
    assert_int_equal(memory.contribution_bytes, 2 * 2 * 10 * 3 * 7 * 8);
    assert_int_equal(memory.own_gradient_bytes, 2 * 2 * 10 * 3 * 7 * 8);
}

static void uneven_shards_are_counted_token_by_token(void **state)
{
    /* 11 tokens contiguous on 3: 4, 4, 3. Buffers hold the largest. */
    struct ring_plan_spec spec = spec_64k_on_8(RING_PASS_BOTH);

    (void)state;
    spec.n_ranks = 3;
    spec.layout = RING_LAYOUT_CONTIGUOUS;
    spec.problem.tokens = 11;
    struct model_memory last = memory_of(&spec, 2);
    assert_int_equal(last.q_bytes, 3 * 32 * 128 * 2);
    assert_int_equal(last.kv_bytes, 3 * 4096);
    assert_int_equal(last.buffer_bytes, 2 * 4 * 4096);
    assert_int_equal(last.contribution_bytes, 4 * 8192);
    assert_int_equal(last.gradient_bytes, 2 * 4 * 8192);
    assert_int_equal(last.own_gradient_bytes, 3 * 8192);
}

static void staging_is_what_the_transport_says(void **state)
{
    struct ring_plan_spec spec = spec_64k_on_8(RING_PASS_FORWARD);
    struct ring_plan plan;

    (void)state;
    assert_int_equal(ring_plan_init(&plan, &spec, NULL), RING_OK);
    struct model_memory memory = model_ring_memory_staged(&plan, 0, 1000);
    assert_int_equal(memory.staging_bytes, 1000);
    assert_int_equal(memory.total_bytes, 372245480);
}

static void the_longest_sequence_fits_and_the_next_does_not(void **state)
{
    /* Both passes: 843055104 / 8192 = 102912 B for each token of a rank. 80 GB hold 777363.9. Zigzag deals 16
     * chunks of 388681 and one token more to the first 8: 777363 a rank, 6218904 in all. */
    struct ring_plan_spec spec = spec_64k_on_8(RING_PASS_BOTH);

    (void)state;
    assert_int_equal(model_largest_tokens(&spec, 80000000000, 0), 6218904);
    spec.problem.tokens = 6218904;
    assert_int_equal(memory_of(&spec, 0).total_bytes, UINT64_C(777363) * 102912);
    assert_int_equal(model_smallest_ranks(&spec, 80000000000, 0, 1000), 8);
    spec.problem.tokens += 1;
    assert_true(memory_of(&spec, 0).total_bytes > 80000000000);
    assert_int_equal(model_smallest_ranks(&spec, 80000000000, 0, 1000), 9);
    assert_int_equal(model_smallest_ranks(&spec, 80000000000, 0, 8), 0);
    assert_int_equal(model_largest_tokens(&spec, 1000, 0), 0);
    spec.layout = RING_LAYOUT_CONTIGUOUS; /* 777363 a rank */
    assert_int_equal(model_largest_tokens(&spec, 80000000000, 0), 8 * 777363);
    /* less 1 GB of staging: 767646.9 */
    assert_int_equal(model_largest_tokens(&spec, 80000000000, 1000000000), 8 * 767646);
}

static void make_star(struct ring_case *that, uint64_t memory_bytes, uint32_t n_devices)
{
    ring_case_init(that);
    that->cluster.device.memory_bytes = memory_bytes;
    topology_builder_star(&that->cluster, n_devices, 1e9, 0);
    topology_builder_finish(&that->cluster);
    that->spec = spec_64k_on_8(RING_PASS_BOTH);
    assert_int_equal(ring_plan_init(&that->plan, &that->spec, NULL), RING_OK);
}

static void a_plan_fits_or_says_what_would(void **state)
{
    struct ring_case that;
    struct model_fit fit;
    struct ring_error error;

    (void)state;
    make_star(&that, 843055104, 8);
    assert_int_equal(model_fit(&that.plan, &that.cluster.topology, that.placement, 0, 64, &fit, &error),
                     RING_OK);
    assert_true(fit.fits);
    assert_int_equal(fit.needed_bytes, 843055104);
    assert_int_equal(fit.largest_tokens, 65536);
    assert_int_equal(fit.smallest_ranks, 8);
    assert_int_equal(model_fit(&that.plan, &that.cluster.topology, that.placement, 1, 64, &fit, &error),
                     RING_OK);
    assert_false(fit.fits); /* by one byte */
    assert_int_equal(fit.capacity_bytes, 843055104);
    assert_int_equal(fit.largest_tokens, 65528); /* 8191 a rank: 16 chunks of 4095, 8 of them longer */
    assert_int_equal(fit.smallest_ranks, 9);
    ring_case_fini(&that);
}

static void the_fullest_device_is_named(void **state)
{
    struct ring_case that;
    struct model_fit fit;
    struct ring_error error;
    struct model_device small = {.name = "small", .memory_bytes = 800000000};

    (void)state;
    make_star(&that, 80000000000, 8);
    that.cluster.topology.vertices[that.cluster.topology.devices[6]].device = &small;
    assert_int_equal(model_fit(&that.plan, &that.cluster.topology, that.placement, 0, 0, &fit, &error),
                     RING_OK);
    assert_false(fit.fits);
    assert_int_equal(fit.rank, 6);
    assert_int_equal(fit.n_sharing, 1);
    assert_int_equal(fit.smallest_ranks, 0); /* not asked */
    ring_case_fini(&that);
}

static void ranks_that_share_a_device_need_memory_together(void **state)
{
    struct ring_case that;
    struct model_fit fit;
    struct ring_error error;

    (void)state;
    make_star(&that, UINT64_C(3) * 843055104, 2);
    for (uint32_t rank = 0; rank < 8; rank++)
        that.placement[rank] = rank % 2;
    assert_int_equal(model_fit(&that.plan, &that.cluster.topology, that.placement, 0, 0, &fit, &error),
                     RING_OK);
    assert_false(fit.fits);
    assert_int_equal(fit.n_sharing, 4);
    assert_int_equal(fit.needed_bytes, UINT64_C(4) * 843055104);
    /* 3/4 of the memory, 6144 tokens a rank */
    assert_int_equal(fit.largest_tokens, 8 * 6144);
    that.placement[3] = 2;
    assert_int_equal(model_fit(&that.plan, &that.cluster.topology, that.placement, 0, 0, &fit, &error),
                     RING_BAD_INPUT);
    ring_case_fini(&that);
}

static void devices_of_unknown_memory_hold_anything(void **state)
{
    struct ring_case that;
    struct model_fit fit;
    struct ring_error error;

    (void)state;
    make_star(&that, 0, 8);
    assert_int_equal(model_fit(&that.plan, &that.cluster.topology, that.placement, 0, 64, &fit, &error),
                     RING_OK);
    assert_true(fit.fits);
    assert_int_equal(fit.capacity_bytes, 0);
    assert_int_equal(fit.largest_tokens, 0);
    ring_case_fini(&that);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_forward_pass_holds_queries_blocks_and_state),
        cmocka_unit_test(a_backward_pass_adds_gradients_of_queries_and_blocks),
        cmocka_unit_test(one_device_holds_no_travellers),
        cmocka_unit_test(uneven_shards_are_counted_token_by_token),
        cmocka_unit_test(staging_is_what_the_transport_says),
        cmocka_unit_test(the_longest_sequence_fits_and_the_next_does_not),
        cmocka_unit_test(a_plan_fits_or_says_what_would),
        cmocka_unit_test(the_fullest_device_is_named),
        cmocka_unit_test(ranks_that_share_a_device_need_memory_together),
        cmocka_unit_test(devices_of_unknown_memory_hold_anything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
