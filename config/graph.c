/* SPDX-License-Identifier: MIT
 *
 * The explicit graph: devices and switches by name, cables between them, and routes that beat the search. */
#include <stdlib.h>
#include <string.h>

#include "config/topology.h"

void config_read_vertices(struct config_graph *graph, const struct config_topology_draft *draft)
{
    struct config_reader *reader = graph->reader;
    const struct config_node *devices = draft->devices, *switches = draft->switches;

    if (devices && config_is_map(reader, devices, "devices"))
        for (size_t i = 0; i < devices->n && config_ok(reader); i++) {
            const struct config_entry *entry = &devices->entries[i];
            const char *name = config_read_name(reader, entry->key, "device");
            const struct model_device *device = config_load_device(reader, entry->value);
            config_add_vertex(graph, &entry->key->mark, name, device);
        }
    if (switches && config_is_list(reader, switches, "switches"))
        for (size_t i = 0; i < switches->n && config_ok(reader); i++) {
            const struct config_node *node = switches->items[i];
            config_add_vertex(graph, &node->mark, config_read_name(reader, node, "switch"), NULL);
        }
}

struct cable_draft {
    const struct config_node *between, *from, *to, *link;
};

static const struct config_field cable_fields[] = {
    {.key = "between", .kind = CONFIG_NODE, .offset = offsetof(struct cable_draft, between)},
    {.key = "from", .kind = CONFIG_NODE, .offset = offsetof(struct cable_draft, from)},
    {.key = "to", .kind = CONFIG_NODE, .offset = offsetof(struct cable_draft, to)},
    {.key = "link",
     .kind = CONFIG_NODE,
     .offset = offsetof(struct cable_draft, link),
     .required = true,
     .hint = "a name under 'links', or {bandwidth: ..., latency: ...}"},
};

static void read_cable(struct config_graph *graph, const struct config_node *node)
{
    struct config_reader *reader = graph->reader;
    struct cable_draft draft = {.link = NULL};
    const struct config_node *ends[2];

    config_read_fields(reader, node, "a cable", cable_fields, CONFIG_N(cable_fields), &draft);
    if (!config_ok(reader))
        return;
    if (draft.between ? draft.from || draft.to : !draft.from || !draft.to) {
        config_fail(
            reader, &node->mark,
            "a cable's ends are wrong, accepted: either between: [a, b] (both ways) or from: a, to: b");
        return;
    }
    if (!draft.between) {
        ends[0] = draft.from;
        ends[1] = draft.to;
    } else if (config_is_list(reader, draft.between, "between") && draft.between->n == 2) {
        ends[0] = draft.between->items[0];
        ends[1] = draft.between->items[1];
    } else {
        config_fail(reader, &draft.between->mark, "between: found %zu names, accepted: 2", draft.between->n);
        return;
    }
    uint32_t a = config_find_vertex(graph, ends[0], draft.between ? "between" : "from");
    uint32_t b = config_find_vertex(graph, ends[1], draft.between ? "between" : "to");
    const struct config_link_type *type = config_read_link_type(graph, draft.link, "link");
    if (!config_ok(reader))
        return;
    if (draft.between)
        config_add_cable(graph, &ends[1]->mark, a, b, type, type->full);
    else
        config_add_link(graph, &ends[1]->mark, a, b, type, type->full);
}

void config_read_cables(struct config_graph *graph, const struct config_node *list)
{
    if (config_is_list(graph->reader, list, "cables"))
        for (size_t i = 0; i < list->n && config_ok(graph->reader); i++)
            read_cable(graph, list->items[i]);
}

enum { LONGEST_ROUTE = 1024 };

struct route_draft {
    const struct config_node *from, *to, *via;
};

static const struct config_field route_fields[] = {
    {.key = "from",
     .kind = CONFIG_NODE,
     .offset = offsetof(struct route_draft, from),
     .required = true,
     .hint = "a device"},
    {.key = "to",
     .kind = CONFIG_NODE,
     .offset = offsetof(struct route_draft, to),
     .required = true,
     .hint = "a device"},
    {.key = "via",
     .kind = CONFIG_NODE,
     .offset = offsetof(struct route_draft, via),
     .required = true,
     .hint = "a list of links, e.g. [g1 -> s0, s0 -> g2]"},
};

