/* SPDX-License-Identifier: MIT
 *
 * Whole rings in the simulated world: who shares a wire with whom decides the hop, and nothing else does. */
#include "tests/support/cmocka_all.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/parts.h"
#include "tests/sim/scene.h"

#define MIB (UINT64_C(1) << 20)

static void assert_close(double actual, double expected)
{
    if (fabs(actual - expected) > 1e-9 * fabs(expected))
        fail_msg("got %.12g, expected %.12g", actual, expected);
}

/* --- one wire for many ------------------------------------------------------------------------------------
 */

/* Time of a hop of 32 MiB over two nodes of four devices, with so many NICs of 25 GB/s a node and 300 GB/s
 * inside. Computing takes next to nothing, so a step is a hop. */
static double shared_nic_hop_s(uint32_t n_nics, const uint32_t order[8])
{
    struct scene scene;
    double ends_s[8];
    const double block_s = 1e-9;

    scene_init(&scene);
    topology_builder_nodes(&scene.cluster, 2, 4, n_nics, 300e9, 25e9);
    scene_set_block(&scene, 8, 32 * MIB);
    scene.compute.block_s = block_s;
    memcpy(scene.placement, order, 8 * sizeof *order);
    scene_build(&scene);
    scene_play(&scene, ends_s);
    scene_fini(&scene);
    double end_s = 0;
    for (uint32_t rank = 0; rank < 8; rank++)
        end_s = fmax(end_s, ends_s[rank]);
    return (end_s - block_s) / 7;
}

static const uint32_t by_node[8] = {0, 1, 2, 3, 4, 5, 6, 7};
static const uint32_t alternating[8] = {0, 4, 1, 5, 2, 6, 3, 7};

/* 33554432 B / 25 GB/s = 1.34217728 ms */
static void in_order_one_hop_each_way_crosses_the_nic(void **state)
{
    (void)state;
    assert_close(shared_nic_hop_s(1, by_node), 1.34217728e-3);
}

static void alternating_between_nodes_four_hops_share_the_nic(void **state)
{
    (void)state;
    assert_close(shared_nic_hop_s(1, alternating), 4 * 1.34217728e-3);
}

static void with_a_nic_for_each_device_the_order_does_not_matter(void **state)
{
    (void)state;
    assert_close(shared_nic_hop_s(4, by_node), 1.34217728e-3);
    assert_close(shared_nic_hop_s(4, alternating), 1.34217728e-3);
}

/* --- what must not matter, and what must -------------------------------------------------------------------
 */

/* Devices g0 ... g15: sorted as text, g10 comes before g2. 64 MB at 25 GB/s + 1 us a hop. */
static void the_hop_time_does_not_depend_on_how_many_ranks_there_are(void **state)
{
    static const uint32_t sizes[] = {8, 11, 12, 16};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct scene scene;
        double ends_s[16];
        scene_init(&scene);
        topology_builder_star(&scene.cluster, sizes[i], 25e9, 1e-6);
        scene_set_block(&scene, sizes[i], 64000000);
        scene_build(&scene);
        scene_play(&scene, ends_s);
        for (uint32_t rank = 0; rank < sizes[i]; rank++)
            assert_close(ends_s[rank], (sizes[i] - 1) * 2.561e-3 + scene.compute.block_s);
        scene_fini(&scene);
    }
}

/* Bound by computing: N blocks, and the network is nowhere to be seen. */
static void a_fast_network_hides_behind_the_computing(void **state)
{
    struct scene scene;
    double ends_s[8];

    (void)state;
    scene_init(&scene);
    topology_builder_star(&scene.cluster, 8, 25e9, 1e-6);
    scene_set_block(&scene, 8, 32 * MIB);
    scene.compute.block_s = 1.3744e-3;
    scene_build(&scene);
    scene_play(&scene, ends_s);
    for (uint32_t rank = 0; rank < 8; rank++)
        assert_close(ends_s[rank], 8 * 1.3744e-3); /* 10.9952 ms */
    scene_fini(&scene);
}

