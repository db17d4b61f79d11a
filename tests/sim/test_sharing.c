/* SPDX-License-Identifier: MIT
 *
 * What sharing costs on the clusters that people have, worked out by hand. With nothing to compute, each of
 * the N - 1 hops takes as long as its slowest flow, and where the same flows meet at every step, all ranks
 * that wait for them go in step: the run takes N - 1 times that, and the last block's computing. A flow's
 * rate is its fair share of the link where it gets least (max-min). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "config/config.h"
#include "sim/sim.h"

#define CLUSTERS "tests/sim/clusters/"
#define NATURAL  "natural"

static const double block_bytes = 32 << 20, half_block_bytes = 16 << 20, compute_s = 1e-6;

/* How long the ring takes in this order on a cluster. */
static double play(const char *cluster, const char *order)
{
    char cluster_item[256], order_item[512];
    const char *const items[] = {cluster_item, order_item};
    const struct config_overrides overrides = {items, 2};
    struct config_scenario *scenario;
    struct ring_plan plan;
    struct model_ring ring;
    struct ring_error error = {""};
    double ends_s[16], last_s = 0;

    snprintf(cluster_item, sizeof cluster_item, "cluster=" CLUSTERS "%s.yaml", cluster);
    snprintf(order_item, sizeof order_item, "ring.placement=%s", order);
    enum ring_status status = config_scenario_load(CLUSTERS "ring.yaml", &overrides, &scenario, &error);
    if (status == RING_OK)
        status = ring_plan_init(&plan, &scenario->plan, &error);
    const struct model_ring_spec spec = {
        .plan = &plan,
        .topology = scenario ? scenario->topology : NULL,
        .device_of_rank = scenario ? scenario->placement : NULL,
        .compute = {.block_s = compute_s, .core_free = true},
        .progress = MODEL_PROGRESS_POLL,
    };
    if (status == RING_OK)
        status = model_ring_init(&ring, &spec, &error);
    if (status == RING_OK)
        status = sim_run(&(struct sim_spec){.ring = &ring}, ends_s, NULL, &error);
    if (status != RING_OK)
        fail_msg("%s, %s: %s", cluster, order, error.text);
    for (uint32_t rank = 0; rank < plan.n_ranks; rank++)
        last_s = fmax(last_s, ends_s[rank]);
    model_ring_fini(&ring);
    config_scenario_free(scenario);
    return last_s;
}

/* n_hops hops of hop_s, then the last block. */
static void expect(const char *cluster, const char *order, unsigned n_hops, double hop_s)
{
    double wanted_s = n_hops * hop_s + compute_s, found_s = play(cluster, order);

    if (fabs(found_s - wanted_s) > 1e-9 * wanted_s)
        fail_msg("%s, %s: expected %u x %.9g + %g = %.12g s, found %.12g s", cluster, order, n_hops, hop_s,
                 compute_s, wanted_s, found_s);
}

static void two_nodes_with_one_nic_take_1_2_or_4_flows_at_once(void **state)
{
    /* 32 MiB at 25 GB/s are 1.342 ms for one flow */
    const double alone_s = block_bytes / 25e9;

    (void)state;
    expect("two-nodes", NATURAL, 7, alone_s);
    expect("two-nodes", "[n0.g0, n0.g1, n1.g0, n1.g1, n0.g2, n0.g3, n1.g2, n1.g3]", 7, 2 * alone_s);
    expect("two-nodes", "[n0.g0, n1.g0, n0.g1, n1.g1, n0.g2, n1.g2, n0.g3, n1.g3]", 7, 4 * alone_s);
}

static void a_nic_with_one_limit_for_both_ways_halves_what_goes_in_and_out_at_once(void **state)
{
    const double alone_s = block_bytes / 25e9;

    (void)state;
    expect("half-duplex", NATURAL, 7, 2 * alone_s);
    expect("half-duplex", "[n0.g0, n1.g0, n0.g1, n1.g1, n0.g2, n1.g2, n0.g3, n1.g3]", 7, 8 * alone_s);
    /* in one node nothing crosses a NIC */
    expect("half-duplex", "[n0.g0, n0.g1, n0.g2, n0.g3]", 3, 2 * block_bytes / 300e9);
}

