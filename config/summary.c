/* SPDX-License-Identifier: MIT
 *
 * One line on each kind of file. For a scenario that includes what its placement makes of the cluster: a ring
 * is as fast as its slowest hop, and which hop leaves the fast links is seen from the routes alone. */
#include "config/summary.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "models/route.h"

/* "1 switch", "8 devices" */
static const char *plural(struct config_reader *reader, size_t n, const char *one, const char *many)
{
    return config_text(reader, "%zu %s", n, n == 1 ? one : many);
}

/* "25 GB/s", in the unit that leaves one to three digits before the point. */
static const char *rate(struct config_reader *reader, double bytes_per_s)
{
    static const char *const units[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s"};
    size_t unit = 0;

    while (unit + 1 < CONFIG_N(units) && bytes_per_s >= 999.95) {
        bytes_per_s /= 1000;
        unit++;
    }
    return config_text(reader, "%.4g %s", bytes_per_s, units[unit]);
}

void config_describe_topology(struct config_reader *reader, const struct model_topology *topology, char *text,
                              size_t size)
{
    struct model_topology_size found;
    struct ring_error error;
    const char *switches = "", *nics = "", *bisection = "";

    enum ring_status status = model_topology_measure(topology, &found, &error);
    if (status != RING_OK)
        config_fail_as(reader, status, NULL, "%s", error.text);
    if (!config_ok(reader))
        return;
    if (found.n_switches > 0)
        switches = config_text(reader, "%s, ", plural(reader, found.n_switches, "switch", "switches"));
    if (found.n_nics > 0)
        nics = config_text(reader, "%s, ", plural(reader, found.n_nics, "NIC", "NICs"));
    if (topology->n_devices > 1)
        bisection = config_text(reader, ", bisection %s one way, diameter %s",
                                rate(reader, found.bisection_bytes_per_s),
                                plural(reader, found.diameter, "link", "links"));
    snprintf(text, size, "topology %s: %s, %s%s%s%s", topology->name,
             plural(reader, topology->n_devices, "device", "devices"), switches, nics,
             plural(reader, topology->n_links, "link", "links"), bisection);
}

void config_describe_device(struct config_reader *reader, const struct model_device *device, char *text,
                            size_t size)
{
    snprintf(text, size, "device %s: %s", device->name, plural(reader, device->n_curves, "curve", "curves"));
}

/* A hop's narrowest link. */
struct narrow {
    uint32_t from, to;             /* vertices of the hop's ends */
    const struct model_link *link; /* NULL: none, both ends are one device */
    double bytes_per_s;            /* of its largest messages */
};

struct hops {
    struct narrow *items;
    size_t n;
};

static bool is_leaving(const struct narrow *hop, const struct narrow *fastest)
{
    return hop->link && hop->link->type && hop->bytes_per_s < fastest->bytes_per_s &&
           strcmp(hop->link->type, fastest->link->type) != 0;
}

static void measure_hop(const struct model_topology *topology, struct narrow *hop, const uint32_t *links,
                        size_t n_links)
{
    hop->bytes_per_s = INFINITY;
    for (size_t i = 0; i < n_links; i++) {
        const struct model_link *link = &topology->links[links[i]];
        double bytes_per_s = link->classes[link->n_classes - 1].bytes_per_s;
        if (bytes_per_s >= hop->bytes_per_s)
            continue;
        hop->bytes_per_s = bytes_per_s;
        hop->link = link;
    }
}

/* Every pair of ranks that the plan makes talk. */
static struct hops find_hops(struct config_reader *reader, const struct config_scenario *scenario,
                             struct model_router *router)
{
    const struct model_topology *topology = scenario->topology;
    uint32_t n_ranks = scenario->plan.n_ranks;
    struct hops hops = {.n = 0};
    struct ring_plan plan;
    struct ring_error error;

    enum ring_status status = ring_plan_init(&plan, &scenario->plan, &error);
    uint32_t *targets = config_scratch(reader, n_ranks, sizeof *targets);
    size_t room = 0;
    for (uint32_t rank = 0; rank < n_ranks && status == RING_OK && config_ok(reader); rank++) {
        uint32_t n = ring_plan_targets(&plan, rank, targets);
        for (uint32_t i = 0; i < n && status == RING_OK; i++) {
            const uint32_t *links;
            size_t n_links;
            struct narrow hop = {.from = topology->devices[scenario->placement[rank]],
                                 .to = topology->devices[scenario->placement[targets[i]]]};
            status = model_router_find(router, hop.from, hop.to, &links, &n_links, &error);
            struct narrow *items = config_grown(reader, hops.items, hops.n, &room, sizeof *items);
            if (status != RING_OK || !items)
                break;
            measure_hop(topology, &hop, links, n_links);
            hops.items = items;
            hops.items[hops.n++] = hop;
        }
    }
    if (status != RING_OK)
        config_fail_as(reader, status, NULL, "%s", error.text);
    return hops;
}

/* "; 1 of 5 hops leaves nvlink: node.gpu7 -> node.gpu0 over pcie at 15.75 GB/s", or "". */
static const char *describe_hops(struct config_reader *reader, const struct config_scenario *scenario,
                                 struct model_router *router)
{
    enum { LISTED = 3 };
    const struct model_topology *topology = scenario->topology;
    const struct hops hops = find_hops(reader, scenario, router);
    const struct narrow *fastest = NULL;
    const char *list = "";
    size_t n = 0;

    for (size_t i = 0; i < hops.n; i++)
        if (hops.items[i].link && hops.items[i].link->type &&
            (!fastest || hops.items[i].bytes_per_s > fastest->bytes_per_s))
            fastest = &hops.items[i];
    for (size_t i = 0; i < hops.n && fastest; i++) {
        const struct narrow *hop = &hops.items[i];
        if (!is_leaving(hop, fastest) || n++ >= LISTED)
            continue;
        list = config_text(reader, "%s%s %s -> %s over %s at %s", list, n > 1 ? "," : "",
                           topology->vertices[hop->from].name, topology->vertices[hop->to].name,
                           hop->link->type, rate(reader, hop->bytes_per_s));
    }
    if (n == 0)
        return "";
    return config_text(reader, "; %zu of %zu hops %s %s:%s%s", n, hops.n, n == 1 ? "leaves" : "leave",
                       fastest->link->type, list, n > LISTED ? " and more" : "");
}

void config_describe_scenario(struct config_reader *reader, const struct config_scenario *scenario,
                              char *text, size_t size)
{
    struct model_router router;
    struct ring_error error;

    enum ring_status status = model_router_init(&router, scenario->topology, &error);
    if (status != RING_OK) {
        config_fail_as(reader, status, NULL, "%s", error.text);
        return;
    }
    const char *hops = describe_hops(reader, scenario, &router);
    model_router_fini(&router);
    snprintf(text, size, "scenario %s: %s %s on %s of %s, %s, %s%s", scenario->name,
             plural(reader, scenario->plan.problem.tokens, "token", "tokens"),
             ring_pass_names[scenario->plan.pass],
             plural(reader, scenario->plan.n_ranks, "device", "devices"), scenario->topology->name,
             ring_layout_names[scenario->plan.layout], ring_mask_names[scenario->plan.problem.mask], hops);
}
