/* SPDX-License-Identifier: MIT
 *
 * Clusters as graphs: which way messages go, what is refused, and that large clusters are routed one search a
 * hop. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/route.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/topology_builder.h"

/* The route as link names, joined by " | ". */
static void assert_route(const struct model_topology *topology, const char *from, const char *to,
                         const char *expected)
{
    uint32_t links[16];
    size_t n_links;
    char text[512] = "";
    struct ring_error error;

    if (model_topology_route(topology, (uint32_t)model_topology_find(topology, from),
                             (uint32_t)model_topology_find(topology, to), links, 16, &n_links,
                             &error) != RING_OK)
        fail_msg("%s", error.text);
    for (size_t i = 0; i < n_links; i++) {
        strcat(text, i ? " | " : "");
        strcat(text, topology->links[links[i]].name);
    }
    assert_string_equal(text, expected);
}

static void a_star_routes_through_its_switch(void **state)
{
    struct topology_builder builder;

    (void)state;
    topology_builder_init(&builder);
    topology_builder_star(&builder, 3, 1e9, 0);
    const struct model_topology *topology = topology_builder_finish(&builder);
    assert_route(topology, "g0", "g2", "g0 -> switch | switch -> g2");
    assert_route(topology, "g2", "g0", "g2 -> switch | switch -> g0");
    assert_route(topology, "g1", "g1", "");
    assert_int_equal(model_topology_check_connected(topology, NULL), RING_OK);
    topology_builder_fini(&builder);
}

static void among_equal_routes_the_first_link_in_the_file_wins(void **state)
{
    (void)state;
    for (int swapped = 0; swapped < 2; swapped++) {
        struct topology_builder builder;
        topology_builder_init(&builder);
        uint32_t a = topology_builder_device(&builder, "a"), b = topology_builder_device(&builder, "b");
        uint32_t s = topology_builder_switch(&builder, "s"), t = topology_builder_switch(&builder, "t");
        topology_builder_cable(&builder, s, b, 1e9, 0);
        topology_builder_cable(&builder, t, b, 1e9, 0);
        topology_builder_cable(&builder, a, swapped ? t : s, 1e9, 0);
        topology_builder_cable(&builder, a, swapped ? s : t, 1e9, 0);
        const struct model_topology *topology = topology_builder_finish(&builder);
        assert_route(topology, "a", "b", swapped ? "a -> t | t -> b" : "a -> s | s -> b");
        assert_route(topology, "b", "a", "b -> s | s -> a"); /* s comes first on this side either way */
        topology_builder_fini(&builder);
    }
}

static void two_links_between_the_same_ends_are_told_apart_by_order(void **state)
{
    struct topology_builder builder;
    uint32_t links[4];
    size_t n_links;

    (void)state;
    topology_builder_init(&builder);
    uint32_t a = topology_builder_device(&builder, "a"), b = topology_builder_device(&builder, "b");
    topology_builder_link(&builder, b, a, 1e9, 0);
    uint32_t first = topology_builder_link(&builder, a, b, 1e9, 0);
    topology_builder_link(&builder, a, b, 9e9, 0);
    const struct model_topology *topology = topology_builder_finish(&builder);
    assert_int_equal(model_topology_route(topology, a, b, links, 4, &n_links, NULL), RING_OK);
    assert_int_equal(n_links, 1);
    assert_int_equal(links[0], first);
    topology_builder_fini(&builder);
}

static void fewer_links_beat_an_earlier_place_in_the_file(void **state)
{
    struct topology_builder builder;

    (void)state;
    topology_builder_init(&builder);
    uint32_t a = topology_builder_device(&builder, "a"), b = topology_builder_device(&builder, "b");
    uint32_t s = topology_builder_switch(&builder, "s"), t = topology_builder_switch(&builder, "t");
    topology_builder_cable(&builder, a, s, 1e9, 0);
    topology_builder_cable(&builder, s, t, 1e9, 0); /* and s, t, b, a make a cycle, which is legal */
    topology_builder_cable(&builder, t, b, 1e9, 0);
    topology_builder_cable(&builder, a, t, 1e9, 0);
    const struct model_topology *topology = topology_builder_finish(&builder);
    assert_route(topology, "a", "b", "a -> t | t -> b");
    topology_builder_fini(&builder);
}

