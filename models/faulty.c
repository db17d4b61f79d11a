/* SPDX-License-Identifier: MIT
 *
 * Putting faults on a ring: who is struck by what, and what hops cost then. */
#include "models/faulty.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/price.h"

static enum ring_status no_memory(const struct model_faults *faults, struct ring_error *error)
{
    return ring_fail(error, RING_NO_MEMORY, "out of memory for %zu faults", faults->n);
}

/* Whether a fault strikes a link: by its list, or because the device at one of its ends dies. */
static bool strikes_link(const struct model_topology *topology, const struct model_fault *fault,
                         uint32_t link)
{
    if (fault->kind == MODEL_FAULT_DEVICE_DIES) {
        uint32_t vertex = topology->devices[fault->device];
        return topology->links[link].from == vertex || topology->links[link].to == vertex;
    }
    for (size_t i = 0; !model_fault_of_device(fault) && i < fault->n_links; i++)
        if (fault->links[i] == link)
            return true;
    return false;
}

static bool sort_by_rank(struct model_faulty *faulty, const struct model_ring *ring)
{
    const struct model_faults *faults = faulty->faults;
    uint32_t n_ranks = ring->plan->n_ranks, n = 0;

    faulty->rank_first = calloc(n_ranks + (size_t)1, sizeof *faulty->rank_first);
    faulty->of_ranks = calloc(n_ranks * faults->n + 1, sizeof *faulty->of_ranks);
    if (!faulty->rank_first || !faulty->of_ranks)
        return false;
    for (uint32_t rank = 0; rank < n_ranks; rank++) {
        faulty->rank_first[rank] = n;
        for (size_t i = 0; i < faults->n; i++)
            if (model_fault_of_device(&faults->items[i]) &&
                faults->items[i].device == ring->device_of_rank[rank])
                faulty->of_ranks[n++] = &faults->items[i];
    }
    faulty->rank_first[n_ranks] = n;
    return true;
}

/* Two walks: count, then fill. */
static bool sort_by_link(struct model_faulty *faulty, const struct model_ring *ring)
{
    const struct model_faults *faults = faulty->faults;
    size_t n_links = ring->topology->n_links;
    uint32_t n = 0;

    faulty->link_first = calloc(n_links + 1, sizeof *faulty->link_first);
    if (!faulty->link_first)
        return false;
    for (int fills = 0; fills < 2; fills++) {
        n = 0;
        for (size_t link = 0; link < n_links; link++) {
            faulty->link_first[link] = n;
            for (size_t i = 0; i < faults->n; i++) {
                if (!strikes_link(ring->topology, &faults->items[i], (uint32_t)link))
                    continue;
                if (fills)
                    faulty->of_links[n] = &faults->items[i];
                n++;
            }
        }
        faulty->link_first[n_links] = n;
        if (!fills)
            faulty->of_links = calloc(n + (size_t)1, sizeof *faulty->of_links);
        if (!faulty->of_links)
            return false;
    }
    return true;
}

void model_faulty_free(struct model_faulty *faulty)
{
    if (!faulty)
        return;
    free(faulty->rank_first);
    free(faulty->of_ranks);
    free(faulty->link_first);
    free(faulty->of_links);
    free(faulty);
}

/* A device that is slow for a time only and has several ranks. */
static enum ring_status check_sharing(const struct model_ring *ring, struct ring_error *error)
{
    for (uint32_t rank = 0; rank < ring->plan->n_ranks; rank++) {
        for (uint32_t i = ring->faulty->rank_first[rank]; i < ring->faulty->rank_first[rank + 1]; i++) {
            const struct model_fault *fault = ring->faulty->of_ranks[i];
            if (fault->kind != MODEL_FAULT_SLOW || model_fault_constant(fault))
                continue;
            for (uint32_t other = 0; other < rank; other++)
                if (ring->device_of_rank[other] == ring->device_of_rank[rank])
                    return ring_fail(error, RING_BAD_INPUT,
                                     "fault: %s is slow for a time only, but ranks %" PRIu32 " and %" PRIu32
                                     " share it, wanted a device of one rank, or one that is always slow",
                                     fault->subject, other, rank);
        }
    }
    return RING_OK;
}

