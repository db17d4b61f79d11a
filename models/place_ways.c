/* SPDX-License-Identifier: MIT
 *
 * The ways between all pairs of devices, what a message takes on each when it is alone, and the least that
 * the worst hop of any ring can take. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/place_ring.h"
#include "models/price.h"
#include "models/route.h"

void model_ways_fini(struct model_ways *ways)
{
    free(ways->device);
    free(ways->first);
    free(ways->links);
    free(ways->latency_s);
    free(ways->alone_s);
    free(ways->bytes_per_s);
    free(ways->late_s);
    free(ways->s_per_flow);
    free(ways->group);
    *ways = (struct model_ways){.topology = NULL};
}

static enum ring_status no_memory(const struct model_ways *ways, struct ring_error *error)
{
    return ring_fail(error, RING_NO_MEMORY, "out of memory for the ways between %" PRIu32 " devices",
                     ways->n);
}

/* The machine that a device is in; else the switch that its first link leads to; else all are one group. */
static uint32_t group_of(const struct model_topology *topology, uint32_t vertex)
{
    if (topology->vertices[vertex].node > 0)
        return topology->vertices[vertex].node;
    if (topology->out_first[vertex] == topology->out_first[vertex + 1])
        return 0;
    uint32_t to = topology->links[topology->out_links[topology->out_first[vertex]]].to;
    return topology->vertices[to].device ? 0 : (uint32_t)topology->n_vertices + to;
}

static uint32_t vertex_of(const struct model_ways *ways, uint32_t device)
{
    return ways->topology->devices[ways->device[device]];
}

/* Numbers the groups from 0, in the order of their first device. */
static void find_groups(struct model_ways *ways)
{
    const struct model_topology *topology = ways->topology;

    for (uint32_t i = 0; i < ways->n; i++) {
        uint32_t group = group_of(topology, vertex_of(ways, i)), same = 0;
        while (same < i && group_of(topology, vertex_of(ways, same)) != group)
            same++;
        ways->group[i] = same < i ? ways->group[same] : ways->n_groups++;
    }
}

static enum ring_status add_way(struct model_ways *ways, struct model_router *router, size_t *capacity,
                                uint32_t from, uint32_t to, struct ring_error *error)
{
    size_t way = model_way(ways, from, to), n_links = 0, n = ways->first[way];
    const uint32_t *links = NULL;
    double slowest_s = 0;

    enum ring_status status =
        model_router_find(router, vertex_of(ways, from), vertex_of(ways, to), &links, &n_links, error);
    if (status != RING_OK)
        return status;
    if (n + n_links > *capacity) {
        *capacity = 2 * *capacity + n_links;
        uint32_t *more = *capacity < UINT32_MAX ? realloc(ways->links, *capacity * sizeof *more) : NULL;
        if (!more)
            return no_memory(ways, error);
        ways->links = more;
    }
    for (size_t i = 0; i < n_links; i++) {
        ways->links[n + i] = links[i];
        ways->latency_s[way] += ways->late_s[links[i]];
        slowest_s = fmax(slowest_s, ways->s_per_flow[links[i]]);
    }
    ways->alone_s[way] = ways->latency_s[way] + slowest_s;
    ways->first[way + 1] = (uint32_t)(n + n_links);
    return RING_OK;
}

static enum ring_status find_ways(struct model_ways *ways, struct ring_error *error)
{
    struct model_router router;
    size_t capacity = 0;

    enum ring_status status = model_router_init(&router, ways->topology, error);
    if (status != RING_OK)
        return status;
    for (uint32_t from = 0; from < ways->n && status == RING_OK; from++)
        for (uint32_t to = 0; to < ways->n && status == RING_OK; to++)
            status = add_way(ways, &router, &capacity, from, to, error);
    model_router_fini(&router);
    return status;
}

struct edge {
    double seconds;
    uint32_t a, b;
};

static int by_seconds(const void *left, const void *right)
{
    const struct edge *a = left, *b = right;

    return (a->seconds > b->seconds) - (a->seconds < b->seconds);
}

