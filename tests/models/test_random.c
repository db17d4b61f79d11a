/* SPDX-License-Identifier: MIT
 *
 * Random rings of 1 to 9 ranks, forward, backward and both, with unequal devices, cables, layouts, buffers
 * and movers: the recurrence (by both of its ways, see ring_case_play) ends every step when a naive clock
 * does, splits it without a gap, and is never faster than the bounds. */
#include <math.h>
#include <stdlib.h>

#include "tests/models/clockwork.h"
#include "tests/models/ring_case.h"

static double between(unsigned *seed, double low, double high)
{
    return low * exp(log(high / low) * rand_r(seed) / RAND_MAX);
}

static void make_ring(struct ring_case *that, unsigned *seed)
{
    uint32_t n = 1 + (uint32_t)rand_r(seed) % 9;

    ring_case_init(that);
    that->spec.n_ranks = n;
    that->spec.problem.tokens = n + (uint64_t)rand_r(seed) % 100;
    that->spec.problem.mask = rand_r(seed) % 2 ? RING_MASK_CAUSAL : RING_MASK_FULL;
    that->spec.layout = (enum ring_layout_kind)(rand_r(seed) % RING_N_LAYOUTS);
    that->spec.n_buffers = 2 + (uint32_t)rand_r(seed) % 4;
    that->spec.pass = (enum ring_pass)(rand_r(seed) % RING_N_PASSES);
    that->spec.keep_kv = that->spec.pass == RING_PASS_BOTH && rand_r(seed) % 2;
    that->spec.problem.dtype = rand_r(seed) % 2 ? RING_BF16 : RING_FP32;
    that->spec.gradient_dtype = rand_r(seed) % 2 ? that->spec.problem.dtype : RING_FP32;
    that->progress = rand_r(seed) % 4 ? MODEL_PROGRESS_POLL : MODEL_PROGRESS_NONE;
    if (rand_r(seed) % 4 == 0) {
        that->compute.block_s = between(seed, 1e-4, 1e-2);
        that->compute.core_free = rand_r(seed) % 2;
        that->compute.backward_block_s = rand_r(seed) % 2 ? 0 : between(seed, 1e-4, 1e-2);
    }
    for (uint32_t i = 0; i < n; i++) {
        topology_builder_device(&that->cluster, "g%u", i);
        ring_case_set_rate(that, i, between(seed, 1e6, 1e8));
        if (rand_r(seed) % 2)
            that->devices[i].memory_bytes_per_s = between(seed, 1e7, 1e10);
    }
    for (uint32_t i = 0; i < n && n > 1; i++) {
        uint32_t link = topology_builder_link(&that->cluster, i, (i + 1) % n, between(seed, 1e6, 1e9),
                                              rand_r(seed) % 2 ? between(seed, 1e-6, 1e-2) : 0);
        if (rand_r(seed) % 4 == 0)
            that->cluster.topology.links[link].mover = MODEL_MOVED_BY_RECEIVER;
    }
    ring_case_build(that);
}

static void assert_parts_add_up(const struct ring_case *that)
{
    for (uint32_t rank = 0; rank < that->plan.n_ranks; rank++) {
        double end_s = 0;
        for (uint32_t step = 0; step < that->plan.n_steps; step++) {
            const struct ring_parts *parts = ring_case_step(that, rank, step);
            assert_true(parts->begin_s == end_s);
            end_s = parts->end_s;
            assert_true(parts->compute_s >= 0 && parts->transfer_s >= 0 && parts->wait_s >= 0);
            assert_true(fabs(parts->compute_s + parts->transfer_s + parts->wait_s + parts->overhead_s -
                             (parts->end_s - parts->begin_s)) <= 1e-12 * (1 + end_s));
        }
        const struct ring_parts *total = &that->totals[rank];
        assert_true(total->end_s == end_s && that->ends_s[rank] == end_s && total->begin_s == 0);
        assert_true(fabs(total->compute_s + total->transfer_s + total->wait_s - end_s) <=
                    1e-12 * (1 + end_s));
    }
}

