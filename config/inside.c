/* SPDX-License-Identifier: MIT
 *
 * What joins the devices of a node other than one switch: cables between pairs of devices, and the PCIe tree
 * of its sockets.
 *
 *   device -- PCIe switch -- socket -- socket -- ...      each with half of its type's latency but the last
 */
#include <stdlib.h>
#include <string.h>

#include "config/nodes.h"

struct mesh_draft {
    const struct config_node *link, *pairs;
};

static const struct config_field mesh_fields[] = {
    {.key = "link",
     .kind = CONFIG_NODE,
     .offset = offsetof(struct mesh_draft, link),
     .required = true,
     .hint = "a link type"},
    {.key = "pairs",
     .kind = CONFIG_NODE,
     .offset = offsetof(struct mesh_draft, pairs),
     .required = true,
     .hint = "pairs of devices, e.g. [[0, 1], [0, 2, 2]], the third number: how many cables"},
};

/* So many cables of a type side by side count as one of so much more bandwidth. */
static const struct config_link_type *several(struct config_graph *graph, const struct config_link_type *type,
                                              uint32_t n)
{
    struct config_reader *reader = graph->reader;
    const struct model_size_class **lists[] = {NULL, NULL, NULL, NULL, NULL};
    struct config_link_type *wide = config_scratch(reader, 1, sizeof *wide);

    if (!wide || n == 1)
        return wide ? type : NULL;
    *wide = *type;
    lists[0] = &wide->full;
    lists[1] = &wide->half;
    lists[2] = &wide->bare;
    lists[3] = &wide->both_full;
    lists[4] = &wide->both_half;
    for (size_t i = 0; i < CONFIG_N(lists); i++) {
        struct model_size_class *copy = *lists[i] ? config_keep(reader, type->n_classes, sizeof *copy) : NULL;
        for (size_t c = 0; c < type->n_classes && copy; c++) {
            copy[c] = (*lists[i])[c];
            copy[c].bytes_per_s *= n;
        }
        *lists[i] = copy;
    }
    return config_ok(reader) ? wide : NULL;
}

void config_read_mesh(struct config_graph *graph, const struct config_node *node, struct config_machine *kind)
{
    enum { MANY = 64 };
    struct config_reader *reader = graph->reader;
    struct mesh_draft draft = {.link = NULL};

    if (!config_ok(reader))
        return;
    config_read_fields(reader, node, "mesh", mesh_fields, CONFIG_N(mesh_fields), &draft);
    const struct config_link_type *type =
        config_ok(reader) ? config_read_link_type(graph, draft.link, "link") : NULL;
    if (!type || !config_is_list(reader, draft.pairs, "pairs"))
        return;
    kind->pairs = config_scratch(reader, draft.pairs->n, sizeof *kind->pairs);
    for (size_t i = 0; i < draft.pairs->n && config_ok(reader); i++) {
        const struct config_node *pair = draft.pairs->items[i];
        if (!config_is_list(reader, pair, "pairs"))
            return;
        if (pair->n < 2 || pair->n > 3) {
            config_fail(reader, &pair->mark,
                        "pairs: found %zu in a pair, accepted: two devices, and how many cables", pair->n);
            return;
        }
        struct config_pair *out = &kind->pairs[kind->n_pairs++];
        out->a = (uint32_t)config_read_count(reader, pair->items[0], "pairs", 0, kind->n_devices - 1);
        out->b = (uint32_t)config_read_count(reader, pair->items[1], "pairs", 0, kind->n_devices - 1);
        out->mark = &pair->mark;
        out->type = several(
            graph, type,
            pair->n == 3 ? (uint32_t)config_read_count(reader, pair->items[2], "number of cables", 1, MANY)
                         : 1);
    }
}

void config_add_mesh(struct config_graph *graph, const struct config_machine *kind, uint32_t first_device)
{
    for (size_t i = 0; i < kind->n_pairs && config_ok(graph->reader); i++) {
        const struct config_pair *pair = &kind->pairs[i];
        config_add_cable(graph, pair->mark, first_device + pair->a, first_device + pair->b, pair->type,
                         pair->type->full);
    }
}

struct pcie_draft {
    const struct config_node *link, *uplink, *between, *tree;
};

#define PCIE(member) offsetof(struct pcie_draft, member)

static const struct config_field pcie_fields[] = {
    {.key = "link",
     .kind = CONFIG_NODE,
     .offset = PCIE(link),
     .required = true,
     .hint = "the link type of a device's slot"},
    {.key = "uplink", .kind = CONFIG_NODE, .offset = PCIE(uplink)},
    {.key = "between", .kind = CONFIG_NODE, .offset = PCIE(between)},
    {.key = "tree",
     .kind = CONFIG_NODE,
     .offset = PCIE(tree),
     .required = true,
     .hint = "a list of sockets, e.g. [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]"},
};

/* A device's number, or nic and a NIC's. */
static void perch(struct config_graph *graph, const struct config_node *node, struct config_machine *kind,
                  struct config_perch where)
{
    struct config_reader *reader = graph->reader;
    struct config_perch *at;

    if (!config_is_scalar(reader, node, "tree"))
        return;
    if (strncmp(node->text, "nic", 3) == 0) {
        const char *digits = node->text + 3;
        unsigned long nic = strtoul(digits, NULL, 10);
        bool wrong = digits[strspn(digits, "0123456789")] || strlen(digits) > 6 || nic >= kind->n_nics ||
                     (!digits[0] && kind->n_nics != 1);
        if (wrong) {
            config_fail(reader, &node->mark, "tree %s is no nic, accepted: %s", config_found(reader, node),
                        kind->n_nics > 1    ? config_text(reader, "nic0 to nic%u", kind->n_nics - 1)
                        : kind->n_nics == 1 ? "nic"
                                            : "device numbers, as there are no 'nics'");
            return;
        }
        at = &kind->pcie.nics[nic];
    } else {
        at = &kind->pcie.devices[config_read_count(reader, node, "tree", 0, kind->n_devices - 1)];
    }
    if (at->there && config_ok(reader))
        config_fail(reader, &node->mark, "tree %s is there twice, accepted: once",
                    config_found(reader, node));
    *at = where;
}

