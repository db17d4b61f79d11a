/* SPDX-License-Identifier: MIT
 *
 * How large a topology is: counts, the longest of all shortest routes, and the bisection bandwidth (cut.c).
 */
#include <stdlib.h>

#include "models/cut.h"

/* Breadth-first searches from 64 devices at once, a bit each: a vertex is looked at once a level, however
 * many of them have come to it. */
struct wave {
    uint64_t *seen, *here, *next; /* [n_vertices] */
};

static bool allocate(struct wave *wave, size_t n_vertices)
{
    wave->seen = malloc((n_vertices + 1) * sizeof *wave->seen);
    wave->here = malloc((n_vertices + 1) * sizeof *wave->here);
    wave->next = malloc((n_vertices + 1) * sizeof *wave->next);
    return wave->seen && wave->here && wave->next;
}

static void release(struct wave *wave)
{
    free(wave->seen);
    free(wave->here);
    free(wave->next);
}

static void begin(const struct model_topology *topology, const struct wave *wave, size_t first)
{
    for (size_t v = 0; v < topology->n_vertices; v++)
        wave->seen[v] = wave->here[v] = wave->next[v] = 0;
    for (size_t i = first; i < topology->n_devices && i < first + 64; i++)
        wave->seen[topology->devices[i]] = wave->here[topology->devices[i]] = UINT64_C(1) << (i - first);
}

/* One link further. Sets *devices if a device was reached; false when nothing was. */
static bool advance(const struct model_topology *topology, struct wave *wave, bool *devices)
{
    bool any = false;

    *devices = false;
    for (size_t i = 0; i < topology->n_links; i++) {
        const struct model_link *link = &topology->links[i];
        wave->next[link->to] |= wave->here[link->from] & ~wave->seen[link->to];
    }
    for (size_t v = 0; v < topology->n_vertices; v++) {
        bool device = topology->vertices[v].device != NULL;
        wave->seen[v] |= wave->next[v];
        any = any || wave->next[v];
        *devices = *devices || (device && wave->next[v]);
        wave->here[v] = device && !topology->devices_forward ? 0 : wave->next[v];
        wave->next[v] = 0;
    }
    return any;
}

static uint32_t find_diameter(const struct model_topology *topology, struct wave *wave)
{
    uint32_t diameter = 0;

    for (size_t first = 0; first < topology->n_devices; first += 64) {
        bool devices;
        begin(topology, wave, first);
        for (uint32_t n_links = 1; advance(topology, wave, &devices); n_links++)
            diameter = devices && n_links > diameter ? n_links : diameter;
    }
    return diameter;
}

enum ring_status model_topology_measure(const struct model_topology *topology,
                                        struct model_topology_size *size, struct ring_error *error)
{
    struct wave wave;

    *size = (struct model_topology_size){.n_switches = 0};
    for (size_t v = 0; v < topology->n_vertices; v++) {
        const struct model_vertex *vertex = &topology->vertices[v];
        size->n_switches += !vertex->device && (vertex->kind == MODEL_SWITCH || vertex->kind == MODEL_SOCKET);
        size->n_nics += !vertex->device && vertex->kind == MODEL_NIC;
    }
    if (!allocate(&wave, topology->n_vertices)) {
        release(&wave);
        return ring_fail(error, RING_NO_MEMORY, "out of memory for the size of %zu vertices",
                         topology->n_vertices);
    }
    size->diameter = find_diameter(topology, &wave);
    release(&wave);
    return model_cut(topology, topology->n_devices / 2, &size->bisection_bytes_per_s, error);
}
