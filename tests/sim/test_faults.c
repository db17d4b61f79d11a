/* SPDX-License-Identifier: MIT
 *
 * Faults in the simulated world: single flows against times worked out by hand, what dies and the line that
 * says so, and a hundred random rings with random faults against the recurrence. One part in 10^9. */
#include "tests/support/cmocka_all.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/recurrence.h"
#include "sim/child.h"
#include "sim/world.h"
#include "tests/sim/scene.h"

enum { N_RINGS = 100, MAX_RANKS = 12, MOST_FAULTS = 6 };

static void expect_s(const char *what, double actual_s, double expected_s)
{
    print_message("expect %s = %.6f ms, got %.9f ms\n", what, 1e3 * expected_s, 1e3 * actual_s);
    assert_true(fabs(actual_s - expected_s) <= 1e-9 * expected_s);
}

static struct model_fault thin(const uint32_t *link, double share, double from_s, double to_s)
{
    return (struct model_fault){.kind = MODEL_FAULT_BANDWIDTH,
                                .subject = "the link",
                                .links = link,
                                .n_links = 1,
                                .amount = share,
                                .from_s = from_s,
                                .to_s = to_s};
}

static void strike(struct scene *scene, const struct model_faults *faults)
{
    struct ring_error error = {""};

    if (model_faults_apply(&scene->ring, faults, &error) != RING_OK)
        fail_msg("%s", error.text);
}

/* --- flows over one link: pairs (a0, b0), (a1, b1) ... with a cable of 50 GB/s that all must cross ---- */

struct flows {
    struct scene scene;
    uint32_t middle;     /* the link */
    uint32_t n;          /* flows; ranks 0 .. n - 1 send, rank n + i receives from i */
    const double *bytes; /* [n] */

    double *ends_s; /* [2 n], shared with the child */
};

static void flows_init(struct flows *flows, uint32_t n)
{
    static const struct script_line lines[] = {{0, 0, 3, 0}, {0, 1, 4, 0}, {0, 2, 5, 0}};
    static const struct script_line alone[] = {{0, 0, 1, 0}};
    struct topology_builder *cluster = &flows->scene.cluster;

    scene_init(&flows->scene);
    flows->n = n;
    uint32_t left = topology_builder_switch(cluster, "left"),
             right = topology_builder_switch(cluster, "right");
    flows->middle = topology_builder_link(cluster, left, right, 50e9, 0);
    for (uint32_t i = 0; i < 2 * n; i++)
        topology_builder_cable(cluster, topology_builder_device(cluster, "%c%u", i < n ? 'a' : 'b', i % n),
                               i < n ? left : right, 1e15, 0);
    scene_set_block(&flows->scene, 2 * n, 8000000);
    scene_build_script(&flows->scene, n == 1 ? alone : lines, n);
    flows->ends_s = sim_shared_alloc(2 * n * sizeof *flows->ends_s);
    assert_non_null(flows->ends_s);
}

static void flows_fini(struct flows *flows)
{
    sim_shared_free(flows->ends_s, 2 * flows->n * sizeof *flows->ends_s);
    scene_fini(&flows->scene);
}

static enum ring_status flow_body(void *context, uint32_t rank, struct ring_transport *transport,
                                  struct ring_error *error)
{
    const struct flows *flows = context;
    bool sends = rank < flows->n;
    uint32_t i = rank % flows->n;
    struct ring_message message = {.peer = sends ? rank + flows->n : i};
    struct ring_buffer buffer = {.bytes = (uint64_t)flows->bytes[i]};
    struct ring_request request;

    enum ring_status status = sends ? transport->ops->post_send(transport, &message, buffer, &request)
                                    : transport->ops->post_recv(transport, &message, buffer, &request);
    if (status == RING_OK)
        status = transport->ops->wait(transport, &request);
    if (status != RING_OK)
        *error = transport->error;
    return status;
}

static enum ring_status flows_in_child(void *context, struct ring_error *error)
{
    struct flows *flows = context;
    struct sim_play play = {.ring = &flows->scene.ring, .body = flow_body, .context = flows};

    return sim_world_play(&play, flows->ends_s, error);
}

static void flows_play(struct flows *flows, const struct model_fault *items, size_t n)
{
    const struct model_faults faults = {.items = items, .n = n};
    struct ring_error error = {""};

    strike(&flows->scene, &faults);
    if (sim_in_child(flows_in_child, flows, &error) != RING_OK)
        fail_msg("%s", error.text);
}

