/* SPDX-License-Identifier: MIT
 *
 * What can be known of a ring without playing it: bytes, lower bounds, and the efficiency of layouts.
 */
#include <math.h>

#include "tests/models/ring_case.h"

/* Llama-3-8B heads: 32 query heads, 8 K/V heads of 128, bf16, 65536 tokens on 8 devices. */
static void make_64k_on_8(struct ring_case *that)
{
    ring_case_init(that);
    that->spec.n_ranks = 8;
    that->spec.problem = (struct ring_problem){.tokens = 65536,
                                               .batch = 1,
                                               .heads = 32,
                                               .kv_heads = 8,
                                               .head_dim = 128,
                                               .dtype = RING_BF16,
                                               .mask = RING_MASK_CAUSAL};
    topology_builder_star(&that->cluster, 8, 160e9, 0);
    that->compute.block_s = 1e-3;
    ring_case_build(that);
}

static void k_and_v_travel_once_and_unexpanded(void **state)
{
    struct ring_case that;
    double link_bytes[16];

    (void)state;
    make_64k_on_8(&that);
    /* 2 * 8192 tokens * 8 heads * 128 * 2 B = 33554432 B a hop, 7 hops a rank */
    assert_int_equal(ring_plan_block_bytes(&that.plan, 3), 33554432);
    model_ring_link_bytes(&that.ring, link_bytes);
    for (uint32_t rank = 0; rank < 8; rank++) {
        assert_true(model_ring_hop(&that.ring, rank, (rank + 1) % 8)->bytes == 234881024);
        assert_true(link_bytes[2 * rank] == 234881024);     /* device to switch */
        assert_true(link_bytes[2 * rank + 1] == 234881024); /* and back */
    }
    ring_case_fini(&that);
}

static void one_device_has_no_network(void **state)
{
    struct ring_case that;

    (void)state;
    ring_case_init(&that);
    that.spec.n_ranks = 1;
    that.spec.problem.dtype = RING_FP64;
    topology_builder_device(&that.cluster, "g0");
    that.compute.block_s = 1e-3;
    ring_case_build(&that);
    assert_true(model_ring_bound(&that.ring).network_s == 0);
    ring_case_fini(&that);
}

static void the_bound_is_the_busiest_rank_or_the_busiest_hop(void **state)
{
    /* Causal contiguous ring of 4, blocks of 8 kB: rank 3 computes 4 blocks of 1 ms; each hop carries 3
     * blocks of 0.5 ms, but the one from device 1 takes 2 ms and 0.25 ms of latency: 6.25 ms. */
    struct ring_case that;

    (void)state;
    ring_case_init(&that);
    ring_case_set_block(&that, 4, 8000);
    that.spec.problem.mask = RING_MASK_CAUSAL;
    for (uint32_t i = 0; i < 4; i++)
        topology_builder_device(&that.cluster, "g%u", i);
    for (uint32_t i = 0; i < 4; i++)
        topology_builder_link(&that.cluster, i, (i + 1) % 4, i == 1 ? 8000 / 2e-3 : 8000 / 0.5e-3, 0.25e-3);
    that.compute.block_s = 1e-3;
    ring_case_build(&that);
    struct model_bound bound = model_ring_bound(&that.ring);
    assert_ms(bound.compute_s, 4);
    assert_ms(bound.network_s, 6.25);
    assert_ms(bound.time_s, 6.25);
    ring_case_fini(&that);
}

static void a_link_that_hops_share_bounds_them_together(void **state)
{
    /* Order 0, 4, 1, 5 ... over one 25 GB/s NIC a node: 4 hops of 7 blocks of 32 MiB leave each node. */
    const uint32_t alternating[] = {0, 4, 1, 5, 2, 6, 3, 7};
    struct ring_case that;

    (void)state;
    ring_case_init(&that);
    that.spec.n_ranks = 8;
    that.spec.problem.head_dim = 1024;
    that.spec.problem.tokens = 8 * 4096; /* 2 * 4096 * 1024 * 4 B = 33554432 */
    topology_builder_nodes(&that.cluster, 2, 4, 1, 300e9, 25e9);
    for (uint32_t i = 0; i < 8; i++)
        that.placement[i] = alternating[i];
    that.compute.block_s = 1e-6;
    ring_case_build(&that);
    assert_ms(model_ring_bound(&that.ring).network_s, 4 * 7 * 33554432 / 25e9 * 1e3);
    ring_case_fini(&that);
}

/* Time of an ideally balanced pass over the time of this one, on devices of one flat rate and links that
 * never stall. */
static double efficiency(enum ring_layout_kind layout, uint32_t n_ranks)
{
    struct ring_case that;
    double end_s = 0, busy_s = 0;

    ring_case_init(&that);
    that.spec.n_ranks = n_ranks;
    that.spec.problem.tokens = (uint64_t)n_ranks * 4096;
    that.spec.problem.mask = RING_MASK_CAUSAL;
    that.spec.layout = layout;
    topology_builder_star(&that.cluster, n_ranks, 1e15, 0);
    for (uint32_t i = 0; i < n_ranks; i++)
        ring_case_set_rate(&that, i, 1e12);
    ring_case_build(&that);
    ring_case_play(&that);
    for (uint32_t rank = 0; rank < n_ranks; rank++) {
        end_s = fmax(end_s, that.ends_s[rank]);
        busy_s += that.totals[rank].compute_s / n_ranks;
    }
    ring_case_fini(&that);
    return busy_s / end_s;
}

static void contiguous_efficiency_tends_to_n_over_2n_minus_1_and_zigzag_to_1(void **state)
{
    (void)state;
    /* the last rank has half a block and N - 1 whole ones, the mean is N / 2 blocks */
    for (uint32_t n = 1; n <= 16; n *= 2)
        assert_true(fabs(efficiency(RING_LAYOUT_CONTIGUOUS, n) - (double)n / (2 * n - 1)) < 1e-3);
    assert_true(fabs(efficiency(RING_LAYOUT_CONTIGUOUS, 8) - 0.533) < 1e-3);
    assert_true(efficiency(RING_LAYOUT_ZIGZAG, 8) > 0.999);
    assert_true(efficiency(RING_LAYOUT_STRIPED, 8) > 0.999);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(k_and_v_travel_once_and_unexpanded),
        cmocka_unit_test(one_device_has_no_network),
        cmocka_unit_test(the_bound_is_the_busiest_rank_or_the_busiest_hop),
        cmocka_unit_test(a_link_that_hops_share_bounds_them_together),
        cmocka_unit_test(contiguous_efficiency_tends_to_n_over_2n_minus_1_and_zigzag_to_1),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
