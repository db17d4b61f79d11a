/* SPDX-License-Identifier: MIT
 *
 * Orders of devices: scores worked by hand, best and worst orders that are known, and what is refused. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/place.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/topology_builder.h"

/* A block of 33 554 432 bytes: 65 536 tokens on 8 ranks, or as many a rank on more. */
static const double block_bytes = 33554432;

static struct ring_plan make_plan(uint32_t n_ranks)
{
    const struct ring_plan_spec spec = {
        .strategy = "ring",
        .problem = {.tokens = UINT64_C(8192) * n_ranks,
                    .batch = 1,
                    .heads = 32,
                    .kv_heads = 8,
                    .head_dim = 128,
                    .dtype = RING_BF16,
                    .mask = RING_MASK_CAUSAL},
        .layout = RING_LAYOUT_ZIGZAG,
        .pass = RING_PASS_FORWARD,
        .n_ranks = n_ranks,
        .n_buffers = 2,
    };
    struct ring_plan plan;
    struct ring_error error;

    if (ring_plan_init(&plan, &spec, &error) != RING_OK)
        fail_msg("%s", error.text);
    return plan;
}

static struct model_place *open_place(const struct model_topology *topology, const struct ring_plan *plan)
{
    struct model_place *place;
    struct ring_error error;

    if (model_place_open(&place, topology, plan, NULL, &error) != RING_OK)
        fail_msg("%s", error.text);
    return place;
}

static struct model_place_found find(struct model_place *place, enum model_goal goal, uint64_t seed,
                                     uint32_t *order)
{
    struct model_place_found found;

    model_place_begin(place, goal, MODEL_EFFORT_NORMAL, seed);
    while (model_place_go_on(place))
        assert_in_range((uint64_t)(1000 * model_place_progress(place)), 0, 1000);
    assert_true(model_place_progress(place) >= 1);
    model_place_take(place, order, &found);
    return found;
}

static void assert_near(double actual, double expected)
{
    if (!(fabs(actual - expected) <= 1e-9 * expected))
        fail_msg("%.12g, expected %.12g", actual, expected);
}

static void assert_each_once(const uint32_t *order, uint32_t n_ranks, uint32_t n_devices)
{
    bool *seen = calloc(n_devices, sizeof *seen);

    for (uint32_t i = 0; i < n_ranks; i++) {
        assert_in_range(order[i], 0, n_devices - 1);
        assert_false(seen[order[i]]);
        seen[order[i]] = true;
    }
    free(seen);
}

/* Two nodes of four, 300 GB/s inside, one NIC of 25 GB/s: 1, 2 and 4 flows on the NIC. */
static void one_two_and_four_hops_through_a_nic_take_one_two_and_four_times_as_long(void **state)
{
    static const uint32_t orders[3][8] = {
        {0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 4, 5, 2, 3, 6, 7}, {0, 4, 1, 5, 2, 6, 3, 7}};
    struct topology_builder builder;
    const struct ring_plan plan = make_plan(8);

    (void)state;
    topology_builder_init(&builder);
    topology_builder_nodes(&builder, 2, 4, 1, 300e9, 25e9);
    struct model_place *place = open_place(topology_builder_finish(&builder), &plan);
    for (int i = 0; i < 3; i++) {
        int flows = 1 << i;
        struct model_place_score score = model_place_judge(place, orders[i]);
        assert_near(score.worst_hop_s, flows * block_bytes / 25e9);
        /* 8 - 2 * flows hops stay inside, 2 * flows go through the NICs */
        assert_near(score.hops_s,
                    (8 - 2 * flows) * block_bytes / 300e9 + 2 * flows * flows * block_bytes / 25e9);
    }
    /* each of the 2 x 2 flows: its node's NIC out (2 links: switch to NIC, NIC to fabric) and in (the same)
     */
    assert_true(model_place_judge(place, orders[0]).shared_bytes <= 0);
    assert_true(model_place_judge(place, orders[1]).shared_bytes > 0);
    model_place_close(place);
    topology_builder_fini(&builder);
}

static void two_nodes_of_four_have_a_best_order_and_one_four_times_as_bad(void **state)
{
    struct topology_builder builder;
    const struct ring_plan plan = make_plan(8);
    uint32_t order[8];

    (void)state;
    topology_builder_init(&builder);
    topology_builder_nodes(&builder, 2, 4, 1, 300e9, 25e9);
    struct model_place *place = open_place(topology_builder_finish(&builder), &plan);
    struct model_place_found best = find(place, MODEL_PLACE_BEST, 1, order);
    for (uint32_t i = 0; i < 8; i++) /* of equal orders, the natural one */
        assert_int_equal(order[i], i);
    assert_near(best.score.worst_hop_s, block_bytes / 25e9);
    assert_true(best.all && best.proved);
    assert_int_equal(best.n_orders, 5040); /* 7! */
    struct model_place_found worst = find(place, MODEL_PLACE_WORST, 1, order);
    assert_near(worst.score.worst_hop_s, 4 * block_bytes / 25e9);
    for (uint32_t i = 0; i < 8; i++)
        assert_true(order[i] / 4 != order[(i + 1) % 8] / 4);
    model_place_close(place);
    topology_builder_fini(&builder);
}

