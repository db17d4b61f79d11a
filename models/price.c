/* SPDX-License-Identifier: MIT
 *
 * What a block costs a rank, asked once or a million times. The device model itself is in device.c. */
#include "models/price.h"

#include <inttypes.h>
#include <stdlib.h>

struct model_price_entry {
    const struct model_device *device; /* NULL: free */
    struct ring_work work;
    double seconds;
};

static const struct model_device *device_of(const struct model_ring *ring, uint32_t rank)
{
    return ring->topology->vertices[ring->topology->devices[ring->device_of_rank[rank]]].device;
}

enum ring_status model_ring_block(const struct model_ring *ring, uint32_t rank, const struct ring_work *work,
                                  struct model_block_cost *cost, struct ring_error *error)
{
    if (ring->compute.block_s <= 0)
        return model_device_block(device_of(ring, rank), &ring->plan->problem, ring->plan->pass, work, cost,
                                  error);
    *cost = (struct model_block_cost){.outside = false};
    if (work->visible_pairs == 0)
        return RING_OK;
    cost->flops = model_attention_flops(work->visible_pairs, &ring->plan->problem, ring->plan->pass) *
                  ring->plan->problem.batch * ring->plan->problem.heads;
    cost->kernel_s = cost->total_s = ring->compute.block_s;
    cost->rate_flop_per_s = cost->flops / cost->kernel_s;
    return RING_OK;
}

double model_ring_block_s(const struct model_ring *ring, uint32_t rank, const struct ring_work *work)
{
    struct model_block_cost cost;

    if (ring->compute.block_s > 0)
        return work->visible_pairs > 0 ? ring->compute.block_s : 0;
    /* model_ring_init has seen to it that this device has a curve, so there is no failure to pass on */
    model_ring_block(ring, rank, work, &cost, NULL);
    return cost.total_s;
}

enum ring_status model_prices_init(struct model_prices *prices, const struct model_ring *ring,
                                   struct ring_error *error)
{
    uint32_t n_ranks = ring->plan->n_ranks;

    *prices = (struct model_prices){
        .ring = ring,
        .last_work = calloc(n_ranks, sizeof *prices->last_work),
        .last_s = calloc(n_ranks, sizeof *prices->last_s),
        .entries = calloc(64, sizeof *prices->entries),
        .capacity = 64,
    };
    if (prices->last_work && prices->last_s && prices->entries)
        return RING_OK;
    model_prices_fini(prices);
    return ring_fail(error, RING_NO_MEMORY, "out of memory for the prices of %" PRIu32 " ranks", n_ranks);
}

void model_prices_fini(struct model_prices *prices)
{
    free(prices->last_work);
    free(prices->last_s);
    free(prices->entries);
    *prices = (struct model_prices){.ring = NULL};
}

static bool same_work(const struct ring_work *a, const struct ring_work *b)
{
    return a->q_tokens == b->q_tokens && a->k_tokens == b->k_tokens && a->visible_pairs == b->visible_pairs;
}

/* The entry of this device and shape, or the free one where it belongs. */
static struct model_price_entry *find_entry(struct model_price_entry *entries, size_t capacity,
                                            const struct model_device *device, const struct ring_work *work)
{
    uint64_t hash = (uint64_t)(uintptr_t)device >> 4;

    hash = (hash ^ work->q_tokens) * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ work->k_tokens) * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ work->visible_pairs) * UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = (size_t)(hash >> 20) & (capacity - 1);; i = (i + 1) & (capacity - 1))
        if (!entries[i].device || (entries[i].device == device && same_work(&entries[i].work, work)))
            return &entries[i];
}

/* Twice the room; if there is no memory for it, the table stays as it is and new shapes are not remembered.
 */
static void grow(struct model_prices *prices)
{
    size_t capacity = 2 * prices->capacity;
    struct model_price_entry *entries = calloc(capacity, sizeof *entries);

    if (!entries)
        return;
    for (size_t i = 0; i < prices->capacity; i++) {
        const struct model_price_entry *entry = &prices->entries[i];
        if (entry->device)
            *find_entry(entries, capacity, entry->device, &entry->work) = *entry;
    }
    free(prices->entries);
    prices->entries = entries;
    prices->capacity = capacity;
}

static double look_up(struct model_prices *prices, uint32_t rank, const struct ring_work *work)
{
    const struct model_device *device = device_of(prices->ring, rank);

    if (2 * prices->n_entries >= prices->capacity)
        grow(prices);
    struct model_price_entry *entry = find_entry(prices->entries, prices->capacity, device, work);
    if (entry->device)
        return entry->seconds;
    double seconds = model_ring_block_s(prices->ring, rank, work);
    if (2 * prices->n_entries < prices->capacity) {
        *entry = (struct model_price_entry){device, *work, seconds};
        prices->n_entries++;
    }
    return seconds;
}

double model_prices_block_s(struct model_prices *prices, uint32_t rank, const struct ring_work *work)
{
    if (work->visible_pairs == 0)
        return 0;
    if (prices->ring->compute.block_s > 0)
        return prices->ring->compute.block_s;
    if (same_work(&prices->last_work[rank], work))
        return prices->last_s[rank];
    prices->last_work[rank] = *work;
    prices->last_s[rank] = look_up(prices, rank, work);
    return prices->last_s[rank];
}
