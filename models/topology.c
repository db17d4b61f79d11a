/* SPDX-License-Identifier: MIT
 *
 * The graph itself: its sanity, its adjacency and its memory. Searching it is route.c's business, whether all
 * of it hangs together connected.c's. */
#include "models/topology.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/route.h"

#define MODEL_NAME(name, text) text,
const char *const model_mover_names[MODEL_N_MOVERS] = {MODEL_MOVERS(MODEL_NAME)};
const char *const model_vertex_kind_names[MODEL_N_VERTEX_KINDS] = {MODEL_VERTICES(MODEL_NAME)};
const char *const model_ties_names[MODEL_N_TIES] = {MODEL_TIES(MODEL_NAME)};
#undef MODEL_NAME

static enum ring_status check_classes(const struct model_link *link, struct ring_error *error)
{
    if (link->n_classes == 0)
        return ring_fail(error, RING_BAD_INPUT, "link %s has no bandwidth", link->name);
    for (size_t i = 0; i < link->n_classes; i++) {
        const struct model_size_class *class = &link->classes[i];
        if (!(class->bytes_per_s > 0) || !isfinite(class->bytes_per_s))
            return ring_fail(error, RING_BAD_INPUT,
                             "link %s has a bandwidth of %g B/s, wanted more than 0 and finite", link->name,
                             class->bytes_per_s);
        if (!(class->latency_s >= 0) || !isfinite(class->latency_s))
            return ring_fail(error, RING_BAD_INPUT, "link %s has a latency of %g s, wanted 0 or more, finite",
                             link->name, class->latency_s);
        /* the last class has no upper end, whatever stands there */
        if (i > 0 && i + 1 < link->n_classes && class->up_to_bytes <= link->classes[i - 1].up_to_bytes)
            return ring_fail(error, RING_BAD_INPUT, "link %s has size classes that do not ascend",
                             link->name);
    }
    return RING_OK;
}

static enum ring_status check_link(const struct model_topology *topology, const struct model_link *link,
                                   struct ring_error *error)
{
    if (link->from >= topology->n_vertices || link->to >= topology->n_vertices)
        return ring_fail(error, RING_BAD_INPUT, "link %s ends at a device or switch that does not exist",
                         link->name);
    if (link->from == link->to)
        return ring_fail(error, RING_BAD_INPUT, "link %s leads from %s to itself", link->name,
                         topology->vertices[link->from].name);
    return check_classes(link, error);
}

static enum ring_status check_route(const struct model_topology *topology, const struct model_route *route,
                                    struct ring_error *error)
{
    if (route->from_vertex >= topology->n_vertices || route->to_vertex >= topology->n_vertices)
        return ring_fail(error, RING_BAD_INPUT, "a route begins or ends at a device that does not exist");
    const char *from = topology->vertices[route->from_vertex].name;
    const char *to = topology->vertices[route->to_vertex].name;
    uint32_t at = route->from_vertex;
    for (size_t i = 0; i < route->n_links; i++) {
        if (route->links[i] >= topology->n_links)
            return ring_fail(error, RING_BAD_INPUT, "route %s -> %s uses a link that does not exist", from,
                             to);
        const struct model_link *link = &topology->links[route->links[i]];
        if (link->from != at)
            return ring_fail(error, RING_BAD_INPUT,
                             "route %s -> %s has arrived at %s, but its next link is %s", from, to,
                             topology->vertices[at].name, link->name);
        for (size_t j = 0; j < i; j++)
            if (route->links[j] == route->links[i])
                return ring_fail(error, RING_BAD_INPUT, "route %s -> %s uses link %s twice", from, to,
                                 link->name);
        at = link->to;
    }
    if (at != route->to_vertex)
        return ring_fail(error, RING_BAD_INPUT, "route %s -> %s ends at %s", from, to,
                         topology->vertices[at].name);
    return RING_OK;
}

