/* SPDX-License-Identifier: MIT
 *
 * Nodes and fabrics: how many switches and links there are, how wide each is, which way messages take, how
 * much half of a cluster can send to the other. Counts and sums are worked out beside each test. */
#include <math.h>

#include "tests/config/support.h"

static struct config_reader reader;
static char gpu_path[256];

/* A topology whose body is text after `topology:`; its device file is GPU. Freed with config_reader_close. */
#define GPU "gpu.yaml"
static const struct model_topology *load(const char *text)
{
    static char file[1 << 12];

    if (!gpu_path[0])
        snprintf(gpu_path, sizeof gpu_path, "%s", test_file(GPU, "device: {name: gpu}", 19));
    snprintf(file, sizeof file, "topology:\n  name: t\n%s", text);
    return test_topology(&reader, test_file("cluster.yaml", file, strlen(file)));
}

static const struct model_link *link_named(const struct model_topology *topology, const char *name)
{
    for (size_t i = 0; i < topology->n_links; i++)
        if (strcmp(topology->links[i].name, name) == 0)
            return &topology->links[i];
    fail_msg("there is no link %s", name);
    return NULL;
}

static double bytes_per_s(const struct model_topology *topology, const char *name)
{
    return link_named(topology, name)->classes[0].bytes_per_s;
}

static struct model_topology_size size_of(const struct model_topology *topology)
{
    struct model_topology_size size;

    assert_int_equal(model_topology_measure(topology, &size, NULL), RING_OK);
    return size;
}

/* The route between two vertices, as "a > b > c". */
static const char *way(const struct model_topology *topology, const char *from, const char *to)
{
    static char text[1024];
    uint32_t links[64];
    size_t n = 0;
    struct ring_error error = {""};

    if (model_topology_route(topology, (uint32_t)model_topology_find(topology, from),
                             (uint32_t)model_topology_find(topology, to), links, 64, &n, &error) != RING_OK)
        fail_msg("%s", error.text);
    snprintf(text, sizeof text, "%s", from);
    for (size_t i = 0; i < n; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), " > %s",
                 topology->vertices[topology->links[links[i]].to].name);
    return text;
}

static void cables_side_by_side_count_as_one_of_more_bandwidth(void **state)
{
    const struct model_topology *topology = load("  links: {nv: {bandwidth: 25 GB/s, latency: 8 us}}\n"
                                                 "  nodes: [{devices: {count: 3, device: gpu.yaml}, mesh: "
                                                 "{link: nv, pairs: [[0, 1, 2], [1, 2], [0, 2]]}}]\n");

    (void)state;
    assert_true(bytes_per_s(topology, "node.gpu0 -> node.gpu1") == 50e9);
    assert_true(bytes_per_s(topology, "node.gpu1 -> node.gpu0") == 50e9);
    assert_true(bytes_per_s(topology, "node.gpu1 -> node.gpu2") == 25e9);
    assert_true(link_named(topology, "node.gpu0 -> node.gpu1")->classes[0].latency_s == 8e-6);
    assert_string_equal(link_named(topology, "node.gpu0 -> node.gpu1")->type, "nv");
    assert_true(topology->n_links == 6);
    /* gpu0 against gpu1 and gpu2: 50 + 25 GB/s */
    assert_true(size_of(topology).bisection_bytes_per_s == 75e9);
    config_reader_close(&reader);
}

