/* SPDX-License-Identifier: MIT
 *
 * A plan on a cluster: which links each hop takes, what it costs alone, whose copies are lazy, and what is
 * shared. */
#include <math.h>
#include <string.h>

#include "tests/models/ring_case.h"

static void a_hop_adds_latencies_and_takes_the_slowest_link(void **state)
{
    struct ring_case that;

    (void)state;
    ring_case_init(&that);
    uint32_t a = topology_builder_device(&that.cluster, "a"), b = topology_builder_device(&that.cluster, "b");
    uint32_t s = topology_builder_switch(&that.cluster, "s");
    topology_builder_link(&that.cluster, a, s, 50e9, 1e-6);
    topology_builder_link(&that.cluster, s, b, 25e9, 2e-6);
    topology_builder_link(&that.cluster, b, a, 10e9, 5e-6);
    that.compute.block_s = 1;
    ring_case_build(&that);
    const struct model_hop *there = model_ring_hop(&that.ring, 0, 1),
                           *back = model_ring_hop(&that.ring, 1, 0);
    assert_int_equal(there->n_links, 2);
    assert_int_equal(there->links[1], 1);
    assert_ms(there->latency_s, 3e-3);
    assert_true(there->bytes_per_s == 25e9);
    assert_int_equal(back->n_links, 1);
    assert_true(back->bytes_per_s == 10e9);
    assert_null(model_ring_hop(&that.ring, 0, 0));
    assert_false(that.ring.shared);
    assert_null(that.ring.shared_what);
    ring_case_fini(&that);
}

static void the_size_class_is_that_of_the_largest_block(void **state)
{
    /* 5 tokens on 2 ranks of 8 kB a token: blocks of 24 and 16 kB */
    const struct model_size_class classes[] = {{20000, 1e-6, 1e9}, {0, 2e-6, 5e9}};
    struct ring_case that;

    (void)state;
    ring_case_init(&that);
    topology_builder_device(&that.cluster, "a");
    topology_builder_device(&that.cluster, "b");
    topology_builder_cable(&that.cluster, 0, 1, 1, 0);
    const struct model_size_class *own = that.cluster.topology.links[0].classes;
    that.cluster.topology.links[0].classes = classes;
    that.cluster.topology.links[0].n_classes = 2;
    that.spec.problem.tokens = 5;
    that.compute.block_s = 1;
    ring_case_build(&that);
    assert_true(model_ring_hop(&that.ring, 0, 1)->bytes_per_s == 5e9);
    assert_true(that.ring.link_bytes_per_s[0] == 5e9);
    assert_ms(model_ring_hop(&that.ring, 0, 1)->latency_s, 2e-3);
    that.cluster.topology.links[0].classes = own;
    ring_case_fini(&that);
}

static void ranks_on_one_device_exchange_at_once_and_are_shared(void **state)
{
    struct ring_case that;

    (void)state;
    ring_case_init(&that);
    topology_builder_star(&that.cluster, 2, 1e9, 0);
    that.spec.n_ranks = 4;
    that.cluster.topology.share_devices = true;
    topology_builder_finish(&that.cluster);
    assert_int_equal(model_place_natural(&that.cluster.topology, 4, that.placement, NULL), RING_OK);
    assert_int_equal(that.placement[2], 0);
    assert_int_equal(that.placement[3], 1);
    that.placement[1] = 0; /* ranks 0, 1, 2 on g0 */
    that.compute.block_s = 1;
    ring_case_build(&that);
    const struct model_hop *hop = model_ring_hop(&that.ring, 0, 1);
    assert_int_equal(hop->n_links, 0);
    assert_true(isinf(hop->bytes_per_s) && hop->latency_s == 0);
    assert_true(that.ring.shared);
    assert_string_equal(that.ring.shared_what, "g0");
    ring_case_fini(&that);
}

static void natural_placement_needs_a_device_a_rank_unless_they_are_shared(void **state)
{
    struct ring_case that;
    struct ring_error error;

    (void)state;
    ring_case_init(&that);
    topology_builder_star(&that.cluster, 2, 1e9, 0);
    topology_builder_finish(&that.cluster);
    assert_int_equal(model_place_natural(&that.cluster.topology, 2, that.placement, NULL), RING_OK);
    assert_int_equal(model_place_natural(&that.cluster.topology, 3, that.placement, &error), RING_BAD_INPUT);
    assert_string_equal(error.text, "3 ranks do not fit on topology (unnamed), which has 2 devices");
    ring_case_fini(&that);
}

