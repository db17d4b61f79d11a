/* SPDX-License-Identifier: MIT
 *
 * Suspects. A ring's devices are each other's peers. A link's peers are the links of the cluster whose ends
 * have the same names but for their numbers (node3.gpu5 -> node3.switch, node0.gpu0 -> node0.switch). Where
 * many of a kind are slow that is how the cluster is built, and no fault of one of them. */
#include "models/suspects.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/faulty.h"
#include "models/price.h"

/* Prices nearer to each other than this are the same. */
static const double alike = 1.001;

/* One of a kind and how long it needs for what its kind does. */
struct peer {
    uint64_t kind;
    uint32_t index;
    double time_s;
};

static int by_kind_and_time(const void *left, const void *right)
{
    const struct peer *a = left, *b = right;

    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->time_s != b->time_s)
        return a->time_s < b->time_s ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

/* So many of a kind of n may be slow before that is what the kind is like. */
static size_t most_slow(size_t n)
{
    return n < 4 ? n / 2 : n < 8 ? 2 : n / 4;
}

/* Of n peers, ascending: the one that the slow are measured by, the median or better; and how many are slow,
 * 0 if too many are. */
static const struct peer *find_slow(const struct peer *peers, size_t n, size_t *n_slow)
{
    const struct peer *median = &peers[(n - 1) / 2];

    *n_slow = 0;
    while (*n_slow < n && peers[n - 1 - *n_slow].time_s > alike * median->time_s)
        ++*n_slow;
    if (*n_slow > most_slow(n))
        *n_slow = 0;
    return median;
}

bool model_suspect_has(const struct model_suspect *suspect, const struct model_fault *fault)
{
    if (!suspect->listed || suspect->device != model_fault_of_device(fault))
        return false;
    return suspect->device ? suspect->index == fault->device : strcmp(suspect->name, fault->subject) == 0;
}

struct list {
    struct model_suspect *suspects;
    size_t n;
};