static void a_pcie_tree_has_switches_sockets_and_nics_where_it_says(void **state)
{
    const struct model_topology *topology = load(
        "  links: {slot: {bandwidth: 32 GB/s, latency: 2 us}, up: {bandwidth: 30 GB/s}, upi: {bandwidth: 20 "
        "GB/s, latency: 1 us}, ib: {bandwidth: 12 GB/s}}\n"
        "  nodes:\n"
        "    - name: n\n"
        "      count: 2\n"
        "      devices: {name: g, count: 4, device: gpu.yaml}\n"
        "      nics: {count: 2, link: ib}\n"
        "      pcie: {link: slot, uplink: up, between: upi, tree: [[[0, 1, nic0]], [[2], 3, nic1]]}\n");

    (void)state;
    assert_string_equal(way(topology, "n0.g0", "n0.g1"), "n0.g0 > n0.pcie0 > n0.g1");
    assert_string_equal(way(topology, "n0.g0", "n0.g2"),
                        "n0.g0 > n0.pcie0 > n0.socket0 > n0.socket1 > n0.pcie1 > n0.g2");
    assert_string_equal(way(topology, "n0.g0", "n0.g3"),
                        "n0.g0 > n0.pcie0 > n0.socket0 > n0.socket1 > n0.g3");
    /* each device by the NIC nearest to it */
    assert_string_equal(way(topology, "n0.g1", "n1.g3"),
                        "n0.g1 > n0.pcie0 > n0.nic0 > fabric > n1.nic1 > n1.socket1 > n1.g3");
    assert_true(bytes_per_s(topology, "n1.pcie0 -> n1.socket0") == 30e9);
    assert_true(link_named(topology, "n1.g0 -> n1.pcie0")->classes[0].latency_s == 1e-6);
    assert_true(link_named(topology, "n1.socket0 -> n1.socket1")->classes[0].latency_s == 1e-6);
    assert_true(size_of(topology).n_nics == 4);
    assert_true(size_of(topology).n_switches == 9); /* two sockets and two switches a node, and the fabric */
    assert_true(size_of(topology).bisection_bytes_per_s == 24e9);
    config_reader_close(&reader);
}

static void nics_are_bound_as_listed(void **state)
{
    const struct model_topology *topology =
        load("  links: {nv: {bandwidth: 300 GB/s}, ib: {bandwidth: 12 GB/s}}\n"
             "  nodes: [{name: n, count: 2, devices: {name: g, count: 4, device: gpu.yaml}, inside: nv,\n"
             "           nics: {count: 2, link: ib, bind: [[3, 0], [1, 2]]}}]\n");

    (void)state;
    assert_string_equal(way(topology, "n0.g3", "n1.g1"), "n0.g3 > n0.nic0 > fabric > n1.nic1 > n1.g1");
    config_reader_close(&reader);
}

static void nodes_of_different_kinds_meet_in_one_fabric(void **state)
{
    const struct model_topology *topology = load(
        "  links: {nv: {bandwidth: 300 GB/s}, ib: {bandwidth: 25 GB/s}, eth: {bandwidth: 10 GB/s}}\n"
        "  nodes:\n"
        "    - {name: big, devices: {count: 4, device: gpu.yaml}, inside: nv, nics: {count: 2, link: ib}}\n"
        "    - {name: small, count: 2, devices: {device: gpu.yaml}, nics: {link: eth}}\n");

    (void)state;
    assert_string_equal(way(topology, "big.gpu3", "small1.gpu"),
                        "big.gpu3 > big.nic1 > fabric > small1.nic > small1.gpu");
    assert_true(topology->n_devices == 6);
    /* into the fourth GPU of big go 300 GB/s from its switch and, through the NIC that it shares, a
     * thousandth more than the NIC's 25; into the small nodes 10 each */
    assert_true(fabs(size_of(topology).bisection_bytes_per_s - 345.025e9) < 1);
    config_reader_close(&reader);
}

static void a_fat_tree_is_as_wide_as_its_oversubscription_says(void **state)
{
    const struct model_topology *topology =
        load("  links: {nv: {bandwidth: 300 GB/s}, ib: {bandwidth: 24 GB/s}}\n"
             "  nodes: [{name: n, count: 10, devices: {name: g, count: 2, device: gpu.yaml}, inside: nv,\n"
             "           nics: {count: 2, link: ib}}]\n"
             "  fabric: {kind: fat-tree, nodes_per_leaf: 4, spines: 3, oversubscription: 2:1}\n");

    (void)state;
    /* a full leaf has 4 x 2 x 24 = 192 GB/s below, 96 above, 32 to each of 3 spines; so has the last leaf */
    assert_true(fabs(bytes_per_s(topology, "leaf0 -> spine0") - 32e9) < 1);
    assert_true(fabs(bytes_per_s(topology, "spine2 -> leaf2") - 32e9) < 1);
    assert_true(size_of(topology).n_switches == 10 + 3 + 3);
    assert_int_equal(topology->ties, MODEL_TIES_DESTINATION);
    /* n4.g0 is device 8, n4.g1 device 9: remainders by 3 spines are 2 and 0 */
    assert_string_equal(way(topology, "n0.g0", "n4.g0"),
                        "n0.g0 > n0.nic0 > leaf0 > spine2 > leaf1 > n4.nic0 > n4.g0");
    assert_string_equal(way(topology, "n0.g0", "n4.g1"),
                        "n0.g0 > n0.nic0 > leaf0 > spine0 > leaf1 > n4.nic1 > n4.g1");
    assert_true(size_of(topology).diameter == 6);
    config_reader_close(&reader);
}

