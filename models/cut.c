/* SPDX-License-Identifier: MIT
 *
 * Maximum flow between two halves of the devices, by Dinic's method (1970): shortest ways with room left are
 * filled until none is, again and again with the ways that are then shortest. All devices of the first half
 * are sources of as much as one likes and all others are sinks, so no flow ever needs to pass through a
 * device, whether devices forward or not. */
#include "models/cut.h"

#include <stdlib.h>

enum { NOWHERE = UINT32_MAX };

/* Arc 2i is link i, arc 2i + 1 the way back: what has been sent over link i can be taken back. */
struct flow {
    const struct model_topology *topology;
    double *room;        /* [2 n_links] */
    uint32_t *next;      /* [2 n_links] the next arc that leaves the same vertex */
    uint32_t *first;     /* [n_vertices] */
    uint32_t *at;        /* [n_vertices] the arc to be tried next */
    uint32_t *level;     /* [n_vertices] arcs from the nearest source */
    uint32_t *queue;     /* [n_vertices]; also the way that is being walked */
    bool *source, *sink; /* [n_vertices] */
};

static void release(struct flow *flow)
{
    free(flow->room);
    free(flow->next);
    free(flow->first);
    free(flow->at);
    free(flow->level);
    free(flow->queue);
    free(flow->source);
    free(flow->sink);
}

static bool allocate(struct flow *flow)
{
    size_t n = flow->topology->n_vertices + 1, n_arcs = 2 * flow->topology->n_links + 1;

    flow->room = calloc(n_arcs, sizeof *flow->room);
    flow->next = malloc(n_arcs * sizeof *flow->next);
    flow->first = malloc(n * sizeof *flow->first);
    flow->at = malloc(n * sizeof *flow->at);
    flow->level = malloc(n * sizeof *flow->level);
    flow->queue = malloc(n * sizeof *flow->queue);
    flow->source = calloc(n, sizeof *flow->source);
    flow->sink = calloc(n, sizeof *flow->sink);
    return flow->room && flow->next && flow->first && flow->at && flow->level && flow->queue &&
           flow->source && flow->sink;
}

static uint32_t head(const struct flow *flow, uint32_t arc)
{
    const struct model_link *link = &flow->topology->links[arc / 2];

    return arc % 2 == 0 ? link->to : link->from;
}

static void fill(struct flow *flow, size_t n_first)
{
    const struct model_topology *topology = flow->topology;

    for (size_t v = 0; v < topology->n_vertices; v++)
        flow->first[v] = NOWHERE;
    for (size_t i = topology->n_links; i-- > 0;) {
        const struct model_link *link = &topology->links[i];
        uint32_t arc = (uint32_t)(2 * i);
        flow->room[arc] = link->classes[link->n_classes - 1].bytes_per_s;
        flow->next[arc] = flow->first[link->from];
        flow->first[link->from] = arc;
        flow->next[arc + 1] = flow->first[link->to];
        flow->first[link->to] = arc + 1;
    }
    for (size_t i = 0; i < topology->n_devices; i++)
        (i < n_first ? flow->source : flow->sink)[topology->devices[i]] = true;
}

/* Levels from the sources over arcs with room; whether a sink has one. */
static bool find_levels(struct flow *flow)
{
    size_t n_queued = 0, n_done = 0;
    bool found = false;

    for (uint32_t v = 0; v < flow->topology->n_vertices; v++) {
        flow->at[v] = flow->first[v];
        flow->level[v] = flow->source[v] ? 0 : NOWHERE;
        if (flow->source[v])
            flow->queue[n_queued++] = v;
    }
    while (n_done < n_queued) {
        uint32_t v = flow->queue[n_done++];
        found = found || flow->sink[v];
        for (uint32_t arc = flow->first[v]; arc != NOWHERE && !flow->sink[v]; arc = flow->next[arc]) {
            uint32_t to = head(flow, arc);
            if (!(flow->room[arc] > 0) || flow->level[to] != NOWHERE)
                continue;
            flow->level[to] = flow->level[v] + 1;
            flow->queue[n_queued++] = to;
        }
    }
    return found;
}

/* Sends as much as fits over the way of n arcs in queue. */
static double send(struct flow *flow, uint32_t n)
{
    double least = flow->room[flow->queue[0]];

    for (uint32_t i = 1; i < n; i++)
        least = flow->room[flow->queue[i]] < least ? flow->room[flow->queue[i]] : least;
    for (uint32_t i = 0; i < n; i++) {
        flow->room[flow->queue[i]] -= least;
        flow->room[flow->queue[i] ^ 1] += least;
    }
    return least;
}

/* Everything that one source can still send over ways on which the level rises with every arc. */
static double fill_from(struct flow *flow, uint32_t source)
{
    double sum = 0;
    uint32_t v = source, n = 0;

    for (;;) {
        uint32_t arc = flow->at[v];
        if (flow->sink[v]) {
            sum += send(flow, n);
            v = source;
            n = 0;
        } else if (arc == NOWHERE && n == 0) {
            return sum;
        } else if (arc == NOWHERE) {
            v = head(flow, flow->queue[--n] ^ 1);
            flow->at[v] = flow->next[flow->at[v]];
        } else if (flow->room[arc] > 0 && flow->level[head(flow, arc)] == flow->level[v] + 1) {
            flow->queue[n++] = arc;
            v = head(flow, arc);
        } else {
            flow->at[v] = flow->next[arc];
        }
    }
}

enum ring_status model_cut(const struct model_topology *topology, size_t n_first, double *bytes_per_s,
                           struct ring_error *error)
{
    struct flow flow = {.topology = topology};
    enum ring_status status = RING_OK;

    *bytes_per_s = 0;
    if (topology->n_links >= UINT32_MAX / 2 || !allocate(&flow)) {
        status = ring_fail(error, RING_NO_MEMORY, "out of memory for the bisection of %zu links",
                           topology->n_links);
    } else {
        fill(&flow, n_first);
        while (find_levels(&flow))
            for (size_t i = 0; i < n_first; i++)
                *bytes_per_s += fill_from(&flow, topology->devices[i]);
    }
    release(&flow);
    return status;
}
