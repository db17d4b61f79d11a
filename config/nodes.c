/* SPDX-License-Identifier: MIT
 *
 * Nodes: machines with devices, and how many there are of each kind. What joins the devices of one is read in
 * inside.c, its NICs in nics.c, and what joins the NICs of all of them in fabric.c.
 *
 *   device i -- switch              (inside)
 *   device i -- NIC                 (nics.attach)      NIC -- fabric   (nics.link)
 *
 * Of each kind of hop a message crosses two cables, in and out, so each has half of the latency. */
#include "config/nodes.h"

struct nodes_draft {
    const char *source;
    uint32_t count;
    const struct config_node *name, *devices, *inside, *mesh, *pcie, *nics;
};

static const struct config_field node_fields[] = {
    {.key = "name", .kind = CONFIG_NODE, .offset = offsetof(struct nodes_draft, name)},
    {.key = "count",
     .kind = CONFIG_COUNT32,
     .offset = offsetof(struct nodes_draft, count),
     .least = 1,
     .most = CONFIG_MAX_DEVICES},
    {.key = "devices",
     .kind = CONFIG_NODE,
     .offset = offsetof(struct nodes_draft, devices),
     .required = true,
     .hint = "{name: gpu, count: 8, device: FILE}"},
    {.key = "inside", .kind = CONFIG_NODE, .offset = offsetof(struct nodes_draft, inside)},
    {.key = "mesh", .kind = CONFIG_NODE, .offset = offsetof(struct nodes_draft, mesh)},
    {.key = "pcie", .kind = CONFIG_NODE, .offset = offsetof(struct nodes_draft, pcie)},
    {.key = "nics", .kind = CONFIG_NODE, .offset = offsetof(struct nodes_draft, nics)},
    {.key = "source", .kind = CONFIG_TEXT, .offset = offsetof(struct nodes_draft, source)},
};

struct devices_draft {
    uint32_t count;
    const struct config_node *name, *device;
};

static const struct config_field device_fields[] = {
    {.key = "name", .kind = CONFIG_NODE, .offset = offsetof(struct devices_draft, name)},
    {.key = "count",
     .kind = CONFIG_COUNT32,
     .offset = offsetof(struct devices_draft, count),
     .least = 1,
     .most = CONFIG_MAX_DEVICES},
    {.key = "device",
     .kind = CONFIG_NODE,
     .offset = offsetof(struct devices_draft, device),
     .required = true,
     .hint = "the path of a device file"},
};

static void read_inside(struct config_graph *graph, const struct nodes_draft *draft,
                        struct config_machine *kind)
{
    struct config_nics_draft nics = {.count = 0};

    if (draft->inside)
        kind->inside = config_read_link_type(graph, draft->inside, "inside");
    if (draft->mesh)
        config_read_mesh(graph, draft->mesh, kind);
    if (draft->nics)
        config_read_nics(graph, draft->nics, &nics, kind);
    if (draft->pcie)
        config_read_pcie(graph, draft->pcie, kind);
    if (draft->nics)
        config_bind_nics(graph, &nics, kind);
}

static void read_kind(struct config_graph *graph, const struct config_node *node, struct config_machine *kind)
{
    struct config_reader *reader = graph->reader;
    struct nodes_draft draft = {.count = 1};
    struct devices_draft devices = {.count = 1};

    *kind = (struct config_machine){.mark = &node->mark, .name = "node", .device_name = "gpu"};
    config_read_fields(reader, node, "a node", node_fields, CONFIG_N(node_fields), &draft);
    if (config_ok(reader))
        config_read_fields(reader, draft.devices, "devices", device_fields, CONFIG_N(device_fields),
                           &devices);
    if (!config_ok(reader))
        return;
    kind->count = draft.count;
    kind->n_devices = devices.count;
    if (draft.name)
        kind->name = config_read_name(reader, draft.name, "name");
    if (devices.name)
        kind->device_name = config_read_name(reader, devices.name, "name");
    kind->device = config_load_device(reader, devices.device);
    if ((uint64_t)kind->count * kind->n_devices > CONFIG_MAX_DEVICES)
        config_fail(reader, &node->mark, "%u nodes of %u devices are too many, accepted: at most %d devices",
                    kind->count, kind->n_devices, CONFIG_MAX_DEVICES);
    read_inside(graph, &draft, kind);
}

