/* SPDX-License-Identifier: MIT
 *
 * The NICs of a node: which link leads from each to the fabric, and which devices each serves: by number, by
 * a list, or by its place in the node's PCIe tree. */
#include "config/nodes.h"

#define NICS(member) offsetof(struct config_nics_draft, member)

static const struct config_field nic_fields[] = {
    {.key = "count", .kind = CONFIG_COUNT32, .offset = NICS(count), .least = 1, .most = CONFIG_MAX_DEVICES},
    {.key = "link",
     .kind = CONFIG_NODE,
     .offset = NICS(link),
     .required = true,
     .hint = "a link type, from NIC to fabric"},
    {.key = "attach", .kind = CONFIG_NODE, .offset = NICS(attach)},
    {.key = "bind", .kind = CONFIG_NODE, .offset = NICS(bind)},
    {.key = "from_switch", .kind = CONFIG_BOOL, .offset = NICS(from_switch)},
};

void config_read_nics(struct config_graph *graph, const struct config_node *node,
                      struct config_nics_draft *draft, struct config_machine *kind)
{
    struct config_reader *reader = graph->reader;

    *draft = (struct config_nics_draft){.count = 1, .node = node};
    config_read_fields(reader, node, "nics", nic_fields, CONFIG_N(nic_fields), draft);
    if (!config_ok(reader))
        return;
    kind->nic = config_read_link_type(graph, draft->link, "link");
    if ((uint64_t)kind->count * draft->count > CONFIG_MAX_DEVICES)
        config_fail(reader, &node->mark, "%u nodes of %u nics are too many, accepted: at most %d nics",
                    kind->count, draft->count, CONFIG_MAX_DEVICES);
    kind->n_nics = draft->count;
    kind->from_switch = draft->from_switch;
    if (draft->from_switch && !kind->inside)
        config_fail(reader, &config_find(node, "from_switch")->value->mark,
                    "from_switch without a switch, accepted: beside 'inside'");
}

/* Device i on NIC i * n_nics / n_devices. */
static void bind_evenly(struct config_graph *graph, const struct config_nics_draft *draft,
                        struct config_machine *kind)
{
    struct config_reader *reader = graph->reader;

    if (kind->n_nics > kind->n_devices) {
        config_fail(reader, &config_find(draft->node, "count")->value->mark,
                    "%u nics for %u devices leave a NIC bound to nothing, accepted: 1 to %u", kind->n_nics,
                    kind->n_devices, kind->n_devices);
        return;
    }
    kind->bindings = config_scratch(reader, kind->n_devices, sizeof *kind->bindings);
    for (uint32_t i = 0; i < kind->n_devices && kind->bindings; i++)
        kind->bindings[kind->n_bindings++] =
            (struct config_binding){(uint32_t)((uint64_t)i * kind->n_nics / kind->n_devices), i};
}

/* One NIC's device, or list of devices. */
static void bind_one(struct config_graph *graph, const struct config_node *node, uint32_t nic,
                     struct config_machine *kind)
{
    struct config_reader *reader = graph->reader;
    const struct config_node *const *devices = node->kind == CONFIG_LIST ? node->items : &node;
    size_t n = node->kind == CONFIG_LIST ? node->n : 1;

    if (n == 0)
        config_fail(reader, &node->mark, "nic %u is bound to nothing, accepted: a device or several", nic);
    for (size_t i = 0; i < n && config_ok(reader); i++) {
        uint32_t device = (uint32_t)config_read_count(reader, devices[i], "bind", 0, kind->n_devices - 1);
        for (size_t j = 0; j < i && config_ok(reader); j++)
            if (kind->bindings[kind->n_bindings - 1 - j].device == device)
                config_fail(reader, &devices[i]->mark, "bind %s is there twice for nic %u, accepted: once",
                            config_found(reader, devices[i]), nic);
        kind->bindings[kind->n_bindings++] = (struct config_binding){nic, device};
    }
}

static void bind_listed(struct config_graph *graph, const struct config_node *list,
                        struct config_machine *kind)
{
    struct config_reader *reader = graph->reader;
    size_t n = 0;

    if (!config_is_list(reader, list, "bind"))
        return;
    if (list->n != kind->n_nics) {
        config_fail(reader, &list->mark, "bind: found %zu, accepted: %u, the devices of each nic", list->n,
                    kind->n_nics);
        return;
    }
    for (size_t i = 0; i < list->n; i++)
        n += list->items[i]->kind == CONFIG_LIST ? list->items[i]->n : 1;
    kind->bindings = config_scratch(reader, n, sizeof *kind->bindings);
    for (size_t i = 0; i < list->n && config_ok(reader); i++)
        bind_one(graph, list->items[i], (uint32_t)i, kind);
}

/* Whether the PCIe tree has the NICs; if it has some it must have all. */
static bool bound_by_tree(struct config_graph *graph, const struct config_nics_draft *draft,
                          const struct config_machine *kind)
{
    uint32_t n = 0, missing = 0;

    for (uint32_t i = 0; i < kind->n_nics && kind->pcie.n_sockets > 0; i++) {
        n += kind->pcie.nics[i].there;
        missing = kind->pcie.nics[i].there ? missing : i;
    }
    if (n > 0 && n < kind->n_nics)
        config_fail(graph->reader, &draft->node->mark,
                    "nic%u is bound to nothing, accepted: every nic in the pcie tree, or none", missing);
    if (n > 0 && draft->bind)
        config_fail(graph->reader, &draft->bind->mark,
                    "the pcie tree has the nics, accepted: 'bind', or nics in the tree");
    return n > 0;
}

/* A device reaches its NIC freely: without latency, and by a cable a thousandth wider than the NIC's own, so
 * that what limits, and is named, is always the NIC. */
static const struct config_link_type *free_attachment(struct config_graph *graph,
                                                      const struct config_link_type *nic)
{
    struct model_size_class *classes = config_keep(graph->reader, nic->n_classes, sizeof *classes);
    struct config_link_type *type = config_scratch(graph->reader, 1, sizeof *type);

    if (!config_ok(graph->reader))
        return NULL;
    for (size_t i = 0; i < nic->n_classes; i++)
        classes[i] = (struct model_size_class){nic->full[i].up_to_bytes, 0, nic->full[i].bytes_per_s * 1.001};
    *type = (struct config_link_type){
        .name = "attach",
        .mover = MODEL_MOVED_BY_WIRE,
        .full = classes,
        .half = classes,
        .n_classes = nic->n_classes,
    };
    return type;
}

void config_bind_nics(struct config_graph *graph, const struct config_nics_draft *draft,
                      struct config_machine *kind)
{
    struct config_reader *reader = graph->reader;

    if (!config_ok(reader))
        return;
    bool by_tree = bound_by_tree(graph, draft, kind);
    if (draft->attach)
        kind->attach = config_read_link_type(graph, draft->attach, "attach");
    else if (by_tree)
        kind->attach = kind->pcie.link;
    else if (config_ok(reader))
        kind->attach = free_attachment(graph, kind->nic);
    if (!config_ok(reader) || by_tree)
        return;
    if (draft->bind)
        bind_listed(graph, draft->bind, kind);
    else
        bind_evenly(graph, draft, kind);
}
