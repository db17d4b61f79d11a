/* SPDX-License-Identifier: MIT
 *
 * Routing: explicit routes first, else the fewest links. A breadth-first search that looks at links in file
 * order finds, among equally short routes, the one whose first link that differs comes first in the file.
 * Where the destination breaks ties, the search only counts links, and the route is picked on the way back.
 */
#include "models/route.h"

#include <stdlib.h>
#include <string.h>

/* Explicit routes are looked up by their ends. */
static int compare_ends(const struct model_route *route, uint32_t from, uint32_t to)
{
    if (route->from_vertex != from)
        return route->from_vertex < from ? -1 : 1;
    if (route->to_vertex != to)
        return route->to_vertex < to ? -1 : 1;
    return 0;
}

static int compare_routes(const void *a, const void *b, void *context)
{
    const struct model_route *routes = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int order = compare_ends(&routes[x], routes[y].from_vertex, routes[y].to_vertex);

    return order ? order : x < y ? -1 : x > y;
}

/* The first of the file for these ends, or NULL. */
static const struct model_route *explicit_route(const struct model_router *router, uint32_t from, uint32_t to)
{
    const struct model_topology *topology = router->topology;
    size_t low = 0, high = topology->n_routes;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_ends(&topology->routes[router->routes[middle]], from, to) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == topology->n_routes)
        return NULL;
    const struct model_route *route = &topology->routes[router->routes[low]];
    return compare_ends(route, from, to) == 0 ? route : NULL;
}

static void number_devices(const struct model_router *router)
{
    const struct model_topology *topology = router->topology;

    for (size_t i = 0; i < topology->n_devices; i++)
        router->number[topology->devices[i]] = (uint32_t)i;
    model_index_against(topology, router->in_first, router->in_links);
}

static bool prepare_ties(struct model_router *router)
{
    const struct model_topology *topology = router->topology;
    size_t n = topology->n_vertices + 1;

    if (topology->ties == MODEL_TIES_FIRST)
        return true;
    router->steps = malloc(n * sizeof *router->steps);
    router->number = calloc(n, sizeof *router->number);
    router->in_first = calloc(n + 1, sizeof *router->in_first);
    router->in_links = malloc((topology->n_links + 1) * sizeof *router->in_links);
    if (!router->steps || !router->number || !router->in_first || !router->in_links)
        return false;
    number_devices(router);
    return true;
}

enum ring_status model_router_init(struct model_router *router, const struct model_topology *topology,
                                   struct ring_error *error)
{
    size_t n = topology->n_vertices + 1;

    *router = (struct model_router){
        .topology = topology,
        .source = UINT32_MAX,
        .reached = calloc(n, sizeof *router->reached),
        .by_link = malloc(n * sizeof *router->by_link),
        .queue = malloc(n * sizeof *router->queue),
        .path = malloc(n * sizeof *router->path),
        .routes = malloc((topology->n_routes + 1) * sizeof *router->routes),
    };
    if (!router->reached || !router->by_link || !router->queue || !router->path || !router->routes ||
        !prepare_ties(router)) {
        model_router_fini(router);
        return ring_fail(error, RING_NO_MEMORY, "out of memory for routes among %zu vertices",
                         topology->n_vertices);
    }
    for (size_t i = 0; i < topology->n_routes; i++)
        router->routes[i] = (uint32_t)i;
    if (topology->n_routes > 0)
        qsort_r(router->routes, topology->n_routes, sizeof *router->routes, compare_routes, topology->routes);
    return RING_OK;
}

void model_router_fini(struct model_router *router)
{
    free(router->reached);
    free(router->by_link);
    free(router->queue);
    free(router->steps);
    free(router->number);
    free(router->in_first);
    free(router->in_links);
    free(router->path);
    free(router->routes);
    *router = (struct model_router){.topology = NULL};
}

static void begin_search(struct model_router *router, uint32_t source)
{
    if (router->search == UINT32_MAX) {
        memset(router->reached, 0, router->topology->n_vertices * sizeof *router->reached);
        router->search = 0;
    }
    router->search++;
    router->source = source;
    router->reached[source] = router->search;
    router->queue[0] = source;
    if (router->steps)
        router->steps[source] = 0;
    router->queue_head = 0;
    router->queue_tail = 1;
}