/* Links are directed: a one-way circle has one order. */
static void a_one_way_circle_is_followed_in_its_direction(void **state)
{
    static const uint32_t next[5] = {3, 2, 0, 4, 1}; /* 0 3 4 1 2 */
    struct topology_builder builder;
    const struct ring_plan plan = make_plan(5);
    uint32_t order[5], vertices[5];

    (void)state;
    topology_builder_init(&builder);
    builder.topology.devices_forward = true;
    for (uint32_t i = 0; i < 5; i++)
        vertices[i] = topology_builder_device(&builder, "g%u", i);
    for (uint32_t i = 0; i < 5; i++)
        topology_builder_link(&builder, vertices[i], vertices[next[i]], 10e9, 0);
    struct model_place *place = open_place(topology_builder_finish(&builder), &plan);
    struct model_place_found best = find(place, MODEL_PLACE_BEST, 1, order);
    for (uint32_t i = 0, at = 0; i < 5; i++, at = next[at])
        assert_int_equal(order[i], at);
    assert_near(best.score.worst_hop_s, block_bytes / 10e9);
    /* the other way round every hop takes four links, and each link carries four hops */
    find(place, MODEL_PLACE_WORST, 1, order);
    assert_near(model_place_judge(place, order).worst_hop_s, 4 * block_bytes / 10e9);
    model_place_close(place);
    topology_builder_fini(&builder);
}

/* A torus of 4 x 4, no machines named, in a file order that says nothing. Every hop can be one link. */
static void a_torus_in_any_file_order_is_walked_from_neighbour_to_neighbour(void **state)
{
    struct topology_builder builder;
    const struct ring_plan plan = make_plan(16);
    uint32_t order[16], at[16];

    (void)state;
    topology_builder_init(&builder);
    builder.topology.devices_forward = true;
    for (uint32_t i = 0; i < 16; i++)
        at[(i * 7 + 3) % 16] = topology_builder_device(&builder, "g%u", i);
    for (uint32_t i = 0; i < 16; i++) {
        topology_builder_cable(&builder, at[i], at[i / 4 * 4 + (i + 1) % 4], 50e9, 0);
        topology_builder_cable(&builder, at[i], at[(i + 4) % 16], 50e9, 0);
    }
    struct model_place *place = open_place(topology_builder_finish(&builder), &plan);
    struct model_place_found best = find(place, MODEL_PLACE_BEST, 1, order);
    assert_each_once(order, 16, 16);
    assert_near(best.score.worst_hop_s, block_bytes / 50e9);
    assert_near(best.score.hops_s, 16 * block_bytes / 50e9);
    assert_true(best.proved && !best.all);
    model_place_close(place);
    topology_builder_fini(&builder);
}

/* 16 nodes of 8 behind one NIC each, devices shuffled in the file. */
static void a_hundred_shuffled_devices_are_put_back_with_their_machines(void **state)
{
    enum { NODES = 16, EACH = 8, N = NODES * EACH };
    struct topology_builder builder;
    const struct ring_plan plan = make_plan(N);
    uint32_t middle[NODES], order[N], natural[N];

    (void)state;
    topology_builder_init(&builder);
    uint32_t fabric = topology_builder_switch(&builder, "fabric");
    for (uint32_t i = 0; i < NODES; i++) {
        uint32_t nic = topology_builder_switch(&builder, "nic%u", i);
        middle[i] = topology_builder_switch(&builder, "switch%u", i);
        topology_builder_cable(&builder, middle[i], nic, 358e9, 0);
        topology_builder_cable(&builder, nic, fabric, 47e9, 0);
    }
    for (uint32_t i = 0; i < N; i++) {
        natural[i] = i;
        topology_builder_cable(&builder, topology_builder_device(&builder, "g%u", i),
                               middle[(i * 37 + i / 16) % NODES], 358e9, 0);
    }
    struct model_place *place = open_place(topology_builder_finish(&builder), &plan);
    assert_true(model_place_judge(place, natural).worst_hop_s > 7 * block_bytes / 47e9);
    struct model_place_found best = find(place, MODEL_PLACE_BEST, 1, order);
    assert_each_once(order, N, N);
    assert_near(best.score.worst_hop_s, block_bytes / 47e9);
    assert_near(best.score.hops_s, 16 * block_bytes / 47e9 + 112 * block_bytes / 358e9);
    struct model_place_found worst = find(place, MODEL_PLACE_WORST, 1, order);
    assert_near(worst.score.worst_hop_s, 8 * block_bytes / 47e9);
    model_place_close(place);
    topology_builder_fini(&builder);
}

