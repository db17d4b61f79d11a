/* SPDX-License-Identifier: MIT
 *
 * A ring of 1024 devices in 128 nodes, forward and backward: the figures are still those of the textbook, and
 * the time that it takes here is printed (and not judged). */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "models/play.h"
#include "models/recurrence.h"
#include "tests/models/ring_case.h"

enum { N = 1024 };

struct large {
    struct topology_builder cluster;
    uint32_t placement[N];
    struct ring_plan plan;
    struct model_ring ring;
    double ends_s[N];
    struct ring_parts totals[N];
    double cpu_s[3]; /* routing and pricing, recurrence, bounds */
};

static double cpu_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void must(enum ring_status status, const struct ring_error *error)
{
    if (status != RING_OK)
        fail_msg("%s: %s", ring_status_text(status), error->text);
}

/* Zigzag, causal, blocks of 8 MB (and a little, if uneven); hops of 0.1 ms inside a node and nic_ms between
 * two. */
static struct large *build(double nic_ms, double block_s, uint64_t extra_tokens, enum ring_pass pass)
{
    struct large *large = calloc(1, sizeof *large);
    struct ring_error error = {.text = ""};

    assert_non_null(large);
    struct ring_plan_spec spec = {.strategy = "ring",
                                  .problem = {.tokens = 1000 * N + extra_tokens,
                                              .batch = 1,
                                              .heads = 1,
                                              .kv_heads = 1,
                                              .head_dim = 1000,
                                              .dtype = RING_FP32,
                                              .mask = RING_MASK_CAUSAL},
                                  .layout = RING_LAYOUT_ZIGZAG,
                                  .pass = pass,
                                  .n_ranks = N,
                                  .n_buffers = 2,
                                  .gradient_dtype = RING_FP32};
    topology_builder_init(&large->cluster);
    topology_builder_nodes(&large->cluster, N / 8, 8, 8, 8e6 / 0.1e-3, 8e6 / (nic_ms * 1e-3));
    struct model_ring_spec ring = {.plan = &large->plan,
                                   .topology = topology_builder_finish(&large->cluster),
                                   .device_of_rank = large->placement,
                                   .compute = {.block_s = block_s}};
    double begin_s = cpu_s();
    must(ring_plan_init(&large->plan, &spec, &error), &error);
    must(model_place_natural(ring.topology, N, large->placement, &error), &error);
    must(model_ring_init(&large->ring, &ring, &error), &error);
    large->cpu_s[0] = cpu_s() - begin_s;
    begin_s = cpu_s();
    must(model_recurrence(&large->ring, large->ends_s, large->totals, NULL, &error), &error);
    large->cpu_s[1] = cpu_s() - begin_s;
    return large;
}

static void discard(struct large *large)
{
    model_ring_fini(&large->ring);
    topology_builder_fini(&large->cluster);
    free(large);
}

static double last_end_s(const struct large *large)
{
    double end_s = 0;

    for (uint32_t rank = 0; rank < N; rank++)
        end_s = fmax(end_s, large->ends_s[rank]);
    return end_s;
}

static void print_times(const char *what, const struct large *large)
{
    print_message("%d ranks, %s, CPU time: routes and prices %.1f ms, recurrence %.1f ms, bounds %.1f ms\n",
                  N, what, large->cpu_s[0] * 1e3, large->cpu_s[1] * 1e3, large->cpu_s[2] * 1e3);
}

static void computing_hides_1023_hops(void **state)
{
    struct large *large = build(0.5, 1e-3, 0, RING_PASS_FORWARD);

    (void)state;
    assert_ms(last_end_s(large), N * 1.0);
    double begin_s = cpu_s();
    struct model_bound bound = model_ring_bound(&large->ring);
    large->cpu_s[2] = cpu_s() - begin_s;
    assert_ms(bound.compute_s, N * 1.0);
    assert_ms(bound.network_s, (N - 1) * 0.5);
    print_times("forward", large);
    discard(large);
}

static void the_way_home_is_the_only_gradient_hop_that_1024_ranks_see(void **state)
{
    /* Backward blocks of 2.5 ms hide a block and a gradient of 0.5 ms each (NIC); the last hop is bare. */
    struct large *large = build(0.5, 1e-3, 0, RING_PASS_BACKWARD);

    (void)state;
    assert_ms(last_end_s(large), N * 2.5 + 0.5);
    double begin_s = cpu_s();
    struct model_bound bound = model_ring_bound(&large->ring);
    large->cpu_s[2] = cpu_s() - begin_s;
    assert_ms(bound.compute_s, N * 2.5);
    assert_ms(bound.network_s, (N - 1) * 0.5 + N * 0.5);
    print_times("backward", large);
    discard(large);
}

static void the_wires_between_nodes_set_the_pace(void **state)
{
    struct large *large = build(2, 1e-3, 0, RING_PASS_FORWARD);

    (void)state;
    assert_ms(last_end_s(large), (N - 1) * 2.0 + 1);
    discard(large);
}

static void assert_same_both_ways(enum ring_pass pass)
{
    struct large *large = build(2, 1e-3, 3, pass);
    double *ends_s = calloc(N, sizeof *ends_s);
    struct ring_parts *totals = calloc(N, sizeof *totals);
    struct model_play play = {.ring = &large->ring, .ends_s = ends_s, .totals = totals};
    struct ring_error error = {.text = ""};

    assert_true(ends_s && totals);
    must(model_prices_init(&play.prices, &large->ring, &error), &error);
    must(model_play_dataflow(&play, &error), &error);
    assert_memory_equal(ends_s, large->ends_s, N * sizeof *ends_s);
    for (uint32_t rank = 0; rank < N; rank++)
        totals[rank].end_s = ends_s[rank];
    assert_memory_equal(totals, large->totals, N * sizeof *totals);
    print_times(pass == RING_PASS_FORWARD ? "uneven, forward" : "uneven, backward", large);
    model_prices_fini(&play.prices);
    free(ends_s);
    free(totals);
    discard(large);
}

static void both_ways_to_play_agree_on_an_uneven_ring(void **state)
{
    (void)state;
    assert_same_both_ways(RING_PASS_FORWARD);
}

static void both_ways_to_play_agree_on_an_uneven_backward_ring(void **state)
{
    (void)state;
    assert_same_both_ways(RING_PASS_BACKWARD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(computing_hides_1023_hops),
        cmocka_unit_test(the_wires_between_nodes_set_the_pace),
        cmocka_unit_test(the_way_home_is_the_only_gradient_hop_that_1024_ranks_see),
        cmocka_unit_test(both_ways_to_play_agree_on_an_uneven_ring),
        cmocka_unit_test(both_ways_to_play_agree_on_an_uneven_backward_ring),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