/* a - b - c in a row, no switch. */
static void build_row(struct topology_builder *builder)
{
    topology_builder_init(builder);
    uint32_t a = topology_builder_device(builder, "a"), b = topology_builder_device(builder, "b");
    uint32_t c = topology_builder_device(builder, "c");
    topology_builder_cable(builder, a, b, 1e9, 0);
    topology_builder_cable(builder, b, c, 1e9, 0);
}

static void devices_do_not_forward_unless_the_topology_says_so(void **state)
{
    struct topology_builder builder;
    struct ring_error error;
    uint32_t links[4];
    size_t n_links;

    (void)state;
    build_row(&builder);
    const struct model_topology *topology = topology_builder_finish(&builder);
    assert_route(topology, "a", "b", "a -> b");
    assert_int_equal(model_topology_route(topology, 0, 2, links, 4, &n_links, &error), RING_BAD_INPUT);
    assert_string_equal(error.text, "no route from a to c through switches (devices do not forward)");
    assert_int_equal(model_topology_check_connected(topology, &error), RING_BAD_INPUT);
    assert_string_equal(error.text, "topology (unnamed) has no route for a -> c, c -> a");

    builder.topology.devices_forward = true;
    assert_route(topology, "a", "c", "a -> b | b -> c");
    assert_int_equal(model_topology_check_connected(topology, &error), RING_OK);
    topology_builder_fini(&builder);
}

static void an_explicit_route_wins(void **state)
{
    struct topology_builder builder;

    (void)state;
    topology_builder_init(&builder);
    uint32_t a = topology_builder_device(&builder, "a"), b = topology_builder_device(&builder, "b");
    uint32_t s = topology_builder_switch(&builder, "s");
    topology_builder_cable(&builder, a, b, 1e9, 0); /* links 0, 1 */
    uint32_t up = topology_builder_link(&builder, a, s, 1e9, 0);
    uint32_t down = topology_builder_link(&builder, s, b, 1e9, 0);
    builder.topology.routes = calloc(1, sizeof *builder.topology.routes);
    builder.topology.routes[0] = (struct model_route){a, b, malloc(2 * sizeof(uint32_t)), 2};
    builder.topology.routes[0].links[0] = up;
    builder.topology.routes[0].links[1] = down;
    builder.topology.n_routes = 1;
    const struct model_topology *topology = topology_builder_finish(&builder);
    assert_route(topology, "a", "b", "a -> s | s -> b");
    assert_route(topology, "b", "a", "b -> a");

    struct ring_error error;
    builder.topology.routes[0].links[0] = down; /* begins at s */
    assert_int_equal(model_topology_index(&builder.topology, &error), RING_BAD_INPUT);
    assert_string_equal(error.text, "route a -> b has arrived at a, but its next link is s -> b");
    builder.topology.routes[0].links[0] = up;
    builder.topology.routes[0].n_links = 1;
    assert_int_equal(model_topology_index(&builder.topology, &error), RING_BAD_INPUT);
    assert_string_equal(error.text, "route a -> b ends at s");
    builder.topology.routes[0].links[0] = 99;
    assert_int_equal(model_topology_index(&builder.topology, &error), RING_BAD_INPUT);
    topology_builder_fini(&builder);
}

static void an_explicit_route_connects_what_the_search_cannot(void **state)
{
    struct topology_builder builder;

    (void)state;
    build_row(&builder);
    builder.topology.routes = calloc(2, sizeof *builder.topology.routes);
    for (uint32_t i = 0; i < 2; i++) {
        builder.topology.routes[i] =
            (struct model_route){i ? 2 : 0, i ? 0 : 2, malloc(2 * sizeof(uint32_t)), 2};
        builder.topology.routes[i].links[0] = i ? 3 : 0; /* c -> b, b -> a or a -> b, b -> c */
        builder.topology.routes[i].links[1] = i ? 1 : 2;
    }
    builder.topology.n_routes = 2;
    const struct model_topology *topology = topology_builder_finish(&builder);
    assert_route(topology, "c", "a", "c -> b | b -> a");
    assert_int_equal(model_topology_check_connected(topology, NULL), RING_OK);
    topology_builder_fini(&builder);
}

