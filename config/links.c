/* SPDX-License-Identifier: MIT
 *
 * Link types: bandwidth and latency, at one size or by size class. */
#include <math.h>
#include <string.h>

#include "config/topology.h"

struct type_draft {
    const char *source;
    enum model_mover mover;
    double bytes_per_s, latency_s, both_bytes_per_s;
    const struct config_node *classes;
};

static const struct config_field type_fields[] = {
    {.key = "bandwidth",
     .kind = CONFIG_QUANTITY,
     .offset = offsetof(struct type_draft, bytes_per_s),
     .unit = CONFIG_BYTES_PER_S},
    {.key = "latency",
     .kind = CONFIG_QUANTITY,
     .offset = offsetof(struct type_draft, latency_s),
     .unit = CONFIG_SECONDS},
    {.key = "both_ways",
     .kind = CONFIG_QUANTITY,
     .offset = offsetof(struct type_draft, both_bytes_per_s),
     .unit = CONFIG_BYTES_PER_S},
    {.key = "classes", .kind = CONFIG_NODE, .offset = offsetof(struct type_draft, classes)},
    {.key = "moved_by",
     .kind = CONFIG_WORD,
     .offset = offsetof(struct type_draft, mover),
     .words = model_mover_names,
     .n_words = MODEL_N_MOVERS},
    {.key = "source", .kind = CONFIG_TEXT, .offset = offsetof(struct type_draft, source)},
};

struct class_draft {
    double up_to_bytes, bytes_per_s, latency_s;
};

static const struct config_field class_fields[] = {
    {.key = "up_to",
     .kind = CONFIG_QUANTITY,
     .offset = offsetof(struct class_draft, up_to_bytes),
     .unit = CONFIG_BYTES,
     .positive = true},
    {.key = "bandwidth",
     .kind = CONFIG_QUANTITY,
     .offset = offsetof(struct class_draft, bytes_per_s),
     .unit = CONFIG_BYTES_PER_S,
     .required = true,
     .hint = "a bandwidth such as 25 GB/s"},
    {.key = "latency",
     .kind = CONFIG_QUANTITY,
     .offset = offsetof(struct class_draft, latency_s),
     .unit = CONFIG_SECONDS},
};

static void read_class(struct config_reader *reader, const struct config_node *node, bool last,
                       uint64_t larger_than, struct model_size_class *out)
{
    struct class_draft draft = {.up_to_bytes = 0};

    config_read_fields(reader, node, "a size class", class_fields, CONFIG_N(class_fields), &draft);
    if (!config_ok(reader))
        return;
    uint64_t up_to = last ? UINT64_MAX : (uint64_t)llround(draft.up_to_bytes);
    const struct config_entry *entry = config_find(node, "up_to");
    if (last && entry)
        config_fail(reader, &entry->key->mark,
                    "the last size class has an up_to, accepted: none, it serves everything larger");
    else if (!last && !entry)
        config_fail(
            reader, &node->mark,
            "a size class has no up_to, accepted: the largest message it serves (only the last has none)");
    else if (up_to <= larger_than)
        config_fail(reader, &entry->value->mark, "up_to %s does not ascend (the class before ends at %llu B)",
                    config_found(reader, entry->value), (unsigned long long)larger_than);
    *out = (struct model_size_class){up_to, draft.latency_s, draft.bytes_per_s};
}

static size_t read_classes(struct config_reader *reader, const struct config_node *list,
                           struct model_size_class **out)
{
    if (!config_is_list(reader, list, "classes"))
        return 0;
    if (list->n == 0)
        config_fail(reader, &list->mark, "classes: found an empty list, accepted: at least one size class");
    struct model_size_class *classes = config_keep(reader, list->n, sizeof *classes);
    for (size_t i = 0; i < list->n && config_ok(reader); i++)
        read_class(reader, list->items[i], i + 1 == list->n, i > 0 ? classes[i - 1].up_to_bytes : 0,
                   &classes[i]);
    *out = classes;
    return list->n;
}

/* A copy of n classes with another bandwidth (0: the same) and a part of the latency. */
static const struct model_size_class *changed(struct config_reader *reader,
                                              const struct model_size_class *classes, size_t n,
                                              double bytes_per_s, double latency_part)
{
    struct model_size_class *copy = config_keep(reader, n, sizeof *copy);

    for (size_t i = 0; i < n && copy; i++) {
        copy[i] = classes[i];
        copy[i].latency_s *= latency_part;
        copy[i].bytes_per_s = bytes_per_s > 0 ? bytes_per_s : copy[i].bytes_per_s;
    }
    return copy;
}

