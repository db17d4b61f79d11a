/* SPDX-License-Identifier: MIT
 *
 * Orders of all devices of a cluster: scores worked by hand, and best and worst orders that are known. */
#include "tests/models/place_case.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_two_and_four_hops_through_a_nic_take_one_two_and_four_times_as_long),
        cmocka_unit_test(two_nodes_of_four_have_a_best_order_and_one_four_times_as_bad),
        cmocka_unit_test(a_one_way_circle_is_followed_in_its_direction),
        cmocka_unit_test(a_torus_in_any_file_order_is_walked_from_neighbour_to_neighbour),
        cmocka_unit_test(a_hundred_shuffled_devices_are_put_back_with_their_machines),
        cmocka_unit_test(a_ring_over_rails_changes_machines_on_one_rail),
        cmocka_unit_test(the_same_seed_finds_the_same_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