static void islands_are_listed_in_part(void **state)
{
    struct topology_builder builder;
    struct ring_error error;

    (void)state;
    topology_builder_init(&builder);
    for (uint32_t island = 0; island < 2; island++) {
        uint32_t middle = topology_builder_switch(&builder, "s%u", island);
        for (uint32_t i = 0; i < 4; i++)
            topology_builder_cable(&builder, topology_builder_device(&builder, "i%u.g%u", island, i), middle,
                                   1e9, 0);
    }
    const struct model_topology *topology = topology_builder_finish(&builder);
    assert_int_equal(model_topology_check_connected(topology, &error), RING_BAD_INPUT);
    assert_string_equal(error.text, "topology (unnamed) has no route for i0.g0 -> i1.g0, i0.g0 -> i1.g1, "
                                    "i0.g0 -> i1.g2, i0.g0 -> i1.g3 and more");
    topology_builder_fini(&builder);
}

static void a_one_way_cable_can_leave_a_device_mute(void **state)
{
    struct topology_builder builder;
    struct ring_error error;

    (void)state;
    topology_builder_init(&builder);
    topology_builder_star(&builder, 2, 1e9, 0);
    uint32_t mute = topology_builder_device(&builder, "mute");
    topology_builder_link(&builder, 0, mute, 1e9, 0); /* vertex 0 is the switch */
    const struct model_topology *topology = topology_builder_finish(&builder);
    assert_int_equal(model_topology_check_connected(topology, &error), RING_BAD_INPUT);
    assert_string_equal(error.text, "topology (unnamed) has no route for mute -> g0, mute -> g1");
    topology_builder_fini(&builder);
}

static void devices_cabled_to_each_other_without_a_switch_are_connected(void **state)
{
    struct topology_builder builder;

    (void)state;
    topology_builder_init(&builder);
    for (uint32_t i = 0; i < 5; i++) {
        topology_builder_device(&builder, "g%u", i);
        for (uint32_t j = 0; j < i; j++)
            topology_builder_cable(&builder, i, j, 1e9, 0);
    }
    assert_int_equal(model_topology_check_connected(topology_builder_finish(&builder), NULL), RING_OK);
    topology_builder_fini(&builder);
}

/* What index says of one link between two devices, after it was spoilt. */
static void assert_link_refused(struct model_link spoilt, const char *expected)
{
    struct topology_builder builder;
    struct ring_error error = {.text = ""};

    topology_builder_init(&builder);
    topology_builder_device(&builder, "a");
    topology_builder_device(&builder, "b");
    topology_builder_link(&builder, 0, 1, 1e9, 0);
    struct model_link kept = builder.topology.links[0];
    spoilt.name = kept.name;
    builder.topology.links[0] = spoilt;
    assert_int_equal(model_topology_index(&builder.topology, &error), RING_BAD_INPUT);
    assert_string_equal(error.text, expected);
    builder.topology.links[0] = kept;
    topology_builder_fini(&builder);
}

static void links_that_make_no_sense_are_refused(void **state)
{
    const struct model_size_class good[] = {{100, 0, 1e9}, {0, 0, 1e9}};
    const struct model_size_class still[] = {{0, 0, 0}}, endless[] = {{0, 0, INFINITY}},
                                  unknown[] = {{0, 0, NAN}};
    const struct model_size_class early[] = {{0, -1, 1e9}},
                                  down[] = {{100, 0, 1e9}, {50, 0, 1e9}, {0, 0, 1e9}};

    (void)state;
    assert_link_refused((struct model_link){.from = 0, .to = 0, .classes = good, .n_classes = 2},
                        "link a -> b leads from a to itself");
    assert_link_refused((struct model_link){.from = 0, .to = 7, .classes = good, .n_classes = 2},
                        "link a -> b ends at a device or switch that does not exist");
    assert_link_refused((struct model_link){.from = 0, .to = 1}, "link a -> b has no bandwidth");
    assert_link_refused((struct model_link){.from = 0, .to = 1, .classes = still, .n_classes = 1},
                        "link a -> b has a bandwidth of 0 B/s, wanted more than 0 and finite");
    assert_link_refused((struct model_link){.from = 0, .to = 1, .classes = endless, .n_classes = 1},
                        "link a -> b has a bandwidth of inf B/s, wanted more than 0 and finite");
    assert_link_refused((struct model_link){.from = 0, .to = 1, .classes = unknown, .n_classes = 1},
                        "link a -> b has a bandwidth of nan B/s, wanted more than 0 and finite");
    assert_link_refused((struct model_link){.from = 0, .to = 1, .classes = early, .n_classes = 1},
                        "link a -> b has a latency of -1 s, wanted 0 or more, finite");
    assert_link_refused((struct model_link){.from = 0, .to = 1, .classes = down, .n_classes = 3},
                        "link a -> b has size classes that do not ascend");
}

