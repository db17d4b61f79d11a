/* SPDX-License-Identifier: MIT
 *
 * Fabrics of switches: one, fat trees of two or three levels, rails, dragonflies. NICs are joined by their
 * own link type, whose latency is that of the whole way from NIC to NIC: a half at each end, nothing for what
 * lies between, unless the links between say otherwise. */
#include "config/fabric.h"

#include <inttypes.h>

static const char *name_of(struct config_graph *graph, const char *prefix, const char *name, uint32_t index)
{
    return config_text(graph->reader, "%s%s%s%u", prefix, prefix[0] ? "." : "", name, index);
}

/* n switches name0, name1 ...; the first. */
static uint32_t add_switches(struct config_graph *graph, const struct config_fabric *fabric,
                             const char *prefix, const char *name, uint32_t n)
{
    uint32_t first = (uint32_t)graph->topology->n_vertices;

    for (uint32_t i = 0; i < n && config_ok(graph->reader); i++)
        config_add_switch(graph, fabric->mark, name_of(graph, prefix, name, i), MODEL_SWITCH);
    return first;
}

static void plug(struct config_graph *graph, const struct config_fabric *fabric,
                 const struct config_port *port, uint32_t to)
{
    if (config_ok(graph->reader))
        config_add_cable(graph, fabric->mark, port->nic, to, port->link, port->link->half);
}

/* Refuses what would be too large before it is begun. */
static bool fits(struct config_graph *graph, const struct config_fabric *fabric, uint64_t n_cables)
{
    if (n_cables > CONFIG_MAX_LINKS / 2)
        config_fail(graph->reader, fabric->mark, "a fabric of %" PRIu64 " cables, accepted: at most %d",
                    n_cables, CONFIG_MAX_LINKS / 2);
    return config_ok(graph->reader);
}

/* Every one of n_below to every one of n_above. */
static void join_all(struct config_graph *graph, const struct config_fabric *fabric, uint32_t below,
                     uint32_t n_below, uint32_t above, uint32_t n_above, const struct config_link_type *type)
{
    for (uint32_t i = 0; i < n_below; i++)
        for (uint32_t j = 0; j < n_above && config_ok(graph->reader); j++)
            config_add_cable(graph, fabric->mark, below + i, above + j, type, type->full);
}

/* A fabric that needs NICs and finds none. */
static bool has_ports(struct config_graph *graph, const struct config_fabric *fabric)
{
    if (graph->n_ports == 0)
        config_fail(graph->reader, fabric->mark, "a fabric without nics, accepted: nodes with 'nics'");
    return config_ok(graph->reader);
}

void config_add_one_switch(struct config_graph *graph, const struct config_fabric *fabric)
{
    if (graph->n_ports == 0)
        return;
    uint32_t hub = config_add_switch(graph, fabric->mark, "fabric", MODEL_SWITCH);
    for (size_t i = 0; i < graph->n_ports; i++)
        plug(graph, fabric, &graph->ports[i], hub);
}

/* What all NICs of so many nodes from a first one can send. */
static double nics_bytes_per_s(const struct config_graph *graph, size_t first, size_t n)
{
    double sum = 0;

    for (size_t i = first; i < first + n && i < graph->n_places; i++)
        for (uint32_t p = 0; p < graph->places[i].n_ports; p++)
            sum += config_link_bytes_per_s(graph->ports[graph->places[i].first_port + p].link);
    return sum;
}

/* What comes into the busiest leaf from below: all leaves have its uplinks, full or not. */
static double leaf_bytes_per_s(const struct config_graph *graph, uint32_t nodes_per_leaf)
{
    double most = 0;

    for (size_t first = 0; first < graph->n_places; first += nodes_per_leaf) {
        double sum = nics_bytes_per_s(graph, first, nodes_per_leaf);
        most = sum > most ? sum : most;
    }
    return most;
}

static uint32_t quotient_up(uint32_t a, uint32_t b)
{
    return a / b + (a % b != 0);
}

