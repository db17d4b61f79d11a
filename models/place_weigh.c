/* SPDX-License-Identifier: MIT
 *
 * Judging an order of devices: quickly, between two bounds, and exactly. Where no link is shared the two are
 * the same, and no max-min share need be found. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "models/place_ring.h"

enum ring_status model_scale_init(struct model_scale *scale, const struct model_ways *ways, uint32_t n_ranks,
                                  struct ring_error *error)
{
    size_t n_links = ways->topology->n_links;

    *scale = (struct model_scale){
        .ways = ways,
        .n_ranks = n_ranks,
        .load = calloc(n_links + 1, sizeof *scale->load),
        .flows = malloc(n_ranks * sizeof *scale->flows),
        .rates = malloc(n_ranks * sizeof *scale->rates),
    };
    enum ring_status status = model_maxmin_init(&scale->maxmin, ways->bytes_per_s, n_links, error);
    if (status == RING_OK && (!scale->load || !scale->flows || !scale->rates))
        status = ring_fail(error, RING_NO_MEMORY, "out of memory for an order of %" PRIu32 " ranks", n_ranks);
    if (status != RING_OK)
        model_scale_fini(scale);
    return status;
}

void model_scale_fini(struct model_scale *scale)
{
    free(scale->load);
    free(scale->flows);
    free(scale->rates);
    model_maxmin_fini(&scale->maxmin);
    *scale = (struct model_scale){.ways = NULL};
}

static size_t hop_of(const struct model_scale *scale, const uint32_t *order, uint32_t rank)
{
    return model_way(scale->ways, order[rank], order[rank + 1 < scale->n_ranks ? rank + 1 : 0]);
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

/* The most crowded link so far, in seconds that each of its flows takes, and the slowest of those flows'
 * hops. */
struct crowd {
    double seconds, hop_s;
};

/* One hop, where the loads are those of all. */
static double weigh_hop(const struct model_scale *scale, size_t way, struct model_weight *weight,
                        struct crowd *crowd)
{
    const struct model_ways *ways = scale->ways;
    double slowest_s = 0;

    for (uint32_t l = ways->first[way]; l < ways->first[way + 1]; l++) {
        uint32_t link = ways->links[l], load = scale->load[link];
        double seconds = load * ways->s_per_flow[link];
        slowest_s = seconds > slowest_s ? seconds : slowest_s;
        weight->shared_bytes += load > 1 ? ways->bytes : 0;
    }
    double hop_s = ways->latency_s[way] + slowest_s;
    if (slowest_s > crowd->seconds * (1 + 1e-12))
        *crowd = (struct crowd){slowest_s, hop_s};
    else if (slowest_s >= crowd->seconds * (1 - 1e-12) && hop_s > crowd->hop_s)
        crowd->hop_s = hop_s;
    weight->least_s = ways->alone_s[way] > weight->least_s ? ways->alone_s[way] : weight->least_s;
    return hop_s;
}

struct model_weight model_weigh(struct model_scale *scale, const uint32_t *order, double *hops_s)
{
    const struct model_ways *ways = scale->ways;
    struct model_weight weight = {.most_s = 0};
    struct crowd crowd = {.seconds = 0};

    for (uint32_t rank = 0; rank < scale->n_ranks; rank++) {
        size_t way = hop_of(scale, order, rank);
        for (uint32_t l = ways->first[way]; l < ways->first[way + 1]; l++)
            scale->load[ways->links[l]]++;
    }
    for (uint32_t rank = 0; rank < scale->n_ranks; rank++) {
        double hop_s = weigh_hop(scale, hop_of(scale, order, rank), &weight, &crowd);
        if (hop_s > weight.most_s * (1 + 1e-9))
            weight.n_worst = 0;
        weight.n_worst += hop_s >= weight.most_s * (1 - 1e-9);
        weight.most_s = fmax(weight.most_s, hop_s);
        weight.hops_s += hop_s;
        if (hops_s)
            hops_s[rank] = hop_s;
    }
    weight.least_s = fmax(weight.least_s, crowd.hop_s);
    for (uint32_t rank = 0; rank < scale->n_ranks; rank++) {
        size_t way = hop_of(scale, order, rank);
        for (uint32_t l = ways->first[way]; l < ways->first[way + 1]; l++)
            scale->load[ways->links[l]] = 0;
    }
    return weight;
}

/* Each hop by its max-min share. */
static void share(struct model_scale *scale, const uint32_t *order, struct model_place_score *score)
{
    const struct model_ways *ways = scale->ways;

    for (uint32_t rank = 0; rank < scale->n_ranks; rank++) {
        size_t way = hop_of(scale, order, rank);
        scale->flows[rank] = (struct model_flow){
            .links = ways->links + ways->first[way],
            .n_links = ways->first[way + 1] - ways->first[way],
        };
    }
    model_maxmin_rates(&scale->maxmin, scale->flows, scale->n_ranks, scale->rates);
    score->worst_hop_s = score->hops_s = 0;
    for (uint32_t rank = 0; rank < scale->n_ranks; rank++) {
        double hop_s = ways->latency_s[hop_of(scale, order, rank)] + ways->bytes / scale->rates[rank];
        score->worst_hop_s = fmax(score->worst_hop_s, hop_s);
        score->hops_s += hop_s;
    }
}

struct model_place_score model_score(struct model_scale *scale, const uint32_t *order)
{
    struct model_weight weight = model_weigh(scale, order, NULL);
    struct model_place_score score = {
        .worst_hop_s = weight.most_s,
        .shared_bytes = weight.shared_bytes,
        .hops_s = weight.hops_s,
    };

    if (weight.shared_bytes > 0)
        share(scale, order, &score);
    for (uint32_t rank = 0; rank < scale->n_ranks; rank++) {
        uint32_t next = order[rank + 1 < scale->n_ranks ? rank + 1 : 0];
        score.n_moved += next != order[rank] + 1;
    }
    return score;
}

static int compare(double a, double b)
{
    return near(a, b) ? 0 : a < b ? -1 : 1;
}

int model_score_compare(const struct model_place_score *a, const struct model_place_score *b,
                        enum model_goal goal)
{
    int sign = goal == MODEL_PLACE_BEST ? 1 : -1;
    int order = sign * compare(a->worst_hop_s, b->worst_hop_s);

    order = order ? order : sign * compare(a->shared_bytes, b->shared_bytes);
    order = order ? order : sign * compare(a->hops_s, b->hops_s);
    return order ? order : (a->n_moved > b->n_moved) - (a->n_moved < b->n_moved);
}

bool model_score_same(const struct model_place_score *a, const struct model_place_score *b)
{
    return near(a->worst_hop_s, b->worst_hop_s) && near(a->shared_bytes, b->shared_bytes) &&
           near(a->hops_s, b->hops_s);
}

int model_weight_compare(const struct model_weight *a, const struct model_weight *b, enum model_goal goal)
{
    int order = compare(a->most_s, b->most_s);

    order = order ? order : (a->n_worst > b->n_worst) - (a->n_worst < b->n_worst);
    order = order ? order : compare(a->shared_bytes, b->shared_bytes);
    order = order ? order : compare(a->hops_s, b->hops_s);
    return goal == MODEL_PLACE_BEST ? order : -order;
}