static void three_levels_have_pods_and_cores(void **state)
{
    const struct model_topology *topology = load(
        "  links: {ib: {bandwidth: 24 GB/s}, core: {bandwidth: 7 GB/s, latency: 1 us}}\n"
        "  nodes: [{name: n, count: 12, devices: {device: gpu.yaml}, nics: {link: ib}}]\n"
        "  fabric: {kind: fat-tree, levels: 3, nodes_per_leaf: 2, leaves_per_pod: 2, spines: 2, cores: 4,\n"
        "           core_uplink: core}\n");

    (void)state;
    /* 6 leaves, 3 pods of 2 spines, 4 cores; leaf to spine 2 x 24 / 2; spines 0 and 1 of a pod have two cores
     * each */
    assert_true(size_of(topology).n_switches == 6 + 6 + 4);
    assert_true(bytes_per_s(topology, "leaf3 -> pod1.spine0") == 24e9);
    assert_true(bytes_per_s(topology, "pod2.spine1 -> core3") == 7e9);
    assert_true(link_named(topology, "pod2.spine1 -> core3")->classes[0].latency_s == 1e-6);
    /* n5 is device 5: 5 mod 2 = 1 chooses the spine of its pod, 5 / 2 mod 2 = 0 that spine's core */
    assert_string_equal(
        way(topology, "n0.gpu", "n5.gpu"),
        "n0.gpu > n0.nic > leaf0 > pod0.spine1 > core2 > pod1.spine1 > leaf2 > n5.nic > n5.gpu");
    assert_string_equal(way(topology, "n0.gpu", "n3.gpu"),
                        "n0.gpu > n0.nic > leaf0 > pod0.spine1 > leaf1 > n3.nic > n3.gpu");
    /* the first six nodes, pod 0 and half of pod 1: out of pod 0 go 4 x 7, out of the other leaf 2 x 24 */
    assert_true(size_of(topology).bisection_bytes_per_s == 76e9);
    config_reader_close(&reader);
}

static void rails_are_crossed_inside_the_node_or_over_spines(void **state)
{
    static const char nodes[] =
        "  links: {nv: {bandwidth: 300 GB/s}, ib: {bandwidth: 24 GB/s}}\n"
        "  nodes: [{name: n, count: 4, devices: {name: g, count: 2, device: gpu.yaml}, "
        "inside: nv, nics: {count: 2, link: ib%s}}]\n"
        "  fabric: {kind: rails%s}\n";
    char text[1024];

    (void)state;
    snprintf(text, sizeof text, nodes, ", from_switch: true", "");
    const struct model_topology *topology = load(text);
    assert_string_equal(way(topology, "n0.g1", "n3.g1"), "n0.g1 > n0.nic1 > rail1 > n3.nic1 > n3.g1");
    assert_string_equal(way(topology, "n0.g1", "n3.g0"),
                        "n0.g1 > n0.switch > n0.nic0 > rail0 > n3.nic0 > n3.g0");
    assert_string_equal(way(topology, "n0.g1", "n0.g0"), "n0.g1 > n0.switch > n0.g0");
    config_reader_close(&reader);

    snprintf(text, sizeof text, nodes, "", ", spines: 2, oversubscription: 3:2");
    topology = load(text);
    assert_string_equal(way(topology, "n0.g1", "n3.g0"),
                        "n0.g1 > n0.nic1 > rail1 > spine0 > rail0 > n3.nic0 > n3.g0");
    /* a rail has 4 x 24 GB/s of NICs; two thirds of that over two spines */
    assert_true(fabs(bytes_per_s(topology, "rail0 -> spine1") - 32e9) < 1);
    config_reader_close(&reader);
}

