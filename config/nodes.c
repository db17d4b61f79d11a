/* SPDX-License-Identifier: MIT
 *
 * Equal nodes: devices on the node's own switch, NICs, and the fabric that joins the NICs of all nodes.
 *
 *   device i -- switch              (inside)
 *   device i -- NIC i * n / count   (attach)      NIC -- fabric   (nics.link)
 *
 * Of each kind of hop a message crosses two cables, in and out, so each has half of the latency. */
#include "config/topology.h"

struct nodes_draft {
    const char *source;
    uint32_t count;
    const struct config_node *name, *devices, *inside, *nics;
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

struct nics_draft {
    uint32_t count;
    const struct config_node *link, *attach;
};

static const struct config_field nic_fields[] = {
    {.key = "count",
     .kind = CONFIG_COUNT32,
     .offset = offsetof(struct nics_draft, count),
     .least = 1,
     .most = CONFIG_MAX_DEVICES},
    {.key = "link",
     .kind = CONFIG_NODE,
     .offset = offsetof(struct nics_draft, link),
     .required = true,
     .hint = "a link type, from NIC to fabric"},
    {.key = "attach", .kind = CONFIG_NODE, .offset = offsetof(struct nics_draft, attach)},
};

/* What every one of the equal nodes is made of. */
struct node_kind {
    const struct config_mark *mark;
    const char *name, *device_name;
    uint32_t count, n_devices, n_nics;
    const struct model_device *device;
    const struct config_link_type *inside, *nic, *attach; /* NULL: absent */
};

/* A device reaches its NIC freely: no latency, and so much bandwidth that it never limits what the NIC does.
 */
static const struct config_link_type *free_attachment(struct config_graph *graph,
                                                      const struct config_link_type *nic)
{
    enum { AMPLE = 1000 };
    struct model_size_class *classes = config_keep(graph->reader, 1, sizeof *classes);
    struct config_link_type *type = config_scratch(graph->reader, 1, sizeof *type);

    if (!config_ok(graph->reader))
        return NULL;
    *classes = (struct model_size_class){.up_to_bytes = UINT64_MAX};
    for (size_t i = 0; i < nic->n_classes; i++)
        if (nic->full[i].bytes_per_s * AMPLE > classes->bytes_per_s)
            classes->bytes_per_s = nic->full[i].bytes_per_s * AMPLE;
    *type = (struct config_link_type){"attach", MODEL_MOVED_BY_WIRE, classes, classes, 1};
    return type;
}

static void read_nics(struct config_graph *graph, const struct config_node *node, struct node_kind *kind)
{
    struct nics_draft draft = {.count = 1};

    config_read_fields(graph->reader, node, "nics", nic_fields, CONFIG_N(nic_fields), &draft);
    if (!config_ok(graph->reader))
        return;
    if (draft.count > kind->n_devices) {
        config_fail(graph->reader, &config_find(node, "count")->value->mark,
                    "%u nics for %u devices leave a NIC bound to nothing, accepted: 1 to %u", draft.count,
                    kind->n_devices, kind->n_devices);
        return;
    }
    kind->n_nics = draft.count;
    kind->nic = config_read_link_type(graph, draft.link, "link");
    if (draft.attach)
        kind->attach = config_read_link_type(graph, draft.attach, "attach");
    else if (config_ok(graph->reader))
        kind->attach = free_attachment(graph, kind->nic);
}

static void read_kind(struct config_graph *graph, const struct config_node *node, struct node_kind *kind)
{
    struct config_reader *reader = graph->reader;
    struct nodes_draft draft = {.count = 1};
    struct devices_draft devices = {.count = 1};

    *kind = (struct node_kind){.mark = &node->mark, .name = "node", .device_name = "gpu"};
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
    if (draft.inside)
        kind->inside = config_read_link_type(graph, draft.inside, "inside");
    if (draft.nics)
        read_nics(graph, draft.nics, kind);
    if ((uint64_t)kind->count * kind->n_devices > CONFIG_MAX_DEVICES)
        config_fail(reader, &node->mark, "%u nodes of %u devices are too many, accepted: at most %d devices",
                    kind->count, kind->n_devices, CONFIG_MAX_DEVICES);
}

/* "prefix.name3", or "prefix.name" where there is only one. */
static const char *numbered(struct config_graph *graph, const char *prefix, const char *name, uint32_t index,
                            uint32_t count)
{
    const char *dot = prefix[0] ? "." : "";

    return count > 1 ? config_text(graph->reader, "%s%s%s%u", prefix, dot, name, index)
                     : config_text(graph->reader, "%s%s%s", prefix, dot, name);
}

static void add_node(struct config_graph *graph, const struct node_kind *kind, uint32_t index,
                     uint32_t fabric)
{
    struct config_reader *reader = graph->reader;
    const char *name = numbered(graph, "", kind->name, index, kind->count);
    uint32_t first = 0, first_nic = 0;

    for (uint32_t i = 0; i < kind->n_devices && config_ok(reader); i++) {
        uint32_t device = config_add_vertex(
            graph, kind->mark, numbered(graph, name, kind->device_name, i, kind->n_devices), kind->device);
        first = i == 0 ? device : first;
    }
    if (kind->inside) {
        uint32_t hub = config_add_vertex(graph, kind->mark, config_text(reader, "%s.switch", name), NULL);
        for (uint32_t i = 0; i < kind->n_devices && config_ok(reader); i++)
            config_add_cable(graph, kind->mark, first + i, hub, kind->inside, kind->inside->half);
    }
    for (uint32_t i = 0; i < kind->n_nics && config_ok(reader); i++) {
        uint32_t nic =
            config_add_vertex(graph, kind->mark, numbered(graph, name, "nic", i, kind->n_nics), NULL);
        first_nic = i == 0 ? nic : first_nic;
        config_add_cable(graph, kind->mark, nic, fabric, kind->nic, kind->nic->half);
    }
    for (uint32_t i = 0; kind->n_nics > 0 && i < kind->n_devices && config_ok(reader); i++) {
        uint32_t nic = first_nic + (uint32_t)((uint64_t)i * kind->n_nics / kind->n_devices);
        config_add_cable(graph, kind->mark, first + i, nic, kind->attach, kind->attach->half);
    }
}

void config_read_nodes(struct config_graph *graph, const struct config_topology_draft *draft)
{
    static const char *const fabrics[] = {"switch"};
    const struct config_node *list = draft->nodes;
    struct config_reader *reader = graph->reader;
    uint32_t fabric = 0;
    bool has_fabric = false;

    if (draft->fabric)
        config_read_word(reader, draft->fabric, "fabric", fabrics, 1);
    if (!config_is_list(reader, list, "nodes"))
        return;
    for (size_t i = 0; i < list->n && config_ok(reader); i++) {
        struct node_kind kind;
        read_kind(graph, list->items[i], &kind);
        if (config_ok(reader) && kind.n_nics > 0 && !has_fabric) {
            fabric = config_add_vertex(graph, kind.mark, "fabric", NULL);
            has_fabric = true;
        }
        for (uint32_t n = 0; n < kind.count && config_ok(reader); n++)
            add_node(graph, &kind, n, fabric);
    }
}
