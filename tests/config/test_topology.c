/* SPDX-License-Identifier: MIT
 *
 * Topologies: what the two ways of writing one make of it, link by link. */
#include "tests/config/support.h"

static const struct model_link *link_named(const struct model_topology *topology, const char *name)
{
    for (size_t i = 0; i < topology->n_links; i++)
        if (strcmp(topology->links[i].name, name) == 0)
            return &topology->links[i];
    fail_msg("no link '%s'", name);
    return NULL;
}

static void is_class(const struct model_size_class *found, uint64_t up_to, double latency_s,
                     double bytes_per_s)
{
    assert_true(found->up_to_bytes == up_to);
    assert_true(found->latency_s == latency_s);
    assert_true(found->bytes_per_s == bytes_per_s);
}

/* The route as text: "a -> b, b -> c". */
static const char *route(const struct model_topology *topology, const char *from, const char *to)
{
    static char text[512];
    uint32_t links[16];
    size_t n = 0;
    struct ring_error error = {""};

    assert_int_equal(model_topology_route(topology, (uint32_t)model_topology_find(topology, from),
                                          (uint32_t)model_topology_find(topology, to), links, 16, &n, &error),
                     RING_OK);
    text[0] = 0;
    for (size_t i = 0; i < n; i++)
        sprintf(text + strlen(text), "%s%s", i ? ", " : "", topology->links[links[i]].name);
    return text;
}

static void nodes_become_devices_switches_nics_and_a_fabric(void **state)
{
    struct config_reader reader;
    const struct model_topology *topology = test_topology(&reader, FILES "nodes.yaml");

    (void)state;
    assert_string_equal(topology->name, "two-nodes");
    assert_string_equal(topology->source, "made up");
    assert_false(topology->devices_forward);
    assert_false(topology->share_devices);
    /* 2 nodes of 4 devices, a switch and 2 nics; and the fabric. A cable is two links: 4 to the switch, 4 to
     * nics, 2 to the fabric. */
    assert_int_equal(topology->n_devices, 8);
    assert_int_equal(topology->n_vertices, 2 * (4 + 1 + 2) + 1);
    assert_int_equal(topology->n_links, 2 * 2 * (4 + 4 + 2));
    for (size_t i = 0; i < 8; i++) {
        char name[32];
        sprintf(name, "node%zu.gpu%zu", i / 4, i % 4);
        assert_string_equal(topology->vertices[topology->devices[i]].name, name);
    }
    static const char *const switches[] = {"fabric", "node0.switch", "node1.switch", "node0.nic0",
                                           "node1.nic1"};
    for (size_t i = 0; i < 5; i++) {
        long vertex = model_topology_find(topology, switches[i]);
        assert_true(vertex >= 0);
        assert_null(topology->vertices[vertex].device);
    }
    config_reader_close(&reader);
}

static void each_of_two_cables_has_half_of_the_latency(void **state)
{
    struct config_reader reader;
    const struct model_topology *topology = test_topology(&reader, FILES "nodes.yaml");

    (void)state;
    const struct model_link *up = link_named(topology, "node1.gpu2 -> node1.switch");
    assert_int_equal(up->n_classes, 1);
    is_class(up->classes, UINT64_MAX, 1e-6, 300e9);
    is_class(link_named(topology, "node1.switch -> node1.gpu2")->classes, UINT64_MAX, 1e-6, 300e9);
    const struct model_link *out = link_named(topology, "node0.nic1 -> fabric");
    assert_int_equal(out->n_classes, 2);
    is_class(&out->classes[0], 65536, 2.5e-6, 5e9);
    is_class(&out->classes[1], UINT64_MAX, 4e-6, 48e9);
    is_class(link_named(topology, "node0.gpu0 -> node0.nic0")->classes, UINT64_MAX, 0.5e-6, 55e9);
    config_reader_close(&reader);
}

static void a_device_is_bound_to_its_share_of_the_nics(void **state)
{
    struct config_reader reader;
    const struct model_topology *topology = test_topology(&reader, FILES "nodes.yaml");

    (void)state;
    assert_string_equal(route(topology, "node0.gpu1", "node1.gpu2"),
                        "node0.gpu1 -> node0.nic0, node0.nic0 -> fabric, fabric -> node1.nic1, "
                        "node1.nic1 -> node1.gpu2");
    assert_string_equal(route(topology, "node0.gpu3", "node0.gpu0"),
                        "node0.gpu3 -> node0.switch, node0.switch -> node0.gpu0");
    config_reader_close(&reader);
}