/* Rails: device i of each node can reach device i of another directly; everything else goes through a slower
 * spine. Natural order crosses rails between any two nodes; the best never does. */
static void a_ring_over_rails_changes_machines_on_one_rail(void **state)
{
    enum { NODES = 6, EACH = 4, N = NODES * EACH };
    struct topology_builder builder;
    const struct ring_plan plan = make_plan(N);
    uint32_t rails[EACH], order[N];

    (void)state;
    topology_builder_init(&builder);
    uint32_t spine = topology_builder_switch(&builder, "spine");
    for (uint32_t i = 0; i < EACH; i++) {
        rails[i] = topology_builder_switch(&builder, "rail%u", i);
        topology_builder_cable(&builder, rails[i], spine, 5e9, 0);
    }
    for (uint32_t node = 0; node < NODES; node++) {
        uint32_t middle = topology_builder_switch(&builder, "node%u", node);
        for (uint32_t i = 0; i < EACH; i++) {
            uint32_t device = topology_builder_device(&builder, "n%u.g%u", node, i);
            topology_builder_cable(&builder, device, middle, 300e9, 0);
            topology_builder_cable(&builder, device, rails[i], 40e9, 0);
        }
    }
    struct model_place *place = open_place(topology_builder_finish(&builder), &plan);
    struct model_place_found best = find(place, MODEL_PLACE_BEST, 1, order);
    assert_near(best.score.worst_hop_s, block_bytes / 40e9);
    assert_near(best.score.hops_s, 6 * block_bytes / 40e9 + 18 * block_bytes / 300e9);
    model_place_close(place);
    topology_builder_fini(&builder);
}

/* Three nodes of 2, 4 and 3 devices, a ring of 4 and one of 3: they fit into one node. */
static void a_smaller_ring_is_put_where_it_fits_into_one_machine(void **state)
{
    static const uint32_t sizes[3] = {2, 4, 3};
    struct topology_builder builder;
    uint32_t order[4];

    (void)state;
    topology_builder_init(&builder);
    uint32_t fabric = topology_builder_switch(&builder, "fabric");
    for (uint32_t node = 0; node < 3; node++) {
        uint32_t middle = topology_builder_switch(&builder, "node%u", node);
        topology_builder_cable(&builder, middle, fabric, 25e9, 0);
        for (uint32_t i = 0; i < sizes[node]; i++)
            topology_builder_cable(&builder, topology_builder_device(&builder, "n%u.g%u", node, i), middle,
                                   300e9, 0);
    }
    const struct model_topology *topology = topology_builder_finish(&builder);
    for (uint32_t n = 3; n <= 4; n++) {
        const struct ring_plan plan = make_plan(n);
        struct model_place *place = open_place(topology, &plan);
        struct model_place_found best = find(place, MODEL_PLACE_BEST, 1, order);
        assert_near(best.score.worst_hop_s, block_bytes / 300e9);
        assert_true(best.all);
        for (uint32_t i = 0; i < n; i++) /* 4 fit into the second alone; 3 too, which comes first */
            assert_int_equal(order[i], 2 + i);
        model_place_close(place);
    }
    topology_builder_fini(&builder);
}

/* 12 of 40 devices: too many choices to try all, and one node of 12 is not the first. */
static void a_subset_too_large_to_try_is_found_all_the_same(void **state)
{
    static const uint32_t sizes[4] = {10, 10, 8, 12};
    struct topology_builder builder;
    const struct ring_plan plan = make_plan(12);
    uint32_t order[12];

    (void)state;
    topology_builder_init(&builder);
    uint32_t fabric = topology_builder_switch(&builder, "fabric");
    for (uint32_t node = 0; node < 4; node++) {
        uint32_t middle = topology_builder_switch(&builder, "node%u", node);
        topology_builder_cable(&builder, middle, fabric, 25e9, 0);
        for (uint32_t i = 0; i < sizes[node]; i++)
            topology_builder_cable(&builder, topology_builder_device(&builder, "n%u.g%u", node, i), middle,
                                   300e9, 0);
    }
    struct model_place *place = open_place(topology_builder_finish(&builder), &plan);
    struct model_place_found best = find(place, MODEL_PLACE_BEST, 1, order);
    assert_each_once(order, 12, 40);
    assert_near(best.score.worst_hop_s, block_bytes / 300e9);
    struct model_place_found worst = find(place, MODEL_PLACE_WORST, 1, order);
    assert_each_once(order, 12, 40);
    assert_near(worst.score.worst_hop_s, 6 * block_bytes / 25e9); /* every second rank in one node */
    model_place_close(place);
    topology_builder_fini(&builder);
}

