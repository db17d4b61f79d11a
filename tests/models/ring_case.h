/* SPDX-License-Identifier: MIT
 *
 * A plan on a small cluster, ready to be priced: fill in what differs from the defaults, build, look at it.
 */
#ifndef TESTS_MODELS_RING_CASE_H
#define TESTS_MODELS_RING_CASE_H

#include "models/recurrence.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/topology_builder.h"

enum { CASE_MAX_RANKS = 16, CASE_MAX_STEPS = 24 };

/* Not to be moved once initialised. */
struct ring_case {
    struct topology_builder cluster; /* empty; devices in rank order */
    struct ring_plan_spec
        spec; /* ring, forward, full mask, contiguous, fp32, 1 head of 1000, 2 buffers; 2 ranks of 8 */
    struct model_compute compute;
    enum model_progress progress;
    uint32_t placement[CASE_MAX_RANKS]; /* rank i on device i */
    struct model_device devices[CASE_MAX_RANKS];
    struct model_curve curves[CASE_MAX_RANKS][2]; /* forward, backward */
    double rates[CASE_MAX_RANKS];
    struct ring_plan plan;
    struct model_ring ring;
    /* what ring_case_play found */
    double ends_s[CASE_MAX_RANKS];
    double moving_s;
    struct ring_parts totals[CASE_MAX_RANKS];
    struct ring_parts steps[CASE_MAX_RANKS * CASE_MAX_STEPS];
};

void ring_case_init(struct ring_case *that);
void ring_case_fini(struct ring_case *that);

/* Blocks of so many bytes (a multiple of 8000) for so many ranks: fp32, one K/V head of 1000. */
void ring_case_set_block(struct ring_case *that, uint32_t n_ranks, uint64_t bytes);

/* Device i gets a flat rate, forward and backward, at which a full block of the case's largest shard takes
 * seconds. After the spec and the cluster's devices are set. */
void ring_case_set_block_time(struct ring_case *that, uint32_t device, double seconds);
void ring_case_set_rate(struct ring_case *that, uint32_t device, double flop_per_s);

/* Makes the topology's index, the plan and the ring; a failure fails the test. */
void ring_case_build(struct ring_case *that);

/* The recurrence, by the way it picks itself and by the general one, which must agree to the last bit. */
void ring_case_play(struct ring_case *that);

const struct ring_parts *ring_case_step(const struct ring_case *that, uint32_t rank, uint32_t step);

/* To 1e-9 of the expected milliseconds, or a picosecond; actual in seconds. */
void assert_ms(double actual_s, double expected_ms);

#endif