/* 25 GB/s until 2 ms, 50 until 4, 5 until 6, then 50 again; 57.5, 70 and 102.5 MB from 0 on.
 *
 *   until 6 ms   50 + 100 + 10 MB have moved, a third of it for each flow: 53.333 MB
 *   the first    lacks 4.1667 MB, at 50/3 GB/s: 0.25 ms      6.25 ms, when each has 57.5
 *   the second   lacks 12.5 MB, at 50/2 GB/s: 0.50 ms        6.75 ms, when each has 70
 *   the third    lacks 32.5 MB, at 50 GB/s: 0.65 ms          7.40 ms */
static void three_flows_over_a_link_that_changes_end_at_6_25_and_6_75_and_7_40_ms(void **state)
{
    static const double bytes[] = {57.5e6, 70e6, 102.5e6};
    struct flows flows;

    (void)state;
    flows_init(&flows, 3);
    const struct model_fault items[] = {thin(&flows.middle, 0.5, 0, 2e-3),
                                        thin(&flows.middle, 0.1, 4e-3, 6e-3)};
    flows.bytes = bytes;
    flows_play(&flows, items, 2);
    for (uint32_t i = 0; i < 6; i += 3) {
        expect_s("the first", flows.ends_s[i], 6.25e-3);
        expect_s("the second", flows.ends_s[i + 1], 6.75e-3);
        expect_s("the third", flows.ends_s[i + 2], 7.40e-3);
    }
    flows_fini(&flows);
}

/* 10 % of 50 GB/s for 2 ms: 10 MB. The other 100 MB take 2 ms. */
static void a_flow_that_begins_on_a_thin_link_is_as_fast_as_the_link_later(void **state)
{
    static const double bytes[] = {110e6};
    struct flows flows;

    (void)state;
    flows_init(&flows, 1);
    const struct model_fault items[] = {thin(&flows.middle, 0.1, 0, 2e-3)};
    flows.bytes = bytes;
    flows_play(&flows, items, 1);
    expect_s("10 MB in 2 ms, then 100 MB in 2 ms", flows.ends_s[1], 4e-3);
    flows_fini(&flows);
}

/* Up for 1.5 ms (75 MB), down for 0.5 ms, and so on: 100 MB need 0.5 ms of the second time. */
static void a_flapping_link_moves_nothing_while_it_is_down(void **state)
{
    static const double bytes[] = {100e6};
    struct flows flows;

    (void)state;
    flows_init(&flows, 1);
    const struct model_fault flap = {.kind = MODEL_FAULT_FLAP,
                                     .links = &flows.middle,
                                     .n_links = 1,
                                     .period_s = 2e-3,
                                     .down_s = 0.5e-3,
                                     .to_s = INFINITY};
    flows.bytes = bytes;
    flows_play(&flows, &flap, 1);
    expect_s("1.5 ms, 0.5 ms of nothing, 0.5 ms", flows.ends_s[1], 2.5e-3);
    flows_fini(&flows);
}

/* 50 MB take 1 ms; what has moved from 0.5 to 2 ms arrives 20 us later. */
static void latency_is_added_to_what_moves_in_its_time(void **state)
{
    static const double bytes[] = {50e6};
    struct flows flows;

    (void)state;
    flows_init(&flows, 1);
    struct model_fault late = {.kind = MODEL_FAULT_LATENCY,
                               .links = &flows.middle,
                               .n_links = 1,
                               .amount = 20e-6,
                               .from_s = 0.5e-3,
                               .to_s = 2e-3};
    flows.bytes = bytes;
    flows_play(&flows, &late, 1);
    expect_s("1 ms + 20 us", flows.ends_s[1], 1.02e-3);
    expect_s("the sender's 1 ms", flows.ends_s[0], 1e-3);
    late.to_s = 0.9e-3;
    flows_play(&flows, &late, 1);
    expect_s("1 ms, for the fault is over", flows.ends_s[1], 1e-3);
    flows_fini(&flows);
}

/* --- rings ------------------------------------------------------------------------------------------- */

/* Eight on a star; hops of 1 ms, blocks of 1.5 ms. */
static void ring_of_eight(struct scene *scene)
{
    scene_init(scene);
    topology_builder_star(&scene->cluster, 8, 8e9, 0);
    scene_set_block(scene, 8, 8000000);
    scene->compute.block_s = 1.5e-3;
    scene_build(scene);
}

