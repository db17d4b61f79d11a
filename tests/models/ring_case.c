/* SPDX-License-Identifier: MIT
 *
 * See ring_case.h. */
#include "tests/models/ring_case.h"

#include <math.h>
#include <string.h>

#include "models/play.h"

static const double one_token[] = {1};

void ring_case_init(struct ring_case *that)
{
    *that = (struct ring_case){
        .spec = {.strategy = "ring",
                 .problem = {.tokens = 16,
                             .batch = 1,
                             .heads = 1,
                             .kv_heads = 1,
                             .head_dim = 1000,
                             .dtype = RING_FP32,
                             .mask = RING_MASK_FULL},
                 .layout = RING_LAYOUT_CONTIGUOUS,
                 .pass = RING_PASS_FORWARD,
                 .n_ranks = 2,
                 .n_buffers = 2,
                 .gradient_dtype = RING_FP32},
    };
    topology_builder_init(&that->cluster);
    for (uint32_t i = 0; i < CASE_MAX_RANKS; i++)
        that->placement[i] = i;
}

void ring_case_fini(struct ring_case *that)
{
    model_ring_fini(&that->ring);
    topology_builder_fini(&that->cluster);
}

void ring_case_set_block(struct ring_case *that, uint32_t n_ranks, uint64_t bytes)
{
    that->spec.n_ranks = n_ranks;
    that->spec.problem.head_dim = 1000;
    that->spec.problem.tokens = bytes / 8000 * n_ranks;
}

void ring_case_set_rate(struct ring_case *that, uint32_t device, double flop_per_s)
{
    that->rates[device] = flop_per_s;
    that->curves[device][0] = (struct model_curve){
        .pass = RING_PASS_FORWARD,
        .dtype = that->spec.problem.dtype,
        .head_dim = that->spec.problem.head_dim,
        .square = true,
        .n_q = 1,
        .q_tokens = one_token,
        .rates_flop_per_s = &that->rates[device],
        .source = "test",
    };
    that->curves[device][1] = that->curves[device][0];
    that->curves[device][1].pass = RING_PASS_BACKWARD;
    that->devices[device] =
        (struct model_device){.name = "test device", .curves = that->curves[device], .n_curves = 2};
    that->cluster.topology.vertices[that->cluster.topology.devices[device]].device = &that->devices[device];
}

void ring_case_set_block_time(struct ring_case *that, uint32_t device, double seconds)
{
    struct ring_layout layout = {that->spec.layout, that->spec.problem.tokens, that->spec.n_ranks};
    double tokens = (double)ring_layout_max_tokens(&layout);

    ring_case_set_rate(that, device, 4.0 * that->spec.problem.head_dim * tokens * tokens / seconds);
}

static void must(enum ring_status status, const struct ring_error *error)
{
    if (status != RING_OK)
        fail_msg("%s: %s", ring_status_text(status), error->text);
}

void ring_case_build(struct ring_case *that)
{
    struct ring_error error = {.text = ""};
    struct model_ring_spec spec = {
        .plan = &that->plan,
        .topology = topology_builder_finish(&that->cluster),
        .device_of_rank = that->placement,
        .compute = that->compute,
        .progress = that->progress,
    };

    must(ring_plan_init(&that->plan, &that->spec, &error), &error);
    must(model_ring_init(&that->ring, &spec, &error), &error);
}

static void assert_same_play(struct ring_case *that)
{
    double ends_s[CASE_MAX_RANKS];
    struct ring_parts totals[CASE_MAX_RANKS] = {{.begin_s = 0}}, steps[CASE_MAX_RANKS * CASE_MAX_STEPS];
    double until_s[CASE_MAX_RANKS * CASE_MAX_RANKS] = {0}, moving_s[CASE_MAX_RANKS * CASE_MAX_RANKS] = {0};
    struct model_play play = {.ring = &that->ring,
                              .ends_s = ends_s,
                              .totals = totals,
                              .steps = steps,
                              .until_s = until_s,
                              .moving_s = moving_s};
    struct ring_error error;
    size_t n_ranks = that->plan.n_ranks;

    must(model_prices_init(&play.prices, &that->ring, &error), &error);
    must(model_play_dataflow(&play, &error), &error);
    model_prices_fini(&play.prices);
    double sum_s = 0;
    for (uint32_t hop = 0; hop < that->ring.hop_first[n_ranks]; hop++)
        sum_s += moving_s[hop];
    assert_true(sum_s == that->moving_s);
    assert_memory_equal(ends_s, that->ends_s, n_ranks * sizeof *ends_s);
    assert_memory_equal(steps, that->steps, n_ranks * that->plan.n_steps * sizeof *steps);
    for (uint32_t rank = 0; rank < n_ranks; rank++)
        totals[rank].end_s = ends_s[rank];
    assert_memory_equal(totals, that->totals, n_ranks * sizeof *totals);
}

/* Without the steps it takes another loop. */
static void assert_same_without_steps(struct ring_case *that)
{
    double ends_s[CASE_MAX_RANKS], moving_s;
    struct ring_parts totals[CASE_MAX_RANKS];
    struct ring_error error;
    size_t n_ranks = that->plan.n_ranks;

    must(model_recurrence_moving(&that->ring, ends_s, totals, NULL, &moving_s, &error), &error);
    assert_true(moving_s == that->moving_s);
    assert_memory_equal(ends_s, that->ends_s, n_ranks * sizeof *ends_s);
    assert_memory_equal(totals, that->totals, n_ranks * sizeof *totals);
}

void ring_case_play(struct ring_case *that)
{
    struct ring_error error = {.text = ""};

    assert_true(that->plan.n_ranks <= CASE_MAX_RANKS && that->plan.n_steps <= CASE_MAX_STEPS);
    must(model_recurrence_moving(&that->ring, that->ends_s, that->totals, that->steps, &that->moving_s,
                                 &error),
         &error);
    assert_same_play(that);
    assert_same_without_steps(that);
}

const struct ring_parts *ring_case_step(const struct ring_case *that, uint32_t rank, uint32_t step)
{
    return &that->steps[(size_t)rank * that->plan.n_steps + step];
}

void assert_ms(double actual_s, double expected_ms)
{
    double actual_ms = actual_s * 1e3;

    if (!(fabs(actual_ms - expected_ms) <= 1e-9 * (1 + fabs(expected_ms))))
        fail_msg("%.15g ms, expected %.15g ms", actual_ms, expected_ms);
}
