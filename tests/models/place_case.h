/* SPDX-License-Identifier: MIT
 *
 * What the tests of the search for orders share: a plan, and a search that must succeed. */
#ifndef TESTS_MODELS_PLACE_CASE_H
#define TESTS_MODELS_PLACE_CASE_H

#include <math.h>
#include <stdlib.h>

#include "models/place.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/topology_builder.h"

/* A block of 33 554 432 bytes: 65 536 tokens on 8 ranks, or as many a rank on more. */
static const double block_bytes = 33554432;

static inline struct ring_plan make_plan(uint32_t n_ranks)
{
    const struct ring_plan_spec spec = {
        .strategy = "ring",
        .problem = {.tokens = UINT64_C(8192) * n_ranks,
                    .batch = 1,
                    .heads = 32,
                    .kv_heads = 8,
                    .head_dim = 128,
                    .dtype = RING_BF16,
                    .mask = RING_MASK_CAUSAL},
        .layout = RING_LAYOUT_ZIGZAG,
        .pass = RING_PASS_FORWARD,
        .n_ranks = n_ranks,
        .n_buffers = 2,
    };
    struct ring_plan plan;
    struct ring_error error;

    if (ring_plan_init(&plan, &spec, &error) != RING_OK)
        fail_msg("%s", error.text);
    return plan;
}

static inline struct model_place *open_place(const struct model_topology *topology,
                                             const struct ring_plan *plan)
{
    struct model_place *place;
    struct ring_error error;

    if (model_place_open(&place, &(struct model_place_spec){plan, topology, NULL, NULL}, &error) != RING_OK)
        fail_msg("%s", error.text);
    return place;
}

static inline struct model_place_found find(struct model_place *place, enum model_goal goal, uint64_t seed,
                                            uint32_t *order)
{
    struct model_place_found found;

    model_place_begin(place, goal, MODEL_EFFORT_NORMAL, seed);
    while (model_place_go_on(place))
        assert_in_range((uint64_t)(1000 * model_place_progress(place)), 0, 1000);
    assert_true(model_place_progress(place) >= 1);
    model_place_take(place, order, &found);
    return found;
}

static inline void assert_near(double actual, double expected)
{
    if (!(fabs(actual - expected) <= 1e-9 * expected))
        fail_msg("%.12g, expected %.12g", actual, expected);
}

static inline void assert_each_once(const uint32_t *order, uint32_t n_ranks, uint32_t n_devices)
{
    bool *seen = calloc(n_devices, sizeof *seen);

    for (uint32_t i = 0; i < n_ranks; i++) {
        assert_in_range(order[i], 0, n_devices - 1);
        assert_false(seen[order[i]]);
        seen[order[i]] = true;
    }
    free(seen);
}

#endif
