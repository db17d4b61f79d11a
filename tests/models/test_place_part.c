/* SPDX-License-Identifier: MIT
 *
 * Rings of some of a cluster's devices: which of them are taken, and what is refused. */
#include "tests/models/place_case.h"

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
    assert_int_equal(
        model_place_open(
            &place, &(struct model_place_spec){&plan, topology_builder_finish(&builder), NULL, among}, NULL),
        RING_OK);
    assert_int_equal(find(place, MODEL_PLACE_BEST, 1, order).n_orders, 6); /* 3! */
    assert_memory_equal(order, best, sizeof best);
    assert_near(model_place_judge(place, best).worst_hop_s, block_bytes / 25e9);
    assert_near(model_place_judge(place, crossing).worst_hop_s, 2 * block_bytes / 25e9);
    model_place_close(place);
    topology_builder_fini(&builder);
}

/* A ring of six cables, both ways; one of them has lost nine tenths of its bandwidth, for ever, the other
 * direction of it is whole. */
static void the_best_order_turns_its_back_on_a_link_that_is_broken_for_ever(void **state)
{
    static const uint32_t clockwise[6] = {0, 1, 2, 3, 4, 5}, back[6] = {0, 5, 4, 3, 2, 1};
    struct topology_builder builder;
    const struct ring_plan plan = make_plan(6);
    uint32_t vertices[6], order[6], links[1];
    struct model_place *place;

    (void)state;
    topology_builder_init(&builder);
    builder.topology.devices_forward = true;
    for (uint32_t i = 0; i < 6; i++)
        vertices[i] = topology_builder_device(&builder, "g%u", i);
    for (uint32_t i = 0; i < 6; i++) {
        uint32_t link = topology_builder_link(&builder, vertices[i], vertices[(i + 1) % 6], 10e9, 1e-6);
        topology_builder_link(&builder, vertices[(i + 1) % 6], vertices[i], 10e9, 1e-6);
        if (i == 2)
            links[0] = link;
    }
    const struct model_topology *topology = topology_builder_finish(&builder);
    for (int broken = 0; broken < 3; broken++) {
        const struct model_fault fault = {.kind = MODEL_FAULT_BANDWIDTH,
                                          .links = links,
                                          .n_links = 1,
                                          .amount = 0.1,
                                          .from_s = broken == 2 ? 1 : 0, /* for a time only: does not count */
                                          .to_s = (double)INFINITY};
        const struct model_faults faults = {.items = &fault, .n = broken > 0};
        const struct model_place_spec spec = {&plan, topology, &faults, NULL};
        assert_int_equal(model_place_open(&place, &spec, NULL), RING_OK);
        assert_near(model_place_judge(place, clockwise).worst_hop_s,
                    1e-6 + block_bytes / (broken == 1 ? 1e9 : 10e9));
        assert_near(find(place, MODEL_PLACE_BEST, 1, order).score.worst_hop_s, 1e-6 + block_bytes / 10e9);
        assert_memory_equal(order, broken == 1 ? back : clockwise, sizeof order);
        model_place_close(place);
    }
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
    assert_int_equal(
        model_place_open(
            &place, &(struct model_place_spec){&plan, topology_builder_finish(&builder), NULL, NULL}, &error),
        RING_BAD_INPUT);
    assert_string_equal(error.text, "5 ranks on 4 devices: an order is searched for one rank a device");
    assert_null(place);
    topology_builder_fini(&builder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_smaller_ring_is_put_where_it_fits_into_one_machine),
        cmocka_unit_test(a_subset_too_large_to_try_is_found_all_the_same),
        cmocka_unit_test(small_rings_have_an_order_too),
        cmocka_unit_test(only_the_devices_that_are_handed_over_are_reordered),
        cmocka_unit_test(the_best_order_turns_its_back_on_a_link_that_is_broken_for_ever),
        cmocka_unit_test(more_ranks_than_devices_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