static int worst_first(const void *left, const void *right)
{
    const struct model_suspect *a = left, *b = right;

    if (a->excess_s != b->excess_s)
        return a->excess_s > b->excess_s ? -1 : 1;
    if (a->device != b->device)
        return a->device ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

/* Keeps the worst. */
static void add(struct list *list, const struct model_suspect *suspect)
{
    if (list->n < MODEL_MOST_SUSPECTS) {
        list->suspects[list->n++] = *suspect;
        return;
    }
    size_t least = 0;
    for (size_t i = 1; i < list->n; i++)
        if (worst_first(&list->suspects[i], &list->suspects[least]) > 0)
            least = i;
    if (worst_first(suspect, &list->suspects[least]) < 0)
        list->suspects[least] = *suspect;
}

static void add_listed(const struct model_ring *ring, struct list *list)
{
    const struct model_faults *faults = ring->faulty ? ring->faulty->faults : NULL;

    for (size_t i = 0; faults && i < faults->n; i++) {
        const struct model_fault *fault = &faults->items[i];
        bool known = false;
        for (size_t j = 0; j < list->n && !known; j++)
            known = model_suspect_has(&list->suspects[j], fault);
        if (known)
            continue;
        struct model_suspect suspect = {
            .device = model_fault_of_device(fault),
            .listed = true,
            .name = fault->subject,
            .index = model_fault_of_device(fault) ? fault->device : fault->links[0],
            .excess_s = INFINITY,
        };
        add(list, &suspect);
    }
}

/* Seconds for a whole block of the largest size, on the rank's device as its file has it. */
static double block_s(const struct model_ring *ring, uint32_t rank)
{
    const struct ring_plan *plan = ring->plan;
    uint64_t tokens = ring_layout_max_tokens(&plan->layout);
    const struct ring_task task = {
        .job = plan->pass == RING_PASS_BACKWARD ? RING_JOB_BACKWARD : RING_JOB_FORWARD,
        .rank = rank,
        .work = {.q_tokens = tokens, .k_tokens = tokens, .visible_pairs = tokens * tokens},
    };

    return model_ring_task_s(ring, &task);
}

static bool add_devices(const struct model_ring *ring, struct list *list)
{
    const struct model_topology *topology = ring->topology;
    uint32_t n_ranks = ring->plan->n_ranks;
    size_t n = 0, n_slow;
    struct peer *peers = malloc(n_ranks * sizeof *peers);
    bool *seen = calloc(topology->n_devices + 1, sizeof *seen);

    for (uint32_t rank = 0; peers && seen && rank < n_ranks; rank++) {
        uint32_t device = ring->device_of_rank[rank];
        if (seen[device])
            continue;
        seen[device] = true;
        peers[n++] = (struct peer){.index = device, .time_s = block_s(ring, rank)};
    }
    if (n > 0) {
        qsort(peers, n, sizeof *peers, by_kind_and_time);
        const struct peer *median = find_slow(peers, n, &n_slow);
        for (size_t i = n - n_slow; i < n; i++) {
            struct model_suspect suspect = {
                .device = true,
                .name = topology->vertices[topology->devices[peers[i].index]].name,
                .index = peers[i].index,
                .excess_s = (peers[i].time_s - median->time_s) * ring->plan->n_steps,
                .share = median->time_s / peers[i].time_s,
            };
            add(list, &suspect);
        }
    }
    free(seen);
    free(peers);
    return n > 0;
}

/* The name of one end without its numbers, into a hash (FNV-1a). A device without a number is a device; a
 * switch without one is itself. */
static uint64_t hash_end(uint64_t hash, const struct model_vertex *vertex)
{
    const char *name = vertex->name;

    if (vertex->device && strcspn(name, "0123456789") == strlen(name))
        name = "device";
    for (; *name; name++)
        if (!isdigit((unsigned char)*name))
            hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    return (hash ^ (vertex->device ? 1 : 2)) * UINT64_C(0x100000001b3);
}

static void add_links_of_kind(const struct model_ring *ring, const struct peer *peers, size_t n,
                              struct list *list)
{
    const struct model_link *links = ring->topology->links;
    uint64_t bytes = model_ring_class_bytes(ring->plan);
    size_t n_slow;
    const struct peer *median = find_slow(peers, n, &n_slow);
    const struct model_size_class *wanted = model_link_class(&links[median->index], bytes);

    for (size_t i = n - n_slow; i < n; i++) {
        const struct model_size_class *own = model_link_class(&links[peers[i].index], bytes);
        if (!(ring->link_bytes[peers[i].index] > 0))
            continue;
        struct model_suspect suspect = {
            .name = links[peers[i].index].name,
            .index = peers[i].index,
            .excess_s = (peers[i].time_s - median->time_s) * ring->link_bytes[peers[i].index] / (double)bytes,
            .share = wanted->bytes_per_s / own->bytes_per_s,
            .late_s = wanted->latency_s - own->latency_s,
        };
        add(list, &suspect);
    }
}

static bool add_links(const struct model_ring *ring, struct list *list)
{
    const struct model_topology *topology = ring->topology;
    uint64_t bytes = model_ring_class_bytes(ring->plan);
    size_t n = topology->n_links;
    struct peer *peers = malloc((n + 1) * sizeof *peers);

    if (!peers)
        return false;
    for (size_t i = 0; i < n; i++) {
        const struct model_link *link = &topology->links[i];
        const struct model_size_class *class = model_link_class(link, bytes);
        uint64_t kind = hash_end(UINT64_C(0xcbf29ce484222325), &topology->vertices[link->from]);
        peers[i] = (struct peer){
            .kind = hash_end(kind, &topology->vertices[link->to]),
            .index = (uint32_t)i,
            .time_s = class->latency_s + (double)bytes / class->bytes_per_s,
        };
    }
    qsort(peers, n, sizeof *peers, by_kind_and_time);
    for (size_t first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && peers[end].kind == peers[first].kind; end++)
            ;
        add_links_of_kind(ring, peers + first, end - first, list);
    }
    free(peers);
    return true;
}

size_t model_suspects_find(const struct model_ring *ring, struct model_suspect suspects[MODEL_MOST_SUSPECTS])
{
    struct list list = {.suspects = suspects};

    add_listed(ring, &list);
    if (!add_devices(ring, &list) || !add_links(ring, &list))
        return SIZE_MAX;
    qsort(suspects, list.n, sizeof *suspects, worst_first);
    return list.n;
}
