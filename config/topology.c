/* SPDX-License-Identifier: MIT
 *
 * Topology files: the graph that both ways of writing one add to, and what is checked when it is complete. */
#include "config/topology.h"

#include <stdlib.h>
#include <string.h>

static const struct config_field topology_fields[] = {
    {.key = "name",
     .kind = CONFIG_TEXT,
     .offset = offsetof(struct config_topology_draft, name),
     .required = true,
     .hint = "the cluster's name"},
    {.key = "source", .kind = CONFIG_TEXT, .offset = offsetof(struct config_topology_draft, source)},
    {.key = "links", .kind = CONFIG_NODE, .offset = offsetof(struct config_topology_draft, links)},
    {.key = "nodes", .kind = CONFIG_NODE, .offset = offsetof(struct config_topology_draft, nodes)},
    {.key = "fabric", .kind = CONFIG_NODE, .offset = offsetof(struct config_topology_draft, fabric)},
    {.key = "devices", .kind = CONFIG_NODE, .offset = offsetof(struct config_topology_draft, devices)},
    {.key = "switches", .kind = CONFIG_NODE, .offset = offsetof(struct config_topology_draft, switches)},
    {.key = "cables", .kind = CONFIG_NODE, .offset = offsetof(struct config_topology_draft, cables)},
    {.key = "routes", .kind = CONFIG_NODE, .offset = offsetof(struct config_topology_draft, routes)},
    {.key = "ties",
     .kind = CONFIG_WORD,
     .offset = offsetof(struct config_topology_draft, ties),
     .words = model_ties_names,
     .n_words = MODEL_N_TIES},
    {.key = "devices_forward",
     .kind = CONFIG_BOOL,
     .offset = offsetof(struct config_topology_draft, devices_forward)},
    {.key = "share_devices",
     .kind = CONFIG_BOOL,
     .offset = offsetof(struct config_topology_draft, share_devices)},
};

/* Room for one more element; NULL after a failure, and the array is as it was. */
static void *grown(struct config_reader *reader, void *array, size_t n, size_t *room, size_t size)
{
    if (n < *room)
        return array;
    size_t larger = *room ? 2 * *room : 64;
    void *moved = realloc(array, larger * size);
    if (!moved) {
        config_fail_memory(reader);
        return NULL;
    }
    *room = larger;
    return moved;
}

static char *copy_text(struct config_reader *reader, const char *text)
{
    char *copy = text ? strdup(text) : NULL;

    if (text && !copy)
        config_fail_memory(reader);
    return copy;
}

uint32_t config_add_vertex(struct config_graph *graph, const struct config_mark *mark, const char *name,
                           const struct model_device *device)
{
    struct config_reader *reader = graph->reader;
    struct model_topology *topology = graph->topology;

    if (!config_ok(reader))
        return 0;
    const struct config_name *first = config_names_find(&graph->vertices, name);
    if (first) {
        config_fail(reader, mark, "'%s' is there twice, first at line %u (accepted: every name once)", name,
                    ((const struct config_mark *)first->item)->line);
        return 0;
    }
    void *vertices = grown(reader, topology->vertices, topology->n_vertices, &graph->vertices_room,
                           sizeof *topology->vertices);
    if (!vertices)
        return 0;
    topology->vertices = vertices;
    char *copy = copy_text(reader, name);
    if (!copy)
        return 0;
    uint32_t index = (uint32_t)topology->n_vertices++;
    topology->vertices[index] = (struct model_vertex){.name = copy, .device = device, .node = graph->node};
    topology->n_devices += device ? 1 : 0;
    if (topology->n_devices > CONFIG_MAX_DEVICES)
        config_fail(reader, mark, "too many devices, accepted: at most %d", CONFIG_MAX_DEVICES);
    else if (!config_names_put(&graph->vertices, copy, index, mark))
        config_fail_memory(reader);
    return index;
}

uint32_t config_add_switch(struct config_graph *graph, const struct config_mark *mark, const char *name,
                           enum model_vertex_kind kind)
{
    uint32_t index = config_add_vertex(graph, mark, name, NULL);

    if (config_ok(graph->reader))
        graph->topology->vertices[index].kind = kind;
    return index;
}

