/* SPDX-License-Identifier: MIT
 *
 * The doors of this folder: loading a scenario, checking any file, and where the cache is. */
#include "config/config.h"

#include <stdlib.h>
#include <string.h>

#include "config/files.h"
#include "config/load.h"
#include "config/summary.h"

enum ring_status config_scenario_load(const char *path, const struct config_overrides *overrides,
                                      struct config_scenario **out, struct ring_error *error)
{
    struct config_reader reader;
    struct config_scenario *scenario = NULL;

    *out = NULL;
    if (config_reader_open(&reader, error) == RING_OK) {
        const struct config_node *root = config_load_tree(&reader, path, NULL);
        for (size_t i = 0; overrides && i < overrides->n_items && root; i++)
            root = config_override(&reader, root, overrides->items[i]);
        scenario = root ? config_read_scenario(&reader, root, path) : NULL;
    }
    if (scenario) {
        scenario->pool = reader.keep;
        reader.keep = NULL;
        *out = scenario;
    }
    enum ring_status status = reader.status;
    config_reader_close(&reader);
    return status;
}

void config_scenario_free(struct config_scenario *scenario)
{
    if (scenario)
        config_pool_close(scenario->pool);
}

static void check_topology(struct config_reader *reader, const struct config_node *root, char *text,
                           size_t size)
{
    const struct model_topology *topology = config_read_topology(reader, root);

    if (topology)
        config_describe_topology(reader, topology, text, size);
}

static void check_device(struct config_reader *reader, const struct config_node *root, char *text,
                         size_t size)
{
    const struct model_device *device = config_read_device(reader, root);

    if (device)
        config_describe_device(reader, device, text, size);
}

static void check_set(struct config_reader *reader, const struct config_node *root, char *text, size_t size)
{
    struct config_set set = {.n_cases = 0};

    config_read_set(reader, root, &set);
    if (config_ok(reader))
        snprintf(text, size, "set of %zu scenarios like %s", set.n_cases, set.cases[0].scenario);
}

static void check_scenario(struct config_reader *reader, const struct config_node *root, const char *path,
                           char *text, size_t size)
{
    const struct config_scenario *scenario = config_read_scenario(reader, root, path);

    if (scenario)
        config_describe_scenario(reader, scenario, text, size);
}

enum ring_status config_cluster_load(const char *path, struct config_cluster *out, struct ring_error *error)
{
    struct config_reader reader;

    *out = (struct config_cluster){.topology = NULL};
    if (config_reader_open(&reader, error) == RING_OK) {
        const struct config_node *root = config_load_tree(&reader, path, NULL);
        if (config_find(root, "cluster")) {
            const struct config_scenario *scenario = config_read_scenario(&reader, root, path);
            out->topology = scenario ? scenario->topology : NULL;
        } else if (root) {
            out->topology = config_read_topology(&reader, root);
        }
    }
    enum ring_status status = reader.status;
    if (status == RING_OK) {
        out->pool = reader.keep;
        reader.keep = NULL;
    } else {
        out->topology = NULL;
    }
    config_reader_close(&reader);
    return status;
}

void config_cluster_free(struct config_cluster *cluster)
{
    config_pool_close(cluster->pool);
    *cluster = (struct config_cluster){.topology = NULL};
}

enum ring_status config_check(const char *path, struct config_summary *summary, struct ring_error *error)
{
    struct config_reader reader;
    struct config_summary found = {.kind = CONFIG_SCENARIO};

    if (config_reader_open(&reader, error) == RING_OK) {
        const struct config_node *root = config_load_tree(&reader, path, NULL);
        if (config_find(root, "topology")) {
            found.kind = CONFIG_TOPOLOGY;
            check_topology(&reader, root, found.text, sizeof found.text);
        } else if (config_find(root, "device")) {
            found.kind = CONFIG_DEVICE;
            check_device(&reader, root, found.text, sizeof found.text);
        } else if (config_find(root, "set")) {
            found.kind = CONFIG_SET;
            check_set(&reader, root, found.text, sizeof found.text);
        } else if (root) {
            check_scenario(&reader, root, path, found.text, sizeof found.text);
        }
    }
    enum ring_status status = reader.status;
    if (status == RING_OK)
        *summary = found;
    config_reader_close(&reader);
    return status;
}

enum ring_status config_cache_path(char *out, size_t size, const char *file, struct ring_error *error)
{
    static const struct {
        const char *variable, *below;
    } places[] = {{"RINGLAB_CACHE", ""}, {"XDG_CACHE_HOME", "/ringlab"}, {"HOME", "/.cache/ringlab"}};

    for (size_t i = 0; i < CONFIG_N(places); i++) {
        const char *base = getenv(places[i].variable);
        if (!base || !base[0])
            continue;
        int n = snprintf(out, size, "%s%s/%s", base, places[i].below, file);
        if (n > 0 && (size_t)n < size)
            return RING_OK;
        return ring_fail(error, RING_BAD_INPUT, "the path of the cache is too long (from %s)",
                         places[i].variable);
    }
    return ring_fail(error, RING_BAD_INPUT,
                     "no cache folder, accepted: RINGLAB_CACHE, XDG_CACHE_HOME or HOME set");
}
