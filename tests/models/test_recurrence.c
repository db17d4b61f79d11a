/* SPDX-License-Identifier: MIT
 *
 * The recurrence against rings worked out by hand. The working stands beside each figure, in milliseconds;
 * docs/MODEL.md has the mixed ring of 4 as its step table. */
#include <math.h>
#include <string.h>

#include "tests/models/ring_case.h"

/* n devices, each with a one-way cable to the next alone: hop i leaves device i. */
static void build_circle(struct ring_case *that, uint32_t n, double bytes_per_s, double latency_s)
{
    for (uint32_t i = 0; i < n; i++)
        topology_builder_device(&that->cluster, "g%u", i);
    for (uint32_t i = 0; i < n && n > 1; i++)
        topology_builder_link(&that->cluster, i, (i + 1) % n, bytes_per_s, latency_s);
}

/* Hops of hop_ms for blocks of 8 kB. */
static void build_simple(struct ring_case *that, uint32_t n, double hop_ms, double latency_ms,
                         double block_ms)
{
    ring_case_init(that);
    ring_case_set_block(that, n, 8000);
    build_circle(that, n, 8000 / (hop_ms * 1e-3), latency_ms * 1e-3);
    that->compute.block_s = block_ms * 1e-3;
}

static void assert_ends_ms(const struct ring_case *that, const double *expected_ms)
{
    for (uint32_t rank = 0; rank < that->plan.n_ranks; rank++)
        assert_ms(that->ends_s[rank], expected_ms[rank]);
}

/* compute, transfer, wait */
static void assert_parts_ms(const struct ring_parts *parts, double begin, double end, double compute,
                            double transfer, double wait)
{
    assert_ms(parts->begin_s, begin);
    assert_ms(parts->end_s, end);
    assert_ms(parts->compute_s, compute);
    assert_ms(parts->transfer_s, transfer);
    assert_ms(parts->wait_s, wait);
    assert_true(parts->overhead_s == 0);
}

static void two_ranks_exchange_64_MB_at_25_GB_s_in_2_561_ms(void **state)
{
    struct ring_case that;

    (void)state;
    /* 64 MB / 25 GB/s = 2.56 ms and 1 us; opposite directions of one cable do not slow each other. The second
     * and last step only computes: 1 ms. */
    ring_case_init(&that);
    ring_case_set_block(&that, 2, 64000000);
    topology_builder_device(&that.cluster, "g0");
    topology_builder_device(&that.cluster, "g1");
    topology_builder_cable(&that.cluster, 0, 1, 25e9, 1e-6);
    that.compute.block_s = 1e-3;
    ring_case_build(&that);
    ring_case_play(&that);
    assert_false(that.ring.shared);
    assert_ends_ms(&that, (const double[]){3.561, 3.561});
    assert_parts_ms(ring_case_step(&that, 0, 0), 0, 2.561, 1, 1.561, 0);
    assert_parts_ms(ring_case_step(&that, 0, 1), 2.561, 3.561, 1, 0, 0);
    ring_case_fini(&that);
}

static void a_ring_of_4_that_computes_longer_than_it_sends_is_bound_by_compute(void **state)
{
    struct ring_case that;

    (void)state;
    build_simple(&that, 4, 1, 0.1, 2); /* 4 steps of 2 */
    ring_case_build(&that);
    ring_case_play(&that);
    assert_ends_ms(&that, (const double[]){8, 8, 8, 8});
    assert_parts_ms(ring_case_step(&that, 2, 1), 2, 4, 2, 0, 0);
    assert_parts_ms(&that.totals[3], 0, 8, 8, 0, 0);
    ring_case_fini(&that);
}

