/* SPDX-License-Identifier: MIT
 *
 * Whether every device can send to every other. One search from each device would be quadratic, so a proof is
 * tried first: if every device can send to some hub and the hub can send to every device, all pairs have a
 * route. Only where there is no such hub are the pairs looked at one by one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/route.h"

/* Vertices that can forward to the hub (to = true) or that it can forward to, and the ends hanging on them.
 */
struct reach {
    const struct model_topology *topology;
    const uint32_t *in_first, *in_links; /* adjacency against the direction of the links */
    uint32_t *queue;
    bool *seen; /* [n_vertices] */
};

static bool forwards(const struct model_topology *topology, uint32_t vertex)
{
    return !topology->vertices[vertex].device || topology->devices_forward;
}

static void reach_from(struct reach *reach, uint32_t hub, bool against)
{
    const struct model_topology *topology = reach->topology;
    const uint32_t *first = against ? reach->in_first : topology->out_first;
    const uint32_t *links = against ? reach->in_links : topology->out_links;
    size_t head = 0, tail = 0;

    memset(reach->seen, 0, topology->n_vertices * sizeof *reach->seen);
    reach->seen[hub] = true;
    reach->queue[tail++] = hub;
    while (head < tail) {
        uint32_t vertex = reach->queue[head++];
        if (!forwards(topology, vertex) && vertex != hub)
            continue;
        for (uint32_t i = first[vertex]; i < first[vertex + 1]; i++) {
            const struct model_link *link = &topology->links[links[i]];
            uint32_t next = against ? link->from : link->to;
            if (reach->seen[next])
                continue;
            reach->seen[next] = true;
            reach->queue[tail++] = next;
        }
    }
}

static bool sees_all_devices(struct reach *reach, uint32_t hub, bool against)
{
    reach_from(reach, hub, against);
    for (size_t i = 0; i < reach->topology->n_devices; i++)
        if (!reach->seen[reach->topology->devices[i]])
            return false;
    return true;
}

/* Tries what the first device can send to, up to a few: in a connected cluster one of them nearly always is.
 */
enum { TRIED_HUBS = 16 };
static bool has_hub(struct reach *reach)
{
    const struct model_topology *topology = reach->topology;
    uint32_t device = topology->devices[0];
    int n_tried = 0;

    if (topology->devices_forward)
        return sees_all_devices(reach, device, false) && sees_all_devices(reach, device, true);
    for (uint32_t i = topology->out_first[device]; i < topology->out_first[device + 1]; i++) {
        uint32_t hub = topology->links[topology->out_links[i]].to;
        if (topology->vertices[hub].device || n_tried++ >= TRIED_HUBS)
            continue;
        if (sees_all_devices(reach, hub, false) && sees_all_devices(reach, hub, true))
            return true;
    }
    return false;
}

static enum ring_status try_hub(const struct model_topology *topology, bool *found, struct ring_error *error)
{
    uint32_t *first = calloc(topology->n_vertices + 2, sizeof *first);
    uint32_t *links = malloc((topology->n_links + 1) * sizeof *links);
    uint32_t *queue = malloc((topology->n_vertices + 1) * sizeof *queue);
    bool *seen = malloc(topology->n_vertices + 1);
    enum ring_status status = RING_OK;

    if (first && links && queue && seen) {
        model_index_against(topology, first, links);
        struct reach reach = {topology, first, links, queue, seen};
        *found = has_hub(&reach);
    } else {
        status = ring_fail(error, RING_NO_MEMORY, "out of memory for the routes of %zu vertices",
                           topology->n_vertices);
    }
    free(first);
    free(links);
    free(queue);
    free(seen);
    return status;
}

enum { LISTED_PAIRS = 4 };

static enum ring_status list_islands(const struct model_topology *topology, struct ring_error *error)
{
    struct model_router router;
    char list[640];
    size_t used = 0, n_missing = 0;

    enum ring_status status = model_router_init(&router, topology, error);
    if (status != RING_OK)
        return status;
    for (size_t i = 0; i < topology->n_devices && n_missing <= LISTED_PAIRS; i++)
        for (size_t j = 0; j < topology->n_devices && n_missing <= LISTED_PAIRS; j++) {
            uint32_t from = topology->devices[i], to = topology->devices[j];
            if (from == to || model_router_reaches(&router, from, to) || ++n_missing > LISTED_PAIRS)
                continue;
            int n = snprintf(list + used, sizeof list - used, "%s%.64s -> %.64s", used ? ", " : "",
                             topology->vertices[from].name, topology->vertices[to].name);
            used += n > 0 ? (size_t)n : 0;
        }
    model_router_fini(&router);
    if (n_missing == 0)
        return RING_OK;
    return ring_fail(error, RING_BAD_INPUT, "topology %s has no route for %s%s",
                     topology->name ? topology->name : "(unnamed)", list,
                     n_missing > LISTED_PAIRS ? " and more" : "");
}

enum ring_status model_topology_check_connected(const struct model_topology *topology,
                                                struct ring_error *error)
{
    bool found = false;

    if (topology->n_devices < 2)
        return RING_OK;
    enum ring_status status = try_hub(topology, &found, error);
    if (status != RING_OK || found)
        return status;
    return list_islands(topology, error);
}