static void read_socket(struct config_graph *graph, const struct config_node *list,
                        struct config_machine *kind)
{
    struct config_reader *reader = graph->reader;
    struct config_pcie *pcie = &kind->pcie;

    if (!config_is_list(reader, list, "a socket of the tree"))
        return;
    for (size_t i = 0; i < list->n && config_ok(reader); i++) {
        const struct config_node *item = list->items[i];
        if (item->kind != CONFIG_LIST) {
            perch(graph, item, kind, (struct config_perch){true, false, pcie->n_sockets});
            continue;
        }
        for (size_t j = 0; j < item->n && config_ok(reader); j++)
            perch(graph, item->items[j], kind, (struct config_perch){true, true, pcie->n_switches});
        pcie->socket_of_switch[pcie->n_switches++] = pcie->n_sockets;
    }
    pcie->n_sockets++;
}

static void read_tree(struct config_graph *graph, const struct config_node *tree, struct config_machine *kind)
{
    struct config_reader *reader = graph->reader;
    struct config_pcie *pcie = &kind->pcie;

    if (!config_is_list(reader, tree, "tree"))
        return;
    if (tree->n == 0)
        config_fail(reader, &tree->mark, "tree: found an empty list, accepted: at least one socket");
    pcie->socket_of_switch = config_scratch(reader, tree->n_values, sizeof *pcie->socket_of_switch);
    pcie->devices = config_scratch(reader, kind->n_devices, sizeof *pcie->devices);
    pcie->nics = config_scratch(reader, kind->n_nics, sizeof *pcie->nics);
    for (size_t i = 0; i < tree->n && config_ok(reader); i++)
        read_socket(graph, tree->items[i], kind);
    for (uint32_t i = 0; i < kind->n_devices && config_ok(reader); i++)
        if (!pcie->devices[i].there)
            config_fail(reader, &tree->mark, "tree: device %u is missing, accepted: every device once", i);
}

void config_read_pcie(struct config_graph *graph, const struct config_node *node, struct config_machine *kind)
{
    struct config_reader *reader = graph->reader;
    struct config_pcie *pcie = &kind->pcie;
    struct pcie_draft draft = {.link = NULL};

    if (!config_ok(reader))
        return;
    config_read_fields(reader, node, "pcie", pcie_fields, CONFIG_N(pcie_fields), &draft);
    if (!config_ok(reader))
        return;
    pcie->link = config_read_link_type(graph, draft.link, "link");
    pcie->uplink = draft.uplink ? config_read_link_type(graph, draft.uplink, "uplink") : pcie->link;
    if (draft.between)
        pcie->between = config_read_link_type(graph, draft.between, "between");
    read_tree(graph, draft.tree, kind);
    if (config_ok(reader) && pcie->n_sockets > 1 && !pcie->between)
        config_fail(reader, &node->mark, "pcie has no 'between', accepted: the link type between sockets");
}

/* The cable from a device or NIC into the tree. */
static void hang(struct config_graph *graph, const struct config_machine *kind, uint32_t vertex,
                 const struct config_perch *at, uint32_t first_socket, uint32_t first_switch,
                 const struct config_link_type *type)
{
    if (at->there && config_ok(graph->reader))
        config_add_cable(graph, kind->mark, vertex, (at->on_switch ? first_switch : first_socket) + at->index,
                         type, type->half);
}

static uint32_t add_places(struct config_graph *graph, const struct config_machine *kind, const char *node,
                           const char *name, uint32_t n, enum model_vertex_kind what)
{
    uint32_t first = (uint32_t)graph->topology->n_vertices;

    for (uint32_t i = 0; i < n && config_ok(graph->reader); i++)
        config_add_switch(graph, kind->mark, config_numbered(graph, node, name, i, n), what);
    return first;
}

void config_add_pcie(struct config_graph *graph, const struct config_machine *kind, const char *name,
                     uint32_t first_device, uint32_t first_nic)
{
    const struct config_pcie *pcie = &kind->pcie;
    struct config_reader *reader = graph->reader;

    if (pcie->n_sockets == 0)
        return;
    uint32_t sockets = add_places(graph, kind, name, "socket", pcie->n_sockets, MODEL_SOCKET);
    uint32_t switches = add_places(graph, kind, name, "pcie", pcie->n_switches, MODEL_SWITCH);
    for (uint32_t i = 0; i < kind->n_devices; i++)
        hang(graph, kind, first_device + i, &pcie->devices[i], sockets, switches, pcie->link);
    for (uint32_t i = 0; i < kind->n_nics; i++)
        hang(graph, kind, first_nic + i, &pcie->nics[i], sockets, switches, kind->attach);
    for (uint32_t i = 0; i < pcie->n_switches && config_ok(reader); i++)
        config_add_cable(graph, kind->mark, switches + i, sockets + pcie->socket_of_switch[i], pcie->uplink,
                         pcie->uplink->half);
    for (uint32_t a = 0; a < pcie->n_sockets; a++)
        for (uint32_t b = a + 1; b < pcie->n_sockets && config_ok(reader); b++)
            config_add_cable(graph, kind->mark, sockets + a, sockets + b, pcie->between, pcie->between->full);
}
