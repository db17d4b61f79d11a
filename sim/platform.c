/* SPDX-License-Identifier: MIT
 *
 * Platform text. Three choices that the exactness of the simulated times hangs on:
 *
 *   Latencies are 0: SimGrid's fair sharing weighs a flow by the inverse of its route's latency, so a latency
 * in the platform changes who gets how much of a shared link. The transport adds each hop's latency itself.
 *   Links are directed (a cable is two) and shared: two flows of opposite directions never slow each other.
 *   Routes are one way and only for pairs that talk: those of all pairs grow with the square of the devices.
 *
 * Names in the text are our own, made from indices: a user's names could hold anything, and need no order. */
#include "sim/platform.h"

#include <inttypes.h>
#include <stdlib.h>

/* A hop between two devices; ranks that share devices have several of the same. */
struct pair {
    uint32_t from, to; /* devices */
    const struct model_hop *hop;
};

void sim_host_name(char name[SIM_HOST_NAME_SIZE], uint32_t device)
{
    snprintf(name, SIM_HOST_NAME_SIZE, "d%" PRIu32, device);
}

static int compare_pairs(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;

    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to;
}

/* The pairs of different devices that talk, ascending, each once; returns how many. pairs has room for all
 * hops. */
static size_t find_pairs(const struct model_ring *ring, struct pair *pairs)
{
    uint32_t n_ranks = ring->plan->n_ranks;
    size_t n_pairs = 0, n_unique = 0;

    for (uint32_t rank = 0; rank < n_ranks; rank++) {
        for (uint32_t i = ring->hop_first[rank]; i < ring->hop_first[rank + 1]; i++) {
            const struct model_hop *hop = &ring->hops[i];
            if (hop->n_links > 0)
                pairs[n_pairs++] =
                    (struct pair){ring->device_of_rank[rank], ring->device_of_rank[hop->target], hop};
        }
    }
    qsort(pairs, n_pairs, sizeof *pairs, compare_pairs);
    for (size_t i = 0; i < n_pairs; i++) {
        if (n_unique == 0 || compare_pairs(&pairs[n_unique - 1], &pairs[i]) != 0)
            pairs[n_unique++] = pairs[i];
    }
    return n_unique;
}

static void write_hosts(const struct model_ring *ring, bool *seen, FILE *file)
{
    for (uint32_t rank = 0; rank < ring->plan->n_ranks; rank++) {
        uint32_t device = ring->device_of_rank[rank];
        char name[SIM_HOST_NAME_SIZE];
        if (seen[device])
            continue;
        seen[device] = true;
        sim_host_name(name, device);
        fprintf(file, "<host id=\"%s\" speed=\"%.0ff\"/>\n", name, SIM_HOST_FLOP_PER_S);
    }
}

static void write_links(const struct model_ring *ring, const struct pair *pairs, size_t n_pairs, bool *seen,
                        FILE *file)
{
    for (size_t i = 0; i < n_pairs; i++) {
        for (uint32_t j = 0; j < pairs[i].hop->n_links; j++) {
            uint32_t link = pairs[i].hop->links[j];
            if (seen[link])
                continue;
            seen[link] = true;
            fprintf(file,
                    "<link id=\"l%" PRIu32 "\" bandwidth=\"%.17gBps\" latency=\"0s\""
                    " sharing_policy=\"SHARED\"/>\n",
                    link, ring->link_bytes_per_s[link]);
        }
    }
}

static void write_routes(const struct pair *pairs, size_t n_pairs, FILE *file)
{
    for (size_t i = 0; i < n_pairs; i++) {
        char from[SIM_HOST_NAME_SIZE], to[SIM_HOST_NAME_SIZE];
        sim_host_name(from, pairs[i].from);
        sim_host_name(to, pairs[i].to);
        fprintf(file, "<route src=\"%s\" dst=\"%s\" symmetrical=\"NO\">", from, to);
        for (uint32_t j = 0; j < pairs[i].hop->n_links; j++)
            fprintf(file, "<link_ctn id=\"l%" PRIu32 "\"/>", pairs[i].hop->links[j]);
        fputs("</route>\n", file);
    }
}

enum ring_status sim_platform_write(const struct model_ring *ring, FILE *file, struct ring_error *error)
{
    size_t n_hops = ring->hop_first[ring->plan->n_ranks];
    struct pair *pairs = malloc((n_hops + 1) * sizeof *pairs);
    bool *seen_devices = calloc(ring->topology->n_devices + 1, sizeof *seen_devices);
    bool *seen_links = calloc(ring->topology->n_links + 1, sizeof *seen_links);
    enum ring_status status = RING_OK;

    if (pairs && seen_devices && seen_links) {
        size_t n_pairs = find_pairs(ring, pairs);
        fputs("<?xml version=\"1.0\"?>\n"
              "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
              "<platform version=\"4.1\">\n<zone id=\"cluster\" routing=\"Full\">\n",
              file);
        write_hosts(ring, seen_devices, file);
        write_links(ring, pairs, n_pairs, seen_links, file);
        write_routes(pairs, n_pairs, file);
        fputs("</zone>\n</platform>\n", file);
        if (fflush(file) != 0 || ferror(file))
            status = ring_fail(error, RING_IO, "the simulator's platform could not be written");
    } else {
        status = ring_fail(error, RING_NO_MEMORY, "out of memory for the platform of %zu hops", n_hops);
    }
    free(pairs);
    free(seen_devices);
    free(seen_links);
    return status;
}
