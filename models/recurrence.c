/* SPDX-License-Identifier: MIT
 *
 * The door to the recurrence: refuses what it would get wrong, and picks the way to play it. */
#include "models/recurrence.h"

#include <stdlib.h>
#include <string.h>

#include "models/play.h"

bool model_recurrence_serves(const struct model_ring *ring)
{
    bool pairs = ring->plan->pass != RING_PASS_FORWARD;

    for (uint32_t h = 0; pairs && h < ring->hop_first[ring->plan->n_ranks]; h++)
        if (ring->hops[h].changes)
            return false;
    return !ring->shared;
}

static enum ring_status play_either_way(struct model_play *play, double *moving_s, struct ring_error *error)
{
    size_t n_hops = play->ring->hop_first[play->ring->plan->n_ranks];
    double *counts = moving_s ? calloc(2 * n_hops + 1, sizeof *counts) : NULL;

    if (moving_s && !counts)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for %zu hops", n_hops);
    play->until_s = counts;
    play->moving_s = counts ? counts + n_hops : NULL;
    enum ring_status status = model_play_regular(play, error);
    if (status == RING_UNSUPPORTED) {
        if (counts)
            memset(counts, 0, 2 * n_hops * sizeof *counts);
        status = model_play_dataflow(play, error);
    }
    if (moving_s)
        *moving_s = 0;
    for (size_t hop = 0; counts && hop < n_hops; hop++)
        *moving_s += play->moving_s[hop];
    free(counts);
    return status;
}

enum ring_status model_recurrence(const struct model_ring *ring, double *ends_s, struct ring_parts *totals,
                                  struct ring_parts *steps, struct ring_error *error)
{
    return model_recurrence_moving(ring, ends_s, totals, steps, NULL, error);
}

enum ring_status model_recurrence_moving(const struct model_ring *ring, double *ends_s,
                                         struct ring_parts *totals, struct ring_parts *steps,
                                         double *moving_s, struct ring_error *error)
{
    struct model_play play = {.ring = ring, .ends_s = ends_s, .totals = totals, .steps = steps};

    if (ring->shared)
        return ring_fail(error, RING_UNSUPPORTED,
                         "the recurrence holds only where nothing is shared, and %s is: simulate the links",
                         ring->shared_what);
    if (!model_recurrence_serves(ring))
        return ring_fail(error, RING_UNSUPPORTED,
                         "the recurrence does not hold where a block and a gradient share a hop that a fault "
                         "changes for a time: simulate the links");
    enum ring_status status = model_prices_init(&play.prices, ring, error);
    if (status != RING_OK)
        return status;
    for (uint32_t rank = 0; rank < ring->plan->n_ranks; rank++)
        totals[rank] = (struct ring_parts){.begin_s = 0};
    status = play_either_way(&play, moving_s, error);
    for (uint32_t rank = 0; rank < ring->plan->n_ranks && status == RING_OK; rank++)
        totals[rank].end_s = ends_s[rank];
    model_prices_fini(&play.prices);
    return status;
}
