/* SPDX-License-Identifier: MIT
 *
 * Whole rings in the simulated world: who shares a wire with whom decides the hop, and nothing else does. */
#include "tests/support/cmocka_all.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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

static void play_traced(const struct scene *scene, double *ends_s, struct ring_trace *traces)
{
    struct sim_spec spec = {.ring = &scene->ring};
    struct ring_error error = {""};

    for (uint32_t rank = 0; rank < scene->plan.n_ranks; rank++)
        ring_trace_init(&traces[rank]);
    if (sim_run(&spec, ends_s, traces, &error) != RING_OK)
        fail_msg("%s", error.text);
}

static void two_runs_are_the_same_to_the_last_bit(void **state)
{
    struct scene scene;
    double ends_s[2][7];
    struct ring_trace traces[2][7];

    (void)state;
    build_crowded(&scene);
    play_traced(&scene, ends_s[0], traces[0]);
    play_traced(&scene, ends_s[1], traces[1]);
    assert_memory_equal(ends_s[0], ends_s[1], sizeof ends_s[0]);
    for (uint32_t rank = 0; rank < 7; rank++) {
        assert_int_equal(traces[0][rank].n_rows, traces[1][rank].n_rows);
        for (size_t i = 0; i < traces[0][rank].n_rows; i++) {
            const struct ring_trace_row *a = &traces[0][rank].rows[i], *b = &traces[1][rank].rows[i];
            assert_memory_equal(&a->post_s, &b->post_s, 5 * sizeof(double)); /* post_s ... ended_s */
        }
        ring_trace_fini(&traces[0][rank]);
        ring_trace_fini(&traces[1][rank]);
    }
    scene_fini(&scene);
}

/* --- the rows it leaves ------------------------------------------------------------------------------------
 */

static void the_rows_of_a_rank_add_up_to_its_time(void **state)
{
    struct scene scene;
    double ends_s[7];
    struct ring_trace traces[7], rows;
    struct ring_error error = {""};

    (void)state;
    build_crowded(&scene);
    play_traced(&scene, ends_s, traces);
    uint32_t n_steps = scene.plan.n_steps;
    struct ring_parts *parts = malloc(7 * n_steps * sizeof *parts);
    assert_non_null(parts);
    ring_trace_init(&rows);
    for (uint32_t rank = 0; rank < 7; rank++) {
        uint64_t bytes_sent = 0;
        for (size_t i = 0; i < traces[rank].n_rows; i++) {
            const struct ring_trace_row *row = &traces[rank].rows[i];
            assert_true(row->post_s <= row->wait_begin_s && row->wait_begin_s <= row->wait_end_s);
            assert_true(row->begun_s <= row->ended_s && row->ended_s <= row->wait_end_s);
            bytes_sent += row->kind == RING_TRACE_SEND ? row->amount : 0;
            assert_int_equal(ring_trace_append(&rows, row), RING_OK);
        }
        assert_int_equal(bytes_sent, ring_plan_bytes_sent(&scene.plan, rank));
        ring_trace_fini(&traces[rank]);
    }
    if (ring_parts_from_trace(&rows, 7, n_steps, 0, parts, &error) != RING_OK)
        fail_msg("%s", error.text);
    for (uint32_t rank = 0; rank < 7; rank++) {
        double sum_s = 0, overhead_s = 0;
        for (uint32_t s = 0; s < n_steps; s++) {
            const struct ring_parts *step = &parts[rank * n_steps + s];
            double step_s = step->compute_s + step->transfer_s + step->wait_s + step->overhead_s;
            assert_true(fabs(step_s - (step->end_s - step->begin_s)) < 1e-12);
            sum_s += step_s;
            overhead_s += step->overhead_s;
        }
        assert_close(sum_s, ends_s[rank]);
        assert_true(overhead_s < 1e-12); /* nothing takes time here but computing and moving */
    }
    ring_trace_fini(&rows);
    free(parts);
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
        cmocka_unit_test(half_the_bandwidth_takes_twice_the_communication),
        cmocka_unit_test(two_runs_are_the_same_to_the_last_bit),
        cmocka_unit_test(the_rows_of_a_rank_add_up_to_its_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