static void a_ring_of_4_that_sends_longer_than_it_computes_is_bound_by_the_network(void **state)
{
    struct ring_case that;

    (void)state;
    build_simple(&that, 4, 2, 0.5, 1); /* 3 steps of 2 + 0.5, then 1 */
    ring_case_build(&that);
    ring_case_play(&that);
    assert_ends_ms(&that, (const double[]){8.5, 8.5, 8.5, 8.5});
    assert_parts_ms(ring_case_step(&that, 1, 1), 2.5, 5, 1, 1.5, 0);
    assert_parts_ms(&that.totals[0], 0, 8.5, 4, 4.5, 0);
    ring_case_fini(&that);
}

static void one_slow_rank_of_4_slows_its_neighbours_and_then_the_whole_ring(void **state)
{
    /* block 1, rank 2 takes 3; hop 1.5. moved(r) = max(begin r, begin r+1) + 1.5;
     * end(r) = max(begin + block, moved(r-1), moved(r)):
     *
     *   step   begin                moved 0>1 1>2 2>3 3>0     end
     *   0      0    0    0   0      1.5  1.5  1.5  1.5        1.5  1.5  3    1.5
     *   1      1.5  1.5  3   1.5    3    4.5  4.5  3          3    4.5  6    4.5
     *   2      3    4.5  6   4.5    6    7.5  7.5  6          6    7.5  9    7.5
     *   3      6    7.5  9   7.5                              7    8.5  12   8.5 */
    const double ends_ms[4][4] = {{1.5, 1.5, 3, 1.5}, {3, 4.5, 6, 4.5}, {6, 7.5, 9, 7.5}, {7, 8.5, 12, 8.5}};
    struct ring_case that;

    (void)state;
    build_simple(&that, 4, 1.5, 0, 0);
    for (uint32_t i = 0; i < 4; i++)
        ring_case_set_block_time(&that, i, i == 2 ? 3e-3 : 1e-3);
    ring_case_build(&that);
    ring_case_play(&that);
    for (uint32_t step = 0; step < 4; step++)
        for (uint32_t rank = 0; rank < 4; rank++)
            assert_ms(ring_case_step(&that, rank, step)->end_s, ends_ms[step][rank]);
    /* rank 1, step 1: its receive moves to 3, its send from 3 (when rank 2 comes) to 4.5: both while it waits
     */
    assert_parts_ms(ring_case_step(&that, 1, 1), 1.5, 4.5, 1, 2, 0);
    /* rank 3, step 1: computed at 2.5, but rank 2 posts its send at 3 only: wait 0.5, transfer 1.5 */
    assert_parts_ms(ring_case_step(&that, 3, 1), 1.5, 4.5, 1, 1.5, 0.5);
    /* rank 0, step 2: computed at 4, rank 3 comes at 4.5 */
    assert_parts_ms(ring_case_step(&that, 0, 2), 3, 6, 1, 1.5, 0.5);
    assert_parts_ms(ring_case_step(&that, 2, 2), 6, 9, 3, 0, 0);
    ring_case_fini(&that);
}

static void an_uneven_ring_moves_blocks_of_their_own_size(void **state)
{
    /* 16 tokens on 3 ranks: shards of 6, 5, 5 at 0.2 a token and 0.1 latency; block 1 throughout.
     *   step 0: moved 0>1 1.2, 1>2 1.0, 2>0 1.0           ends 1.2 (its send), 1.3 (1.2 + 0.1), 1.1 (1.0 +
     * 0.1) step 1: blocks 2, 0, 1 in hand: 0>1 max(1.2, 1.3) + 1 = 2.3, 1>2 max(1.3, 1.1) + 1.2 = 2.5, 2>0
     * max(1.1, 1.2) + 1 = 2.2 ends 2.3, 2.5, 2.6 step 2: + 1 */
    struct ring_case that;

    (void)state;
    ring_case_init(&that);
    that.spec.n_ranks = 3;
    that.spec.problem.tokens = 16;
    build_circle(&that, 3, 8000 / 0.2e-3, 0.1e-3);
    that.compute.block_s = 1e-3;
    ring_case_build(&that);
    ring_case_play(&that);
    assert_ms(ring_case_step(&that, 0, 0)->end_s, 1.2);
    assert_ms(ring_case_step(&that, 1, 0)->end_s, 1.3);
    assert_ms(ring_case_step(&that, 2, 0)->end_s, 1.1);
    assert_ms(ring_case_step(&that, 0, 1)->end_s, 2.3);
    assert_ms(ring_case_step(&that, 1, 1)->end_s, 2.5);
    assert_ms(ring_case_step(&that, 2, 1)->end_s, 2.6);
    assert_ends_ms(&that, (const double[]){3.3, 3.5, 3.6});
    assert_parts_ms(ring_case_step(&that, 2, 1), 1.1, 2.6, 1, 0.5, 0);
    ring_case_fini(&that);
}