/* Reaches the neighbours of the next vertex in the queue. Devices other than the source are ends, unless this
 * topology says that they forward. */
static void expand_next(struct model_router *router)
{
    const struct model_topology *topology = router->topology;
    uint32_t vertex = router->queue[router->queue_head++];

    if (topology->vertices[vertex].device && vertex != router->source && !topology->devices_forward)
        return;
    for (uint32_t i = topology->out_first[vertex]; i < topology->out_first[vertex + 1]; i++) {
        uint32_t link = topology->out_links[i], to = topology->links[link].to;
        if (router->reached[to] == router->search)
            continue;
        router->reached[to] = router->search;
        router->by_link[to] = link;
        if (router->steps)
            router->steps[to] = router->steps[vertex] + 1;
        router->queue[router->queue_tail++] = to;
    }
}

static bool search_for(struct model_router *router, uint32_t from, uint32_t to)
{
    if (router->source != from)
        begin_search(router, from);
    while (router->reached[to] != router->search && router->queue_head < router->queue_tail)
        expand_next(router);
    return router->reached[to] == router->search;
}

/* Whether a shortest route from the source may come to `at` by this link. */
static bool is_last_step(const struct model_router *router, uint32_t link, uint32_t at)
{
    const struct model_topology *topology = router->topology;
    uint32_t from = topology->links[link].from;

    return router->reached[from] == router->search && router->steps[from] + 1 == router->steps[at] &&
           (!topology->vertices[from].device || from == router->source || topology->devices_forward);
}

/* The link by which the route to a device with that number comes to `at`. */
static uint32_t spread_link(const struct model_router *router, uint32_t at, uint32_t *number)
{
    uint32_t n = 0, pick = 0;

    for (uint32_t i = router->in_first[at]; i < router->in_first[at + 1]; i++)
        n += is_last_step(router, router->in_links[i], at);
    if (n > 1 && !router->topology->vertices[at].device) {
        pick = *number % n;
        *number /= n;
    }
    for (uint32_t i = router->in_first[at];; i++)
        if (is_last_step(router, router->in_links[i], at) && pick-- == 0)
            return router->in_links[i];
}

bool model_router_reaches(struct model_router *router, uint32_t from_vertex, uint32_t to_vertex)
{
    return explicit_route(router, from_vertex, to_vertex) || search_for(router, from_vertex, to_vertex);
}

enum ring_status model_router_find(struct model_router *router, uint32_t from_vertex, uint32_t to_vertex,
                                   const uint32_t **links, size_t *n_links, struct ring_error *error)
{
    const struct model_topology *topology = router->topology;
    const struct model_route *route = explicit_route(router, from_vertex, to_vertex);

    if (route) {
        *links = route->links;
        *n_links = route->n_links;
        return RING_OK;
    }
    if (!search_for(router, from_vertex, to_vertex))
        return ring_fail(error, RING_BAD_INPUT, "no route from %s to %s%s",
                         topology->vertices[from_vertex].name, topology->vertices[to_vertex].name,
                         topology->devices_forward ? "" : " through switches (devices do not forward)");
    size_t n = 0;
    uint32_t number = router->number ? router->number[to_vertex] : 0;
    for (uint32_t at = to_vertex; at != from_vertex; at = topology->links[router->path[n++]].from)
        router->path[n] = router->steps ? spread_link(router, at, &number) : router->by_link[at];
    for (size_t i = 0; i < n / 2; i++) {
        uint32_t link = router->path[i];
        router->path[i] = router->path[n - 1 - i];
        router->path[n - 1 - i] = link;
    }
    *links = router->path;
    *n_links = n;
    return RING_OK;
}

enum ring_status model_topology_route(const struct model_topology *topology, uint32_t from_vertex,
                                      uint32_t to_vertex, uint32_t *out, size_t max_links, size_t *n_links,
                                      struct ring_error *error)
{
    struct model_router router;
    const uint32_t *links;

    enum ring_status status = model_router_init(&router, topology, error);
    if (status != RING_OK)
        return status;
    status = model_router_find(&router, from_vertex, to_vertex, &links, n_links, error);
    for (size_t i = 0; status == RING_OK && i < *n_links && i < max_links; i++)
        out[i] = links[i];
    model_router_fini(&router);
    return status;
}
