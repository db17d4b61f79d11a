/* SPDX-License-Identifier: MIT
 *
 * Prices of blocks without counting pairs a million times: what a rank's queries make of a block depends only
 * on whether the block comes before, at or after the rank, and on the sizes of the two shards' runs, of which
 * a layout has three kinds at most. (Runs of two shards either interleave token by token, or lie wholly
 * before or after each other.) So a regular plan's prices are a small table for each rank, and the prices of
 * a step are picked from it. Internal to models/. */
#ifndef MODEL_SIDES_H
#define MODEL_SIDES_H

#include "models/pattern.h"
#include "models/price.h"

enum { MODEL_MAX_KINDS = 4 };

struct model_sides {
    struct model_prices *prices; /* borrowed */
    uint32_t n_ranks, n_kinds;
    uint32_t first[MODEL_MAX_KINDS], last[MODEL_MAX_KINDS]; /* blocks of each kind */
    uint32_t *blocks;  /* [2 * n_ranks] in hand at the start of a pass, twice over */
    uint8_t *kinds;    /* [2 * n_ranks] the same blocks' kinds */
    double *block_s;   /* [3][n_kinds][n_ranks] by side and kind of the block, and by rank */
    double *add_s;     /* [2][n_kinds][n_ranks] of an addition, of one that begins */
    double *prepare_s; /* [n_ranks] */
    enum ring_job job; /* that block_s is of */
};

/* Of a plan that model_patterns_read takes. RING_UNSUPPORTED, without a line, if shards are of too many
 * kinds. */
enum ring_status model_sides_init(struct model_sides *sides, struct model_prices *prices,
                                  struct ring_error *error);
void model_sides_fini(struct model_sides *sides);

/* The kinds of the blocks that ranks have in hand at so many steps into a pass, s <= n_ranks; [n_ranks]. */
static inline const uint8_t *model_sides_kinds(const struct model_sides *sides, uint32_t s)
{
    return sides->kinds + (sides->n_ranks - s);
}

/* What each rank computes at a step, [n_ranks]: while it waits for messages, and after. */
void model_sides_price(struct model_sides *sides, const struct model_pattern *pattern, double *compute_s,
                       double *add_s);

/* out[rank] = table[kinds[rank]][rank]; table is [n_kinds][n_ranks]. */
void model_sides_pick(const struct model_sides *sides, const double *table, const uint8_t *kinds,
                      double *out);

#endif