static uint32_t add_devices(struct config_graph *graph, const struct config_machine *kind, const char *name)
{
    uint32_t first = 0;

    for (uint32_t i = 0; i < kind->n_devices && config_ok(graph->reader); i++) {
        uint32_t device = config_add_vertex(
            graph, kind->mark, config_numbered(graph, name, kind->device_name, i, kind->n_devices),
            kind->device);
        first = i == 0 ? device : first;
    }
    return first;
}

/* Adds the NICs and says to the fabric where they are. */
static uint32_t add_nics(struct config_graph *graph, const struct config_machine *kind, const char *name)
{
    struct config_reader *reader = graph->reader;
    uint32_t first = 0;

    for (uint32_t i = 0; i < kind->n_nics && config_ok(reader); i++) {
        uint32_t nic = config_add_switch(graph, kind->mark,
                                         config_numbered(graph, name, "nic", i, kind->n_nics), MODEL_NIC);
        first = i == 0 ? nic : first;
        void *ports =
            config_grown(reader, graph->ports, graph->n_ports, &graph->ports_room, sizeof *graph->ports);
        if (!ports)
            return first;
        graph->ports = ports;
        graph->ports[graph->n_ports++] = (struct config_port){nic, (uint32_t)graph->n_places, kind->nic};
    }
    return first;
}

/* The node's switch, and the cables between what is there. */
static void join(struct config_graph *graph, const struct config_machine *kind, const char *name,
                 uint32_t first, uint32_t first_nic)
{
    struct config_reader *reader = graph->reader;

    if (kind->inside) {
        uint32_t hub =
            config_add_switch(graph, kind->mark, config_text(reader, "%s.switch", name), MODEL_SWITCH);
        for (uint32_t i = 0; i < kind->n_devices && config_ok(reader); i++)
            config_add_cable(graph, kind->mark, first + i, hub, kind->inside, kind->inside->half);
        for (uint32_t i = 0; kind->from_switch && i < kind->n_nics && config_ok(reader); i++)
            config_add_link(graph, kind->mark, hub, first_nic + i, kind->inside, kind->inside->half);
    }
    config_add_mesh(graph, kind, first);
    config_add_pcie(graph, kind, name, first, first_nic);
    for (size_t i = 0; i < kind->n_bindings && config_ok(reader); i++)
        config_add_cable(graph, kind->mark, first + kind->bindings[i].device,
                         first_nic + kind->bindings[i].nic, kind->attach, kind->attach->half);
}

static void add_node(struct config_graph *graph, const struct config_machine *kind, uint32_t index)
{
    struct config_reader *reader = graph->reader;
    const char *name = config_numbered(graph, "", kind->name, index, kind->count);

    graph->node++;
    void *places =
        config_grown(reader, graph->places, graph->n_places, &graph->places_room, sizeof *graph->places);
    if (!places)
        return;
    graph->places = places;
    uint32_t first_port = (uint32_t)graph->n_ports;
    uint32_t first = add_devices(graph, kind, name);
    uint32_t first_nic = add_nics(graph, kind, name);
    join(graph, kind, name, first, first_nic);
    graph->places[graph->n_places++] =
        (struct config_place){first, kind->n_devices, first_port, (uint32_t)graph->n_ports - first_port};
}

void config_read_nodes(struct config_graph *graph, const struct config_topology_draft *draft)
{
    const struct config_node *list = draft->nodes;
    struct config_reader *reader = graph->reader;

    if (!config_is_list(reader, list, "nodes"))
        return;
    for (size_t i = 0; i < list->n && config_ok(reader); i++) {
        struct config_machine kind;
        read_kind(graph, list->items[i], &kind);
        for (uint32_t n = 0; n < kind.count && config_ok(reader); n++)
            add_node(graph, &kind, n);
    }
    graph->node = 0;
    if (config_ok(reader))
        config_read_fabric(graph, draft->fabric, &list->mark);
}