static void under_a_causal_mask_contiguous_ranks_skip_the_future_but_forward_it(void **state)
{
    /* block 2, hop 1. Rank r computes at steps 0..r.
     *   step 0: all 2. Step 1: rank 0 only forwards: 3, others 4.
     *   step 2: 0>1 max(3, 4) + 1 = 5, 3>0 max(4, 3) + 1 = 5: ranks 0 and 1 end at 5, ranks 2 and 3 at 6.
     *   step 3: rank 3 computes: 8. */
    struct ring_case that;

    (void)state;
    build_simple(&that, 4, 1, 0, 2);
    that.spec.problem.mask = RING_MASK_CAUSAL;
    ring_case_build(&that);
    ring_case_play(&that);
    assert_ends_ms(&that, (const double[]){5, 5, 6, 8});
    assert_parts_ms(ring_case_step(&that, 0, 1), 2, 3, 0, 1, 0);
    assert_parts_ms(ring_case_step(&that, 0, 2), 3, 5, 0, 1, 1);
    ring_case_fini(&that);
}

static void without_progress_bytes_move_only_after_the_receiver_has_computed(void **state)
{
    /* N = 2, block 2, hop 1, latency 0.1: step 0 is 2 + 1 + 0.1, step 1 is 2. With progress it would be 2
     * + 2. */
    struct ring_case that;

    (void)state;
    build_simple(&that, 2, 1, 0.1, 2);
    that.progress = MODEL_PROGRESS_NONE;
    ring_case_build(&that);
    ring_case_play(&that);
    assert_ends_ms(&that, (const double[]){5.1, 5.1});
    assert_parts_ms(ring_case_step(&that, 0, 0), 0, 3.1, 2, 1.1, 0);
    ring_case_fini(&that);
}

static void a_lazy_message_waits_for_the_slower_receiver_and_so_does_its_sender(void **state)
{
    /* N = 2, hop 1, latency 0.1, blocks 2 and 4, lazy.
     *   0>1 moves when rank 1 has computed: 4..5; 1>0 when rank 0 has: 2..3.
     *   rank 0: received at 3.1, then its send: wait to 4, transfer to 5. rank 1: received at 5.1.
     *   step 1: 5 + 2, 5.1 + 4. */
    struct ring_case that;

    (void)state;
    build_simple(&that, 2, 1, 0.1, 0);
    ring_case_set_block_time(&that, 0, 2e-3);
    ring_case_set_block_time(&that, 1, 4e-3);
    that.progress = MODEL_PROGRESS_NONE;
    ring_case_build(&that);
    ring_case_play(&that);
    assert_ends_ms(&that, (const double[]){7, 9.1});
    assert_parts_ms(ring_case_step(&that, 0, 0), 0, 5, 2, 1.1 + 1, 0.9);
    assert_parts_ms(ring_case_step(&that, 1, 0), 0, 5.1, 4, 1.1, 0);
    ring_case_fini(&that);
}

static void a_copy_by_the_receiver_overlaps_only_with_a_core_that_is_free(void **state)
{
    (void)state;
    for (int core_free = 0; core_free < 2; core_free++) {
        struct ring_case that;
        build_simple(&that, 2, 1, 0, 2);
        for (size_t i = 0; i < 2; i++)
            that.cluster.topology.links[i].mover = MODEL_MOVED_BY_RECEIVER;
        that.compute.core_free = core_free;
        ring_case_build(&that);
        ring_case_play(&that);
        assert_ms(that.ends_s[0], core_free ? 4 : 5);
        ring_case_fini(&that);
    }
}