static void assert_no_progress(const struct scene *scene, const char *cause, const char *who)
{
    struct sim_spec spec = {.ring = &scene->ring};
    double ends_s[8];
    struct ring_parts totals[8];
    struct ring_error error = {""};

    assert_int_equal(sim_run(&spec, ends_s, NULL, &error), RING_DEADLOCK);
    print_message("%s\n", error.text);
    assert_non_null(strstr(error.text, cause));
    assert_non_null(strstr(error.text, who));
    struct ring_error second = {""};
    assert_int_equal(model_recurrence(&scene->ring, ends_s, totals, NULL, &second), RING_DEADLOCK);
    assert_string_equal(second.text, error.text); /* both worlds say the same */
}

/* g3's way out dies while the hop of step 2 (from 3 ms to 4 ms) moves. */
static void a_dead_link_ends_in_who_waits_for_whom_at_which_hop(void **state)
{
    struct scene scene;

    (void)state;
    ring_of_eight(&scene);
    uint32_t link = model_ring_hop(&scene.ring, 3, 4)->links[0];
    struct model_fault fault = {.kind = MODEL_FAULT_LINK_DIES,
                                .subject = "g3 -> switch",
                                .links = &link,
                                .n_links = 1,
                                .from_s = 3.5e-3,
                                .to_s = INFINITY};
    const struct model_faults faults = {.items = &fault, .n = 1};
    strike(&scene, &faults);
    assert_no_progress(&scene, "no progress (g3 -> switch dies at 0.0035 s)",
                       "rank 4 waits for block 1 from rank 3 at hop 2");
    fault = (struct model_fault){.kind = MODEL_FAULT_BANDWIDTH,
                                 .subject = "g3 -> switch",
                                 .links = &link,
                                 .n_links = 1,
                                 .to_s = INFINITY};
    strike(&scene, &faults);
    assert_no_progress(&scene, "no progress (g3 -> switch has no bandwidth from 0 s on)",
                       "rank 4 waits for block 3 from rank 3 at hop 0");
    scene_fini(&scene);
}

static void a_dead_device_ends_in_who_waits_for_it(void **state)
{
    struct scene scene;

    (void)state;
    ring_of_eight(&scene);
    const struct model_fault fault = {.kind = MODEL_FAULT_DEVICE_DIES,
                                      .subject = "g5",
                                      .device = 5,
                                      .from_s =
                                          4e-3, /* in the middle of its third block; the hop has moved */
                                      .to_s = INFINITY};
    const struct model_faults faults = {.items = &fault, .n = 1};
    strike(&scene, &faults);
    assert_no_progress(&scene, "no progress (g5 dies at 0.004 s)", "rank 5 waits for its computation");
    scene_fini(&scene);
}

static void what_dies_after_the_step_changes_nothing(void **state)
{
    struct scene scene;
    double healthy_s[8], ends_s[8];

    (void)state;
    ring_of_eight(&scene);
    scene_play(&scene, healthy_s);
    const struct model_fault fault = {
        .kind = MODEL_FAULT_DEVICE_DIES, .subject = "g5", .device = 5, .from_s = 12.1e-3, .to_s = INFINITY};
    const struct model_faults faults = {.items = &fault, .n = 1};
    strike(&scene, &faults);
    scene_play(&scene, ends_s);
    assert_memory_equal(ends_s, healthy_s, sizeof ends_s);
    scene_fini(&scene);
}

/* --- random faults ----------------------------------------------------------------------------------- */

/* Each change may be late by the simulator's precision, 1e-12 s, so there are tens of them here, not
 * thousands. */