static void add_named_link(struct config_graph *graph, const struct config_mark *mark, const char *name,
                           const struct model_link *link)
{
    struct config_reader *reader = graph->reader;
    struct model_topology *topology = graph->topology;
    const struct config_name *first = config_names_find(&graph->links, name);

    if (first)
        config_fail(
            reader, mark,
            "link '%s' is there twice, first at line %u (accepted: once; more cables: more bandwidth)", name,
            ((const struct config_mark *)first->item)->line);
    else if (topology->n_links >= CONFIG_MAX_LINKS)
        config_fail(reader, mark, "too many links, accepted: at most %d", CONFIG_MAX_LINKS);
    if (!config_ok(reader))
        return;
    void *links =
        grown(reader, topology->links, topology->n_links, &graph->links_room, sizeof *topology->links);
    if (!links)
        return;
    topology->links = links;
    char *copy = copy_text(reader, name);
    if (!copy)
        return;
    size_t index = topology->n_links++;
    topology->links[index] = *link;
    topology->links[index].name = copy;
    if (!config_names_put(&graph->links, copy, index, mark))
        config_fail_memory(reader);
}

void config_add_link(struct config_graph *graph, const struct config_mark *mark, uint32_t from, uint32_t to,
                     const struct config_link_type *type, const struct model_size_class *classes)
{
    struct config_reader *reader = graph->reader;
    struct model_topology *topology = graph->topology;

    if (!config_ok(reader))
        return;
    if (from == to) {
        config_fail(reader, mark, "a cable from '%s' to itself, accepted: two different ends",
                    topology->vertices[from].name);
        return;
    }
    const struct model_link link = {
        .from = from,
        .to = to,
        .mover = type->mover,
        .classes = classes,
        .n_classes = type->n_classes,
        .type = type->name,
    };
    add_named_link(
        graph, mark,
        config_text(reader, "%s -> %s", topology->vertices[from].name, topology->vertices[to].name), &link);
}

/* Both directions cross one link in the middle, whose ends are vertices of their own. */
static void add_limited_cable(struct config_graph *graph, const struct config_mark *mark, uint32_t a,
                              uint32_t b, const struct config_link_type *type,
                              const struct model_size_class *both)
{
    struct config_reader *reader = graph->reader;
    struct model_topology *topology = graph->topology;

    if (a == b || !config_ok(reader)) {
        config_add_link(graph, mark, a, b, type, type->full);
        return;
    }
    const char *first = topology->vertices[a].name, *second = topology->vertices[b].name;
    const char *name = config_text(reader, "%s <-> %s", first, second);
    uint32_t in = config_add_switch(graph, mark, config_text(reader, "%s~%s.in", first, second), MODEL_CABLE);
    uint32_t out =
        config_add_switch(graph, mark, config_text(reader, "%s~%s.out", first, second), MODEL_CABLE);
    const struct model_link shared = {
        .from = in,
        .to = out,
        .mover = type->mover,
        .classes = both,
        .n_classes = type->n_classes,
        .type = type->name,
    };
    config_add_link(graph, mark, a, in, type, type->bare);
    config_add_link(graph, mark, b, in, type, type->bare);
    if (config_ok(reader))
        add_named_link(graph, mark, name, &shared);
    config_add_link(graph, mark, out, b, type, type->bare);
    config_add_link(graph, mark, out, a, type, type->bare);
}

void config_add_cable(struct config_graph *graph, const struct config_mark *mark, uint32_t a, uint32_t b,
                      const struct config_link_type *type, const struct model_size_class *classes)
{
    if (type->bare) {
        add_limited_cable(graph, mark, a, b, type, classes == type->half ? type->both_half : type->both_full);
        return;
    }
    config_add_link(graph, mark, a, b, type, classes);
    config_add_link(graph, mark, b, a, type, classes);
}

const char *config_numbered(struct config_graph *graph, const char *prefix, const char *name, uint32_t index,
                            uint32_t count)
{
    const char *dot = prefix[0] ? "." : "";

    return count > 1 ? config_text(graph->reader, "%s%s%s%u", prefix, dot, name, index)
                     : config_text(graph->reader, "%s%s%s", prefix, dot, name);
}

uint32_t config_find_vertex(struct config_graph *graph, const struct config_node *node, const char *what)
{
    if (!config_is_scalar(graph->reader, node, what))
        return 0;
    const struct config_name *name = config_names_find(&graph->vertices, node->text);
    if (!name)
        config_fail(graph->reader, &node->mark, "%s %s is neither device nor switch%s", what,
                    config_found(graph->reader, node),
                    config_did_you_mean(graph->reader, config_names_nearest(&graph->vertices, node->text)));
    return name ? (uint32_t)name->index : 0;
}

