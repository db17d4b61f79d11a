/* SPDX-License-Identifier: MIT
 *
 * `--set key.path=value`: the value is read as YAML and put into the tree before anyone reads it, so that it
 * is checked like the file. The tree itself does not change: maps on the way to the key are copied. */
#include <string.h>

#include "config/load.h"

/* What stands at a key that is not there yet. */
static const struct config_node *new_scalar(struct config_reader *reader, const struct config_source *source,
                                            const char *text)
{
    struct config_node *node = config_scratch(reader, 1, sizeof *node);

    if (node)
        *node = (struct config_node){
            .kind = CONFIG_SCALAR, .mark = {source, 1, 1}, .plain = true, .n_values = 1, .text = text};
    return node;
}

/* The map with key set to value: a copy. map NULL, or a scalar such as `compute: model`: a new map. */
static const struct config_node *with_entry(struct config_reader *reader, const struct config_node *map,
                                            const struct config_node *key, const struct config_node *value)
{
    size_t n = map && map->kind == CONFIG_MAP ? map->n : 0;
    struct config_entry *entries = config_scratch(reader, n + 1, sizeof *entries);
    struct config_node *copy = config_scratch(reader, 1, sizeof *copy);

    if (!entries || !copy || !key || !value)
        return NULL;
    if (n > 0)
        memcpy(entries, map->entries, n * sizeof *entries);
    size_t at = 0;
    while (at < n && strcmp(entries[at].key->text, key->text) != 0)
        at++;
    /* a key that the file has keeps its place in the file; only its value is the command line's */
    entries[at] = (struct config_entry){at < n ? entries[at].key : key, value};
    *copy = (struct config_node){.kind = CONFIG_MAP,
                                 .mark = n > 0 ? map->mark : value->mark,
                                 .n_values = 1,
                                 .n = at < n ? n : n + 1,
                                 .entries = entries};
    return copy;
}

/* The tree with the value at names[0].names[1]... set. */
static const struct config_node *with_value(struct config_reader *reader, const struct config_node *map,
                                            const char *const *names, size_t n_names,
                                            const struct config_node *value)
{
    if (n_names == 0)
        return value;
    if (map && map->kind == CONFIG_LIST) {
        config_fail(reader, &value->mark,
                    "'%s' is in a list, accepted: the whole list (write e.g. key=[a, b])", names[0]);
        return NULL;
    }
    const struct config_entry *entry = config_find(map, names[0]);
    const struct config_node *inner =
        with_value(reader, entry ? entry->value : NULL, names + 1, n_names - 1, value);
    return with_entry(reader, map, new_scalar(reader, value->mark.source, names[0]), inner);
}

const struct config_node *config_override(struct config_reader *reader, const struct config_node *root,
                                          const char *item)
{
    enum { MOST_NAMES = 8 };
    const char *names[MOST_NAMES];
    size_t n_names = 0;
    const char *equals = strchr(item, '=');
    struct config_source *source = config_scratch(reader, 1, sizeof *source);

    if (!source)
        return NULL;
    size_t length = equals ? (size_t)(equals - item) : strlen(item);
    *source = (struct config_source){config_text(reader, "--set %.*s", (int)length, item), "", false};
    const struct config_mark mark = {source, 1, 1};
    if (!equals || length == 0) {
        config_fail(reader, &mark, "found no %s, accepted: key.path=value, e.g. ring.devices=4",
                    equals ? "key" : "'='");
        return NULL;
    }
    for (const char *at = item; at < equals; n_names++) {
        size_t n = strcspn(at, ".=");
        if (n_names == MOST_NAMES || n == 0 || at + n + 1 == equals) {
            config_fail(reader, &mark, "found a key with %s, accepted: e.g. ring.devices=4",
                        n_names == MOST_NAMES ? "too many parts" : "an empty part");
            return NULL;
        }
        names[n_names] = config_text(reader, "%.*s", (int)n, at);
        at += n + (at + n < equals ? 1 : 0);
    }
    const struct config_node *value = config_tree_parse(reader, source, equals + 1, strlen(equals + 1));
    return value ? with_value(reader, root, names, n_names, value) : NULL;
}
