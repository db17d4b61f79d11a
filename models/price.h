/* SPDX-License-Identifier: MIT
 *
 * Prices remembered: a ring of a thousand devices asks a million times for a handful of block shapes.
 * Internal to models/; everyone else asks ring.h. */
#ifndef MODEL_PRICE_H
#define MODEL_PRICE_H

#include "models/ring.h"

struct model_price_entry; /* one (device, shape) and its seconds */

struct model_prices {
    const struct model_ring *ring; /* borrowed */
    /* the last shape of each rank: most ranks see one shape for many steps */
    struct ring_work *last_work; /* [n_ranks] */
    double *last_s;
    /* all shapes, open addressing */
    struct model_price_entry *entries;
    size_t n_entries, capacity;
};

enum ring_status model_prices_init(struct model_prices *prices, const struct model_ring *ring,
                                   struct ring_error *error);
void model_prices_fini(struct model_prices *prices);

/* model_ring_block_s. */
double model_prices_block_s(struct model_prices *prices, uint32_t rank, const struct ring_work *work);

/* Whether kind->block tells all that there is to know of a step, see struct ring_plan_kind. */
static inline bool model_is_regular(const struct ring_plan *plan)
{
    return plan->kind->block && plan->pass == RING_PASS_FORWARD;
}

/* Fills hops[].bytes and link_bytes by walking over the plan; part of model_ring_init. Sets ring->shared
 * where a plan puts two messages on one hop at once. */
enum ring_status model_ring_count_bytes(struct model_ring *ring, struct ring_error *error);

#endif