/* A device without any link gets a message of its own: "unreachable" would be true but less helpful. */
static void check_lonely(struct config_graph *graph)
{
    const struct model_topology *topology = graph->topology;
    bool *linked = config_scratch(graph->reader, topology->n_vertices, sizeof *linked);

    if (!linked || topology->n_devices < 2)
        return;
    for (size_t i = 0; i < topology->n_links; i++)
        linked[topology->links[i].from] = linked[topology->links[i].to] = true;
    for (size_t i = 0; i < topology->n_vertices; i++) {
        const char *name = topology->vertices[i].name;
        const struct config_name *entry = config_names_find(&graph->vertices, name);
        if (topology->vertices[i].device && !linked[i] && entry)
            config_fail(graph->reader, entry->item, "device '%s' has no link, accepted: at least one cable",
                        name);
    }
}

static void finish(struct config_graph *graph, const struct config_node *node)
{
    struct config_reader *reader = graph->reader;
    struct model_topology *topology = graph->topology;
    struct ring_error error;

    if (config_ok(reader) && topology->n_devices == 0)
        config_fail(reader, &node->mark, "topology has no device, accepted: 'nodes' or 'devices'");
    topology->devices = calloc(topology->n_devices + 1, sizeof *topology->devices);
    if (!topology->devices)
        config_fail_memory(reader);
    if (!config_ok(reader))
        return;
    size_t n = 0;
    for (size_t i = 0; i < topology->n_vertices; i++)
        if (topology->vertices[i].device)
            topology->devices[n++] = (uint32_t)i;
    check_lonely(graph);
    enum ring_status status = config_ok(reader) ? model_topology_index(topology, &error) : RING_OK;
    if (config_ok(reader) && status == RING_OK)
        status = model_topology_check_connected(topology, &error);
    if (status != RING_OK)
        config_fail_as(reader, status, &node->mark, "%s", error.text);
}

static void fini(void *topology)
{
    model_topology_fini(topology);
}

static void read_parts(struct config_graph *graph, const struct config_node *node)
{
    struct config_topology_draft draft = {.ties = MODEL_N_TIES};
    struct config_reader *reader = graph->reader;

    config_read_fields(reader, node, "topology", topology_fields, CONFIG_N(topology_fields), &draft);
    graph->topology->name = copy_text(reader, draft.name);
    graph->topology->source = copy_text(reader, draft.source);
    graph->topology->share_devices = draft.share_devices;
    if (draft.links)
        config_read_link_types(graph, draft.links);
    if (draft.nodes)
        config_read_nodes(graph, &draft);
    else if (draft.fabric && config_ok(reader))
        config_fail(reader, &draft.fabric->mark,
                    "a fabric without nodes, accepted: beside 'nodes' with nics");
    graph->node = 0;
    if (draft.ties != MODEL_N_TIES) /* what the file says beats what the fabric likes */
        graph->topology->ties = draft.ties;
    graph->topology->devices_forward |= draft.devices_forward;
    config_read_vertices(graph, &draft);
    if (draft.cables)
        config_read_cables(graph, draft.cables);
    if (draft.routes)
        config_read_routes(graph, draft.routes);
}

const struct model_topology *config_read_topology(struct config_reader *reader,
                                                  const struct config_node *root)
{
    const struct config_node *node = NULL;
    const struct config_field top = {.key = "topology",
                                     .kind = CONFIG_NODE,
                                     .required = true,
                                     .hint = "topology: {name: ..., nodes: ...}"};

    config_read_fields(reader, root, "a topology file", &top, 1, &node);
    struct model_topology *topology = config_keep(reader, 1, sizeof *topology);
    if (!topology)
        return NULL;
    if (!config_pool_on_close(reader->keep, fini, topology)) {
        config_fail_memory(reader);
        return NULL;
    }
    struct config_graph graph = {
        .reader = reader,
        .topology = topology,
        .vertices.pool = reader->scratch,
        .links.pool = reader->scratch,
        .types.pool = reader->scratch,
    };
    read_parts(&graph, node);
    finish(&graph, node);
    return config_ok(reader) ? topology : NULL;
}