static void a_dragonfly_joins_every_two_groups_by_one_cable(void **state)
{
    const struct model_topology *topology =
        load("  links: {ib: {bandwidth: 24 GB/s}, cable: {bandwidth: 20 GB/s}}\n"
             "  nodes: [{name: n, count: 24, devices: {device: gpu.yaml}, nics: {link: ib}}]\n"
             "  fabric: {kind: dragonfly, routers: 3, nodes_per_router: 2, local: cable, global: cable}\n");

    (void)state;
    /* 4 groups of 3 routers: 3 local cables a group, 6 global ones; 24 NICs and 24 attachments */
    assert_true(size_of(topology).n_switches == 12);
    assert_true(topology->n_links == 2 * (4 * 3 + 6 + 24 + 24));
    /* groups 0 and 1: router 0 of group 0, router 0 of group 1. Node 23 is on router 2 of group 3, which has
     * the cable to group 2; the one to group 0 is on router 0, and leaves group 0 on router 2 */
    assert_string_equal(way(topology, "n0.gpu", "n6.gpu"),
                        "n0.gpu > n0.nic > group0.router0 > group1.router0 > n6.nic > n6.gpu");
    assert_string_equal(
        way(topology, "n0.gpu", "n23.gpu"),
        "n0.gpu > n0.nic > group0.router0 > group0.router2 > group3.router0 > group3.router2 > "
        "n23.nic > n23.gpu");
    /* two groups against two: four global cables */
    assert_true(size_of(topology).bisection_bytes_per_s == 80e9);
    config_reader_close(&reader);
}

static void a_torus_goes_along_x_first_and_upwards_where_both_ways_are_equal(void **state)
{
    const struct model_topology *topology =
        load("  links: {ici: {bandwidth: 50 GB/s}}\n"
             "  nodes: [{name: c, count: 24, devices: {device: gpu.yaml}}]\n"
             "  fabric: {kind: torus, size: [4, 3, 2], link: ici}\n");

    (void)state;
    /* 24 along x, 24 along y (rings of 3), 12 along z, where a second cable back would be the first one */
    assert_true(topology->n_links == 2 * (24 + 24 + 12));
    assert_true(topology->grid[0] == 4 && topology->grid[1] == 3 && topology->grid[2] == 2);
    assert_true(topology->devices_forward);
    assert_string_equal(way(topology, "c0.gpu", "c5.gpu"), "c0.gpu > c1.gpu > c5.gpu");
    assert_string_equal(way(topology, "c0.gpu", "c2.gpu"), "c0.gpu > c1.gpu > c2.gpu");
    assert_string_equal(way(topology, "c1.gpu", "c3.gpu"), "c1.gpu > c2.gpu > c3.gpu");
    assert_string_equal(way(topology, "c2.gpu", "c0.gpu"), "c2.gpu > c3.gpu > c0.gpu");
    assert_string_equal(way(topology, "c0.gpu", "c20.gpu"), "c0.gpu > c8.gpu > c20.gpu");
    assert_true(size_of(topology).diameter == 2 + 1 + 1);
    /* the two layers of z: 12 cables */
    assert_true(size_of(topology).bisection_bytes_per_s == 12 * 50e9);
    config_reader_close(&reader);
}

static void a_grid_of_nodes_with_nics_has_routers(void **state)
{
    const struct model_topology *topology =
        load("  links: {nv: {bandwidth: 300 GB/s}, ib: {bandwidth: 24 GB/s}, wire: {bandwidth: 50 GB/s}}\n"
             "  nodes: [{name: n, count: 5, devices: {name: g, count: 2, device: gpu.yaml}, inside: nv, "
             "nics: {link: ib}}]\n"
             "  fabric: {kind: ring, link: wire}\n");

    (void)state;
    assert_false(topology->devices_forward);
    assert_string_equal(way(topology, "n0.g1", "n3.g0"),
                        "n0.g1 > n0.nic > router0 > router4 > router3 > n3.nic > n3.g0");
    config_reader_close(&reader);
}

