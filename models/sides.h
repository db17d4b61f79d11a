/* SPDX-License-Identifier: MIT
 *
 * Prices of blocks without counting pairs a million times: what a rank's queries make of a block depends only
 * on whether the block comes before, at or after the rank, and on the sizes of the two shards' runs, of which
 * a layout has three kinds at most. (Runs of two shards either interleave token by token, or lie wholly
 * before or after each other.) Internal to models/. */
#ifndef MODEL_SIDES_H
#define MODEL_SIDES_H

#include <math.h>

#include "models/price.h"

enum { MODEL_MAX_CLASSES = 4 };

struct model_sides {
    struct model_prices *prices; /* borrowed */
    uint32_t n_classes;
    uint8_t *class_of; /* [n_ranks] kind of the rank's shard */
    double *seconds;   /* [n_ranks][3][MODEL_MAX_CLASSES] by side and kind of the block; NaN: not asked yet */
    enum ring_job job; /* that the seconds are of */
};

/* RING_UNSUPPORTED, without a line, if shards are of too many kinds. */
enum ring_status model_sides_init(struct model_sides *sides, struct model_prices *prices,
                                  struct ring_error *error);
void model_sides_fini(struct model_sides *sides);

/* From here on of this job, forward or backward. */
void model_sides_turn(struct model_sides *sides, enum ring_job job);

double model_sides_ask(struct model_sides *sides, uint32_t rank, uint32_t block);

/* model_prices_block_s of the block's work. */
static inline double model_sides_block_s(struct model_sides *sides, uint32_t rank, uint32_t block)
{
    uint32_t side = block < rank ? 0 : block == rank ? 1 : 2;
    double seconds = sides->seconds[((size_t)rank * 3 + side) * MODEL_MAX_CLASSES + sides->class_of[block]];

    return isnan(seconds) ? model_sides_ask(sides, rank, block) : seconds;
}

#endif
