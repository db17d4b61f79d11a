/* SPDX-License-Identifier: MIT
 *
 * See maxmin.h. */
#include "models/maxmin.h"

#include <math.h>
#include <stdlib.h>

enum ring_status model_maxmin_init(struct model_maxmin *maxmin, const double *bytes_per_s, size_t n_links,
                                   struct ring_error *error)
{
    *maxmin = (struct model_maxmin){
        .bytes_per_s = bytes_per_s,
        .left_bytes_per_s = malloc((n_links + 1) * sizeof *maxmin->left_bytes_per_s),
        .n_open = calloc(n_links + 1, sizeof *maxmin->n_open),
        .used = malloc((n_links + 1) * sizeof *maxmin->used),
    };
    if (maxmin->left_bytes_per_s && maxmin->n_open && maxmin->used)
        return RING_OK;
    model_maxmin_fini(maxmin);
    return ring_fail(error, RING_NO_MEMORY, "out of memory for %zu links", n_links);
}

void model_maxmin_fini(struct model_maxmin *maxmin)
{
    free(maxmin->left_bytes_per_s);
    free(maxmin->n_open);
    free(maxmin->used);
    *maxmin = (struct model_maxmin){.bytes_per_s = NULL};
}

/* Counts each link's flows; returns how many flows cross a link at all. */
static size_t open_flows(struct model_maxmin *maxmin, const struct model_flow *flows, size_t n_flows,
                         double *rates)
{
    size_t n_unknown = 0;

    maxmin->n_used = 0;
    for (size_t i = 0; i < n_flows; i++) {
        rates[i] = flows[i].n_links > 0 ? 0 : INFINITY;
        n_unknown += flows[i].n_links > 0;
        for (uint32_t l = 0; l < flows[i].n_links; l++) {
            uint32_t link = flows[i].links[l];
            if (maxmin->n_open[link]++ == 0) {
                maxmin->left_bytes_per_s[link] = maxmin->bytes_per_s[link];
                maxmin->used[maxmin->n_used++] = link;
            }
        }
    }
    return n_unknown;
}

static double share_of(const struct model_maxmin *maxmin, uint32_t link)
{
    return maxmin->left_bytes_per_s[link] / maxmin->n_open[link];
}

/* The least share of all links that still have open flows; forgets those that have none. */
static double least_share(struct model_maxmin *maxmin)
{
    double least = INFINITY;
    size_t n_kept = 0;

    for (size_t i = 0; i < maxmin->n_used; i++) {
        uint32_t link = maxmin->used[i];
        if (maxmin->n_open[link] == 0)
            continue;
        maxmin->used[n_kept++] = link;
        least = fmin(least, share_of(maxmin, link));
    }
    maxmin->n_used = n_kept;
    return least;
}

void model_maxmin_rates(struct model_maxmin *maxmin, const struct model_flow *flows, size_t n_flows,
                        double *rates)
{
    size_t n_unknown = open_flows(maxmin, flows, n_flows, rates);

    while (n_unknown > 0) {
        /* Shares that differ by rounding alone are one level: else the second would be settled at a rate a
         * little below what the first has left it. */
        double level = least_share(maxmin), within = level * (1 + 1e-12);
        for (size_t i = 0; i < n_flows; i++) {
            const struct model_flow *flow = &flows[i];
            double share = INFINITY;
            if (rates[i] > 0)
                continue;
            for (uint32_t l = 0; l < flow->n_links; l++)
                share = fmin(share, share_of(maxmin, flow->links[l]));
            if (share > within)
                continue;
            rates[i] = level;
            n_unknown--;
            for (uint32_t l = 0; l < flow->n_links; l++) {
                maxmin->n_open[flow->links[l]]--;
                maxmin->left_bytes_per_s[flow->links[l]] -= level;
            }
        }
    }
}
