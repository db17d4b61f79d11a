/* SPDX-License-Identifier: MIT
 *
 * What `ringlab place` finds: a few orders of devices, each with its step time and the links that its hops
 * share. place_command.c fills it, place_print.c and place_json.c write it. */
#ifndef TOOL_PLACE_H
#define TOOL_PLACE_H

#include <stdio.h>

#include "models/place.h"
#include "tools/setup.h"

#define TOOL_PLACE_SCHEMA "ringlab-place-1"

/* A link that several hops cross. */
struct tool_shared_link {
    const char *name; /* borrowed from the topology */
    uint32_t link;    /* its number there */
    uint32_t n_hops;
    double bytes_per_s; /* of the link; each hop has at most its n_hops-th part */
};

struct tool_order {
    const char *name;               /* "natural", "scenario", "best", "worst" */
    uint32_t *device_of_rank;       /* [n_ranks] */
    struct model_place_found found; /* of natural and scenario: only the score */
    double time_s;                  /* of the step; NaN: needs a simulator that is not built in */
    const char *world;              /* which one says so */
    struct tool_shared_link *links; /* the most crowded first, in seconds for each of its hops */
    size_t n_links;
};

enum { TOOL_MAX_ORDERS = 4 };

struct tool_places {
    const struct tool_setup *setup;
    enum model_effort effort;
    bool keep_devices;  /* only those that the scenario has were searched among */
    double bytes;       /* of one message */
    double least_hop_s; /* no order's worst hop is faster */
    struct tool_order orders[TOOL_MAX_ORDERS];
    size_t n_orders;
    const struct tool_order *natural, *scenario, *best, *worst; /* in orders; scenario: the one that the
                                                                    scenario has, natural or not */
};

/* What a bad order costs, in a sentence or three. */
void tool_place_sentence(const struct tool_places *places, char *text, size_t size);

enum ring_status tool_place_print(const struct tool_places *places, FILE *file, struct ring_error *error);
enum ring_status tool_place_write(const struct tool_places *places, FILE *file, struct ring_error *error);

#endif
