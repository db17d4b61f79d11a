/* SPDX-License-Identifier: MIT
 *
 * The faults: list of a scenario. An item says whom it strikes (device: or link:),
 * what happens to it (one of slow, jitter, bandwidth, latency, flap, dies), and for how long (from:, to:). */
#include "config/faults.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/names.h"

/* An item as the file has it. The effects are in the order of effects[] below. */
enum effect { SLOW, JITTER, BANDWIDTH, LATENCY, FLAP, DIES, N_EFFECTS };
struct draft {
    const struct config_node *device, *link, *effects[N_EFFECTS], *from, *to;
};

static const struct config_field fields[] = {
    {.key = "device", .kind = CONFIG_NODE, .offset = offsetof(struct draft, device)},
    {.key = "link", .kind = CONFIG_NODE, .offset = offsetof(struct draft, link)},
    {.key = "slow", .kind = CONFIG_NODE, .offset = offsetof(struct draft, effects[SLOW])},
    {.key = "jitter", .kind = CONFIG_NODE, .offset = offsetof(struct draft, effects[JITTER])},
    {.key = "bandwidth", .kind = CONFIG_NODE, .offset = offsetof(struct draft, effects[BANDWIDTH])},
    {.key = "latency", .kind = CONFIG_NODE, .offset = offsetof(struct draft, effects[LATENCY])},
    {.key = "flap", .kind = CONFIG_NODE, .offset = offsetof(struct draft, effects[FLAP])},
    {.key = "dies", .kind = CONFIG_NODE, .offset = offsetof(struct draft, effects[DIES])},
    {.key = "from", .kind = CONFIG_NODE, .offset = offsetof(struct draft, from)},
    {.key = "to", .kind = CONFIG_NODE, .offset = offsetof(struct draft, to)},
};

static const char *const effect_keys[N_EFFECTS] = {"slow", "jitter", "bandwidth", "latency", "flap", "dies"};
static const char device_effects[] = "slow, jitter or dies",
                  link_effects[] = "bandwidth, latency, flap or dies";

static const struct config_field flap_fields[] = {
    {.key = "period",
     .kind = CONFIG_QUANTITY,
     .offset = offsetof(struct model_fault, period_s),
     .required = true,
     .positive = true,
     .unit = CONFIG_SECONDS,
     .hint = "the time from one fall to the next, e.g. 2 ms"},
    {.key = "down",
     .kind = CONFIG_QUANTITY,
     .offset = offsetof(struct model_fault, down_s),
     .required = true,
     .positive = true,
     .unit = CONFIG_SECONDS,
     .hint = "how long it is down each time, e.g. 0.5 ms"},
};

/* Shorter ones are noise that a bandwidth describes as well, and would be a million changes a second. */
static const double least_period_s = 1e-6;

/* What a number with x or % behind it may be. */
struct share {
    const char *unit, *example;
    double scale, least, most;
};
static const struct share times = {"x", "2x", 1, 1, 1000}, percent = {"%", "5 %", 0.01, 0, 100};

static double read_share(struct config_reader *reader, const struct config_node *node, const char *what,
                         const struct share *share)
{
    if (!config_is_scalar(reader, node, what))
        return 0;
    const char *text = node->text + strspn(node->text, " ");
    size_t n = strspn(text, "0123456789.");
    size_t unit = n + strspn(text + n, " ");
    char number[40] = "", *end = number;

    if (n > 0 && n < sizeof number)
        memcpy(number, text, n);
    double value = strtod(number, &end);
    if (end == number || *end || strcmp(text + unit, share->unit) != 0)
        config_fail(reader, &node->mark, "%s %s is not a number and %s, accepted: e.g. '%s'", what,
                    config_found(reader, node), share->unit, share->example);
    else if (!(value >= share->least && value <= share->most))
        config_fail(reader, &node->mark, "%s %s is out of range, accepted: %g to %g %s", what,
                    config_found(reader, node), share->least, share->most, share->unit);
    return config_ok(reader) ? value * share->scale : 0;
}

static const char *nearest_vertex(struct config_reader *reader, const struct model_topology *topology,
                                  const char *text, bool devices_only)
{
    struct config_names names = {.pool = reader->scratch};

    for (size_t i = 0; i < topology->n_vertices; i++)
        if ((topology->vertices[i].device || !devices_only) &&
            !config_names_put(&names, topology->vertices[i].name, i, NULL))
            config_fail_memory(reader);
    return config_ok(reader) ? config_names_nearest(&names, text) : NULL;
}

