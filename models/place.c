/* SPDX-License-Identifier: MIT
 *
 * The search: every order where they are few, else local moves from several beginnings. What is better is
 * decided in place_weigh.c; this file only makes orders. */
#include "models/place.h"

#include <stdlib.h>
#include <string.h>

#include "models/place_moves.h"
#include "models/place_ring.h"

#define MODEL_NAME(name, text) text,
const char *const model_effort_names[MODEL_N_EFFORTS] = {MODEL_EFFORTS(MODEL_NAME)};
#undef MODEL_NAME

enum {
    ALL_RANKS = 9,        /* every order is tried up to here, */
    ALL_ORDERS = 1000000, /* if they are no more than this */
    SLICE_HOPS = 400000,  /* weighed between two looks at the caller: about a tenth of a second */
    EXACT_HOPS = 8,       /* an exact score costs about as much as so many quick ones */
    PATIENCE = 40,        /* tries for each rank without an improvement, before the order is shaken */
};

struct model_place {
    struct model_ways ways;
    struct model_scale scale;
    uint32_t n_ranks, n_devices;
    enum model_goal goal;
    uint64_t random;
    /* what has been found */
    uint32_t *best; /* [n_devices] the ring first, then who is left over */
    struct model_place_found found;
    bool any;
    /* where the search is */
    bool all, ended;
    enum model_start start;
    uint64_t n_hops, start_hops, most_hops; /* weighed in all, at which this start ends, at which all ends */
    uint64_t n_all, n_idle;
    uint32_t *now, *trial; /* [n_devices] */
    double *now_s, *trial_s;
    struct model_weight weight; /* of now */
};

enum ring_status model_place_open(struct model_place **out, const struct model_place_spec *spec,
                                  struct ring_error *error)
{
    const struct ring_plan *plan = spec->plan;
    struct model_place *place = calloc(1, sizeof *place);
    size_t n = (spec->among ? plan->n_ranks : spec->topology->n_devices) + 1;

    *out = NULL;
    if (!place)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for the search of an order");
    enum ring_status status = model_ways_init(&place->ways, spec, error);
    if (status == RING_OK)
        status = model_scale_init(&place->scale, &place->ways, plan->n_ranks, error);
    place->n_ranks = plan->n_ranks;
    place->n_devices = place->ways.n;
    place->best = malloc(n * sizeof *place->best);
    place->now = malloc(n * sizeof *place->now);
    place->trial = malloc(n * sizeof *place->trial);
    place->now_s = malloc(n * sizeof *place->now_s);
    place->trial_s = malloc(n * sizeof *place->trial_s);
    if (status == RING_OK &&
        (!place->best || !place->now || !place->trial || !place->now_s || !place->trial_s))
        status = ring_fail(error, RING_NO_MEMORY, "out of memory for the search of an order");
    if (status != RING_OK) {
        model_place_close(place);
        return status;
    }
    *out = place;
    return RING_OK;
}

void model_place_close(struct model_place *place)
{
    if (!place)
        return;
    model_scale_fini(&place->scale);
    model_ways_fini(&place->ways);
    free(place->best);
    free(place->now);
    free(place->trial);
    free(place->now_s);
    free(place->trial_s);
    free(place);
}

/* Whether an order of this weight can be better than the best. */
static bool hopeful(const struct model_place *place, const struct model_weight *weight)
{
    const struct model_place_score *best = &place->found.score;
    double close = best->worst_hop_s * 1e-9;

    if (!place->any)
        return true;
    if (place->goal == MODEL_PLACE_WORST)
        return weight->most_s > best->worst_hop_s + close ||
               (weight->most_s >= best->worst_hop_s - close && weight->shared_bytes >= best->shared_bytes);
    return weight->least_s < best->worst_hop_s - close ||
           (weight->least_s <= best->worst_hop_s + close && weight->shared_bytes <= best->shared_bytes);
}

/* Keeps the order if it is better than the best. */
static void consider(struct model_place *place, const uint32_t *order, const struct model_weight *weight)
{
    place->found.n_orders++;
    place->n_hops += place->n_ranks;
    if (!hopeful(place, weight))
        return;
    struct model_place_score score = model_score(&place->scale, order);
    place->n_hops += weight->shared_bytes > 0 ? EXACT_HOPS * (uint64_t)place->n_ranks : 0;
    if (place->any && model_score_compare(&score, &place->found.score, place->goal) >= 0)
        return;
    place->any = true;
    place->found.score = score;
    memcpy(place->best, order, place->n_devices * sizeof *order);
}

/* Nothing can be better: the least that there can be, and no link is shared. */
static bool perfect(const struct model_place *place)
{
    return place->goal == MODEL_PLACE_BEST && place->any && place->found.score.shared_bytes <= 0 &&
           place->found.score.worst_hop_s <= place->found.least_hop_s * (1 + 1e-9);
}

static void try_start(struct model_place *place)
{
    while (place->start < MODEL_N_STARTS &&
           !model_start(&place->scale, place->start, place->goal, &place->random, place->now))
        place->start++;
    if (place->start == MODEL_N_STARTS) {
        place->ended = true;
        return;
    }
    place->weight = model_weigh(&place->scale, place->now, place->now_s);
    place->n_idle = 0;
    consider(place, place->now, &place->weight);
}