static enum ring_status check_devices(const struct model_topology *topology, struct ring_error *error)
{
    for (size_t i = 0; i < topology->n_devices; i++)
        if (topology->devices[i] >= topology->n_vertices || !topology->vertices[topology->devices[i]].device)
            return ring_fail(error, RING_BAD_INPUT, "device %zu of topology %s is not a device", i,
                             topology->name ? topology->name : "(unnamed)");
    return RING_OK;
}

static enum ring_status check_all(const struct model_topology *topology, struct ring_error *error)
{
    enum ring_status status = RING_OK;

    if (topology->n_vertices >= UINT32_MAX || topology->n_links >= UINT32_MAX)
        return ring_fail(error, RING_BAD_INPUT, "topology with %zu vertices and %zu links is too large",
                         topology->n_vertices, topology->n_links);
    for (size_t i = 0; i < topology->n_links && status == RING_OK; i++)
        status = check_link(topology, &topology->links[i], error);
    for (size_t i = 0; i < topology->n_routes && status == RING_OK; i++)
        status = check_route(topology, &topology->routes[i], error);
    if (status == RING_OK)
        status = check_devices(topology, error);
    return status;
}

static void free_index(struct model_topology *topology)
{
    free(topology->out_first);
    free(topology->out_links);
    topology->out_first = topology->out_links = NULL;
}

enum ring_status model_topology_index(struct model_topology *topology, struct ring_error *error)
{
    size_t n_vertices = topology->n_vertices, n_links = topology->n_links;

    free_index(topology);
    enum ring_status status = check_all(topology, error);
    if (status != RING_OK)
        return status;
    topology->out_first = calloc(n_vertices + 2, sizeof *topology->out_first);
    topology->out_links = malloc((n_links + 1) * sizeof *topology->out_links);
    if (!topology->out_first || !topology->out_links) {
        free_index(topology);
        return ring_fail(error, RING_NO_MEMORY, "out of memory for a topology of %zu links", n_links);
    }
    /* a counting sort by source, stable so that links keep the order of the file; counts are kept one place
     * further on, so that filling moves each entry to where it belongs */
    uint32_t *first = topology->out_first;
    for (size_t i = 0; i < n_links; i++)
        first[topology->links[i].from + 2]++;
    for (size_t v = 2; v <= n_vertices; v++)
        first[v] += first[v - 1];
    for (size_t i = 0; i < n_links; i++)
        topology->out_links[first[topology->links[i].from + 1]++] = (uint32_t)i;
    return RING_OK;
}

void model_index_against(const struct model_topology *topology, uint32_t *first, uint32_t *links)
{
    for (size_t i = 0; i < topology->n_links; i++)
        first[topology->links[i].to + 2]++;
    for (size_t v = 2; v <= topology->n_vertices; v++)
        first[v] += first[v - 1];
    for (size_t i = 0; i < topology->n_links; i++)
        links[first[topology->links[i].to + 1]++] = (uint32_t)i;
}

void model_topology_fini(struct model_topology *topology)
{
    for (size_t i = 0; i < topology->n_vertices && topology->vertices; i++)
        free(topology->vertices[i].name);
    for (size_t i = 0; i < topology->n_links && topology->links; i++)
        free(topology->links[i].name);
    for (size_t i = 0; i < topology->n_routes && topology->routes; i++)
        free(topology->routes[i].links);
    free(topology->name);
    free(topology->source);
    free(topology->vertices);
    free(topology->links);
    free(topology->devices);
    free(topology->routes);
    free_index(topology);
    *topology = (struct model_topology){.name = NULL};
}

const struct model_size_class *model_link_class(const struct model_link *link, uint64_t bytes)
{
    size_t i = 0;

    while (i + 1 < link->n_classes && bytes > link->classes[i].up_to_bytes)
        i++;
    return &link->classes[i];
}

long model_topology_find(const struct model_topology *topology, const char *name)
{
    for (size_t i = 0; i < topology->n_vertices; i++)
        if (strcmp(topology->vertices[i].name, name) == 0)
            return (long)i;
    return -1;
}