static void the_same_seed_finds_the_same_order(void **state)
{
    struct topology_builder builder;
    const struct ring_plan plan = make_plan(24);
    uint32_t orders[2][24];

    (void)state;
    topology_builder_init(&builder);
    topology_builder_nodes(&builder, 6, 4, 2, 300e9, 25e9);
    struct model_place *place = open_place(topology_builder_finish(&builder), &plan);
    find(place, MODEL_PLACE_WORST, 7, orders[0]);
    find(place, MODEL_PLACE_BEST, 3, orders[1]); /* what was searched before does not matter */
    find(place, MODEL_PLACE_WORST, 7, orders[1]);
    assert_memory_equal(orders[0], orders[1], sizeof orders[0]);
    model_place_close(place);
    topology_builder_fini(&builder);
}

static void small_rings_have_an_order_too(void **state)
{
    struct topology_builder builder;
    uint32_t order[2];

    (void)state;
    topology_builder_init(&builder);
    topology_builder_star(&builder, 12, 10e9, 1e-6);
    const struct model_topology *topology = topology_builder_finish(&builder);
    for (uint32_t n = 1; n <= 2; n++) {
        const struct ring_plan plan = make_plan(n);
        struct model_place *place = open_place(topology, &plan);
        struct model_place_found best = find(place, MODEL_PLACE_BEST, 1, order);
        assert_int_equal(order[0], 0);
        assert_true(n == 1 ? best.score.worst_hop_s <= 0 : order[1] == 1);
        if (n == 2)
            assert_near(best.score.worst_hop_s, 1e-6 + block_bytes / 10e9);
        model_place_close(place);
    }
    topology_builder_fini(&builder);
}

static void only_the_devices_that_are_handed_over_are_reordered(void **state)
{
    static const uint32_t among[4] = {6, 1, 5, 3}, best[4] = {1, 3, 5, 6}, crossing[4] = {1, 5, 3, 6};
    struct topology_builder builder;
    const struct ring_plan plan = make_plan(4);
    uint32_t order[4];
    struct model_place *place;

    (void)state;
    topology_builder_init(&builder);
    topology_builder_nodes(&builder, 2, 4, 1, 300e9, 25e9);
    assert_int_equal(model_place_open(&place, topology_builder_finish(&builder), &plan, among, NULL),
                     RING_OK);
    assert_int_equal(find(place, MODEL_PLACE_BEST, 1, order).n_orders, 6); /* 3! */
    assert_memory_equal(order, best, sizeof best);
    assert_near(model_place_judge(place, best).worst_hop_s, block_bytes / 25e9);
    assert_near(model_place_judge(place, crossing).worst_hop_s, 2 * block_bytes / 25e9);
    model_place_close(place);
    topology_builder_fini(&builder);
}

static void more_ranks_than_devices_are_refused(void **state)
{
    struct topology_builder builder;
    const struct ring_plan plan = make_plan(5);
    struct model_place *place;
    struct ring_error error;

    (void)state;
    topology_builder_init(&builder);
    topology_builder_star(&builder, 4, 10e9, 0);
    assert_int_equal(model_place_open(&place, topology_builder_finish(&builder), &plan, NULL, &error),
                     RING_BAD_INPUT);
    assert_string_equal(error.text, "5 ranks on 4 devices: an order is searched for one rank a device");
    assert_null(place);
    topology_builder_fini(&builder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_two_and_four_hops_through_a_nic_take_one_two_and_four_times_as_long),
        cmocka_unit_test(two_nodes_of_four_have_a_best_order_and_one_four_times_as_bad),
        cmocka_unit_test(a_one_way_circle_is_followed_in_its_direction),
        cmocka_unit_test(a_torus_in_any_file_order_is_walked_from_neighbour_to_neighbour),
        cmocka_unit_test(a_hundred_shuffled_devices_are_put_back_with_their_machines),
        cmocka_unit_test(a_ring_over_rails_changes_machines_on_one_rail),
        cmocka_unit_test(a_smaller_ring_is_put_where_it_fits_into_one_machine),
        cmocka_unit_test(a_subset_too_large_to_try_is_found_all_the_same),
        cmocka_unit_test(the_same_seed_finds_the_same_order),
        cmocka_unit_test(small_rings_have_an_order_too),
        cmocka_unit_test(only_the_devices_that_are_handed_over_are_reordered),
        cmocka_unit_test(more_ranks_than_devices_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