/* Backward, a block takes 2.5 times as long, and gradients travel too; on this network that is nowhere to be
 * seen. Where blocks have a fixed time, adding gradients up has none. */
static void a_backward_block_of_a_fixed_time_takes_two_and_a_half(void **state)
{
    struct scene scene;
    double ends_s[4];

    (void)state;
    scene_init(&scene);
    topology_builder_star(&scene.cluster, 4, 1e15, 0);
    scene.spec.n_ranks = 4;
    scene.spec.pass = RING_PASS_BACKWARD;
    scene_build(&scene);
    scene_play(&scene, ends_s);
    for (uint32_t rank = 0; rank < 4; rank++)
        assert_true(fabs(ends_s[rank] - 4 * 2.5 * scene.compute.block_s) < 1e-6);
    scene_fini(&scene);
}

/* The ring of shared_nic_hop_s, alternating, at a fraction of the bandwidth; without the last block's
 * computing. */
static double communication_s(double fraction)
{
    struct scene scene;
    double ends_s[8];

    scene_init(&scene);
    topology_builder_nodes(&scene.cluster, 2, 4, 2, fraction * 300e9, fraction * 25e9);
    scene_set_block(&scene, 8, 32 * MIB);
    memcpy(scene.placement, alternating, sizeof alternating);
    scene.compute.block_s = 0.5e-3;
    scene_build(&scene);
    scene_play(&scene, ends_s);
    scene_fini(&scene);
    return ends_s[7] - 0.5e-3;
}

static void half_the_bandwidth_takes_twice_the_communication(void **state)
{
    (void)state;
    assert_close(communication_s(0.5), 2 * communication_s(1));
}

/* A ring where flows come and go on shared wires, some devices are shared, and blocks are uneven. */
static void build_crowded(struct scene *scene)
{
    static const uint32_t crowded[7] = {0, 4, 1, 5, 2, 6, 1};

    scene_init(scene);
    topology_builder_nodes(&scene->cluster, 2, 4, 1, 300e9, 25e9);
    scene->spec.n_ranks = 7;
    scene->spec.n_buffers = 3;
    scene->spec.layout = RING_LAYOUT_ZIGZAG;
    scene->spec.problem.tokens = 123457;
    scene->spec.problem.heads = 8;
    scene->spec.problem.kv_heads = 8;
    scene->spec.problem.head_dim = 64;
    scene->spec.problem.mask = RING_MASK_CAUSAL;
    scene->compute.block_s = 1.1e-3;
    memcpy(scene->placement, crowded, sizeof crowded);
    scene_build(scene);
}

static void two_runs_are_the_same_to_the_last_bit(void **state)
{
    struct scene scene;
    double ends_s[2][7];
    struct ring_trace rows[2];

    (void)state;
    build_crowded(&scene);
    scene_play_traced(&scene, ends_s[0], &rows[0]);
    scene_play_traced(&scene, ends_s[1], &rows[1]);
    assert_memory_equal(ends_s[0], ends_s[1], sizeof ends_s[0]);
    assert_int_equal(rows[0].n_rows, rows[1].n_rows);
    for (size_t i = 0; i < rows[0].n_rows; i++) /* post_s ... ended_s */
        assert_memory_equal(&rows[0].rows[i].post_s, &rows[1].rows[i].post_s, 5 * sizeof(double));
    ring_trace_fini(&rows[0]);
    ring_trace_fini(&rows[1]);
    scene_fini(&scene);
}

/* --- the rows it leaves ------------------------------------------------------------------------------------
 */