/* The price of a link without and with the faults for ever. */
static double link_rate(const struct model_ring *ring, uint32_t link, uint64_t bytes)
{
    double rate = model_link_class(&ring->topology->links[link], bytes)->bytes_per_s;

    for (uint32_t i = ring->faulty ? ring->faulty->link_first[link] : 0;
         ring->faulty && i < ring->faulty->link_first[link + 1]; i++)
        if (ring->faulty->of_links[i]->kind == MODEL_FAULT_BANDWIDTH &&
            model_fault_constant(ring->faulty->of_links[i]))
            rate *= ring->faulty->of_links[i]->amount;
    return rate;
}

static void price_hop(struct model_ring *ring, struct model_hop *hop, uint64_t bytes)
{
    const struct model_faulty *faulty = ring->faulty;

    hop->bytes_per_s = INFINITY;
    hop->latency_s = 0;
    hop->changes = false;
    for (uint32_t i = 0; i < hop->n_links; i++) {
        uint32_t link = hop->links[i];
        hop->bytes_per_s = fmin(hop->bytes_per_s, ring->link_bytes_per_s[link]);
        hop->latency_s += model_link_class(&ring->topology->links[link], bytes)->latency_s;
        for (uint32_t j = faulty ? faulty->link_first[link] : 0; faulty && j < faulty->link_first[link + 1];
             j++) {
            const struct model_fault *fault = faulty->of_links[j];
            if (!model_fault_constant(fault))
                hop->changes = true;
            else if (fault->kind == MODEL_FAULT_LATENCY)
                hop->latency_s += fault->amount;
            if (!model_fault_constant(fault) && fault->kind != MODEL_FAULT_LATENCY &&
                fault->kind != MODEL_FAULT_DEVICE_DIES && fault->kind != MODEL_FAULT_LINK_DIES)
                ring->faulty->links_change = true;
        }
    }
}

enum ring_status model_faults_apply(struct model_ring *ring, const struct model_faults *faults,
                                    struct ring_error *error)
{
    uint64_t bytes = model_ring_class_bytes(ring->plan);

    bool had_any = ring->faulty != NULL;
    model_faulty_free(ring->faulty);
    ring->faulty = NULL;
    if ((!faults || faults->n == 0) && !had_any)
        return RING_OK;
    if (faults && faults->n > 0) {
        ring->faulty = calloc(1, sizeof *ring->faulty);
        if (!ring->faulty)
            return no_memory(faults, error);
        ring->faulty->faults = faults;
        if (!sort_by_rank(ring->faulty, ring) || !sort_by_link(ring->faulty, ring))
            return no_memory(faults, error);
        enum ring_status status = check_sharing(ring, error);
        if (status != RING_OK)
            return status;
    }
    for (size_t link = 0; link < ring->topology->n_links; link++)
        ring->link_bytes_per_s[link] = link_rate(ring, (uint32_t)link, bytes);
    for (uint32_t h = 0; h < ring->hop_first[ring->plan->n_ranks]; h++)
        price_hop(ring, &ring->hops[h], bytes);
    return RING_OK;
}

enum ring_status model_ring_with_faults(struct model_ring *copy, const struct model_ring *ring,
                                        const struct model_faults *faults, struct ring_error *error)
{
    size_t n_hops = ring->hop_first[ring->plan->n_ranks], n_links = ring->topology->n_links;
    struct model_hop *hops = malloc((n_hops + 1) * sizeof *hops);
    double *rates = malloc((n_links + 1) * sizeof *rates);
    struct model_faulty *none = calloc(1, sizeof *none);

    *copy = *ring;
    copy->hops = hops;
    copy->link_bytes_per_s = rates;
    copy->faulty = none; /* not NULL: all prices are made anew */
    if (!hops || !rates || !none) {
        model_ring_with_faults_fini(copy);
        return ring_fail(error, RING_NO_MEMORY, "out of memory for %zu hops", n_hops);
    }
    memcpy(hops, ring->hops, n_hops * sizeof *hops);
    enum ring_status status = model_faults_apply(copy, faults, error);
    if (status != RING_OK)
        model_ring_with_faults_fini(copy);
    return status;
}

void model_ring_with_faults_fini(struct model_ring *copy)
{
    free(copy->hops);
    free(copy->link_bytes_per_s);
    model_faulty_free(copy->faulty);
    *copy = (struct model_ring){.plan = NULL};
}
