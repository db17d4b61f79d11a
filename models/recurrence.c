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

static enum ring_status play_either_way(struct model_play *play, bool counts, struct ring_error *error)
{
    size_t n_hops = play->ring->hop_first[play->ring->plan->n_ranks];

    if (counts && !(play->until_s = calloc(n_hops + 1, sizeof *play->until_s)))
        return ring_fail(error, RING_NO_MEMORY, "out of memory for %zu hops", n_hops);
    enum ring_status status = model_play_regular(play, error);
    if (status == RING_UNSUPPORTED) {
        if (counts)
            memset(play->until_s, 0, n_hops * sizeof *play->until_s);
        play->moving_s = 0;
        status = model_play_dataflow(play, error);
    }
    free(play->until_s);
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
    status = play_either_way(&play, moving_s != NULL, error);
    if (moving_s)
        *moving_s = play.moving_s;
    for (uint32_t rank = 0; rank < ring->plan->n_ranks && status == RING_OK; rank++)
        totals[rank].end_s = ends_s[rank];
    model_prices_fini(&play.prices);
    return status;
}