static const struct config_link_type *uplink_type(struct config_graph *graph,
                                                  const struct config_link_type *given, const char *name,
                                                  double down_bytes_per_s, struct config_ratio ratio,
                                                  uint32_t n)
{
    return given ? given : config_make_link_type(graph, name, down_bytes_per_s * ratio.up / ratio.down / n);
}

/* Leaves, each with all NICs of its nodes. */
static uint32_t add_leaves(struct config_graph *graph, const struct config_fabric *fabric, uint32_t *n_leaves)
{
    *n_leaves = quotient_up((uint32_t)graph->n_places, fabric->nodes_per_leaf);
    uint32_t leaves = add_switches(graph, fabric, "", "leaf", *n_leaves);
    for (size_t i = 0; i < graph->n_ports; i++)
        plug(graph, fabric, &graph->ports[i], leaves + graph->ports[i].node / fabric->nodes_per_leaf);
    return leaves;
}

/* Core c is joined to spine c / (cores / spines) of every pod. */
static void add_cores(struct config_graph *graph, const struct config_fabric *fabric, uint32_t first_spine,
                      uint32_t n_pods, uint32_t n_spines, double pod_bytes_per_s)
{
    struct config_reader *reader = graph->reader;
    uint32_t n_cores = fabric->cores ? fabric->cores : n_spines;

    if (n_cores % n_spines != 0) {
        config_fail(reader, fabric->mark, "%u cores for %u spines a pod, accepted: a multiple of the spines",
                    n_cores, n_spines);
        return;
    }
    if (!fits(graph, fabric, (uint64_t)n_pods * n_cores))
        return;
    const struct config_link_type *type = uplink_type(graph, fabric->core_uplink, "core", pod_bytes_per_s,
                                                      fabric->core_oversubscription, n_cores);
    uint32_t cores = add_switches(graph, fabric, "", "core", n_cores);
    for (uint32_t pod = 0; pod < n_pods; pod++)
        for (uint32_t c = 0; c < n_cores && config_ok(reader); c++)
            config_add_cable(graph, fabric->mark, first_spine + pod * n_spines + c / (n_cores / n_spines),
                             cores + c, type, type->full);
}

void config_add_fat_tree(struct config_graph *graph, const struct config_fabric *fabric)
{
    struct config_reader *reader = graph->reader;
    uint32_t n_leaves = 0, n_spines = fabric->spines ? fabric->spines : 1;

    if (!has_ports(graph, fabric))
        return;
    bool pods = fabric->levels == 3;
    if (pods != (fabric->leaves_per_pod > 0) || (!pods && (fabric->cores || fabric->core_uplink))) {
        config_fail(reader, fabric->mark,
                    pods ? "a fat-tree of 3 levels has no 'leaves_per_pod', accepted: a count"
                         : "a fat-tree of 2 levels with pods or cores, accepted: levels: 3");
        return;
    }
    graph->topology->ties = MODEL_TIES_DESTINATION;
    uint32_t leaves = add_leaves(graph, fabric, &n_leaves);
    double below = leaf_bytes_per_s(graph, fabric->nodes_per_leaf);
    const struct config_link_type *type =
        uplink_type(graph, fabric->uplink, "uplink", below, fabric->oversubscription, n_spines);
    if (!config_ok(reader))
        return;
    uint32_t per_pod = pods ? fabric->leaves_per_pod : n_leaves, n_pods = quotient_up(n_leaves, per_pod);
    if (!fits(graph, fabric, (uint64_t)(n_leaves + n_pods) * n_spines))
        return;
    uint32_t first_spine = (uint32_t)graph->topology->n_vertices;
    for (uint32_t pod = 0; pod < n_pods && config_ok(reader); pod++) {
        const char *prefix = pods ? config_text(reader, "pod%u", pod) : "";
        add_switches(graph, fabric, prefix, "spine", n_spines);
    }
    for (uint32_t pod = 0; pod < n_pods && config_ok(reader); pod++) {
        uint32_t n = n_leaves - pod * per_pod < per_pod ? n_leaves - pod * per_pod : per_pod;
        join_all(graph, fabric, leaves + pod * per_pod, n, first_spine + pod * n_spines, n_spines, type);
    }
    if (pods)
        add_cores(graph, fabric, first_spine, n_pods, n_spines,
                  config_link_bytes_per_s(type) * n_spines * per_pod);
}