static void a_message_sees_the_class_of_its_size(void **state)
{
    const struct model_size_class classes[] = {{1000, 1, 10}, {2000, 2, 20}, {0, 3, 30}};
    const struct model_link link = {.classes = classes, .n_classes = 3};

    (void)state;
    assert_ptr_equal(model_link_class(&link, 0), &classes[0]);
    assert_ptr_equal(model_link_class(&link, 1000), &classes[0]);
    assert_ptr_equal(model_link_class(&link, 1001), &classes[1]);
    assert_ptr_equal(model_link_class(&link, 2000), &classes[1]);
    assert_ptr_equal(model_link_class(&link, UINT64_MAX), &classes[2]);
}

static void a_thousand_devices_in_128_nodes_route_their_ring(void **state)
{
    struct topology_builder builder;
    struct model_router router;
    const uint32_t *links;
    size_t n_links;

    (void)state;
    topology_builder_init(&builder);
    topology_builder_nodes(&builder, 128, 8, 8, 450e9, 50e9);
    const struct model_topology *topology = topology_builder_finish(&builder);
    assert_int_equal(topology->n_devices, 1024);
    assert_int_equal(model_topology_check_connected(topology, NULL), RING_OK);
    assert_int_equal(model_router_init(&router, topology, NULL), RING_OK);
    for (uint32_t i = 0; i < 1024; i++) {
        assert_int_equal(model_router_find(&router, topology->devices[i], topology->devices[(i + 1) % 1024],
                                           &links, &n_links, NULL),
                         RING_OK);
        assert_int_equal(n_links, i % 8 == 7 ? 4 : 2); /* gpu, nic, fabric, nic, gpu; or gpu, switch, gpu */
    }
    model_router_fini(&router);
    topology_builder_fini(&builder);
}

static void one_router_gives_the_same_routes_in_any_order_of_questions(void **state)
{
    struct topology_builder builder;
    struct model_router router;
    unsigned seed = 5;

    (void)state;
    topology_builder_init(&builder);
    topology_builder_nodes(&builder, 3, 4, 2, 450e9, 50e9);
    const struct model_topology *topology = topology_builder_finish(&builder);
    assert_int_equal(model_router_init(&router, topology, NULL), RING_OK);
    for (int i = 0; i < 300; i++) {
        uint32_t from = topology->devices[(uint32_t)rand_r(&seed) % 12];
        uint32_t to = topology->devices[(uint32_t)rand_r(&seed) % 12], alone[16];
        const uint32_t *links;
        size_t n_links, n_alone;
        assert_int_equal(model_router_find(&router, from, to, &links, &n_links, NULL), RING_OK);
        assert_int_equal(model_topology_route(topology, from, to, alone, 16, &n_alone, NULL), RING_OK);
        assert_int_equal(n_links, n_alone);
        if (n_links > 0)
            assert_memory_equal(links, alone, n_links * sizeof *alone);
    }
    model_router_fini(&router);
    topology_builder_fini(&builder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_star_routes_through_its_switch),
        cmocka_unit_test(among_equal_routes_the_first_link_in_the_file_wins),
        cmocka_unit_test(two_links_between_the_same_ends_are_told_apart_by_order),
        cmocka_unit_test(fewer_links_beat_an_earlier_place_in_the_file),
        cmocka_unit_test(devices_do_not_forward_unless_the_topology_says_so),
        cmocka_unit_test(an_explicit_route_wins),
        cmocka_unit_test(an_explicit_route_connects_what_the_search_cannot),
        cmocka_unit_test(islands_are_listed_in_part),
        cmocka_unit_test(a_one_way_cable_can_leave_a_device_mute),
        cmocka_unit_test(devices_cabled_to_each_other_without_a_switch_are_connected),
        cmocka_unit_test(links_that_make_no_sense_are_refused),
        cmocka_unit_test(a_message_sees_the_class_of_its_size),
        cmocka_unit_test(a_thousand_devices_in_128_nodes_route_their_ring),
        cmocka_unit_test(one_router_gives_the_same_routes_in_any_order_of_questions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
