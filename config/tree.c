/* SPDX-License-Identifier: MIT
 *
 * libyaml's events, made into a tree. The events are taken one by one and nothing here recurses, so that
 * depth and size are bounded before they cost anything. */
#include "config/tree.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "config/reader.h"

/* A list or map whose end has not come yet. */
struct frame {
    struct config_node *node;
    size_t first;             /* its children are values[first..] */
    uint32_t n_values_before; /* of the document when it began */
};

struct builder {
    struct config_reader *reader;
    const struct config_source *source;
    struct config_names anchors;
    const struct config_node **values; /* a stack: the children of every open frame */
    size_t n_values, room;
    struct frame frames[CONFIG_MAX_DEPTH];
    size_t depth;
    uint32_t n_expanded;
    const struct config_node *root;
    bool ended;
};

static struct config_mark mark_of(const struct builder *b, const yaml_mark_t *mark)
{
    return (struct config_mark){b->source, (uint32_t)mark->line + 1, (uint32_t)mark->column + 1};
}

const struct config_entry *config_find(const struct config_node *map, const char *key)
{
    if (map && map->kind == CONFIG_MAP)
        for (size_t i = 0; i < map->n; i++)
            if (strcmp(map->entries[i].key->text, key) == 0)
                return &map->entries[i];
    return NULL;
}

/* The document has so many values more. */
static bool count_values(struct builder *b, const struct config_mark *mark, uint32_t n)
{
    b->n_expanded += n;
    if (b->n_expanded <= CONFIG_MAX_VALUES)
        return true;
    config_fail(b->reader, mark, "too many values (with aliases written out), accepted: at most %d",
                CONFIG_MAX_VALUES);
    return false;
}

static bool push(struct builder *b, const struct config_node *node)
{
    if (b->n_values == b->room) {
        size_t room = b->room ? 2 * b->room : 256;
        const struct config_node **larger = realloc(b->values, room * sizeof *larger);
        if (!larger) {
            config_fail_memory(b->reader);
            return false;
        }
        b->values = larger;
        b->room = room;
    }
    b->values[b->n_values++] = node;
    return true;
}

static struct config_node *add_node(struct builder *b, enum config_node_kind kind, const yaml_event_t *event,
                                    const yaml_char_t *anchor, const yaml_char_t *tag)
{
    struct config_mark mark = mark_of(b, &event->start_mark);

    if (tag)
        config_fail(b->reader, &mark, "found the tag '%s', accepted: values without tags", (const char *)tag);
    struct config_node *node = config_scratch(b->reader, 1, sizeof *node);
    if (!node || !count_values(b, &mark, 1))
        return NULL;
    node->kind = kind;
    node->mark = mark;
    if (anchor) {
        char *name = config_pool_text(b->reader->scratch, (const char *)anchor, strlen((const char *)anchor));
        if (!name || !config_names_put(&b->anchors, name, 0, node)) {
            config_fail_memory(b->reader);
            return NULL;
        }
    }
    return push(b, node) ? node : NULL;
}

static void add_scalar(struct builder *b, const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    struct config_node *node =
        add_node(b, CONFIG_SCALAR, event, event->data.scalar.anchor, event->data.scalar.tag);

    if (!node)
        return;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if ((c < ' ' && c != '\t' && c != '\n') || c == 0x7f) {
            config_fail(b->reader, &node->mark, "found the control character 0x%02x, accepted: text", c);
            return;
        }
    }
    node->n_values = 1;
    node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    node->text = config_pool_text(b->reader->scratch, text, length);
    if (!node->text)
        config_fail_memory(b->reader);
}

static void open_frame(struct builder *b, const yaml_event_t *event)
{
    bool is_map = event->type == YAML_MAPPING_START_EVENT;
    struct config_mark mark = mark_of(b, &event->start_mark);

    if (b->depth == CONFIG_MAX_DEPTH) {
        config_fail(b->reader, &mark, "nested too deeply, accepted: at most %d levels", CONFIG_MAX_DEPTH);
        return;
    }
    uint32_t before = b->n_expanded;
    struct config_node *node = is_map ? add_node(b, CONFIG_MAP, event, event->data.mapping_start.anchor,
                                                 event->data.mapping_start.tag)
                                      : add_node(b, CONFIG_LIST, event, event->data.sequence_start.anchor,
                                                 event->data.sequence_start.tag);
    if (node)
        b->frames[b->depth++] = (struct frame){.node = node, .first = b->n_values, .n_values_before = before};
}

static void add_alias(struct builder *b, const yaml_event_t *event)
{
    const char *name = (const char *)event->data.alias.anchor;
    struct config_mark mark = mark_of(b, &event->start_mark);
    const struct config_name *anchor = config_names_find(&b->anchors, name);

    if (!anchor) {
        const char *nearest = config_names_nearest(&b->anchors, name);
        config_fail(b->reader, &mark, "alias '*%s' names no anchor above it%s", name,
                    config_did_you_mean(b->reader, nearest));
        return;
    }
    const struct config_node *node = anchor->item;
    if (node->n_values == 0)
        config_fail(b->reader, &mark, "alias '*%s' stands inside the value it names (line %u)", name,
                    node->mark.line);
    else if (count_values(b, &mark, node->n_values))
        push(b, node);
}

static bool is_merge(const struct config_node *key)
{
    return key->plain && strcmp(key->text, "<<") == 0;
}

/* Entries of the keys as written, `<<` left aside; a key must be a scalar and stand there once. */
static size_t own_entries(struct builder *b, const struct config_node *const *pairs, size_t n_pairs,
                          struct config_entry *entries, struct config_names *seen)
{
    size_t n = 0;

