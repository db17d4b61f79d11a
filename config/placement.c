/* SPDX-License-Identifier: MIT
 *
 * Who sits where: ring.placement. How an order is searched for is in models/place.h. */
#include <inttypes.h>
#include <string.h>

#include "config/scenario.h"
#include "models/place.h"
#include "models/random.h"

/* The device that each name of the list stands for. */
static void read_placement(struct config_reader *reader, const struct config_node *list,
                           const struct model_topology *topology, uint32_t *devices)
{
    struct config_names names = {.pool = reader->scratch};
    const struct config_node **taken = config_scratch(reader, topology->n_devices, sizeof *taken);

    for (size_t i = 0; i < topology->n_devices && config_ok(reader); i++)
        if (!config_names_put(&names, topology->vertices[topology->devices[i]].name, i, NULL))
            config_fail_memory(reader);
    for (size_t i = 0; i < list->n && config_ok(reader); i++) {
        const struct config_node *node = list->items[i];
        if (!config_is_scalar(reader, node, "placement"))
            return;
        const struct config_name *name = config_names_find(&names, node->text);
        if (!name) {
            config_fail(reader, &node->mark, "placement %s is no device of %s%s", config_found(reader, node),
                        topology->name,
                        config_did_you_mean(reader, config_names_nearest(&names, node->text)));
            return;
        }
        if (taken[name->index] && !topology->share_devices)
            config_fail(
                reader, &node->mark,
                "placement %s is there twice, accepted: every device once (%s does not share_devices)",
                config_found(reader, node), topology->name);
        taken[name->index] = node;
        devices[i] = (uint32_t)name->index;
    }
}

/* placement: {random: SEED}. */
static const struct config_field random_field = {
    .key = "random",
    .kind = CONFIG_COUNT64,
    .required = true,
    .most = UINT64_MAX,
    .hint = "natural, best, worst, {random: SEED}, or a list of device names",
};

/* Fisher and Yates's shuffle, the same on every machine. */
static void shuffle(uint32_t *devices, uint32_t n, uint64_t seed)
{
    for (uint32_t i = n; i > 1; i--) {
        uint32_t j = (uint32_t)(model_random_next(&seed) % i);
        uint32_t device = devices[i - 1];
        devices[i - 1] = devices[j];
        devices[j] = device;
    }
}

/* How the key says who sits where: a list of names, or NULL for an order that follows from the cluster: as it
 * is in the file, that one shuffled, or one that is searched for. */
struct order {
    const struct config_node *list;
    bool random;
    uint64_t seed;
};

enum { NATURAL, BEST, WORST };
static const char *const words[] = {"natural", "best", "worst"};

/* Which word a scalar is; CONFIG_N(words) where it is none. */
static size_t word_of(const struct config_node *node)
{
    size_t word = 0;

    while (word < CONFIG_N(words) && strcmp(node->text, words[word]) != 0)
        word++;
    return word;
}

static struct order read_order(struct config_reader *reader, const struct config_node *node)
{
    struct order order = {.list = NULL};

    if (!node)
        return order;
    if (node->kind == CONFIG_SCALAR) {
        if (word_of(node) == CONFIG_N(words))
            config_fail(reader, &node->mark,
                        "placement %s is unknown%s (accepted: natural, best, worst, {random: SEED} or a list "
                        "of devices)",
                        config_found(reader, node),
                        config_did_you_mean(reader, config_nearest_word(words, CONFIG_N(words), node->text)));
    } else if (node->kind == CONFIG_MAP) {
        order.random = true;
        config_read_fields(reader, node, "placement", &random_field, 1, &order.seed);
    } else {
        order.list = node;
    }
    return order;
}

/* Who sits where. The number of ranks is ring.devices, else the length of the list, else all the devices. */
void config_place_ranks(struct config_reader *reader, const struct config_node *root,
                        const struct config_node *ring, const struct config_ring_section *section,
                        struct config_scenario *scenario)
{
    const struct order order = read_order(reader, section->placement);
    const struct config_node *list = order.list;
    const struct config_suspect counts[] = {{ring, "placement"}, {ring, "devices"}},
                                rooms[] = {{ring, "devices"}, {root, "cluster"}};
    uint32_t n_ranks = section->devices;
    struct ring_error error;

    if (!config_ok(reader))
        return;
    if (n_ranks == 0)
        n_ranks = (uint32_t)(list ? list->n : scenario->topology->n_devices);
    if (list && list->n != n_ranks)
        config_fail(reader, config_blamed(root, counts, CONFIG_N(counts)),
                    "placement: found %zu devices, accepted: %" PRIu32 " (ring.devices)", list->n, n_ranks);
    else if (n_ranks == 0)
        config_fail(reader, &list->mark,
                    "placement: found an empty list, accepted: natural, or device names");
    uint32_t *devices = config_keep(reader, n_ranks, sizeof *devices);
    if (!devices)
        return;
    scenario->plan.n_ranks = n_ranks;
    scenario->placement = devices;
    if (list) {
        read_placement(reader, list, scenario->topology, devices);
        return;
    }
    enum ring_status status = model_place_natural(scenario->topology, n_ranks, devices, &error);
    if (status != RING_OK)
        config_fail_as(reader, status, config_blamed(root, rooms, CONFIG_N(rooms)), "%s", error.text);
    else if (order.random)
        shuffle(devices, n_ranks, order.seed);
}

void config_seek_order(struct config_reader *reader, const struct config_node *ring,
                       struct config_scenario *scenario)
{
    const struct config_entry *entry = config_find(ring, "placement");
    const struct config_node *node = entry ? entry->value : NULL;
    uint32_t *devices;
    struct ring_plan plan;
    struct ring_error error;
    const struct model_place_spec spec = {&plan, scenario->topology, &scenario->faults, NULL};

    if (!config_ok(reader) || !node || node->kind != CONFIG_SCALAR || word_of(node) == NATURAL)
        return;
    enum model_goal goal = word_of(node) == BEST ? MODEL_PLACE_BEST : MODEL_PLACE_WORST;
    devices = config_keep(reader, scenario->plan.n_ranks, sizeof *devices);
    if (!devices)
        return;
    enum ring_status status = ring_plan_init(&plan, &scenario->plan, &error);
    if (status == RING_OK)
        status = model_place_search(&spec, goal, devices, &error);
    if (status != RING_OK)
        config_fail_as(reader, status, &node->mark, "placement %s: %s", config_found(reader, node),
                       error.text);
    scenario->placement = devices;
}

/* A cluster of processor cores has so many; what other devices compute with is their own affair. */
void config_check_threads(struct config_reader *reader, const struct config_node *root,
                          const struct config_scenario *scenario)
{
    const struct model_topology *topology = scenario->topology;
    uint64_t n_cores = 0, threads = scenario->compute.threads;

    for (size_t i = 0; i < topology->n_devices; i++) {
        const struct model_device *device = topology->vertices[topology->devices[i]].device;
        if (device->cores == 0)
            return;
        n_cores += device->cores;
    }
    if (threads > 1 && threads * scenario->plan.n_ranks > n_cores)
        config_fail(reader, config_place(root, root, "threads"),
                    "threads: found %" PRIu64 " for each of %" PRIu32 " ranks, accepted: %" PRIu64
                    " together, as many as the cluster has cores",
                    threads, scenario->plan.n_ranks, n_cores);
}