static void without_attach_the_way_to_the_nic_costs_nothing_and_never_limits(void **state)
{
    static const char text[] = "topology:\n"
                               "  name: t\n"
                               "  links: {nic: {bandwidth: 25 GB/s, latency: 4 us}}\n"
                               "  nodes:\n"
                               "    - {name: host, count: 2, devices: {count: 4, device: gpu.yaml},\n"
                               "       nics: {link: nic}}\n";
    struct config_reader reader;

    (void)state;
    test_file("gpu.yaml", "device: {name: d}", 17);
    const struct model_topology *topology =
        test_topology(&reader, test_file("t.yaml", text, sizeof text - 1));
    const struct model_link *attach = link_named(topology, "host0.gpu3 -> host0.nic");
    assert_true(attach->classes[0].latency_s == 0);
    assert_true(attach->classes[0].bytes_per_s == 25e9 * 1.001);
    is_class(link_named(topology, "host0.nic -> fabric")->classes, UINT64_MAX, 2e-6, 25e9);
    /* one NIC, so its name has no number; and devices of one node without a switch meet there */
    assert_string_equal(route(topology, "host0.gpu0", "host0.gpu1"),
                        "host0.gpu0 -> host0.nic, host0.nic -> host0.gpu1");
    config_reader_close(&reader);
}

static void an_only_node_or_device_has_its_name_alone(void **state)
{
    static const char text[] = "topology:\n"
                               "  name: t\n"
                               "  links: {x: {bandwidth: 25 GB/s}}\n"
                               "  nodes:\n"
                               "    - {devices: {name: core, count: 2, device: gpu.yaml}, inside: x}\n"
                               "    - {name: other, count: 1, devices: {device: gpu.yaml}, inside: x}\n"
                               "  cables: [{between: [node.switch, other.switch], link: x}]\n";
    struct config_reader reader;

    (void)state;
    test_file("gpu.yaml", "device: {name: d}", 17);
    const struct model_topology *topology =
        test_topology(&reader, test_file("t.yaml", text, sizeof text - 1));
    assert_string_equal(route(topology, "node.core1", "other.gpu"),
                        "node.core1 -> node.switch, node.switch -> other.switch, other.switch -> other.gpu");
    /* a cable in the open has the whole latency of its type, here none */
    assert_true(link_named(topology, "node.switch -> other.switch")->classes[0].latency_s == 0);
    config_reader_close(&reader);
}

static void an_explicit_graph_is_taken_as_it_stands(void **state)
{
    struct config_reader reader;
    const struct model_topology *topology = test_topology(&reader, FILES "graph.yaml");

    (void)state;
    assert_true(topology->share_devices);
    assert_int_equal(topology->n_devices, 3);
    assert_string_equal(topology->vertices[topology->devices[2]].name, "g10");
    assert_int_equal(topology->n_links, 2 * 3 + 3);
    assert_string_equal(topology->links[0].name, "g1 -> s0");
    assert_string_equal(topology->links[1].name, "s0 -> g1");
    assert_int_equal(topology->links[0].mover, MODEL_MOVED_BY_RECEIVER);
    is_class(topology->links[0].classes, UINT64_MAX, 1e-6, 25e9);
    const struct model_link *inlined = link_named(topology, "s0 -> s1");
    assert_int_equal(inlined->mover, MODEL_MOVED_BY_WIRE);
    is_class(inlined->classes, UINT64_MAX, 3e-6, 25e9);
    config_reader_close(&reader);
}

static void a_route_by_name_beats_the_shorter_one(void **state)
{
    struct config_reader reader;
    const struct model_topology *topology = test_topology(&reader, FILES "graph.yaml");

    (void)state;
    assert_int_equal(topology->n_routes, 1);
    assert_string_equal(route(topology, "g1", "g2"), "g1 -> s0, s0 -> s1, s1 -> g2");
    assert_string_equal(route(topology, "g10", "g2"), "g10 -> s0, s0 -> g2");
    config_reader_close(&reader);
}

static void a_cycle_of_switches_is_legal(void **state)
{
    static const char text[] = "topology:\n"
                               "  name: t\n"
                               "  devices: {a: gpu.yaml, b: gpu.yaml}\n"
                               "  switches: [s, t, u]\n"
                               "  links: {x: &x {bandwidth: 25 GB/s}}\n"
                               "  cables:\n"
                               "    - {between: [s, t], link: x}\n"
                               "    - {between: [t, u], link: x}\n"
                               "    - {between: [u, s], link: *x}\n"
                               "    - {between: [a, s], link: x}\n"
                               "    - {between: [b, u], link: x}\n";
    struct config_reader reader;

    (void)state;
    test_file("gpu.yaml", "device: {name: d}", 17);
    const struct model_topology *topology =
        test_topology(&reader, test_file("t.yaml", text, sizeof text - 1));
    assert_string_equal(route(topology, "a", "b"), "a -> s, s -> u, u -> b");
    config_reader_close(&reader);
}