void model_place_begin(struct model_place *place, enum model_goal goal, enum model_effort effort,
                       uint64_t seed)
{
    static const uint64_t most_hops[MODEL_N_EFFORTS] = {2000000, 20000000, 200000000};

    place->goal = goal;
    place->random = seed;
    place->found =
        (struct model_place_found){.bytes = place->ways.bytes, .least_hop_s = place->ways.least_hop_s};
    place->any = place->ended = false;
    place->n_all = model_count_rings(place->n_ranks, place->n_devices, ALL_ORDERS);
    place->all = place->n_ranks <= ALL_RANKS && place->n_all <= ALL_ORDERS;
    place->n_hops = 0;
    place->most_hops = place->all ? place->n_all * place->n_ranks : most_hops[effort];
    place->start = MODEL_START_NATURAL;
    place->start_hops = place->most_hops / MODEL_N_STARTS;
    try_start(place);
}

static bool go_through_all(struct model_place *place)
{
    for (uint64_t until = place->n_hops + SLICE_HOPS; place->n_hops < until;) {
        if (!model_next_ring(place->now, place->n_ranks, place->n_devices)) {
            place->ended = true;
            break;
        }
        struct model_weight weight = model_weigh(&place->scale, place->now, NULL);
        consider(place, place->now, &weight);
    }
    place->found.all = place->ended;
    return !place->ended;
}

/* Goes on from the best with a few hops changed at random. */
static void shake(struct model_place *place)
{
    memcpy(place->now, place->best, place->n_devices * sizeof *place->now);
    for (int i = 0; i < 3; i++)
        model_move(place->now, place->n_ranks, place->n_devices, place->ways.group, NULL, &place->random);
    place->weight = model_weigh(&place->scale, place->now, place->now_s);
    consider(place, place->now, &place->weight);
    place->n_idle = 0;
}

/* One local move, kept unless it makes the order worse. */
static void try_move(struct model_place *place)
{
    memcpy(place->trial, place->now, place->n_devices * sizeof *place->now);
    model_move(place->trial, place->n_ranks, place->n_devices, place->ways.group, place->now_s,
               &place->random);
    struct model_weight weight = model_weigh(&place->scale, place->trial, place->trial_s);
    int order = model_weight_compare(&weight, &place->weight, place->goal);
    consider(place, place->trial, &weight);
    place->n_idle = order < 0 ? 0 : place->n_idle + 1;
    if (order > 0)
        return;
    uint32_t *devices = place->now;
    double *seconds = place->now_s;
    place->now = place->trial;
    place->now_s = place->trial_s;
    place->trial = devices;
    place->trial_s = seconds;
    place->weight = weight;
}

/* The next beginning, when this one has had its part of the effort; all but the last end early where nothing
 * improves any more. */
static void next_start(struct model_place *place)
{
    place->start++;
    place->start_hops =
        place->n_hops + (place->most_hops - place->n_hops) / (MODEL_N_STARTS - place->start + 1);
    try_start(place);
}

static bool search(struct model_place *place)
{
    uint64_t patience = (uint64_t)PATIENCE * place->n_ranks;

    for (uint64_t until = place->n_hops + SLICE_HOPS; place->n_hops < until && !place->ended;) {
        if (place->n_hops >= place->most_hops || place->n_ranks < 3) {
            place->ended = true;
        } else if (place->start + 1 < MODEL_N_STARTS &&
                   (place->n_hops >= place->start_hops || place->n_idle > patience || perfect(place))) {
            next_start(place);
        } else if (perfect(place)) {
            place->ended = true;
        } else if (place->n_idle > patience) {
            shake(place);
        } else {
            try_move(place);
        }
    }
    return !place->ended;
}

bool model_place_go_on(struct model_place *place)
{
    return !place->ended && (place->all ? go_through_all(place) : search(place));
}

double model_place_progress(const struct model_place *place)
{
    double most = place->all ? (double)place->n_all : (double)place->most_hops;
    double now = place->all ? (double)place->found.n_orders : (double)place->n_hops;

    return place->ended || now >= most ? 1 : now / most;
}

void model_place_take(const struct model_place *place, uint32_t *device_of_rank,
                      struct model_place_found *found)
{
    uint32_t first = 0;

    for (uint32_t i = 1; i < place->n_ranks; i++)
        first = place->best[i] < place->best[first] ? i : first;
    for (uint32_t i = 0; i < place->n_ranks; i++)
        device_of_rank[i] = place->ways.device[place->best[(first + i) % place->n_ranks]];
    if (!found)
        return;
    *found = place->found;
    found->proved = found->all || (place->goal == MODEL_PLACE_BEST &&
                                   found->score.worst_hop_s <= found->least_hop_s * (1 + 1e-9));
}

struct model_place_score model_place_judge(struct model_place *place, const uint32_t *device_of_rank)
{
    const struct model_ways *ways = &place->ways;

    for (uint32_t rank = 0; rank < place->n_ranks; rank++) {
        uint32_t i = 0;
        while (i + 1 < ways->n && ways->device[i] != device_of_rank[rank])
            i++;
        place->trial[rank] = i;
    }
    return model_score(&place->scale, place->trial);
}

enum ring_status model_place_search(const struct model_place_spec *spec, enum model_goal goal,
                                    uint32_t *device_of_rank, struct ring_error *error)
{
    struct model_place *place;

    enum ring_status status = model_place_open(&place, spec, error);
    if (status != RING_OK)
        return status;
    model_place_begin(place, goal, MODEL_EFFORT_NORMAL, 1);
    while (model_place_go_on(place))
        continue;
    model_place_take(place, device_of_rank, NULL);
    model_place_close(place);
    return RING_OK;
}