static uint32_t root_of(uint32_t *parent, uint32_t i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

/* The ring's devices are joined by its hops, so its worst hop is no faster than the slowest pair that is
 * needed to join so many devices by fast pairs alone: Kruskal, until one tree has n_ranks. */
static enum ring_status bound_hop(struct model_ways *ways, uint32_t n_ranks, struct ring_error *error)
{
    size_t n_edges = 0;
    struct edge *edges = malloc(((size_t)ways->n * ways->n / 2 + 1) * sizeof *edges);
    uint32_t *parent = malloc(2 * (size_t)ways->n * sizeof *parent), *size = parent ? parent + ways->n : NULL;

    if (edges && parent) {
        for (uint32_t a = 0; a < ways->n; a++) {
            parent[a] = a;
            size[a] = 1;
            for (uint32_t b = a + 1; b < ways->n; b++)
                edges[n_edges++] = (struct edge){
                    fmin(ways->alone_s[model_way(ways, a, b)], ways->alone_s[model_way(ways, b, a)]), a, b};
        }
        qsort(edges, n_edges, sizeof *edges, by_seconds);
    }
    for (size_t i = 0; edges && parent && i < n_edges; i++) {
        uint32_t a = root_of(parent, edges[i].a), b = root_of(parent, edges[i].b);
        if (a == b)
            continue;
        parent[b] = a;
        size[a] += size[b];
        if (size[a] >= n_ranks) {
            ways->least_hop_s = edges[i].seconds;
            break;
        }
    }
    bool enough = edges && parent;
    free(edges);
    free(parent);
    return enough ? RING_OK : no_memory(ways, error);
}

/* Whether each rank sends to the next alone. */
static bool is_ring(const struct ring_plan *plan)
{
    uint32_t *targets = malloc(plan->n_ranks * sizeof *targets);
    bool ring = targets;

    for (uint32_t rank = 0; rank < plan->n_ranks && ring; rank++) {
        uint32_t n = ring_plan_targets(plan, rank, targets);
        ring = n == 0 || (n == 1 && targets[0] == (rank + 1 < plan->n_ranks ? rank + 1 : 0));
    }
    free(targets);
    return ring;
}

static enum ring_status check(const struct model_topology *topology, const struct ring_plan *plan, size_t n,
                              struct ring_error *error)
{
    if (n > MODEL_PLACE_MAX_DEVICES)
        return ring_fail(error, RING_UNSUPPORTED,
                         "an order among %zu devices is not searched for, %d at most", n,
                         (int)MODEL_PLACE_MAX_DEVICES);
    if (plan->n_ranks > topology->n_devices)
        return ring_fail(error, RING_BAD_INPUT,
                         "%" PRIu32 " ranks on %zu devices: an order is searched for one rank a device",
                         plan->n_ranks, topology->n_devices);
    if (!is_ring(plan))
        return ring_fail(error, RING_UNSUPPORTED, "an order is searched for rings, and %s is none",
                         plan->kind->name);
    return RING_OK;
}

static int ascending(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

    return (a > b) - (a < b);
}

/* What links carry and how late, with the faults that are always there. A link that is down is as good as one
 * with a millionth of its bandwidth: infinite times cannot be compared. */
static void price_links(struct model_ways *ways, const struct model_place_spec *spec)
{
    uint64_t bytes = model_ring_class_bytes(spec->plan);

    ways->bytes = (double)bytes;
    for (size_t i = 0; i < ways->topology->n_links; i++) {
        const struct model_size_class *price = model_link_class(&ways->topology->links[i], bytes);
        ways->bytes_per_s[i] = price->bytes_per_s;
        ways->late_s[i] = price->latency_s;
    }
    for (size_t f = 0; spec->faults && f < spec->faults->n; f++) {
        const struct model_fault *fault = &spec->faults->items[f];
        if (model_fault_of_device(fault) || !model_fault_constant(fault))
            continue;
        for (size_t i = 0; i < fault->n_links; i++) {
            if (fault->kind == MODEL_FAULT_BANDWIDTH)
                ways->bytes_per_s[fault->links[i]] *= fmax(fault->amount, 1e-6);
            if (fault->kind == MODEL_FAULT_LATENCY)
                ways->late_s[fault->links[i]] += fault->amount;
        }
    }
    for (size_t i = 0; i < ways->topology->n_links; i++)
        ways->s_per_flow[i] = ways->bytes / ways->bytes_per_s[i];
}

static enum ring_status fill(struct model_ways *ways, const struct model_place_spec *spec,
                             struct ring_error *error)
{
    for (uint32_t i = 0; i < ways->n; i++)
        ways->device[i] = spec->among ? spec->among[i] : i;
    qsort(ways->device, ways->n, sizeof *ways->device, ascending);
    ways->first[0] = 0;
    price_links(ways, spec);
    find_groups(ways);
    enum ring_status status = find_ways(ways, error);
    return status == RING_OK ? bound_hop(ways, spec->plan->n_ranks, error) : status;
}

enum ring_status model_ways_init(struct model_ways *ways, const struct model_place_spec *spec,
                                 struct ring_error *error)
{
    const struct model_topology *topology = spec->topology;
    size_t n = spec->among ? spec->plan->n_ranks : topology->n_devices, n_links = topology->n_links + 1;

    *ways = (struct model_ways){.topology = topology, .n = (uint32_t)n};
    enum ring_status status = check(topology, spec->plan, n, error);
    if (status != RING_OK)
        return status;
    ways->device = malloc(n * sizeof *ways->device);
    ways->first = malloc((n * n + 1) * sizeof *ways->first);
    ways->latency_s = calloc(n * n, sizeof *ways->latency_s);
    ways->alone_s = calloc(n * n, sizeof *ways->alone_s);
    ways->bytes_per_s = malloc(n_links * sizeof *ways->bytes_per_s);
    ways->late_s = malloc(n_links * sizeof *ways->late_s);
    ways->s_per_flow = malloc(n_links * sizeof *ways->s_per_flow);
    ways->group = calloc(n, sizeof *ways->group);
    bool enough = ways->device && ways->first && ways->latency_s && ways->alone_s && ways->bytes_per_s &&
                  ways->late_s && ways->s_per_flow && ways->group;
    status = enough ? fill(ways, spec, error) : no_memory(ways, error);
    if (status != RING_OK)
        model_ways_fini(ways);
    return status;
}