static void a_link_type_anchored_once_serves_sixty_four_cables(void **state)
{
    char text[16384];
    size_t n = (size_t)sprintf(text, "topology:\n  name: t\n  switches: [s]\n  devices:\n");
    struct config_reader reader;

    (void)state;
    for (int i = 0; i < 64; i++)
        n += (size_t)sprintf(text + n, "    g%d: gpu.yaml\n", i);
    n += (size_t)sprintf(text + n, "  cables:\n");
    for (int i = 0; i < 64; i++)
        n += (size_t)sprintf(text + n, "    - {between: [g%d, s], link: %s}\n", i,
                             i == 0 ? "&x {bandwidth: 25 GB/s, latency: 1 us, source: somewhere}" : "*x");
    test_file("gpu.yaml", "device: {name: d}", 17);
    const struct model_topology *topology = test_topology(&reader, test_file("t.yaml", text, n));
    assert_int_equal(topology->n_links, 128);
    for (size_t i = 0; i < 128; i++)
        is_class(topology->links[i].classes, UINT64_MAX, 1e-6, 25e9);
    config_reader_close(&reader);
}

static void a_device_file_named_a_thousand_times_is_one_device(void **state)
{
    static char text[1 << 18];
    size_t n = (size_t)sprintf(
        text, "topology:\n  name: t\n  switches: [s]\n  links: {x: {bandwidth: 1 GB/s}}\n  devices:\n");
    struct config_reader reader;

    (void)state;
    for (int i = 0; i < 1024; i++)
        n += (size_t)sprintf(text + n, "    g%d: gpu.yaml\n", i);
    n += (size_t)sprintf(text + n, "  cables:\n");
    for (int i = 0; i < 1024; i++)
        n += (size_t)sprintf(text + n, "    - {between: [g%d, s], link: x}\n", i);
    test_file("gpu.yaml", "device: {name: d}", 17);
    const struct model_topology *topology = test_topology(&reader, test_file("t.yaml", text, n));
    assert_int_equal(topology->n_devices, 1024);
    for (size_t i = 0; i < 1024; i++)
        assert_ptr_equal(topology->vertices[topology->devices[i]].device,
                         topology->vertices[topology->devices[0]].device);
    config_reader_close(&reader);
}

static void two_thousand_nodes_of_eight_are_read(void **state)
{
    static const char text[] =
        "topology:\n"
        "  name: t\n"
        "  links: {x: {bandwidth: 25 GB/s}}\n"
        "  nodes:\n"
        "    - {count: 2048, devices: {count: 8, device: gpu.yaml}, inside: x, nics: {count: 8, link: x}}\n";
    struct config_reader reader;

    (void)state;
    test_file("gpu.yaml", "device: {name: d}", 17);
    const struct model_topology *topology =
        test_topology(&reader, test_file("t.yaml", text, sizeof text - 1));
    assert_int_equal(topology->n_devices, 16384);
    assert_int_equal(topology->n_links, 2 * 2048 * (8 + 8 + 8));
    assert_string_equal(topology->vertices[topology->devices[16383]].name, "node2047.gpu7");
    config_reader_close(&reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_become_devices_switches_nics_and_a_fabric),
        cmocka_unit_test(each_of_two_cables_has_half_of_the_latency),
        cmocka_unit_test(a_device_is_bound_to_its_share_of_the_nics),
        cmocka_unit_test(without_attach_the_way_to_the_nic_costs_nothing_and_never_limits),
        cmocka_unit_test(an_only_node_or_device_has_its_name_alone),
        cmocka_unit_test(an_explicit_graph_is_taken_as_it_stands),
        cmocka_unit_test(a_route_by_name_beats_the_shorter_one),
        cmocka_unit_test(a_cycle_of_switches_is_legal),
        cmocka_unit_test(a_link_type_anchored_once_serves_sixty_four_cables),
        cmocka_unit_test(a_device_file_named_a_thousand_times_is_one_device),
        cmocka_unit_test(two_thousand_nodes_of_eight_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, test_remove_folder);
}