static void read_device(struct config_reader *reader, const struct config_node *node,
                        const struct model_topology *topology, struct model_fault *fault)
{
    if (!config_is_scalar(reader, node, "device"))
        return;
    for (size_t i = 0; i < topology->n_devices; i++) {
        if (strcmp(topology->vertices[topology->devices[i]].name, node->text) != 0)
            continue;
        fault->device = (uint32_t)i;
        fault->subject = config_keep_text(reader, node->text);
        return;
    }
    config_fail(reader, &node->mark, "device %s is no device of %s%s (accepted: its devices, e.g. '%s')",
                config_found(reader, node), topology->name,
                config_did_you_mean(reader, nearest_vertex(reader, topology, node->text, true)),
                topology->vertices[topology->devices[0]].name);
}

/* The vertex of that name, a part of the node's text. */
static uint32_t find_end(struct config_reader *reader, const struct config_node *node,
                         const struct model_topology *topology, const char *name, size_t length)
{
    while (length > 0 && *name == ' ') {
        name++;
        length--;
    }
    while (length > 0 && name[length - 1] == ' ')
        length--;
    const char *end = config_text(reader, "%.*s", (int)length, name);
    long vertex = config_ok(reader) ? model_topology_find(topology, end) : -1;
    if (vertex < 0)
        config_fail(reader, &node->mark, "link %s: there is no '%.64s' in %s%s (accepted: e.g. '%s')",
                    config_found(reader, node), end, topology->name,
                    config_did_you_mean(reader, nearest_vertex(reader, topology, end, false)),
                    topology->n_links > 0 ? topology->links[0].name : "");
    return vertex < 0 ? 0 : (uint32_t)vertex;
}

/* The link from one vertex to another, or every link of the route between two devices. */
static void add_way(struct config_reader *reader, const struct config_node *node,
                    const struct model_topology *topology, uint32_t from, uint32_t to, uint32_t *links,
                    size_t *n)
{
    struct ring_error error;
    size_t n_route = 0;

    for (size_t i = 0; i < topology->n_links && config_ok(reader); i++) {
        if (topology->links[i].from != from || topology->links[i].to != to)
            continue;
        links[(*n)++] = (uint32_t)i;
        return;
    }
    if (!config_ok(reader))
        return;
    if (from == to || !topology->vertices[from].device || !topology->vertices[to].device) {
        config_fail(reader, &node->mark,
                    "link %s: no link leads from %s to %s, accepted: a link's two ends, or two devices for "
                    "every link of the route between them",
                    config_found(reader, node), topology->vertices[from].name, topology->vertices[to].name);
        return;
    }
    enum ring_status status =
        model_topology_route(topology, from, to, links + *n, topology->n_links, &n_route, &error);
    if (status != RING_OK)
        config_fail_as(reader, status, &node->mark, "%s", error.text);
    else
        *n += n_route;
}

/* "A -> B", or "A <-> B" for both ways of a cable. once: of a route only the first link, for what adds up. */
static void read_link(struct config_reader *reader, const struct config_node *node,
                      const struct model_topology *topology, bool once, struct model_fault *fault)
{
    uint32_t *links = config_keep(reader, 2 * topology->n_links, sizeof *links);

    if (!links || !config_is_scalar(reader, node, "link"))
        return;
    const char *arrow = strstr(node->text, "->");
    bool both = arrow && arrow > node->text && arrow[-1] == '<';
    if (!arrow) {
        config_fail(reader, &node->mark, "link %s has no '->', accepted: FROM -> TO, or FROM <-> TO",
                    config_found(reader, node));
        return;
    }
    uint32_t from = find_end(reader, node, topology, node->text, (size_t)(arrow - node->text) - both);
    uint32_t to = find_end(reader, node, topology, arrow + 2, strlen(arrow + 2));
    for (int way = 0; way < (both ? 2 : 1); way++) {
        size_t n = fault->n_links;
        add_way(reader, node, topology, way ? to : from, way ? from : to, links, &fault->n_links);
        if (once && fault->n_links > n)
            fault->n_links = n + 1;
    }
    fault->links = links;
    fault->subject = config_keep_text(reader, node->text);
}

/* The one effect; N_EFFECTS after a failure. */
static enum effect find_effect(struct config_reader *reader, const struct config_node *node,
                               const struct draft *draft)
{
    enum effect found = N_EFFECTS;
    bool device = draft->device != NULL;

    for (enum effect i = 0; i < N_EFFECTS; i++) {
        if (!draft->effects[i])
            continue;
        if (device ? i != SLOW && i != JITTER && i != DIES : i == SLOW || i == JITTER)
            config_fail(reader, &draft->effects[i]->mark, "%s is no fault of a %s, accepted: %s",
                        effect_keys[i], device ? "device" : "link", device ? device_effects : link_effects);
        else if (found != N_EFFECTS)
            config_fail(reader, &draft->effects[i]->mark,
                        "a fault is %s and %s, accepted: one of them (write two faults)", effect_keys[found],
                        effect_keys[i]);
        found = i;
    }
    if (found == N_EFFECTS)
        config_fail(reader, &node->mark, "a fault does nothing to its %s, accepted: %s",
                    device ? "device" : "link", device ? device_effects : link_effects);
    return config_ok(reader) ? found : N_EFFECTS;
}

