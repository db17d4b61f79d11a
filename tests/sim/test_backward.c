/* SPDX-License-Identifier: MIT
 *
 * The backward rings of docs/MODEL.md in the simulated world, step by step against the tables there (which
 * tests/models/test_backward.c holds the recurrence to): K/V of the next step leave at once, gradients one
 * step after their block, and the two share a hop. Milliseconds, to one part in 10^9. */
#include "tests/support/cmocka_all.h"

#include <math.h>

#include "engine/parts.h"

#include "tests/sim/scene.h"

enum { N = 4, MAX_STEPS = 9 };

/* A circle of 4: K/V alone take kv_ms a hop (8 kB in bf16), gradients in fp32 twice that. */
static void begin(struct scene *scene, enum ring_pass pass, double kv_ms, double latency_ms)
{
    uint32_t devices[N];

    scene_init(scene);
    scene->spec.n_ranks = N;
    scene->spec.pass = pass;
    scene->spec.problem = (struct ring_problem){.tokens = N * 2,
                                                .batch = 1,
                                                .heads = 1,
                                                .kv_heads = 1,
                                                .head_dim = 1000,
                                                .dtype = RING_BF16,
                                                .mask = RING_MASK_FULL};
    for (uint32_t i = 0; i < N; i++)
        devices[i] = topology_builder_device(&scene->cluster, "g%u", i);
    for (uint32_t i = 0; i < N; i++)
        topology_builder_link(&scene->cluster, devices[i], devices[(i + 1) % N], 8000 / (kv_ms * 1e-3),
                              latency_ms * 1e-3);
}

static void expect_steps_ms(struct scene *scene, const double (*ends_ms)[N])
{
    static struct ring_parts parts[N * MAX_STEPS];
    struct ring_trace rows;
    struct ring_error error = {""};
    double ends_s[N];

    scene_build(scene);
    scene_play_traced(scene, ends_s, &rows);
    if (ring_parts_from_trace(&rows, N, scene->plan.n_steps, 0, parts, &error) != RING_OK)
        fail_msg("%s", error.text);
    for (uint32_t rank = 0; rank < N; rank++) {
        for (uint32_t step = 0; step < scene->plan.n_steps; step++) {
            double end_ms = 1e3 * parts[rank * scene->plan.n_steps + step].end_s;
            if (!(fabs(end_ms - ends_ms[step][rank]) <= 1e-9 * ends_ms[step][rank]))
                fail_msg("rank %u, step %u: ends at %.15g ms, expected %g", rank, step, end_ms,
                         ends_ms[step][rank]);
        }
        assert_true(fabs(1e3 * ends_s[rank] - ends_ms[scene->plan.n_steps - 1][rank]) <= 1e-8);
    }
    ring_trace_fini(&rows);
    scene_fini(scene);
}

static void a_compute_bound_ring_of_4_shows_the_way_home_alone(void **state)
{
    const double ends_ms[][N] = {
        {4, 4, 4, 4}, {8, 8, 8, 8}, {12, 12, 12, 12}, {16, 16, 16, 16}, {18.1, 18.1, 18.1, 18.1}};
    struct scene scene;

    (void)state;
    begin(&scene, RING_PASS_BACKWARD, 1, 0.1);
    scene.compute = (struct model_compute){.block_s = 1.6e-3};
    expect_steps_ms(&scene, ends_ms);
}

static void a_network_bound_ring_of_4_moves_3_blocks_and_4_gradients(void **state)
{
    const double ends_ms[][N] = {{2.5, 2.5, 2.5, 2.5},
                                 {9, 9, 9, 9},
                                 {15.5, 15.5, 15.5, 15.5},
                                 {20, 20, 20, 20},
                                 {24.5, 24.5, 24.5, 24.5}};
    struct scene scene;

    (void)state;
    begin(&scene, RING_PASS_BACKWARD, 2, 0.5);
    scene.compute = (struct model_compute){.block_s = 3e-3, .backward_block_s = 1e-3};
    expect_steps_ms(&scene, ends_ms);
}

/* Devices whose backward blocks take 2.5 times block_ms, on memory of that bandwidth (0: costs nothing). */
struct machine {
    double rate;
    struct model_curve curves[2];
    struct model_device device;
};

