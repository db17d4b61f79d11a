/* SPDX-License-Identifier: MIT
 *
 * See sides.h. */
#include "models/sides.h"

#include <inttypes.h>
#include <stdlib.h>

void model_sides_turn(struct model_sides *sides, enum ring_job job)
{
    size_t n = (size_t)sides->prices->ring->plan->n_ranks * 3 * MODEL_MAX_CLASSES;

    sides->job = job;
    for (size_t i = 0; i < n; i++)
        sides->seconds[i] = NAN;
}

/* False if there are more kinds than expected. */
static bool classify(struct model_sides *sides, const struct ring_plan *plan)
{
    uint64_t counts[MODEL_MAX_CLASSES][2];

    for (uint32_t rank = 0; rank < plan->n_ranks; rank++) {
        struct ring_shard shard = ring_layout_shard(&plan->layout, rank);
        uint64_t second = shard.n_runs == 2 ? shard.runs[1].count : 0;
        uint32_t i = 0;
        while (i < sides->n_classes && (counts[i][0] != shard.runs[0].count || counts[i][1] != second))
            i++;
        if (i == MODEL_MAX_CLASSES)
            return false;
        if (i == sides->n_classes) {
            counts[i][0] = shard.runs[0].count;
            counts[i][1] = second;
            sides->n_classes++;
        }
        sides->class_of[rank] = (uint8_t)i;
    }
    return true;
}

enum ring_status model_sides_init(struct model_sides *sides, struct model_prices *prices,
                                  struct ring_error *error)
{
    const struct ring_plan *plan = prices->ring->plan;
    size_t n = plan->n_ranks;

    *sides = (struct model_sides){
        .prices = prices,
        .class_of = malloc(n * sizeof *sides->class_of),
        .seconds = malloc(n * 3 * MODEL_MAX_CLASSES * sizeof *sides->seconds),
    };
    if (!sides->class_of || !sides->seconds) {
        model_sides_fini(sides);
        return ring_fail(error, RING_NO_MEMORY, "out of memory for the prices of %zu ranks", n);
    }
    if (!classify(sides, plan)) {
        model_sides_fini(sides);
        return RING_UNSUPPORTED;
    }
    model_sides_turn(sides, RING_JOB_FORWARD);
    return RING_OK;
}

void model_sides_fini(struct model_sides *sides)
{
    free(sides->class_of);
    free(sides->seconds);
    *sides = (struct model_sides){.n_classes = 0};
}

double model_sides_ask(struct model_sides *sides, uint32_t rank, uint32_t block)
{
    uint32_t side = block < rank ? 0 : block == rank ? 1 : 2;
    struct ring_work work = ring_plan_work(sides->prices->ring->plan, rank, block);
    double seconds = model_prices_block_s(sides->prices, rank, sides->job, &work);

    sides->seconds[((size_t)rank * 3 + side) * MODEL_MAX_CLASSES + sides->class_of[block]] = seconds;
    return seconds;
}
