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
    enum ring_job *last_job;
    double *last_s;
    /* all shapes, open addressing */
    struct model_price_entry *entries;
    size_t n_entries, capacity;
};

enum ring_status model_prices_init(struct model_prices *prices, const struct model_ring *ring,
                                   struct ring_error *error);
void model_prices_fini(struct model_prices *prices);

/* model_ring_task_s of a forward or backward job, but for what the first of a backward pass prepares; and
 * that. */
double model_prices_block_s(struct model_prices *prices, uint32_t rank, enum ring_job job,
                            const struct ring_work *work);
double model_prices_prepare_s(const struct model_prices *prices, uint32_t rank);

/* The two halves of an addition's price: memory traffic, and its seconds on that rank's device. */
double model_add_bytes(const struct ring_plan *plan, uint32_t block, bool begins);
double model_adding_s(const struct model_ring *ring, uint32_t rank, double bytes);

/* Bytes that decide a link's size class: of the largest block, so that all hops of a plan see one price. */
uint64_t model_ring_class_bytes(const struct ring_plan *plan);

/* How often a rank looks at its messages while it computes, and how long there is something to look at: part
 * of model_ring_init. */
void model_ring_plan_looks(struct model_ring *ring);

/* Fills hops[].bytes and link_bytes by walking over the plan; part of model_ring_init. Sets ring->shared
 * where a plan puts more than two messages on one hop at once. */
enum ring_status model_ring_count_bytes(struct model_ring *ring, struct ring_error *error);

#endif