/* Rail i joins NIC i of every node; spines, if there are any, join the rails. */
void config_add_rails(struct config_graph *graph, const struct config_fabric *fabric)
{
    uint32_t n_rails = 0;
    double most = 0;

    if (!has_ports(graph, fabric))
        return;
    graph->topology->ties = MODEL_TIES_DESTINATION;
    for (size_t i = 0; i < graph->n_places; i++)
        n_rails = graph->places[i].n_ports > n_rails ? graph->places[i].n_ports : n_rails;
    uint32_t rails = add_switches(graph, fabric, "", "rail", n_rails);
    for (uint32_t rail = 0; rail < n_rails; rail++) {
        double sum = 0;
        for (size_t i = 0; i < graph->n_places && config_ok(graph->reader); i++) {
            if (rail >= graph->places[i].n_ports)
                continue;
            const struct config_port *port = &graph->ports[graph->places[i].first_port + rail];
            plug(graph, fabric, port, rails + rail);
            sum += config_link_bytes_per_s(port->link);
        }
        most = sum > most ? sum : most;
    }
    if (fabric->spines == 0 || !config_ok(graph->reader))
        return;
    const struct config_link_type *type =
        uplink_type(graph, fabric->uplink, "uplink", most, fabric->oversubscription, fabric->spines);
    if (!fits(graph, fabric, (uint64_t)n_rails * fabric->spines))
        return;
    uint32_t spines = add_switches(graph, fabric, "", "spine", fabric->spines);
    if (config_ok(graph->reader))
        join_all(graph, fabric, rails, n_rails, spines, fabric->spines, type);
}

/* Groups of routers that are all joined to each other. Groups i < j have one cable, from router
 * (j - 1) % routers of group i to router i % routers of group j, so that the cables of a group are dealt out
 * to its routers in turn. */
void config_add_dragonfly(struct config_graph *graph, const struct config_fabric *fabric)
{
    struct config_reader *reader = graph->reader;
    uint32_t n = fabric->routers;

    if (!has_ports(graph, fabric))
        return;
    uint32_t n_groups = quotient_up(quotient_up((uint32_t)graph->n_places, fabric->nodes_per_router), n);
    if (!fits(graph, fabric, (uint64_t)n_groups * n * n / 2 + (uint64_t)n_groups * n_groups / 2))
        return;
    graph->topology->ties = MODEL_TIES_DESTINATION;
    uint32_t first = (uint32_t)graph->topology->n_vertices;
    for (uint32_t g = 0; g < n_groups && config_ok(reader); g++)
        add_switches(graph, fabric, config_text(reader, "group%u", g), "router", n);
    for (size_t i = 0; i < graph->n_ports; i++)
        plug(graph, fabric, &graph->ports[i], first + graph->ports[i].node / fabric->nodes_per_router);
    for (uint32_t g = 0; g < n_groups; g++)
        for (uint32_t a = 0; a < n; a++)
            for (uint32_t b = a + 1; b < n && config_ok(reader); b++)
                config_add_cable(graph, fabric->mark, first + g * n + a, first + g * n + b, fabric->local,
                                 fabric->local->full);
    for (uint32_t i = 0; i < n_groups; i++)
        for (uint32_t j = i + 1; j < n_groups && config_ok(reader); j++)
            config_add_cable(graph, fabric->mark, first + i * n + (j - 1) % n, first + j * n + i % n,
                             fabric->global, fabric->global->full);
}
