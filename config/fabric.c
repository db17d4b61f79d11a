/* SPDX-License-Identifier: MIT
 *
 * The keys of a fabric. Each kind has its own, listed in one table; the kinds themselves are built in
 * fabrics.c and grids.c. A new kind is one row and one function. */
#include "config/fabric.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum fabric_kind { SWITCH, FAT_TREE, RAILS, DRAGONFLY, TORUS, MESH, RING, N_KINDS };
static const char *const kind_names[N_KINDS] = {"switch", "fat-tree", "rails", "dragonfly",
                                                "torus",  "mesh",     "ring"};
static void (*const builders[N_KINDS])(struct config_graph *, const struct config_fabric *) = {
    config_add_one_switch, config_add_fat_tree,      config_add_rails, config_add_dragonfly,
    config_add_torus,      config_add_mesh_of_nodes, config_add_ring};

/* A fabric as the file has it. */
struct draft {
    struct config_fabric fabric;
    const struct config_node *kind, *oversubscription, *core_oversubscription, *uplink, *core_uplink, *local,
        *global, *link, *size;
};

enum { MANY = 4096 };

#define IN(kind)       (1u << (kind))
#define FABRIC(member) offsetof(struct draft, fabric.member)
#define DRAFT(member)  offsetof(struct draft, member)

static const struct {
    unsigned kinds;
    struct config_field field;
} keys[] = {
    {~0u, {.key = "kind", .kind = CONFIG_NODE, .offset = DRAFT(kind)}},
    {IN(FAT_TREE),
     {.key = "levels", .kind = CONFIG_COUNT32, .offset = FABRIC(levels), .least = 2, .most = 3}},
    {IN(FAT_TREE),
     {.key = "nodes_per_leaf",
      .kind = CONFIG_COUNT32,
      .offset = FABRIC(nodes_per_leaf),
      .required = true,
      .least = 1,
      .most = CONFIG_MAX_DEVICES,
      .hint = "how many nodes each leaf switch has"}},
    {IN(FAT_TREE),
     {.key = "leaves_per_pod",
      .kind = CONFIG_COUNT32,
      .offset = FABRIC(leaves_per_pod),
      .least = 1,
      .most = MANY}},
    {IN(FAT_TREE) | IN(RAILS),
     {.key = "spines", .kind = CONFIG_COUNT32, .offset = FABRIC(spines), .least = 1, .most = MANY}},
    {IN(FAT_TREE),
     {.key = "cores", .kind = CONFIG_COUNT32, .offset = FABRIC(cores), .least = 1, .most = MANY}},
    {IN(FAT_TREE) | IN(RAILS),
     {.key = "oversubscription", .kind = CONFIG_NODE, .offset = DRAFT(oversubscription)}},
    {IN(FAT_TREE) | IN(RAILS), {.key = "uplink", .kind = CONFIG_NODE, .offset = DRAFT(uplink)}},
    {IN(FAT_TREE),
     {.key = "core_oversubscription", .kind = CONFIG_NODE, .offset = DRAFT(core_oversubscription)}},
    {IN(FAT_TREE), {.key = "core_uplink", .kind = CONFIG_NODE, .offset = DRAFT(core_uplink)}},
    {IN(DRAGONFLY),
     {.key = "routers",
      .kind = CONFIG_COUNT32,
      .offset = FABRIC(routers),
      .required = true,
      .least = 1,
      .most = MANY,
      .hint = "how many routers a group has"}},
    {IN(DRAGONFLY),
     {.key = "nodes_per_router",
      .kind = CONFIG_COUNT32,
      .offset = FABRIC(nodes_per_router),
      .required = true,
      .least = 1,
      .most = CONFIG_MAX_DEVICES,
      .hint = "how many nodes each router has"}},
    {IN(DRAGONFLY),
     {.key = "local",
      .kind = CONFIG_NODE,
      .offset = DRAFT(local),
      .required = true,
      .hint = "the link type between routers of a group"}},
    {IN(DRAGONFLY),
     {.key = "global",
      .kind = CONFIG_NODE,
      .offset = DRAFT(global),
      .required = true,
      .hint = "the link type between groups"}},
    {IN(TORUS) | IN(MESH),
     {.key = "size",
      .kind = CONFIG_NODE,
      .offset = DRAFT(size),
      .required = true,
      .hint = "the lengths of the sides, e.g. [4, 4]"}},
    {IN(TORUS) | IN(MESH) | IN(RING),
     {.key = "link",
      .kind = CONFIG_NODE,
      .offset = DRAFT(link),
      .required = true,
      .hint = "the link type between neighbours"}},
};