static void a_thread_copies_beside_the_computation_if_there_is_a_core_to_spare(void **state)
{
    /* 2 ranks, hop 1, block 2. Two devices of one core are both busy: (2 + 1) + 2; of two cores each, 2 + 2;
     * a rank that computes with both threads leaves none. Over a wire that moves by itself it is 2 + 2
     * always. */
    static const struct {
        uint32_t cores, threads;
        enum model_mover mover;
        double wanted_ms;
    } cases[] = {{1, 1, MODEL_MOVED_BY_RECEIVER, 5},
                 {2, 1, MODEL_MOVED_BY_RECEIVER, 4},
                 {2, 2, MODEL_MOVED_BY_RECEIVER, 5},
                 {0, 1, MODEL_MOVED_BY_RECEIVER, 5},
                 {1, 1, MODEL_MOVED_BY_WIRE, 4}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ring_case that;
        build_simple(&that, 2, 1, 0, 0);
        that.progress = MODEL_PROGRESS_THREAD;
        that.compute.threads = cases[i].threads;
        for (uint32_t j = 0; j < 2; j++) {
            /* a core's curve gives a thread's share of the block */
            bool shared = cases[i].threads > 1;
            ring_case_set_block_time(&that, j, shared ? 4e-3 : 2e-3);
            that.devices[j].cores = cases[i].cores;
            that.cluster.topology.links[j].mover = cases[i].mover;
        }
        ring_case_build(&that);
        ring_case_play(&that);
        assert_ms(that.ends_s[0], cases[i].wanted_ms);
        ring_case_fini(&that);
    }
}

static void threads_divide_the_time_of_a_block_on_a_device_of_cores_alone(void **state)
{
    /* Two blocks of 4, the hop hidden: with two threads 2 each. A GPU does not care. */
    (void)state;
    for (uint32_t cores = 0; cores < 2; cores++) {
        struct ring_case that;
        build_simple(&that, 2, 1, 0, 0);
        that.compute.threads = 2;
        for (uint32_t j = 0; j < 2; j++) {
            ring_case_set_block_time(&that, j, 4e-3);
            that.devices[j].cores = cores;
        }
        ring_case_build(&that);
        ring_case_play(&that);
        assert_ms(that.ends_s[0], cores > 0 ? 4 : 8);
        ring_case_fini(&that);
    }
}

static void one_rank_alone_computes_one_block(void **state)
{
    struct ring_case that;

    (void)state;
    build_simple(&that, 1, 1, 0, 7);
    ring_case_build(&that);
    ring_case_play(&that);
    assert_int_equal(that.plan.n_steps, 1);
    assert_ends_ms(&that, (const double[]){7});
    assert_parts_ms(&that.totals[0], 0, 7, 7, 0, 0);
    ring_case_fini(&that);
}

static void more_buffers_let_an_early_sender_go_on_without_a_late_receiver(void **state)
{
    /* N = 3, hop 1, blocks 1, 4, 1. Step 0 ends at 1, 4, 1 either way. Step 1:
     *   2 buffers: 0>1 waits for rank 1's receive at 4: 5. Ends 5, max(8, 5) = 8, 5 (1>2: 4 + 1).
     *   3 buffers: that receive was posted at 0: 0>1 is 1..2. Ends 2, 8, 5.
     * Step 2 computes: 6, 12, 6 or 3, 12, 6. A fourth buffer has nothing left to receive. */
    (void)state;
    for (uint32_t n_buffers = 2; n_buffers <= 4; n_buffers++) {
        struct ring_case that;
        build_simple(&that, 3, 1, 0, 0);
        that.spec.n_buffers = n_buffers;
        for (uint32_t i = 0; i < 3; i++)
            ring_case_set_block_time(&that, i, i == 1 ? 4e-3 : 1e-3);
        ring_case_build(&that);
        ring_case_play(&that);
        assert_ms(that.ends_s[0], n_buffers == 2 ? 6 : 3);
        assert_ms(that.ends_s[1], 12);
        assert_ms(that.ends_s[2], 6);
        ring_case_fini(&that);
    }
}