/* The link of the name "a -> b", which must leave the vertex where the route is. 0 after a failure. */
static uint32_t read_step(struct config_graph *graph, const struct config_node *node, uint32_t at)
{
    struct config_reader *reader = graph->reader;
    const struct model_topology *topology = graph->topology;

    if (!config_is_scalar(reader, node, "via"))
        return 0;
    const struct config_name *name = config_names_find(&graph->links, node->text);
    if (!name)
        config_fail(reader, &node->mark, "via %s is no link%s", config_found(reader, node),
                    config_did_you_mean(reader, config_names_nearest(&graph->links, node->text)));
    else if (topology->links[name->index].from != at)
        config_fail(reader, &node->mark, "via %s does not connect: the route is at '%s' here",
                    config_found(reader, node), topology->vertices[at].name);
    return config_ok(reader) ? (uint32_t)name->index : 0;
}

static uint32_t read_end(struct config_graph *graph, const struct config_node *node, const char *what)
{
    uint32_t vertex = config_find_vertex(graph, node, what);

    if (config_ok(graph->reader) && !graph->topology->vertices[vertex].device)
        config_fail(graph->reader, &node->mark, "%s %s is a switch, accepted: a device", what,
                    config_found(graph->reader, node));
    return vertex;
}

/* Fills route->links; marks says of each vertex which route was there last, so that none turns in a circle.
 */
static void read_way(struct config_graph *graph, const struct config_node *via, struct model_route *route,
                     uint32_t *last_route, uint32_t number)
{
    struct config_reader *reader = graph->reader;
    uint32_t at = route->from_vertex;

    if (!config_is_list(reader, via, "via"))
        return;
    if (via->n > LONGEST_ROUTE) {
        config_fail(reader, &via->mark, "via: found %zu links, accepted: at most %d", via->n, LONGEST_ROUTE);
        return;
    }
    route->links = calloc(via->n ? via->n : 1, sizeof *route->links);
    if (!route->links)
        config_fail_memory(reader);
    last_route[at] = number;
    for (size_t i = 0; i < via->n && config_ok(reader); i++) {
        route->links[i] = read_step(graph, via->items[i], at);
        at = graph->topology->links[route->links[i]].to;
        if (config_ok(reader) && last_route[at] == number)
            config_fail(reader, &via->items[i]->mark, "via %s comes to '%s' a second time",
                        config_found(reader, via->items[i]), graph->topology->vertices[at].name);
        last_route[at] = number;
    }
    route->n_links = via->n;
    if (config_ok(reader) && at != route->to_vertex)
        config_fail(reader, &via->mark, "the route ends at '%s', accepted: '%s'",
                    graph->topology->vertices[at].name, graph->topology->vertices[route->to_vertex].name);
}

static void read_route(struct config_graph *graph, const struct config_node *node, struct config_names *pairs,
                       uint32_t *last_route)
{
    struct config_reader *reader = graph->reader;
    struct model_topology *topology = graph->topology;
    struct route_draft draft = {.via = NULL};

    config_read_fields(reader, node, "a route", route_fields, CONFIG_N(route_fields), &draft);
    if (!config_ok(reader))
        return;
    struct model_route *route = &topology->routes[topology->n_routes++];
    route->from_vertex = read_end(graph, draft.from, "from");
    route->to_vertex = read_end(graph, draft.to, "to");
    if (!config_ok(reader))
        return;
    const char *pair = config_text(reader, "%u %u", route->from_vertex, route->to_vertex);
    const struct config_name *first = config_names_find(pairs, pair);
    if (first)
        config_fail(reader, &node->mark, "a route from %s to %s is there twice, first at line %u",
                    config_found(reader, draft.from), config_found(reader, draft.to),
                    ((const struct config_mark *)first->item)->line);
    else if (!config_names_put(pairs, pair, 0, &node->mark))
        config_fail_memory(reader);
    if (config_ok(reader) && route->from_vertex == route->to_vertex)
        config_fail(reader, &node->mark, "a route from %s to itself, accepted: two devices",
                    config_found(reader, draft.from));
    if (config_ok(reader))
        read_way(graph, draft.via, route, last_route, (uint32_t)topology->n_routes);
}

void config_read_routes(struct config_graph *graph, const struct config_node *list)
{
    struct config_reader *reader = graph->reader;
    struct config_names pairs = {.pool = reader->scratch};

    if (!config_is_list(reader, list, "routes"))
        return;
    uint32_t *last_route = config_scratch(reader, graph->topology->n_vertices, sizeof *last_route);
    graph->topology->routes = calloc(list->n ? list->n : 1, sizeof *graph->topology->routes);
    if (!graph->topology->routes)
        config_fail_memory(reader);
    for (size_t i = 0; i < list->n && config_ok(reader); i++)
        read_route(graph, list->items[i], &pairs, last_route);
}