static void make_machine(struct machine *machine, double block_ms, double memory_bytes_per_s)
{
    static const double one_token[] = {1};

    machine->rate = 4.0 * 1000 * 2 * 2 / (block_ms * 1e-3);
    for (int backward = 0; backward < 2; backward++)
        machine->curves[backward] =
            (struct model_curve){.pass = backward ? RING_PASS_BACKWARD : RING_PASS_FORWARD,
                                 .dtype = RING_BF16,
                                 .head_dim = 1000,
                                 .square = true,
                                 .n_q = 1,
                                 .q_tokens = one_token,
                                 .rates_flop_per_s = &machine->rate};
    machine->device = (struct model_device){.name = "test device",
                                            .memory_bytes_per_s = memory_bytes_per_s,
                                            .curves = machine->curves,
                                            .n_curves = 2};
}

static void one_slow_rank_of_4_meets_two_messages_a_hop(void **state)
{
    const double ends_ms[][N] = {
        {2, 2, 4, 2}, {5, 7, 8, 7}, {10, 11, 12, 11}, {13, 14, 16, 14}, {16, 18, 18, 18}};
    struct machine fast, slow;
    struct scene scene;

    (void)state;
    begin(&scene, RING_PASS_BACKWARD, 1, 0);
    make_machine(&fast, 0.8, 0);
    make_machine(&slow, 1.6, 0);
    for (uint32_t i = 0; i < N; i++)
        scene.cluster.topology.vertices[i].device = i == 2 ? &slow.device : &fast.device;
    scene.compute = (struct model_compute){.block_s = 0};
    expect_steps_ms(&scene, ends_ms);
}

static void preparing_and_adding_take_what_memory_takes(void **state)
{
    const double ends_ms[][N] = {{4.2752, 4.2752, 4.2752, 4.2752},
                                 {8.5752, 8.5752, 8.5752, 8.5752},
                                 {12.8752, 12.8752, 12.8752, 12.8752},
                                 {17.1752, 17.1752, 17.1752, 17.1752},
                                 {19.2752, 19.2752, 19.2752, 19.2752}};
    struct machine machine;
    struct scene scene;

    (void)state;
    begin(&scene, RING_PASS_BACKWARD, 1, 0.1);
    make_machine(&machine, 1.6, 160e6);
    for (uint32_t i = 0; i < N; i++)
        scene.cluster.topology.vertices[i].device = &machine.device;
    scene.compute = (struct model_compute){.block_s = 0};
    expect_steps_ms(&scene, ends_ms);
}

static void both_passes_follow_each_other(void **state)
{
    const double ends_ms[][N] = {
        {1.6, 1.6, 1.6, 1.6},     {3.2, 3.2, 3.2, 3.2},     {4.8, 4.8, 4.8, 4.8},
        {6.4, 6.4, 6.4, 6.4},     {10.4, 10.4, 10.4, 10.4}, {14.4, 14.4, 14.4, 14.4},
        {18.4, 18.4, 18.4, 18.4}, {22.4, 22.4, 22.4, 22.4}, {24.5, 24.5, 24.5, 24.5}};
    struct scene scene;

    (void)state;
    begin(&scene, RING_PASS_BOTH, 1, 0.1);
    scene.compute = (struct model_compute){.block_s = 1.6e-3};
    expect_steps_ms(&scene, ends_ms);
}

static void lazy_messages_come_one_after_the_other(void **state)
{
    const double ends_ms[][N] = {{5.1, 5.1, 5.1, 5.1},
                                 {12.3, 12.3, 12.3, 12.3},
                                 {19.5, 19.5, 19.5, 19.5},
                                 {25.6, 25.6, 25.6, 25.6},
                                 {27.7, 27.7, 27.7, 27.7}};
    struct scene scene;

    (void)state;
    begin(&scene, RING_PASS_BACKWARD, 1, 0.1);
    scene.progress = MODEL_PROGRESS_NONE;
    scene.compute = (struct model_compute){.block_s = 1.6e-3};
    expect_steps_ms(&scene, ends_ms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_compute_bound_ring_of_4_shows_the_way_home_alone),
        cmocka_unit_test(a_network_bound_ring_of_4_moves_3_blocks_and_4_gradients),
        cmocka_unit_test(one_slow_rank_of_4_meets_two_messages_a_hop),
        cmocka_unit_test(preparing_and_adding_take_what_memory_takes),
        cmocka_unit_test(both_passes_follow_each_other),
        cmocka_unit_test(lazy_messages_come_one_after_the_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
