/* SPDX-License-Identifier: MIT
 *
 * The simulated world against two others that know nothing of SimGrid: the recurrence where nothing is
 * shared, and an event list with its own max-min solver (fair.c) where everything is. A hundred random rings
 * each, one part in 10^9. */
#include "tests/support/cmocka_all.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "models/recurrence.h"
#include "tests/sim/fair.h"
#include "tests/sim/scene.h"

enum { N_RINGS = 100, MAX_RANKS = 13, MAX_STEPS = 2 * MAX_RANKS + 1 };

/* Sizes, layout, mask, buffers, progress and block time; hops of 0.02 to 100 ms at 1 to 100 GB/s. */
static void roll_problem(struct scene *scene, struct dice *dice)
{
    struct ring_problem *problem = &scene->spec.problem;

    scene->spec.n_ranks = (uint32_t)(2 + dice_below(dice, MAX_RANKS - 1));
    scene->spec.n_buffers = (uint32_t)(2 + dice_below(dice, 3));
    scene->spec.layout = (enum ring_layout_kind)dice_below(dice, RING_N_LAYOUTS);
    problem->mask = (enum ring_mask)dice_below(dice, RING_N_MASKS);
    problem->tokens = 2 * scene->spec.n_ranks + dice_below(dice, 100000);
    problem->kv_heads = 8;
    problem->heads = 32;
    problem->head_dim = 64;
    problem->dtype = dice_below(dice, 2) ? RING_BF16 : RING_FP32;
    scene->progress = dice_below(dice, 4) == 0 ? MODEL_PROGRESS_NONE : MODEL_PROGRESS_POLL;
    scene->compute.block_s = dice_between(dice, 1e-5, 1e-2);
    scene->compute.core_free = dice_below(dice, 2);
}

/* And backward: gradients of either type, in one pass or after the forward one, with blocks sent again or
 * kept; priced by a device where adding and preparing take time, or fixed. */
static void roll_backward(struct scene *scene, struct dice *dice)
{
    struct ring_plan_spec *spec = &scene->spec;

    spec->pass = dice_below(dice, 2) ? RING_PASS_BACKWARD : RING_PASS_BOTH;
    spec->keep_kv = spec->pass == RING_PASS_BOTH && dice_below(dice, 3) == 0;
    spec->gradient_dtype = dice_below(dice, 2) ? RING_FP32 : spec->problem.dtype;
    scene->compute.backward_block_s = dice_below(dice, 2) ? 0 : dice_between(dice, 1e-5, 1e-2);
    if (dice_below(dice, 3) > 0) {
        static const double tokens[] = {1};
        static double rates[2];
        static struct model_curve curves[2];
        rates[0] = dice_between(dice, 1e13, 1e15);
        rates[1] = dice_between(dice, 1e13, 1e15);
        for (int backward = 0; backward < 2; backward++)
            curves[backward] = (struct model_curve){.pass = backward ? RING_PASS_BACKWARD : RING_PASS_FORWARD,
                                                    .dtype = spec->problem.dtype,
                                                    .head_dim = 64,
                                                    .square = true,
                                                    .n_q = 1,
                                                    .q_tokens = tokens,
                                                    .rates_flop_per_s = &rates[backward]};
        scene->cluster.device = (struct model_device){.name = "rolled",
                                                      .memory_bytes_per_s = dice_between(dice, 1e11, 3e12),
                                                      .step_s = 1e-6,
                                                      .merge_bytes_per_element = 10,
                                                      .curves = curves,
                                                      .n_curves = 2};
        scene->compute = (struct model_compute){.block_s = 0};
    }
}

/* The way in and the way out of each device differ; some are copied by the receiver. */
static void roll_star(struct scene *scene, struct dice *dice)
{
    uint32_t middle = topology_builder_switch(&scene->cluster, "switch");

    for (uint32_t i = 0; i < scene->spec.n_ranks; i++) {
        uint32_t device = topology_builder_device(&scene->cluster, "g%u", i);
        uint32_t out = topology_builder_link(&scene->cluster, device, middle, dice_between(dice, 1e9, 1e11),
                                             dice_between(dice, 1e-7, 1e-3));
        topology_builder_link(&scene->cluster, middle, device, dice_between(dice, 1e9, 1e11),
                              dice_below(dice, 2) ? 0 : dice_between(dice, 1e-7, 1e-3));
        if (dice_below(dice, 4) == 0)
            scene->cluster.topology.links[out].mover = MODEL_MOVED_BY_RECEIVER;
    }
}

/* A chain of up to four switches, each with some devices; fewer devices than ranks now and then; ranks
 * anywhere. */