static void a_fat_tree_of_4_to_1_has_a_quarter_left_for_each_of_four_flows(void **state)
{
    /* a leaf of four NICs has one uplink of 4 x 25 / 4 = 25 GB/s */
    const double alone_s = block_bytes / 25e9;

    (void)state;
    expect("fat-tree", NATURAL, 7, alone_s);
    expect("fat-tree", "[n0.gpu, n1.gpu, n4.gpu, n5.gpu, n2.gpu, n3.gpu, n6.gpu, n7.gpu]", 7, 2 * alone_s);
    expect("fat-tree", "[n0.gpu, n4.gpu, n1.gpu, n5.gpu, n2.gpu, n6.gpu, n3.gpu, n7.gpu]", 7, 4 * alone_s);
}

static void two_spines_are_both_taken_or_by_the_first_way_only_one(void **state)
{
    /* two uplinks of 12.5 GB/s; flows to devices 4, 5, 6, 7 take spines 0, 1, 0, 1 */
    const double narrow_s = block_bytes / 12.5e9;
    static const char apart[] = "[n0.gpu, n4.gpu, n1.gpu, n5.gpu, n2.gpu, n6.gpu, n3.gpu, n7.gpu]";

    (void)state;
    expect("two-spines", NATURAL, 7, narrow_s);
    expect("two-spines", apart, 7, 2 * narrow_s);
    expect("one-of-two-spines", apart, 7, 4 * narrow_s);
}

static void a_torus_shares_nothing_by_rows_and_a_snake_saves_a_link_at_their_ends(void **state)
{
    const double alone_s = half_block_bytes / 50e9, latency_s = 3e-6;

    (void)state;
    /* from the end of a row to the next: round to its beginning, and one row up */
    expect("torus", NATURAL, 15, alone_s + 2 * latency_s);
    expect("torus",
           "[c0.gpu, c1.gpu, c2.gpu, c3.gpu, c7.gpu, c6.gpu, c5.gpu, c4.gpu, "
           "c8.gpu, c9.gpu, c10.gpu, c11.gpu, c15.gpu, c14.gpu, c13.gpu, c12.gpu]",
           15, alone_s + latency_s);
    /* 0 to 2 and 1 to 3 both need the link from 1 to 2; two links a hop */
    expect("torus",
           "[c0.gpu, c2.gpu, c1.gpu, c3.gpu, c4.gpu, c6.gpu, c5.gpu, c7.gpu, "
           "c8.gpu, c10.gpu, c9.gpu, c11.gpu, c12.gpu, c14.gpu, c13.gpu, c15.gpu]",
           15, 2 * alone_s + 2 * latency_s);
}

static void a_mesh_has_no_way_round(void **state)
{
    /* from 15 back to 0: three links down along x, three along y */
    const double alone_s = half_block_bytes / 50e9, latency_s = 3e-6;

    (void)state;
    expect("mesh", NATURAL, 15, alone_s + 6 * latency_s);
}

static void a_pcie_tree_of_two_sockets_is_as_wide_as_what_joins_them(void **state)
{
    const double between_s = block_bytes / 20e9, slot_s = block_bytes / 32e9;

    (void)state;
    expect("pcie", NATURAL, 7, between_s);
    expect("pcie", "[n.g0, n.g1, n.g4, n.g5, n.g2, n.g3, n.g6, n.g7]", 7, 2 * between_s);
    expect("pcie", "[n.g0, n.g4, n.g1, n.g5, n.g2, n.g6, n.g3, n.g7]", 7, 4 * between_s);
    expect("pcie-half-duplex", NATURAL, 7, 2 * between_s);
    /* one socket: no hop is narrower than a slot, or than a switch's uplink with two flows on it */
    expect("pcie", "[n.g0, n.g1, n.g2, n.g3]", 3, 2 * slot_s);
    expect("pcie", "[n.g0, n.g2, n.g1, n.g3]", 3, 2 * 2 * slot_s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_nodes_with_one_nic_take_1_2_or_4_flows_at_once),
        cmocka_unit_test(a_nic_with_one_limit_for_both_ways_halves_what_goes_in_and_out_at_once),
        cmocka_unit_test(a_fat_tree_of_4_to_1_has_a_quarter_left_for_each_of_four_flows),
        cmocka_unit_test(two_spines_are_both_taken_or_by_the_first_way_only_one),
        cmocka_unit_test(a_torus_shares_nothing_by_rows_and_a_snake_saves_a_link_at_their_ends),
        cmocka_unit_test(a_mesh_has_no_way_round),
        cmocka_unit_test(a_pcie_tree_of_two_sockets_is_as_wide_as_what_joins_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