static void a_block_time_in_the_scenario_overrides_the_device(void **state)
{
    struct ring_case that;

    (void)state;
    build_simple(&that, 2, 1, 0, 5);
    ring_case_set_block_time(&that, 0, 100e-3);
    ring_case_set_block_time(&that, 1, 100e-3);
    ring_case_build(&that);
    ring_case_play(&that);
    assert_ends_ms(&that, (const double[]){10, 10});
    ring_case_fini(&that);
}

static void what_is_shared_is_refused_by_name(void **state)
{
    struct ring_case that;
    struct ring_error error;

    (void)state;
    build_simple(&that, 2, 1, 0, 5);
    that.placement[1] = 0;
    ring_case_build(&that);
    assert_int_equal(model_recurrence(&that.ring, that.ends_s, that.totals, NULL, &error), RING_UNSUPPORTED);
    assert_non_null(strstr(error.text, "g0"));
    ring_case_fini(&that);
}

static void a_degraded_hop_of_a_zigzag_ring_of_8_stalls_the_whole_ring_by_one_hop_a_step(void **state)
{
    /* Compute 1.3744, hop 1.3432. Healthy: 8 x 1.3744 = 10.9952. One hop at half rate takes 2.6864, and every
     * step but the last waits for it: 7 x 2.6864 + 1.3744 = 20.1792 for its receiver. */
    (void)state;
    for (int degraded = 0; degraded < 2; degraded++) {
        struct ring_case that;
        build_simple(&that, 8, 1.3432, 0, 1.3744);
        struct model_size_class half = {.bytes_per_s = 8000 / 2.6864e-3};
        const struct model_size_class *whole = that.cluster.topology.links[3].classes;
        if (degraded)
            that.cluster.topology.links[3].classes = &half;
        ring_case_build(&that);
        ring_case_play(&that);
        assert_ms(that.ends_s[4], degraded ? 20.1792 : 10.9952);
        that.cluster.topology.links[3].classes = whole;
        ring_case_fini(&that);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_ranks_exchange_64_MB_at_25_GB_s_in_2_561_ms),
        cmocka_unit_test(a_ring_of_4_that_computes_longer_than_it_sends_is_bound_by_compute),
        cmocka_unit_test(a_ring_of_4_that_sends_longer_than_it_computes_is_bound_by_the_network),
        cmocka_unit_test(one_slow_rank_of_4_slows_its_neighbours_and_then_the_whole_ring),
        cmocka_unit_test(an_uneven_ring_moves_blocks_of_their_own_size),
        cmocka_unit_test(under_a_causal_mask_contiguous_ranks_skip_the_future_but_forward_it),
        cmocka_unit_test(without_progress_bytes_move_only_after_the_receiver_has_computed),
        cmocka_unit_test(a_lazy_message_waits_for_the_slower_receiver_and_so_does_its_sender),
        cmocka_unit_test(a_copy_by_the_receiver_overlaps_only_with_a_core_that_is_free),
        cmocka_unit_test(a_thread_copies_beside_the_computation_if_there_is_a_core_to_spare),
        cmocka_unit_test(threads_divide_the_time_of_a_block_on_a_device_of_cores_alone),
        cmocka_unit_test(one_rank_alone_computes_one_block),
        cmocka_unit_test(more_buffers_let_an_early_sender_go_on_without_a_late_receiver),
        cmocka_unit_test(a_block_time_in_the_scenario_overrides_the_device),
        cmocka_unit_test(what_is_shared_is_refused_by_name),
        cmocka_unit_test(a_degraded_hop_of_a_zigzag_ring_of_8_stalls_the_whole_ring_by_one_hop_a_step),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