static void rows_are_in_order_and_carry_the_bytes_of_the_plan(void **state)
{
    struct scene scene;
    double ends_s[7];
    uint64_t bytes_sent[7] = {0};
    struct ring_trace rows;

    (void)state;
    build_crowded(&scene);
    scene_play_traced(&scene, ends_s, &rows);
    for (size_t i = 0; i < rows.n_rows; i++) {
        const struct ring_trace_row *row = &rows.rows[i];
        assert_true(row->post_s <= row->wait_begin_s && row->wait_begin_s <= row->wait_end_s);
        assert_true(row->begun_s <= row->ended_s && row->ended_s <= row->wait_end_s);
        bytes_sent[row->rank] += row->kind == RING_TRACE_SEND ? row->amount : 0;
    }
    for (uint32_t rank = 0; rank < 7; rank++)
        assert_int_equal(bytes_sent[rank], ring_plan_bytes_sent(&scene.plan, rank));
    ring_trace_fini(&rows);
    scene_fini(&scene);
}

/* Hops of 2.56 ms beside blocks of 1 ms: every computation is over long before anybody waits for it. */
static void a_computation_ends_when_it_ends_not_when_it_is_waited_for(void **state)
{
    struct scene scene;
    double ends_s[4];
    struct ring_trace rows;
    uint32_t n_computations = 0;

    (void)state;
    scene_init(&scene);
    topology_builder_star(&scene.cluster, 4, 25e9, 0);
    scene_set_block(&scene, 4, 64000000);
    scene_build(&scene);
    scene_play_traced(&scene, ends_s, &rows);
    for (size_t i = 0; i < rows.n_rows; i++) {
        const struct ring_trace_row *row = &rows.rows[i];
        if (row->kind != RING_TRACE_COMPUTE)
            continue;
        n_computations++;
        assert_close(row->begun_s, row->step * 2.56e-3);
        assert_close(row->ended_s, row->step * 2.56e-3 + 1e-3);
    }
    assert_int_equal(n_computations, 16);
    ring_trace_fini(&rows);
    scene_fini(&scene);
}

static void the_parts_of_a_rank_add_up_to_its_time(void **state)
{
    struct scene scene;
    double ends_s[7];
    struct ring_trace rows;
    struct ring_parts parts[7][7];
    struct ring_error error = {""};

    (void)state;
    build_crowded(&scene);
    assert_int_equal(scene.plan.n_steps, 7);
    scene_play_traced(&scene, ends_s, &rows);
    if (ring_parts_from_trace(&rows, 7, 7, 0, &parts[0][0], &error) != RING_OK)
        fail_msg("%s", error.text);
    for (uint32_t rank = 0; rank < 7; rank++) {
        double sum_s = 0, overhead_s = 0;
        for (uint32_t s = 0; s < 7; s++) {
            const struct ring_parts *step = &parts[rank][s];
            double step_s = step->compute_s + step->transfer_s + step->wait_s + step->overhead_s;
            assert_true(fabs(step_s - (step->end_s - step->begin_s)) < 1e-12);
            sum_s += step_s;
            overhead_s += step->overhead_s;
        }
        assert_close(sum_s, ends_s[rank]);
        assert_true(overhead_s < 1e-12); /* nothing takes time here but computing and moving */
    }
    ring_trace_fini(&rows);
    scene_fini(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_order_one_hop_each_way_crosses_the_nic),
        cmocka_unit_test(alternating_between_nodes_four_hops_share_the_nic),
        cmocka_unit_test(with_a_nic_for_each_device_the_order_does_not_matter),
        cmocka_unit_test(the_hop_time_does_not_depend_on_how_many_ranks_there_are),
        cmocka_unit_test(a_fast_network_hides_behind_the_computing),
        cmocka_unit_test(a_backward_block_of_a_fixed_time_takes_two_and_a_half),
        cmocka_unit_test(half_the_bandwidth_takes_twice_the_communication),
        cmocka_unit_test(two_runs_are_the_same_to_the_last_bit),
        cmocka_unit_test(rows_are_in_order_and_carry_the_bytes_of_the_plan),
        cmocka_unit_test(a_computation_ends_when_it_ends_not_when_it_is_waited_for),
        cmocka_unit_test(the_parts_of_a_rank_add_up_to_its_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
