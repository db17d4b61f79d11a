/* SPDX-License-Identifier: MIT
 *
 * What the files of the placement search share: place_ways.c knows what every hop could cost, place_weigh.c
 * judges an order, place_starts.c makes orders that make sense, place.c searches. Internal to
 * models/place*.c. */
#ifndef MODEL_PLACE_RING_H
#define MODEL_PLACE_RING_H

#include "models/maxmin.h"
#include "models/place.h"

/* Routes of all ordered pairs of devices, and their price for the plan's blocks. */
struct model_ways {
    const struct model_topology *topology;
    uint32_t n;       /* devices that are searched among; everywhere here, devices are numbered among these */
    uint32_t *device; /* [n] the topology's number of each, ascending */
    double bytes;     /* of one message */
    uint32_t *first;  /* [n * n + 1] into links */
    uint32_t *links;
    double *latency_s;   /* [n * n] */
    double *alone_s;     /* [n * n] a message alone on its way, its latency included */
    double *bytes_per_s; /* [n_links] */
    double *late_s;      /* [n_links] latency */
    double *s_per_flow;  /* [n_links] bytes / bytes_per_s: what each flow on a link adds to all of them */
    uint32_t *group;     /* [n] the machine, or where there is none, the switch */
    uint32_t n_groups;
    double least_hop_s; /* no ring of n_ranks has a faster worst hop */
};

enum ring_status model_ways_init(struct model_ways *ways, const struct model_place_spec *spec,
                                 struct ring_error *error);
void model_ways_fini(struct model_ways *ways);

static inline size_t model_way(const struct model_ways *ways, uint32_t from, uint32_t to)
{
    return (size_t)from * ways->n + to;
}

/* What is quickly known of an order. A hop's time is at most its latency and that of its most crowded link,
 * each flow there with an equal part; and the most crowded link's own flows take exactly that. */
struct model_weight {
    double most_s, least_s; /* the worst hop takes at most and at least this */
    double shared_bytes;
    double hops_s;    /* of all hops' most */
    uint32_t n_worst; /* hops that take most_s */
};

struct model_scale {
    const struct model_ways *ways; /* borrowed */
    uint32_t n_ranks;
    uint32_t *load; /* [n_links] flows; 0 between questions */
    struct model_maxmin maxmin;
    struct model_flow *flows; /* [n_ranks] */
    double *rates;            /* [n_ranks] */
};

enum ring_status model_scale_init(struct model_scale *scale, const struct model_ways *ways, uint32_t n_ranks,
                                  struct ring_error *error);
void model_scale_fini(struct model_scale *scale);

/* hops_s, if not NULL, [n_ranks]: at most, each. */
struct model_weight model_weigh(struct model_scale *scale, const uint32_t *order, double *hops_s);

/* The exact score. */
struct model_place_score model_score(struct model_scale *scale, const uint32_t *order);

/* -1: a is better (for the goal) than b, 1: worse. Times and bytes that differ by less than 1e-9 are equal.
 */
int model_score_compare(const struct model_place_score *a, const struct model_place_score *b,
                        enum model_goal goal);
int model_weight_compare(const struct model_weight *a, const struct model_weight *b, enum model_goal goal);

/* Orders to begin with; order is all n devices, the ring's n_ranks first, the others after. Returns false
 * where this one makes no sense here. NEXT uses the loads of the scale. */
#define MODEL_STARTS(X)        X(NATURAL) X(MACHINES) X(SNAKE) X(SCATTERED) X(NEXT) X(SHUFFLED)
#define MODEL_START_ENUM(name) MODEL_START_##name,
enum model_start { MODEL_STARTS(MODEL_START_ENUM) MODEL_N_STARTS };
#undef MODEL_START_ENUM
bool model_start(struct model_scale *scale, enum model_start start, enum model_goal goal, uint64_t *random,
                 uint32_t *order);

#endif