static void roll_chain(struct scene *scene, struct dice *dice)
{
    uint32_t n_switches = (uint32_t)(1 + dice_below(dice, 4)), switches[4];
    uint32_t n_ranks = scene->spec.n_ranks;
    uint32_t n_devices = dice_below(dice, 3) ? n_ranks : (uint32_t)(1 + dice_below(dice, n_ranks));

    for (uint32_t i = 0; i < n_switches; i++) {
        switches[i] = topology_builder_switch(&scene->cluster, "s%u", i);
        if (i > 0)
            topology_builder_cable(&scene->cluster, switches[i - 1], switches[i],
                                   dice_between(dice, 1e9, 3e10), dice_between(dice, 1e-7, 1e-4));
    }
    for (uint32_t i = 0; i < n_devices; i++)
        topology_builder_cable(&scene->cluster, topology_builder_device(&scene->cluster, "g%u", i),
                               switches[dice_below(dice, n_switches)], dice_between(dice, 1e10, 1e11),
                               dice_below(dice, 2) ? 0 : 1e-6);
    for (uint32_t rank = 0; rank < n_ranks; rank++)
        scene->placement[rank] = rank % n_devices;
    for (uint32_t rank = n_ranks - 1; rank > 0; rank--) {
        uint32_t other = (uint32_t)dice_below(dice, rank + 1), device = scene->placement[rank];
        scene->placement[rank] = scene->placement[other];
        scene->placement[other] = device;
    }
}

static double compare(uint32_t number, const struct scene *scene, const double *ends_s,
                      const double *expected_s)
{
    double worst = 0;

    for (uint32_t rank = 0; rank < scene->plan.n_ranks; rank++) {
        double error = fabs(ends_s[rank] - expected_s[rank]) / expected_s[rank];
        worst = fmax(worst, error);
        if (!(error <= 1e-9))
            fail_msg("ring %u, rank %u of %u: simgrid says %.15g, the other %.15g", number, rank,
                     scene->plan.n_ranks, ends_s[rank], expected_s[rank]);
    }
    return worst;
}

/* Step by step and part by part: the recurrence against the rows that the simulated world left. */
static void compare_parts(uint32_t number, const struct scene *scene, const struct ring_trace *rows,
                          const struct ring_parts *expected)
{
    static struct ring_parts parts[MAX_RANKS * MAX_STEPS];
    uint32_t n_ranks = scene->plan.n_ranks, n_steps = scene->plan.n_steps;
    struct ring_error error = {""};

    if (ring_parts_from_trace(rows, n_ranks, n_steps, 0, parts, &error) != RING_OK)
        fail_msg("ring %u: %s", number, error.text);
    for (uint32_t i = 0; i < n_ranks * n_steps; i++) {
        const struct ring_parts *a = &parts[i], *b = &expected[i];
        double worst = fmax(fabs(a->compute_s - b->compute_s), fabs(a->transfer_s - b->transfer_s));
        worst = fmax(worst, fmax(fabs(a->wait_s - b->wait_s), fabs(a->end_s - b->end_s)));
        if (!(worst <= 1e-9 * b->end_s))
            fail_msg("ring %u, rank %u, step %u: compute %g transfer %g wait %g end %g, the recurrence says "
                     "%g %g %g %g",
                     number, i / n_steps, i % n_steps, a->compute_s, a->transfer_s, a->wait_s, a->end_s,
                     b->compute_s, b->transfer_s, b->wait_s, b->end_s);
    }
}

/* A message between two ranks, from when it could move to when it was there. */
struct trip {
    uint32_t from, to;
    double begin_s, end_s;
};

static int by_hop(const void *left, const void *right)
{
    const struct trip *a = left, *b = right;
    uint32_t hop_a = a->from * MAX_RANKS + a->to, hop_b = b->from * MAX_RANKS + b->to;

    if (hop_a != hop_b)
        return hop_a < hop_b ? -1 : 1;
    return (a->begin_s > b->begin_s) - (a->begin_s < b->begin_s);
}

/* How long something moved, hop by hop, by the rows: no moment counts twice. */
static double moving_of(const struct ring_trace *rows)
{
    struct trip *trips = calloc(rows->n_rows + 1, sizeof *trips);
    size_t n = 0;
    double moving_s = 0, until_s = 0;

    assert_non_null(trips);
    for (size_t i = 0; i < rows->n_rows; i++) {
        const struct ring_trace_row *receive = &rows->rows[i];
        for (size_t j = 0; receive->kind == RING_TRACE_RECV && j < rows->n_rows; j++) {
            const struct ring_trace_row *send = &rows->rows[j];
            if (send->kind == RING_TRACE_SEND && send->rank == receive->peer && send->peer == receive->rank &&
                send->step == receive->step && send->block == receive->block &&
                send->payload == receive->payload)
                trips[n++] = (struct trip){send->rank, receive->rank,
                                           fmax(fmax(send->post_s, receive->post_s), receive->begun_s),
                                           receive->ended_s};
        }
    }
    qsort(trips, n, sizeof *trips, by_hop);
    for (size_t i = 0; i < n; i++) {
        bool same = i > 0 && trips[i].from == trips[i - 1].from && trips[i].to == trips[i - 1].to;
        double from_s = same ? fmax(until_s, trips[i].begin_s) : trips[i].begin_s;
        moving_s += fmax(trips[i].end_s - from_s, 0);
        until_s = same ? fmax(until_s, trips[i].end_s) : trips[i].end_s;
    }
    free(trips);
    return moving_s;
}

