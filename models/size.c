/* SPDX-License-Identifier: MIT
 *
 * How large a topology is: counts, the longest of all shortest routes, and the bisection bandwidth (cut.c).
 */
#include <stdlib.h>
#include <string.h>

#include "models/cut.h"

/* Breadth-first searches from 64 devices at once, a bit each: a vertex is looked at once a level, however
 * many of them have come to it. */
struct wave {
    uint64_t *seen, *here, *next; /* [n_vertices] */
    uint32_t *front, *new_front;  /* the vertices with bits in here, and in next */
    size_t n_front;
};

static bool allocate(struct wave *wave, size_t n_vertices)
{
    wave->seen = malloc((n_vertices + 1) * sizeof *wave->seen);
    wave->here = malloc((n_vertices + 1) * sizeof *wave->here);
    wave->next = calloc(n_vertices + 1, sizeof *wave->next);
    wave->front = malloc((n_vertices + 1) * sizeof *wave->front);
    wave->new_front = malloc((n_vertices + 1) * sizeof *wave->new_front);
    return wave->seen && wave->here && wave->next && wave->front && wave->new_front;
}

static void release(struct wave *wave)
{
    free(wave->seen);
    free(wave->here);
    free(wave->next);
    free(wave->front);
    free(wave->new_front);
}

static void begin(const struct model_topology *topology, struct wave *wave, size_t first)
{
    memset(wave->seen, 0, topology->n_vertices * sizeof *wave->seen);
    wave->n_front = 0;
    for (size_t i = first; i < topology->n_devices && i < first + 64; i++) {
        uint32_t v = topology->devices[i];
        wave->seen[v] = wave->here[v] = UINT64_C(1) << (i - first);
        wave->front[wave->n_front++] = v;
    }
}

/* One link further; whether a device was reached. Devices pass on only what is their own, or everything. */
static bool advance(const struct model_topology *topology, struct wave *wave)
{
    size_t n = 0;
    bool devices = false;

    for (size_t f = 0; f < wave->n_front; f++) {
        uint32_t v = wave->front[f];
        for (uint32_t i = topology->out_first[v]; i < topology->out_first[v + 1]; i++) {
            uint32_t to = topology->links[topology->out_links[i]].to;
            uint64_t news = wave->here[v] & ~wave->seen[to];
            if (news && !wave->next[to])
                wave->new_front[n++] = to;
            wave->next[to] |= news;
        }
    }
    wave->n_front = 0;
    for (size_t f = 0; f < n; f++) {
        uint32_t v = wave->new_front[f];
        bool device = topology->vertices[v].device != NULL;
        wave->seen[v] |= wave->next[v];
        wave->here[v] = wave->next[v];
        wave->next[v] = 0;
        devices = devices || device;
        if (!device || topology->devices_forward)
            wave->front[wave->n_front++] = v;
    }
    return devices;
}

static uint32_t find_diameter(const struct model_topology *topology, struct wave *wave)
{
    uint32_t diameter = 0;

    for (size_t first = 0; first < topology->n_devices; first += 64) {
        begin(topology, wave, first);
        for (uint32_t n_links = 1; wave->n_front > 0; n_links++)
            if (advance(topology, wave) && n_links > diameter)
                diameter = n_links;
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