static void random_rings_end_when_a_naive_clock_says(void **state)
{
    unsigned seed = 1;

    (void)state;
    for (int i = 0; i < 500; i++) {
        struct ring_case that;
        double step_ends_s[CASE_MAX_RANKS * CASE_MAX_STEPS];
        make_ring(&that, &seed);
        ring_case_play(&that);
        assert_true(clockwork_play(&that.ring, step_ends_s));
        for (uint32_t k = 0; k < that.plan.n_ranks * that.plan.n_steps; k++)
            if (fabs(that.steps[k].end_s - step_ends_s[k]) > 1e-12 * step_ends_s[k])
                fail_msg("ring %d, rank %u, step %u ends at %.17g s, expected %.17g s", i,
                         k / that.plan.n_steps, k % that.plan.n_steps, that.steps[k].end_s, step_ends_s[k]);
        assert_parts_add_up(&that);
        ring_case_fini(&that);
    }
}

static void no_random_ring_beats_its_bounds(void **state)
{
    unsigned seed = 2;

    (void)state;
    for (int i = 0; i < 500; i++) {
        struct ring_case that;
        double end_s = 0, compute_s = 0;
        make_ring(&that, &seed);
        ring_case_play(&that);
        struct model_bound bound = model_ring_bound(&that.ring);
        for (uint32_t rank = 0; rank < that.plan.n_ranks; rank++) {
            end_s = fmax(end_s, that.ends_s[rank]);
            compute_s = fmax(compute_s, that.totals[rank].compute_s);
        }
        assert_true(end_s >= bound.time_s * (1 - 1e-12));
        assert_true(bound.time_s == fmax(bound.compute_s, bound.network_s));
        assert_true(fabs(bound.compute_s - compute_s) <= 1e-12 * compute_s);
        ring_case_fini(&that);
    }
}

static void every_random_ring_sends_the_bytes_that_its_plan_says(void **state)
{
    unsigned seed = 3;

    (void)state;
    for (int i = 0; i < 200; i++) {
        struct ring_case that;
        double link_bytes[CASE_MAX_RANKS];
        make_ring(&that, &seed);
        model_ring_link_bytes(&that.ring, link_bytes);
        for (uint32_t rank = 0; rank < that.plan.n_ranks && that.plan.n_ranks > 1; rank++) {
            double sent = (double)ring_plan_bytes_sent(&that.plan, rank);
            assert_true(model_ring_hop(&that.ring, rank, (rank + 1) % that.plan.n_ranks)->bytes == sent);
            assert_true(link_bytes[rank] == sent); /* link i is hop i */
        }
        ring_case_fini(&that);
    }
}

static void a_regular_schedule_names_the_blocks_that_its_steps_have(void **state)
{
    unsigned seed = 4;

    (void)state;
    for (int i = 0; i < 50; i++) {
        struct ring_case that;
        struct ring_plan_step step;
        make_ring(&that, &seed);
        for (uint32_t rank = 0; rank < that.plan.n_ranks; rank++)
            for (uint32_t s = 0; s < that.plan.n_steps; s++) {
                uint32_t begin =
                    that.plan.pass == RING_PASS_BOTH && s >= that.plan.n_ranks ? that.plan.n_ranks : 0;
                ring_plan_step(&that.plan, rank, s, &step);
                assert_int_equal(that.plan.kind->block(&that.plan, rank, s - begin), step.block);
                uint32_t n = that.plan.n_ranks, behind = (rank + n - (s - begin)) % n;
                assert_int_equal(that.plan.kind->block(&that.plan, behind, 0), step.block);
            }
        ring_case_fini(&that);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_rings_end_when_a_naive_clock_says),
        cmocka_unit_test(no_random_ring_beats_its_bounds),
        cmocka_unit_test(every_random_ring_sends_the_bytes_that_its_plan_says),
        cmocka_unit_test(a_regular_schedule_names_the_blocks_that_its_steps_have),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