static const struct config_link_type *read_type(struct config_graph *graph, const struct config_node *node,
                                                const char *name)
{
    struct config_reader *reader = graph->reader;
    struct type_draft draft = {.mover = MODEL_MOVED_BY_WIRE};
    struct model_size_class *full = NULL;
    size_t n = 1;

    config_read_fields(reader, node, config_text(reader, "link type '%s'", name), type_fields,
                       CONFIG_N(type_fields), &draft);
    if (!config_ok(reader))
        return NULL;
    if (draft.classes && (draft.bytes_per_s > 0 || config_find(node, "latency")))
        config_fail(reader, &node->mark,
                    "link type '%s' has classes beside a bandwidth or latency, accepted: one or the other",
                    name);
    else if (draft.classes)
        n = read_classes(reader, draft.classes, &full);
    else if (!(draft.bytes_per_s > 0))
        config_fail(reader, &node->mark,
                    "link type '%s' has no 'bandwidth', accepted: e.g. {bandwidth: 25 GB/s, latency: 1 us}",
                    name);
    else if ((full = config_keep(reader, 1, sizeof *full)))
        *full = (struct model_size_class){UINT64_MAX, draft.latency_s, draft.bytes_per_s};
    struct config_link_type *type = config_scratch(reader, 1, sizeof *type);
    if (!config_ok(reader))
        return NULL;
    *type = (struct config_link_type){
        .name = config_keep_text(reader, name),
        .mover = draft.mover,
        .full = full,
        .half = changed(reader, full, n, 0, 0.5),
        .n_classes = n,
    };
    if (draft.both_bytes_per_s > 2 * full[n - 1].bytes_per_s) {
        config_fail(reader, &config_find(node, "both_ways")->value->mark,
                    "both_ways %s is more than twice the bandwidth of one way, accepted: up to that (without "
                    "both_ways, the two do not disturb each other)",
                    config_found(reader, config_find(node, "both_ways")->value));
        return NULL;
    }
    if (draft.both_bytes_per_s > 0) {
        type->bare = changed(reader, full, n, 0, 0);
        type->both_full = changed(reader, full, n, draft.both_bytes_per_s, 1);
        type->both_half = changed(reader, full, n, draft.both_bytes_per_s, 0.5);
    }
    return config_ok(reader) ? type : NULL;
}

const struct config_link_type *config_make_link_type(struct config_graph *graph, const char *name,
                                                     double bytes_per_s)
{
    struct model_size_class *classes = config_keep(graph->reader, 1, sizeof *classes);
    struct config_link_type *type = config_scratch(graph->reader, 1, sizeof *type);

    if (!config_ok(graph->reader))
        return NULL;
    *classes = (struct model_size_class){.up_to_bytes = UINT64_MAX, .bytes_per_s = bytes_per_s};
    *type = (struct config_link_type){
        .name = config_keep_text(graph->reader, name),
        .mover = MODEL_MOVED_BY_WIRE,
        .full = classes,
        .half = classes,
        .n_classes = 1,
    };
    return config_ok(graph->reader) ? type : NULL;
}

double config_link_bytes_per_s(const struct config_link_type *type)
{
    return type->full[type->n_classes - 1].bytes_per_s;
}

void config_read_link_types(struct config_graph *graph, const struct config_node *map)
{
    struct config_reader *reader = graph->reader;

    if (!config_is_map(reader, map, "links"))
        return;
    for (size_t i = 0; i < map->n && config_ok(reader); i++) {
        const char *name = config_read_name(reader, map->entries[i].key, "link type");
        const struct config_link_type *type =
            config_ok(reader) ? read_type(graph, map->entries[i].value, name) : NULL;
        if (type && !config_names_put(&graph->types, name, i, type))
            config_fail_memory(reader);
    }
}

const struct config_link_type *config_read_link_type(struct config_graph *graph,
                                                     const struct config_node *node, const char *what)
{
    struct config_reader *reader = graph->reader;

    if (!config_ok(reader))
        return NULL;
    if (node->kind == CONFIG_MAP)
        return read_type(graph, node, what);
    if (!config_is_scalar(reader, node, what))
        return NULL;
    const struct config_name *name = config_names_find(&graph->types, node->text);
    if (!name)
        config_fail(reader, &node->mark,
                    "%s %s is no link type%s (accepted: a name under 'links', or {bandwidth: ...})", what,
                    config_found(reader, node),
                    config_did_you_mean(reader, config_names_nearest(&graph->types, node->text)));
    return name ? name->item : NULL;
}
