/* SPDX-License-Identifier: MIT
 *
 * Which order of devices makes the best ring. All hops of a step are active at once, so an order is judged by
 * its worst hop when every hop has its max-min share of the links that it crosses; the equation and its ties
 * are in docs/MODEL.md. Up to nine ranks every order is tried; beyond, the search begins with orders that
 * make sense (machines kept together, the nearest next, a snake through a torus) and improves on them by
 * local moves, the same way every time. What devices cost does not matter here, only links. */
#ifndef MODEL_PLACE_H
#define MODEL_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/plan.h"
#include "models/fault.h"
#include "models/topology.h"

enum { MODEL_PLACE_MAX_DEVICES = 1024 };

/* How long the search goes on where not every order can be tried, in hops weighed: 2, 20 and 200 million. */
#define MODEL_EFFORTS(X)              X(QUICK, "quick") X(NORMAL, "normal") X(THOROUGH, "thorough")
#define MODEL_EFFORT_ENUM(name, text) MODEL_EFFORT_##name,
enum model_effort { MODEL_EFFORTS(MODEL_EFFORT_ENUM) MODEL_N_EFFORTS };
#undef MODEL_EFFORT_ENUM
extern const char *const model_effort_names[MODEL_N_EFFORTS];

enum model_goal { MODEL_PLACE_BEST, MODEL_PLACE_WORST };

/* What an order is judged by, first to last. The worst order is the one with the highest first three. */
struct model_place_score {
    double worst_hop_s;  /* the slowest hop, all at once */
    double shared_bytes; /* of one message a hop: over all links that more than one hop crosses */
    double hops_s;       /* all hops' times, added up */
    uint32_t n_moved;    /* hops that do not lead to the next device of the file, at least one: the fewer, the
                            more natural */
};

/* Worst hop, shared bytes and sum are the same, but for rounding. */
bool model_score_same(const struct model_place_score *a, const struct model_place_score *b);

/* How one order was found. */
struct model_place_found {
    struct model_place_score score;
    double bytes;       /* of the message that each hop was judged by */
    double least_hop_s; /* no order's worst hop is faster */
    uint64_t n_orders;  /* tried */
    bool all;           /* every order was */
    bool proved;        /* nothing has a better worst hop: all were tried, or it is the least there can be */
};

struct model_place; /* routes between all devices, and one search over them */

/* All borrowed. */
struct model_place_spec {
    const struct ring_plan *plan;
    const struct model_topology *topology;
    const struct model_faults *faults; /* those of links for ever count; NULL: none */
    const uint32_t *among;             /* [n_ranks] only on these devices; NULL: on any */
};

/* RING_UNSUPPORTED for a plan that is no ring, or more than MODEL_PLACE_MAX_DEVICES; RING_BAD_INPUT where
 * there are more ranks than devices, or no route; RING_NO_MEMORY. */
enum ring_status model_place_open(struct model_place **place, const struct model_place_spec *spec,
                                  struct ring_error *error);
void model_place_close(struct model_place *place);

/* Begins a search. Same goal, effort and seed: same order. */
void model_place_begin(struct model_place *place, enum model_goal goal, enum model_effort effort,
                       uint64_t seed);

/* Goes on for about a tenth of a second; false: it has ended. */
bool model_place_go_on(struct model_place *place);

/* How far it is, 0 to 1. */
double model_place_progress(const struct model_place *place);

/* The best so far. device_of_rank [n_ranks] begins with the lowest device. */
void model_place_take(const struct model_place *place, uint32_t *device_of_rank,
                      struct model_place_found *found);

/* Judges an order, [n_ranks], of devices that are searched among. */
struct model_place_score model_place_judge(struct model_place *place, const uint32_t *device_of_rank);

/* All of it at once, with an effort of normal and seed 1. */
enum ring_status model_place_search(const struct model_place_spec *spec, enum model_goal goal,
                                    uint32_t *device_of_rank, struct ring_error *error);

#endif