    for (size_t i = 0; i < n_pairs && config_ok(b->reader); i++) {
        const struct config_node *key = pairs[2 * i];
        if (!config_is_scalar(b->reader, key, "a key"))
            return 0;
        const struct config_name *first = config_names_find(seen, key->text);
        if (first)
            config_fail(b->reader, &key->mark, "key %s is there twice, first at line %u (accepted: once)",
                        config_found(b->reader, key), ((const struct config_node *)first->item)->mark.line);
        else if (!config_names_put(seen, key->text, i, key))
            config_fail_memory(b->reader);
        if (!is_merge(key))
            entries[n++] = (struct config_entry){key, pairs[2 * i + 1]};
    }
    return n;
}

/* What `<<: *other` brings in: the other map's entries whose keys are not here yet. */
static size_t merge_entries(struct builder *b, const struct config_node *other, struct config_entry *entries,
                            size_t n, struct config_names *seen)
{
    if (!config_is_map(b->reader, other, "<<"))
        return n;
    for (size_t i = 0; i < other->n && config_ok(b->reader); i++) {
        const struct config_entry *entry = &other->entries[i];
        if (config_names_find(seen, entry->key->text))
            continue;
        entries[n++] = *entry;
        if (!config_names_put(seen, entry->key->text, i, entry->key))
            config_fail_memory(b->reader);
    }
    return n;
}

static void close_map(struct builder *b, struct config_node *node, const struct config_node *const *pairs,
                      size_t n_pairs)
{
    struct config_names seen = {.pool = b->reader->scratch};
    size_t room = n_pairs;
    const struct config_node *merge = NULL;

    for (size_t i = 0; i < n_pairs; i++)
        if (pairs[2 * i]->kind == CONFIG_SCALAR && is_merge(pairs[2 * i])) {
            merge = pairs[2 * i + 1];
            room += merge->n_values;
        }
    struct config_entry *entries = config_scratch(b->reader, room, sizeof *entries);
    if (!entries)
        return;
    node->entries = entries;
    node->n = own_entries(b, pairs, n_pairs, entries, &seen);
    if (merge && merge->kind == CONFIG_LIST)
        for (size_t i = 0; i < merge->n; i++)
            node->n = merge_entries(b, merge->items[i], entries, node->n, &seen);
    else if (merge)
        node->n = merge_entries(b, merge, entries, node->n, &seen);
}

static void close_frame(struct builder *b)
{
    struct frame *frame = &b->frames[--b->depth];
    struct config_node *node = frame->node;
    const struct config_node *const *children = b->values + frame->first;
    size_t n = b->n_values - frame->first;

    if (node->kind == CONFIG_MAP) {
        close_map(b, node, children, n / 2);
    } else {
        const struct config_node **items = config_scratch(b->reader, n, sizeof *items);
        if (items)
            memcpy(items, children, n * sizeof *items);
        node->items = items;
        node->n = n;
    }
    node->n_values = b->n_expanded - frame->n_values_before;
    b->n_values = frame->first;
}

static void take_event(struct builder *b, const yaml_event_t *event)
{
    struct config_mark mark = mark_of(b, &event->start_mark);

    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (b->root)
            config_fail(b->reader, &mark, "found a second document, accepted: one");
        break;
    case YAML_ALIAS_EVENT:
        add_alias(b, event);
        break;
    case YAML_SCALAR_EVENT:
        add_scalar(b, event);
        break;
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
        open_frame(b, event);
        break;
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        close_frame(b);
        break;
    case YAML_DOCUMENT_END_EVENT:
        b->root = b->values[0];
        break;
    case YAML_STREAM_END_EVENT:
        b->ended = true;
        break;
    case YAML_STREAM_START_EVENT:
    case YAML_NO_EVENT:
        break;
    }
}

static void fail_syntax(struct builder *b, const yaml_parser_t *parser)
{
    struct config_mark mark = mark_of(b, &parser->problem_mark);
    const char *problem = parser->problem ? parser->problem : "something is wrong";

    if (parser->error == YAML_MEMORY_ERROR)
        config_fail_memory(b->reader);
    else if (parser->error == YAML_READER_ERROR)
        config_fail(b->reader, &(struct config_mark){b->source, (uint32_t)parser->mark.line + 1, 1},
                    "not YAML: %s", problem);
    else if (parser->context && parser->context_mark.line != parser->problem_mark.line)
        config_fail(b->reader, &mark, "not YAML: %s, %s that starts at line %zu", problem, parser->context,
                    parser->context_mark.line + 1);
    else
        config_fail(b->reader, &mark, "not YAML: %s%s%s", problem, parser->context ? ", " : "",
                    parser->context ? parser->context : "");
}

static void read_events(struct builder *b, const char *text, size_t length)
{
    yaml_parser_t parser;

    if (!yaml_parser_initialize(&parser)) {
        config_fail_memory(b->reader);
        return;
    }
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
    while (config_ok(b->reader) && !b->ended) {
        yaml_event_t event;
        if (!yaml_parser_parse(&parser, &event)) {
            fail_syntax(b, &parser);
            break;
        }
        take_event(b, &event);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
}

const struct config_node *config_tree_parse(struct config_reader *reader, const struct config_source *source,
                                            const char *text, size_t length)
{
    if (!config_ok(reader))
        return NULL;
    struct builder *b = config_scratch(reader, 1, sizeof *b);
    if (!b)
        return NULL;
    b->reader = reader;
    b->source = source;
    b->anchors.pool = reader->scratch;
    read_events(b, text, length);
    free(b->values);
    if (config_ok(reader) && !b->root)
        config_fail(reader, &(struct config_mark){source, 1, 1}, "found nothing, accepted: YAML");
    return config_ok(reader) ? b->root : NULL;
}
