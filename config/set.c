/* SPDX-License-Identifier: MIT
 *
 * A set of scenarios: one or more base scenarios, each with grids of keys to change. Every combination of a
 * grid's values is a case. The values are not looked at here; whoever loads a case's scenario finds what is
 * wrong with them. */
#include <string.h>

#include "config/config.h"
#include "config/files.h"
#include "config/load.h"

enum { MOST_CASES = 4096, MOST_KEYS = 16 };

/* A grid on its way: the key of each dimension, its values, and which one is taken. */
struct grid {
    const struct config_node *node; /* the map */
    size_t at[MOST_KEYS];
};

/* The values of one key: a list of single values, or one. */
static size_t count_values(const struct config_node *node)
{
    return node->kind == CONFIG_LIST ? node->n : 1;
}

static const struct config_node *value_at(const struct config_node *node, size_t i)
{
    return node->kind == CONFIG_LIST ? node->items[i] : node;
}

static size_t check_grid(struct config_reader *reader, const struct config_node *node)
{
    size_t n_cases = 1;

    if (!config_is_map(reader, node, "grid"))
        return 0;
    if (node->n == 0 || node->n > MOST_KEYS)
        config_fail(reader, &node->mark, "grid: found %zu keys, accepted: 1 to %d", node->n, MOST_KEYS);
    for (size_t i = 0; i < node->n && config_ok(reader); i++) {
        const struct config_node *values = node->entries[i].value;
        size_t n = count_values(values);
        if (n == 0)
            config_fail(reader, &values->mark, "%s: found an empty list, accepted: one value or more",
                        node->entries[i].key->text);
        for (size_t j = 0; j < n; j++)
            config_is_scalar(reader, value_at(values, j), node->entries[i].key->text);
        n_cases *= n;
        if (n_cases > MOST_CASES)
            config_fail(reader, &node->mark, "grid: found more than %d combinations, accepted: at most that",
                        MOST_CASES);
    }
    return config_ok(reader) ? n_cases : 0;
}

/* The next combination: the last key changes fastest. */
static void advance(struct grid *grid)
{
    for (size_t i = grid->node->n; i-- > 0;) {
        if (++grid->at[i] < count_values(grid->node->entries[i].value))
            return;
        grid->at[i] = 0;
    }
}

static struct config_case make_case(struct config_reader *reader, const struct grid *grid,
                                    const char *scenario)
{
    size_t n = grid->node->n;
    const char **sets = config_keep(reader, n, sizeof *sets);

    for (size_t i = 0; i < n && sets; i++) {
        const struct config_entry *entry = &grid->node->entries[i];
        sets[i] = config_keep_text(reader, config_text(reader, "%s=%s", entry->key->text,
                                                       value_at(entry->value, grid->at[i])->text));
    }
    return (struct config_case){.scenario = scenario, .sets = sets, .n_sets = n};
}

static void add_grid(struct config_reader *reader, const struct config_node *node, const char *scenario,
                     struct config_set *set)
{
    struct grid grid = {.node = node};
    size_t n = check_grid(reader, node);

    if (n == 0)
        return;
    struct config_case *cases = config_keep(reader, set->n_cases + n, sizeof *cases);
    if (!cases)
        return;
    if (set->n_cases > 0)
        memcpy(cases, set->cases, set->n_cases * sizeof *cases);
    for (size_t i = 0; i < n; i++, advance(&grid))
        cases[set->n_cases++] = make_case(reader, &grid, scenario);
    set->cases = cases;
    if (set->n_cases > MOST_CASES)
        config_fail(reader, &node->mark, "set: found more than %d cases, accepted: at most that", MOST_CASES);
}

struct set_keys {
    const struct config_node *scenario, *grids;
};

static const struct config_field set_fields[] = {
    {.key = "scenario",
     .kind = CONFIG_NODE,
     .offset = offsetof(struct set_keys, scenario),
     .required = true,
     .hint = "scenario: base.yaml"},
    {.key = "grids",
     .kind = CONFIG_NODE,
     .offset = offsetof(struct set_keys, grids),
     .required = true,
     .hint = "grids: [{ring.devices: [1, 2]}]"},
};

void config_read_set(struct config_reader *reader, const struct config_node *root, struct config_set *set)
{
    struct set_keys keys = {NULL, NULL};
    const struct config_node *node = config_find(root, "set")->value;

    if (root->n > 1)
        config_fail(reader, &root->mark, "found keys beside 'set', accepted: only that one");

    if (!config_is_map(reader, node, "set"))
        return;
    config_read_fields(reader, node, "set", set_fields, CONFIG_N(set_fields), &keys);
    if (!config_ok(reader) || !config_is_scalar(reader, keys.scenario, "scenario") ||
        !config_is_list(reader, keys.grids, "grids"))
        return;
    const char *scenario = config_keep_text(reader, config_resolve(reader, keys.scenario));
    for (size_t i = 0; i < keys.grids->n && config_ok(reader); i++)
        add_grid(reader, keys.grids->items[i], scenario, set);
    if (config_ok(reader) && set->n_cases == 0)
        config_fail(reader, &keys.grids->mark, "grids: found an empty list, accepted: one grid or more");
}

/* A scenario is a set of one. */
static void only_one(struct config_reader *reader, const char *path, struct config_set *set)
{
    struct config_case *only = config_keep(reader, 1, sizeof *only);

    if (!only)
        return;
    *only = (struct config_case){.scenario = config_keep_text(reader, path)};
    set->cases = only;
    set->n_cases = 1;
}

enum ring_status config_set_load(const char *path, struct config_set *set, struct ring_error *error)
{
    struct config_reader reader;

    *set = (struct config_set){.n_cases = 0};
    if (config_reader_open(&reader, error) == RING_OK) {
        const struct config_node *root = config_load_tree(&reader, path, NULL);
        if (root && config_find(root, "set"))
            config_read_set(&reader, root, set);
        else if (root)
            only_one(&reader, path, set);
    }
    if (reader.status == RING_OK) {
        set->pool = reader.keep;
        reader.keep = NULL;
    } else {
        *set = (struct config_set){.n_cases = 0};
    }
    enum ring_status status = reader.status;
    config_reader_close(&reader);
    return status;
}

void config_set_free(struct config_set *set)
{
    config_pool_close(set->pool);
    *set = (struct config_set){.n_cases = 0};
}