static void a_limit_for_both_ways_is_a_link_that_both_cross(void **state)
{
    const struct model_topology *topology =
        load("  links: {ib: {bandwidth: 25 GB/s, latency: 10 us, both_ways: 40 GB/s}}\n"
             "  nodes: [{name: n, count: 2, devices: {device: gpu.yaml}, nics: {link: ib}}]\n");

    (void)state;
    assert_string_equal(
        way(topology, "n0.gpu", "n1.gpu"),
        "n0.gpu > n0.nic > n0.nic~fabric.in > n0.nic~fabric.out > fabric > n1.nic~fabric.in > "
        "n1.nic~fabric.out > n1.nic > n1.gpu");
    assert_true(bytes_per_s(topology, "n0.nic <-> fabric") == 40e9);
    assert_true(link_named(topology, "n0.nic <-> fabric")->classes[0].latency_s == 5e-6);
    assert_true(link_named(topology, "n0.nic -> n0.nic~fabric.in")->classes[0].latency_s == 0);
    assert_true(size_of(topology).n_switches == 1 && size_of(topology).n_nics == 2);
    config_reader_close(&reader);
}

static void check_line(const char *path, const char *wanted)
{
    struct config_summary summary;
    struct ring_error error = {""};

    if (config_check(path, &summary, &error) != RING_OK)
        fail_msg("%s", error.text);
    assert_string_equal(summary.text, wanted);
}

static void a_check_names_the_hop_that_leaves_nvlink(void **state)
{
    (void)state;
    check_line(
        "topologies/dgx-1-v100.yaml",
        "topology dgx-1-v100: 8 devices, 6 switches, 58 links, bisection 169.2 GB/s one way, diameter 5 "
        "links");
    /* GPU 7 has a cable to GPU 3 alone among these five */
    check_line(
        "scenarios/dgx-1-five.yaml",
        "scenario five GPUs of a DGX-1: 40960 tokens forward on 5 devices of dgx-1-v100, contiguous, full; "
        "1 of 5 hops leaves nvlink: node.gpu7 -> node.gpu0 over pcie at 15.75 GB/s");
    check_line("scenarios/64k-one-node.yaml",
               "scenario 64K tokens on one DGX H100: 65536 tokens forward on 8 "
               "devices of dgx-h100, zigzag, causal");
}

static void a_thousand_devices_in_a_fat_tree_are_measured(void **state)
{
    const struct model_topology *topology = load(
        "  links: {nv: {bandwidth: 358 GB/s}, ndr: {bandwidth: 48 GB/s}}\n"
        "  nodes: [{count: 128, devices: {count: 8, device: gpu.yaml}, inside: nv, nics: {count: 8, link: "
        "ndr}}]\n"
        "  fabric: {kind: fat-tree, levels: 3, nodes_per_leaf: 4, leaves_per_pod: 8, spines: 16, cores: 64,\n"
        "           oversubscription: 2:1}\n");
    struct model_topology_size size = size_of(topology);

    (void)state;
    assert_true(topology->n_devices == 1024);
    assert_true(size.n_switches == 128 + 32 + 4 * 16 + 64);
    assert_true(size.diameter == 8);
    /* 512 NICs of 48 GB/s, half of it past the leaves */
    assert_true(fabs(size.bisection_bytes_per_s - 512 * 24e9) < 1e4);
    config_reader_close(&reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cables_side_by_side_count_as_one_of_more_bandwidth),
        cmocka_unit_test(a_pcie_tree_has_switches_sockets_and_nics_where_it_says),
        cmocka_unit_test(nics_are_bound_as_listed),
        cmocka_unit_test(nodes_of_different_kinds_meet_in_one_fabric),
        cmocka_unit_test(a_fat_tree_is_as_wide_as_its_oversubscription_says),
        cmocka_unit_test(three_levels_have_pods_and_cores),
        cmocka_unit_test(rails_are_crossed_inside_the_node_or_over_spines),
        cmocka_unit_test(a_dragonfly_joins_every_two_groups_by_one_cable),
        cmocka_unit_test(a_torus_goes_along_x_first_and_upwards_where_both_ways_are_equal),
        cmocka_unit_test(a_grid_of_nodes_with_nics_has_routers),
        cmocka_unit_test(a_limit_for_both_ways_is_a_link_that_both_cross),
        cmocka_unit_test(a_check_names_the_hop_that_leaves_nvlink),
        cmocka_unit_test(a_thousand_devices_in_a_fat_tree_are_measured),
    };
    return cmocka_run_group_tests(tests, NULL, test_remove_folder);
}
