/* SPDX-License-Identifier: MIT
 *
 * Single messages on small networks, against times worked out by hand: latency + bytes / bandwidth, and the
 * fair share where flows meet on a link. All expectations hold to one part in 10^9. */
#include "tests/support/cmocka_all.h"

#include <math.h>
#include <stdio.h>

#include "tests/sim/scene.h"

static void expect_s(const char *what, double actual_s, double expected_s)
{
    print_message("expect %s = %.6f ms, got %.9f ms\n", what, 1e3 * expected_s, 1e3 * actual_s);
    assert_true(fabs(actual_s - expected_s) <= 1e-9 * expected_s);
}

/* One message over one cable of two devices. */
static double one_message_s(uint64_t bytes, double bytes_per_s, double latency_s)
{
    static const struct script_line lines[] = {{0, 0, 1, 0}};
    struct scene scene;
    double ends_s[2];

    scene_init(&scene);
    uint32_t a = topology_builder_device(&scene.cluster, "a"),
             b = topology_builder_device(&scene.cluster, "b");
    topology_builder_cable(&scene.cluster, a, b, bytes_per_s, latency_s);
    scene_set_block(&scene, 2, bytes);
    scene_build_script(&scene, lines, 1);
    scene_play(&scene, ends_s);
    scene_fini(&scene);
    expect_s("the sender's wait, without the latency", ends_s[0], (double)bytes / bytes_per_s);
    return ends_s[1];
}

static void one_flow_takes_latency_plus_bytes_over_bandwidth(void **state)
{
    (void)state;
    expect_s("1 us + 64 MB / 25 GB/s", one_message_s(64000000, 25e9, 1e-6), 2.561e-3);
}

static void a_fast_long_link_has_no_hidden_window(void **state)
{
    static const double latencies_s[] = {50e-6, 100e-6, 1e-3};

    (void)state;
    for (size_t i = 0; i < 3; i++)
        expect_s("1 GB / 50 GB/s + latency", one_message_s(1000000000, 50e9, latencies_s[i]),
                 20e-3 + latencies_s[i]);
}

static void opposite_directions_of_a_cable_do_not_meet(void **state)
{
    static const struct script_line lines[] = {{0, 0, 1, 0}, {0, 1, 0, 0}};
    struct scene scene;
    double ends_s[2];

    (void)state;
    scene_init(&scene);
    uint32_t a = topology_builder_device(&scene.cluster, "a"),
             b = topology_builder_device(&scene.cluster, "b");
    topology_builder_cable(&scene.cluster, a, b, 25e9, 1e-6);
    scene_set_block(&scene, 2, 64000000);
    scene_build_script(&scene, lines, 2);
    scene_play(&scene, ends_s);
    scene_fini(&scene);
    expect_s("1 us + 64 MB / 25 GB/s, both ways at once", ends_s[0], 2.561e-3);
    expect_s("the same at the other end", ends_s[1], 2.561e-3);
}

/* a and b both send to c, whose way in they share. */
static void two_flows_halve_the_link_they_share(void **state)
{
    static const struct script_line lines[] = {{0, 0, 2, 0}, {0, 1, 2, 0}};
    struct scene scene;
    double ends_s[3];

    (void)state;
    scene_init(&scene);
    topology_builder_star(&scene.cluster, 3, 25e9, 1e-6);
    scene_set_block(&scene, 3, 64000000);
    scene_build_script(&scene, lines, 2);
    scene_play(&scene, ends_s);
    scene_fini(&scene);
    expect_s("2 x 64 MB / 25 GB/s at the senders", ends_s[0], 5.12e-3);
    expect_s("1 us + 2 x 64 MB / 25 GB/s", ends_s[2], 5.121e-3);
}

/* The second message begins when the first is half way: 0 sends to 2 at once, 1 sends to 2 only after it has
 * heard from 3, 32 MB worth of time at full rate later. Link into 2: 25 GB/s. 0..1.28 ms alone: 32 MB of the
 * first; then both at 12.5 GB/s until the first has moved its other 32 MB at 1.28 + 2.56 = 3.84 ms; the
 * second has 32 MB left, alone: 1.28 ms more, 5.12 ms. */
static void a_flow_that_comes_later_takes_its_share_from_then_on(void **state)
{
    static const struct script_line lines[] = {{0, 0, 2, 0}, {0, 3, 1, 0}, {1, 1, 2, 0}};
    struct scene scene;
    double ends_s[4];

    (void)state;
    scene_init(&scene);
    uint32_t middle = topology_builder_switch(&scene.cluster, "switch");
    for (uint32_t i = 0; i < 4; i++) /* the way from 3 to 1 is twice as fast: 64 MB in 1.28 ms */
        topology_builder_cable(&scene.cluster, topology_builder_device(&scene.cluster, "g%u", i), middle,
                               i == 3 || i == 1 ? 50e9 : 25e9, 0);
    scene_set_block(&scene, 4, 64000000);
    scene_build_script(&scene, lines, 3);
    scene_play(&scene, ends_s);
    scene_fini(&scene);
    expect_s("the first: 1.28 + 2.56 ms", ends_s[0], 3.84e-3);
    expect_s("the late one: 1.28 + 2.56 + 1.28 ms", ends_s[1], 5.12e-3);
}