/* Two nodes of four devices. Both hops between the nodes go through the two NICs; whether they share links
 * depends on how many NICs there are and on the order of the ranks. */
static bool is_shared(uint32_t n_nics, const uint32_t *order)
{
    struct ring_case that;

    ring_case_init(&that);
    topology_builder_nodes(&that.cluster, 2, 4, n_nics, 300e9, 25e9);
    that.spec.n_ranks = 8;
    memcpy(that.placement, order, 8 * sizeof *order);
    that.compute.block_s = 1;
    ring_case_build(&that);
    bool shared = that.ring.shared;
    ring_case_fini(&that);
    return shared;
}

static void hops_share_a_nic_only_if_the_order_makes_them(void **state)
{
    const uint32_t natural[] = {0, 1, 2, 3, 4, 5, 6, 7}, alternating[] = {0, 4, 1, 5, 2, 6, 3, 7};

    (void)state;
    assert_false(is_shared(1, natural));
    assert_true(is_shared(1, alternating)); /* four flows out of each node's one NIC */
    assert_false(is_shared(4, natural));
    assert_false(is_shared(4, alternating));
}

static void a_hop_is_lazy_without_progress_or_where_a_busy_core_must_copy(void **state)
{
    const struct {
        enum model_progress progress;
        enum model_mover mover;
        double block_s;
        bool core_free, lazy;
    } cases[] = {
        {MODEL_PROGRESS_POLL, MODEL_MOVED_BY_WIRE, 0, false, false},
        {MODEL_PROGRESS_POLL, MODEL_MOVED_BY_RECEIVER, 0, false, true},
        {MODEL_PROGRESS_POLL, MODEL_MOVED_BY_RECEIVER, 0, true,
         true}, /* only a timed block can leave the core free */
        {MODEL_PROGRESS_POLL, MODEL_MOVED_BY_RECEIVER, 1, false, true},
        {MODEL_PROGRESS_POLL, MODEL_MOVED_BY_RECEIVER, 1, true, false},
        {MODEL_PROGRESS_NONE, MODEL_MOVED_BY_WIRE, 0, false, true},
        {MODEL_PROGRESS_NONE, MODEL_MOVED_BY_WIRE, 1, true, true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ring_case that;
        ring_case_init(&that);
        topology_builder_star(&that.cluster, 2, 1e9, 0);
        that.cluster.topology.links[1].mover =
            cases[i].mover; /* switch -> g0, the second link of hop 1 -> 0 */
        for (uint32_t device = 0; device < 2; device++)
            ring_case_set_rate(&that, device, 1e9);
        that.compute = (struct model_compute){.block_s = cases[i].block_s, .core_free = cases[i].core_free};
        that.progress = cases[i].progress;
        ring_case_build(&that);
        assert_int_equal(model_ring_hop(&that.ring, 1, 0)->lazy, cases[i].lazy);
        assert_int_equal(model_ring_hop(&that.ring, 0, 1)->lazy, cases[i].progress == MODEL_PROGRESS_NONE);
        ring_case_fini(&that);
    }
}

static void assert_refused(struct ring_case *that, const char *part_of_line)
{
    struct ring_error error = {.text = ""};
    struct model_ring_spec spec = {.plan = &that->plan,
                                   .topology = topology_builder_finish(&that->cluster),
                                   .device_of_rank = that->placement,
                                   .compute = that->compute};

    assert_int_equal(ring_plan_init(&that->plan, &that->spec, &error), RING_OK);
    assert_int_not_equal(model_ring_init(&that->ring, &spec, &error), RING_OK);
    if (!strstr(error.text, part_of_line))
        fail_msg("'%s' does not say '%s'", error.text, part_of_line);
}

static void what_cannot_be_priced_is_refused(void **state)
{
    struct ring_case that;

    (void)state;
    ring_case_init(&that);
    topology_builder_device(&that.cluster, "a");
    topology_builder_device(&that.cluster, "b");
    topology_builder_link(&that.cluster, 0, 1, 1e9, 0);
    that.compute.block_s = 1;
    assert_refused(&that, "no route from b to a");
    that.placement[1] = 7;
    assert_refused(&that, "rank 1 is placed on device 7 of 2");
    that.placement[1] = 1;
    that.compute.block_s = 0;
    assert_refused(&that, "has no curves at all");
    that.compute.block_s = INFINITY;
    assert_refused(&that, "a block takes inf s");
    that.compute.block_s = 0;
    that.compute.backward_block_s = 1;
    assert_refused(&that, "a forward one has no time of its own");
    that.compute.backward_block_s = -1;
    assert_refused(&that, "a block takes -1 s");
    ring_case_fini(&that);
}

static void both_passes_need_a_curve_each(void **state)
{
    struct ring_case that;

    (void)state;
    ring_case_init(&that);
    topology_builder_star(&that.cluster, 2, 1e9, 0);
    that.spec.pass = RING_PASS_BOTH;
    for (uint32_t i = 0; i < 2; i++)
        ring_case_set_rate(&that, i, 1e9);
    that.devices[1].n_curves = 1; /* forward alone */
    assert_refused(&that, "device test device has no backward curve for fp32; it has forward fp32");
    ring_case_fini(&that);
}

static void a_backward_ring_counts_the_bytes_of_blocks_and_gradients(void **state)
{
    struct ring_case that;

    (void)state;
    ring_case_init(&that);
    topology_builder_star(&that.cluster, 3, 1e9, 0);
    that.spec.n_ranks = 3;
    that.spec.pass = RING_PASS_BACKWARD;
    that.compute.block_s = 1;
    ring_case_build(&that);
    assert_false(that.ring.shared); /* two messages of one sender on a hop of its own are shared out */
    for (uint32_t rank = 0; rank < 3; rank++)
        assert_true(model_ring_hop(&that.ring, rank, (rank + 1) % 3)->bytes ==
                    (double)ring_plan_bytes_sent(&that.plan, rank));
    /* 2.5 x a forward block; the extra hop home computes nothing */
    assert_true(model_ring_bound(&that.ring).compute_s == 7.5);
    ring_case_fini(&that);
}

static double task_s(const struct model_ring *ring, uint32_t rank, const struct ring_work *work)
{
    const struct ring_task task = {.job = RING_JOB_FORWARD, .rank = rank, .block = rank, .work = *work};

    return model_ring_task_s(ring, &task);
}

static void a_block_explains_its_price(void **state)
{
    struct ring_case that;
    struct model_block_cost cost;
    const struct ring_work work = {.q_tokens = 8, .k_tokens = 8, .visible_pairs = 64};
    const struct ring_work nothing = {.q_tokens = 0};
    const struct ring_task task = {.job = RING_JOB_FORWARD, .rank = 1, .work = work};

    (void)state;
    ring_case_init(&that);
    topology_builder_star(&that.cluster, 2, 1e9, 0);
    ring_case_set_rate(&that, 0, 1e9);
    ring_case_set_rate(&that, 1, 2e9);
    ring_case_build(&that);
    /* 4 * 1000 * 64 pairs = 256 kFLOP */
    assert_ms(task_s(&that.ring, 0, &work), 0.256);
    assert_ms(task_s(&that.ring, 1, &work), 0.128);
    assert_int_equal(model_ring_task(&that.ring, &task, &cost, NULL), RING_OK);
    assert_true(cost.flops == 256000 && cost.rate_flop_per_s == 2e9 && cost.total_s == cost.kernel_s);
    assert_true(task_s(&that.ring, 0, &nothing) == 0);
    that.ring.compute.block_s = 5e-3;
    assert_ms(task_s(&that.ring, 1, &work), 5);
    assert_true(task_s(&that.ring, 0, &nothing) == 0);
    assert_int_equal(model_ring_task(&that.ring, &task, &cost, NULL), RING_OK);
    assert_ms(cost.total_s, 5);
    ring_case_fini(&that);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hop_adds_latencies_and_takes_the_slowest_link),
        cmocka_unit_test(the_size_class_is_that_of_the_largest_block),
        cmocka_unit_test(ranks_on_one_device_exchange_at_once_and_are_shared),
        cmocka_unit_test(natural_placement_needs_a_device_a_rank_unless_they_are_shared),
        cmocka_unit_test(hops_share_a_nic_only_if_the_order_makes_them),
        cmocka_unit_test(a_hop_is_lazy_without_progress_or_where_a_busy_core_must_copy),
        cmocka_unit_test(what_cannot_be_priced_is_refused),
        cmocka_unit_test(both_passes_need_a_curve_each),
        cmocka_unit_test(a_backward_ring_counts_the_bytes_of_blocks_and_gradients),
        cmocka_unit_test(a_block_explains_its_price),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