/* "4:1", or "4" for the same. */
static struct config_ratio read_ratio(struct config_reader *reader, const struct config_node *node,
                                      const char *what)
{
    enum { MOST = 1024 };
    struct config_ratio ratio = {1, 1};
    uint32_t values[2] = {0, 1};
    size_t n = 0;

    if (!node || !config_is_scalar(reader, node, what))
        return ratio;
    const char *at = node->text;
    for (bool more = true; more && n < 2; n++) {
        size_t digits = strspn(at, "0123456789");
        values[n] = digits > 0 && digits < 6 ? (uint32_t)strtoul(at, NULL, 10) : 0;
        at += digits;
        more = n == 0 && *at == ':';
        at += more ? 1 : 0;
    }
    if (*at || values[0] == 0 || values[0] > MOST || values[1] == 0 || values[1] > MOST)
        config_fail(reader, &node->mark, "%s %s is no ratio, accepted: e.g. 4:1, both from 1 to %d", what,
                    config_found(reader, node), MOST);
    else
        ratio = (struct config_ratio){values[0], values[1]};
    return ratio;
}

static void read_size(struct config_reader *reader, const struct config_node *list,
                      struct config_fabric *fabric)
{
    if (!list || !config_is_list(reader, list, "size"))
        return;
    if (list->n == 0 || list->n > 3) {
        config_fail(reader, &list->mark, "size: found %zu lengths, accepted: 1 to 3", list->n);
        return;
    }
    for (size_t i = 0; i < list->n; i++)
        fabric->size[i] = (uint32_t)config_read_count(reader, list->items[i], "size", 1, CONFIG_MAX_DEVICES);
    fabric->n_sizes = (uint32_t)list->n;
}

static const struct config_link_type *read_optional(struct config_graph *graph,
                                                    const struct config_node *node, const char *what)
{
    return node ? config_read_link_type(graph, node, what) : NULL;
}

/* A link type and a ratio would be two answers to one question. */
static void check_once(struct config_reader *reader, const struct config_node *link,
                       const struct config_node *ratio, const char *what)
{
    if (link && ratio)
        config_fail(reader, &ratio->mark, "%s beside a link type, accepted: one or the other", what);
}

static void read_draft(struct config_graph *graph, const struct config_node *map, enum fabric_kind kind,
                       struct draft *draft)
{
    struct config_reader *reader = graph->reader;
    struct config_field fields[CONFIG_N(keys)];
    struct config_fabric *fabric = &draft->fabric;
    size_t n = 0;

    for (size_t i = 0; i < CONFIG_N(keys); i++)
        if (keys[i].kinds & IN(kind))
            fields[n++] = keys[i].field;
    config_read_fields(reader, map, config_text(reader, "fabric %s", kind_names[kind]), fields, n, draft);
    if (!config_ok(reader))
        return;
    check_once(reader, draft->uplink, draft->oversubscription, "oversubscription");
    check_once(reader, draft->core_uplink, draft->core_oversubscription, "core_oversubscription");
    fabric->oversubscription = read_ratio(reader, draft->oversubscription, "oversubscription");
    fabric->core_oversubscription = read_ratio(reader, draft->core_oversubscription, "core_oversubscription");
    fabric->uplink = read_optional(graph, draft->uplink, "uplink");
    fabric->core_uplink = read_optional(graph, draft->core_uplink, "core_uplink");
    fabric->local = read_optional(graph, draft->local, "local");
    fabric->global = read_optional(graph, draft->global, "global");
    fabric->link = read_optional(graph, draft->link, "link");
    read_size(reader, draft->size, fabric);
}

/* The kind, and the map of its keys: `fabric: ring` is `fabric: {kind: ring}`. */
static enum fabric_kind read_kind(struct config_reader *reader, const struct config_node *node,
                                  const struct config_node **map)
{
    static const struct config_node nothing = {.kind = CONFIG_MAP};
    const struct config_entry *entry = config_find(node, "kind");

    *map = node;
    if (!node || node->kind == CONFIG_SCALAR) {
        struct config_node *empty = config_scratch(reader, 1, sizeof *empty);
        if (empty && node) {
            *empty = nothing;
            empty->mark = node->mark;
        } else if (empty) {
            *empty = nothing;
        }
        *map = empty;
        return node ? (enum fabric_kind)config_read_word(reader, node, "fabric", kind_names, N_KINDS)
                    : SWITCH;
    }
    if (!config_is_map(reader, node, "fabric"))
        return SWITCH;
    if (!entry)
        config_fail(reader, &node->mark, "fabric has no 'kind', accepted: e.g. {kind: fat-tree, ...}");
    return config_ok(reader)
               ? (enum fabric_kind)config_read_word(reader, entry->value, "kind", kind_names, N_KINDS)
               : SWITCH;
}

void config_read_fabric(struct config_graph *graph, const struct config_node *node,
                        const struct config_mark *nodes)
{
    struct config_reader *reader = graph->reader;
    const struct config_node *map = NULL;
    struct draft draft = {.fabric = {.levels = 2}};

    enum fabric_kind kind = read_kind(reader, node, &map);
    if (!config_ok(reader))
        return;
    draft.fabric.mark = node ? &node->mark : nodes;
    read_draft(graph, map, kind, &draft);
    if (config_ok(reader))
        builders[kind](graph, &draft.fabric);
}