/* A chain a - b - c - d of 25, 10 and 25 GB/s: the slowest link decides, latencies add up. */
static void three_links_cost_the_slowest_and_all_latencies(void **state)
{
    static const struct script_line lines[] = {{0, 0, 1, 0}};
    struct scene scene;
    double ends_s[2];

    (void)state;
    scene_init(&scene);
    uint32_t a = topology_builder_device(&scene.cluster, "a"),
             d = topology_builder_device(&scene.cluster, "d");
    uint32_t b = topology_builder_switch(&scene.cluster, "b"),
             c = topology_builder_switch(&scene.cluster, "c");
    topology_builder_cable(&scene.cluster, a, b, 25e9, 1e-6);
    topology_builder_cable(&scene.cluster, b, c, 10e9, 2e-6);
    topology_builder_cable(&scene.cluster, c, d, 25e9, 3e-6);
    scene_set_block(&scene, 2, 64000000);
    scene_build_script(&scene, lines, 1);
    scene_play(&scene, ends_s);
    scene_fini(&scene);
    expect_s("1 + 2 + 3 us + 64 MB / 10 GB/s", ends_s[1], 6.406e-3);
}

/* The classical figure of max-min fairness: one flow over both links of a chain, one on each link alone.
 * Links of 10 and 30 GB/s: the long flow and the first share 5 + 5, the second gets the 25 that are left. 50
 * MB each: the second ends at 2 ms, the other two at 10 ms. */
static void what_one_link_denies_a_flow_another_flow_gets(void **state)
{
    static const struct script_line lines[] = {{0, 0, 3, 0}, {0, 1, 4, 0}, {0, 2, 5, 0}};
    struct scene scene;
    double ends_s[6];
    uint32_t g[6], s[3];

    (void)state;
    scene_init(&scene);
    for (uint32_t i = 0; i < 6; i++)
        g[i] = topology_builder_device(&scene.cluster, "g%u", i);
    for (uint32_t i = 0; i < 3; i++)
        s[i] = topology_builder_switch(&scene.cluster, "s%u", i);
    topology_builder_cable(&scene.cluster, s[0], s[1], 10e9, 0);
    topology_builder_cable(&scene.cluster, s[1], s[2], 30e9, 0);
    static const uint32_t at[6] = {0, 0, 1,
                                   2, 1, 2}; /* 0 -> 3 over both, 1 -> 4 the first, 2 -> 5 the second */
    for (uint32_t i = 0; i < 6; i++)
        topology_builder_cable(&scene.cluster, g[i], s[at[i]], 1e12, 0);
    scene_set_block(&scene, 6, 50000000);
    scene_build_script(&scene, lines, 3);
    scene_play(&scene, ends_s);
    scene_fini(&scene);
    expect_s("50 MB / 25 GB/s", ends_s[2], 2e-3);
    expect_s("50 MB / 5 GB/s", ends_s[0], 10e-3);
    expect_s("50 MB / 5 GB/s for the other", ends_s[1], 10e-3);
}

/* The receiver comes 2 ms late, for it has sent something else before: the bytes begin then, not before. */
static void a_message_waits_for_its_receiver(void **state)
{
    static const struct script_line lines[] = {{0, 1, 2, 0}, {0, 0, 2, 0}, {1, 0, 1, 1}};
    struct scene scene;
    double ends_s[3];

    (void)state;
    scene_init(&scene);
    uint32_t g0 = topology_builder_device(&scene.cluster, "g0"),
             g1 = topology_builder_device(&scene.cluster, "g1");
    uint32_t g2 = topology_builder_device(&scene.cluster, "g2");
    topology_builder_cable(&scene.cluster, g0, g1, 10e9, 1e-6);
    topology_builder_cable(&scene.cluster, g1, g2, 5e9, 0);
    topology_builder_cable(&scene.cluster, g0, g2, 50e9, 0);
    scene_set_block(&scene, 3, 10000000);
    scene_build_script(&scene, lines, 3);
    scene_play(&scene, ends_s);
    scene_fini(&scene);
    expect_s("0 is free at 10 MB / 50 GB/s, 1 at 10 MB / 5 GB/s = 2 ms; then 1 us + 10 MB / 10 GB/s",
             ends_s[1], 3.001e-3);
}

static void two_ranks_on_one_device_need_no_link(void **state)
{
    static const struct script_line lines[] = {{0, 0, 1, 0}, {0, 1, 1, 0}};
    struct scene scene;
    double ends_s[2] = {1, 1};

    (void)state;
    scene_init(&scene);
    topology_builder_device(&scene.cluster, "only");
    scene.placement[1] = 0;
    scene_set_block(&scene, 2, 64000000);
    scene_build_script(&scene, lines, 2);
    scene_play(&scene, ends_s);
    scene_fini(&scene);
    assert_true(ends_s[0] == 0 && ends_s[1] == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_flow_takes_latency_plus_bytes_over_bandwidth),
        cmocka_unit_test(a_fast_long_link_has_no_hidden_window),
        cmocka_unit_test(opposite_directions_of_a_cable_do_not_meet),
        cmocka_unit_test(two_flows_halve_the_link_they_share),
        cmocka_unit_test(a_flow_that_comes_later_takes_its_share_from_then_on),
        cmocka_unit_test(three_links_cost_the_slowest_and_all_latencies),
        cmocka_unit_test(what_one_link_denies_a_flow_another_flow_gets),
        cmocka_unit_test(a_message_waits_for_its_receiver),
        cmocka_unit_test(two_ranks_on_one_device_need_no_link),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