/* A hundred rings, each on a star of its own. */
static void compare_with_the_recurrence(uint64_t seed, bool backward)
{
    struct dice dice = {seed};
    double worst = 0;

    for (uint32_t i = 0; i < N_RINGS; i++) {
        struct scene scene;
        double ends_s[MAX_RANKS], expected_s[MAX_RANKS], moving_s;
        static struct ring_parts totals[MAX_RANKS], steps[MAX_RANKS * MAX_STEPS];
        struct ring_trace rows;
        struct ring_error error = {""};
        scene_init(&scene);
        roll_problem(&scene, &dice);
        if (backward)
            roll_backward(&scene, &dice);
        roll_star(&scene, &dice);
        scene_build(&scene);
        if (model_recurrence_moving(&scene.ring, expected_s, totals, steps, &moving_s, &error) != RING_OK)
            fail_msg("ring %u: %s", i, error.text);
        scene_play_traced(&scene, ends_s, &rows);
        worst = fmax(worst, compare(i, &scene, ends_s, expected_s));
        compare_parts(i, &scene, &rows, steps);
        if (!(fabs(moving_of(&rows) - moving_s) <= 1e-9 * moving_s))
            fail_msg("ring %u: messages move for %.12g s, the recurrence says %.12g", i, moving_of(&rows),
                     moving_s);
        ring_trace_fini(&rows);
        scene_fini(&scene);
    }
    print_message("worst relative difference %.2g\n", worst);
}

static void uncontended_rings_take_what_the_recurrence_says(void **state)
{
    (void)state;
    compare_with_the_recurrence(20240607, false);
}

static void uncontended_backward_rings_take_what_the_recurrence_says(void **state)
{
    (void)state;
    compare_with_the_recurrence(16180339, true);
}

static void contended_rings_take_what_max_min_fairness_says(void **state)
{
    struct dice dice = {31415926};
    double worst = 0;
    uint32_t n_shared = 0;

    (void)state;
    for (uint32_t i = 0; n_shared < N_RINGS; i++) {
        struct scene scene;
        double ends_s[MAX_RANKS], expected_s[MAX_RANKS];
        scene_init(&scene);
        roll_problem(&scene, &dice);
        if (i % 2)
            roll_backward(&scene, &dice);
        roll_chain(&scene, &dice);
        scene_build(&scene);
        n_shared += scene.ring.shared;
        fair_play(&scene.ring, expected_s);
        scene_play(&scene, ends_s);
        worst = fmax(worst, compare(i, &scene, ends_s, expected_s));
        scene_fini(&scene);
    }
    print_message("worst relative difference %.2g\n", worst);
}

/* Anyone to anyone, many messages at once, over several steps: no ring at all. */
static void scripts_of_many_messages_take_what_max_min_fairness_says(void **state)
{
    struct dice dice = {27182818};
    double worst = 0;

    (void)state;
    for (uint32_t i = 0; i < N_RINGS / 4; i++) {
        struct scene scene;
        struct script_line lines[48];
        double ends_s[MAX_RANKS], expected_s[MAX_RANKS];
        scene_init(&scene);
        roll_problem(&scene, &dice);
        roll_chain(&scene, &dice);
        for (uint32_t j = 0; j < 48; j++) {
            uint32_t step = j / 12, n = scene.spec.n_ranks;
            lines[j] = (struct script_line){step, (uint32_t)dice_below(&dice, n),
                                            (uint32_t)dice_below(&dice, n), step};
        }
        scene_build_script(&scene, lines, 48);
        fair_play(&scene.ring, expected_s);
        scene_play(&scene, ends_s);
        for (uint32_t rank = 0; rank < scene.spec.n_ranks; rank++) /* no time at all has no relative error */
            if (expected_s[rank] == 0 && ends_s[rank] == 0)
                expected_s[rank] = ends_s[rank] = 1;
        worst = fmax(worst, compare(i, &scene, ends_s, expected_s));
        scene_fini(&scene);
    }
    print_message("worst relative difference %.2g\n", worst);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uncontended_rings_take_what_the_recurrence_says),
        cmocka_unit_test(uncontended_backward_rings_take_what_the_recurrence_says),
        cmocka_unit_test(contended_rings_take_what_max_min_fairness_says),
        cmocka_unit_test(scripts_of_many_messages_take_what_max_min_fairness_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