static void roll_fault(struct model_fault *fault, const struct scene *scene, struct dice *dice, double step_s)
{
    static const enum model_fault_kind kinds[] = {MODEL_FAULT_SLOW, MODEL_FAULT_JITTER, MODEL_FAULT_BANDWIDTH,
                                                  MODEL_FAULT_LATENCY, MODEL_FAULT_FLAP};
    uint32_t rank = (uint32_t)dice_below(dice, scene->plan.n_ranks);
    const struct model_hop *hop = &scene->ring.hops[rank];
    double period_s = dice_between(dice, step_s / 20, step_s);

    *fault = (struct model_fault){
        .kind = kinds[dice_below(dice, 5)],
        .device = rank,
        .links = hop->links + dice_below(dice, hop->n_links),
        .n_links = 1,
        .period_s = period_s,
        .down_s = period_s * dice_between(dice, 0.1, 0.8),
        .from_s = dice_below(dice, 3) ? dice_between(dice, step_s / 10, step_s) : 0,
        .to_s = INFINITY,
    };
    if (dice_below(dice, 3))
        fault->to_s = fault->from_s + dice_between(dice, step_s / 10, step_s);
    /* a block and a gradient on a hop that changes are beyond the recurrence */
    if (scene->plan.pass != RING_PASS_FORWARD && !model_fault_of_device(fault)) {
        fault->kind = fault->kind == MODEL_FAULT_FLAP ? MODEL_FAULT_BANDWIDTH : fault->kind;
        fault->from_s = 0;
        fault->to_s = INFINITY;
    }
    fault->amount = fault->kind == MODEL_FAULT_SLOW        ? dice_between(dice, 1, 4)
                    : fault->kind == MODEL_FAULT_BANDWIDTH ? dice_between(dice, 0.01, 0.99)
                    : fault->kind == MODEL_FAULT_LATENCY   ? dice_between(dice, 1e-6, step_s / 20)
                                                           : dice_between(dice, 0.01, 0.3);
}

static void random_faults_are_the_same_in_the_recurrence(void **state)
{
    struct dice dice = {4711};
    double worst = 0;

    (void)state;
    for (uint32_t number = 0; number < N_RINGS; number++) {
        struct scene scene;
        struct model_fault items[MOST_FAULTS];
        struct model_faults faults = {
            .items = items, .n = 1 + dice_below(&dice, MOST_FAULTS), .seed = number};
        double ends_s[MAX_RANKS], expected_s[MAX_RANKS];
        struct ring_parts totals[MAX_RANKS];
        struct ring_error error = {""};

        scene_init(&scene);
        uint32_t n_ranks = (uint32_t)(2 + dice_below(&dice, MAX_RANKS - 1));
        topology_builder_star(&scene.cluster, n_ranks, dice_between(&dice, 1e9, 1e11),
                              dice_between(&dice, 1e-7, 1e-4));
        scene_set_block(&scene, n_ranks, 8000000);
        scene.compute.block_s = dice_between(&dice, 1e-4, 1e-2);
        scene.progress = dice_below(&dice, 4) == 0 ? MODEL_PROGRESS_NONE : MODEL_PROGRESS_POLL;
        scene.spec.pass = dice_below(&dice, 3) ? RING_PASS_FORWARD : (enum ring_pass)dice_below(&dice, 3);
        scene_build(&scene);
        if (model_recurrence(&scene.ring, expected_s, totals, NULL, &error) != RING_OK)
            fail_msg("ring %u: %s", number, error.text);
        for (size_t i = 0; i < faults.n; i++)
            roll_fault(&items[i], &scene, &dice, expected_s[0]);
        strike(&scene, &faults);
        if (model_recurrence(&scene.ring, expected_s, totals, NULL, &error) != RING_OK)
            fail_msg("ring %u: %s", number, error.text);
        scene_play(&scene, ends_s);
        for (uint32_t rank = 0; rank < n_ranks; rank++) {
            double off = fabs(ends_s[rank] / expected_s[rank] - 1);
            worst = fmax(worst, off);
            if (off > 1e-9)
                fail_msg("ring %u, rank %u: %.15g s, by the recurrence %.15g s", number, rank, ends_s[rank],
                         expected_s[rank]);
        }
        scene_fini(&scene);
    }
    print_message("%d rings with faults, worst difference %.1e\n", N_RINGS, worst);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_flows_over_a_link_that_changes_end_at_6_25_and_6_75_and_7_40_ms),
        cmocka_unit_test(a_flow_that_begins_on_a_thin_link_is_as_fast_as_the_link_later),
        cmocka_unit_test(a_flapping_link_moves_nothing_while_it_is_down),
        cmocka_unit_test(latency_is_added_to_what_moves_in_its_time),
        cmocka_unit_test(a_dead_link_ends_in_who_waits_for_whom_at_which_hop),
        cmocka_unit_test(a_dead_device_ends_in_who_waits_for_it),
        cmocka_unit_test(what_dies_after_the_step_changes_nothing),
        cmocka_unit_test(random_faults_are_the_same_in_the_recurrence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