static void read_flap(struct config_reader *reader, const struct config_node *node, struct model_fault *fault)
{
    config_read_fields(reader, node, "flap", flap_fields, CONFIG_N(flap_fields), fault);
    if (!config_ok(reader))
        return;
    if (fault->period_s < least_period_s)
        config_fail(reader, &node->mark, "flap: a period of %g s is too short, accepted: 1 us or more",
                    fault->period_s);
    else if (fault->down_s >= fault->period_s)
        config_fail(reader, &node->mark,
                    "flap: down for %g s of %g s is always down, accepted: less than the period (or dies)",
                    fault->down_s, fault->period_s);
}

static void read_effect(struct config_reader *reader, enum effect effect, const struct draft *draft,
                        struct model_fault *fault)
{
    const struct config_node *node = draft->effects[effect];

    switch (effect) {
    case SLOW:
        fault->kind = MODEL_FAULT_SLOW;
        fault->amount = read_share(reader, node, "slow", &times);
        break;
    case JITTER:
        fault->kind = MODEL_FAULT_JITTER;
        fault->amount = read_share(reader, node, "jitter", &percent);
        break;
    case BANDWIDTH:
        fault->kind = MODEL_FAULT_BANDWIDTH;
        fault->amount = read_share(reader, node, "bandwidth", &percent);
        break;
    case LATENCY:
        fault->kind = MODEL_FAULT_LATENCY;
        fault->amount = config_read_quantity(reader, node, "latency", CONFIG_SECONDS, false);
        break;
    case FLAP:
        fault->kind = MODEL_FAULT_FLAP;
        read_flap(reader, node, fault);
        break;
    case DIES:
        fault->kind = draft->device ? MODEL_FAULT_DEVICE_DIES : MODEL_FAULT_LINK_DIES;
        fault->from_s = config_read_quantity(reader, node, "dies", CONFIG_SECONDS, false);
        break;
    case N_EFFECTS:
        break;
    }
}

static void read_times(struct config_reader *reader, const struct draft *draft, struct model_fault *fault)
{
    const struct config_node *first = draft->from ? draft->from : draft->to;

    if (!first)
        return;
    if (draft->effects[DIES]) {
        config_fail(reader, &first->mark, "what dies stays dead, accepted: 'dies' without from and to");
        return;
    }
    if (draft->from)
        fault->from_s = config_read_quantity(reader, draft->from, "from", CONFIG_SECONDS, false);
    if (draft->to)
        fault->to_s = config_read_quantity(reader, draft->to, "to", CONFIG_SECONDS, true);
    if (config_ok(reader) && fault->from_s >= fault->to_s)
        config_fail(reader, &first->mark, "a fault from %g s to %g s never is, accepted: from before to",
                    fault->from_s, fault->to_s);
}

static void read_fault(struct config_reader *reader, const struct config_node *node,
                       const struct model_topology *topology, struct model_fault *fault)
{
    struct draft draft = {.device = NULL};

    *fault = (struct model_fault){.to_s = INFINITY};
    config_read_fields(reader, node, "a fault", fields, CONFIG_N(fields), &draft);
    if (!config_ok(reader))
        return;
    if (!draft.device == !draft.link) {
        config_fail(reader, &node->mark, "a fault strikes %s, accepted: a device or a link",
                    draft.device ? "a device and a link" : "nothing");
        return;
    }
    enum effect effect = find_effect(reader, node, &draft);
    if (draft.device)
        read_device(reader, draft.device, topology, fault);
    else
        read_link(reader, draft.link, topology, effect == LATENCY, fault);
    if (config_ok(reader))
        read_effect(reader, effect, &draft, fault);
    if (config_ok(reader))
        read_times(reader, &draft, fault);
}

void config_read_faults(struct config_reader *reader, const struct config_node *list,
                        const struct model_topology *topology, struct model_faults *faults)
{
    enum { MOST_FAULTS = 4096 };

    if (!list || !config_ok(reader) || !config_is_list(reader, list, "faults"))
        return;
    if (list->n > MOST_FAULTS) {
        config_fail(reader, &list->mark, "faults: found %zu, accepted: up to %d", list->n, MOST_FAULTS);
        return;
    }
    struct model_fault *items = config_keep(reader, list->n, sizeof *items);
    for (size_t i = 0; i < list->n && config_ok(reader); i++)
        read_fault(reader, list->items[i], topology, &items[i]);
    faults->items = items;
    faults->n = config_ok(reader) ? list->n : 0;
}
