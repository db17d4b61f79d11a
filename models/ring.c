/* SPDX-License-Identifier: MIT
 *
 * Placing a plan on a cluster: which device each rank has, which links each hop takes, what each hop costs
 * alone and whether hops get in each other's way. Prices of blocks and sums over the plan are in cost.c. */
#include "models/ring.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/price.h"
#include "models/route.h"

#define MODEL_NAME(name, text) text,
const char *const model_progress_names[MODEL_N_PROGRESS] = {MODEL_PROGRESS(MODEL_NAME)};
#undef MODEL_NAME

enum ring_status model_place_natural(const struct model_topology *topology, uint32_t n_ranks,
                                     uint32_t *device_of_rank, struct ring_error *error)
{
    if (topology->n_devices == 0 || (n_ranks > topology->n_devices && !topology->share_devices))
        return ring_fail(error, RING_BAD_INPUT,
                         "%" PRIu32 " ranks do not fit on topology %s, which has %zu device%s", n_ranks,
                         topology->name ? topology->name : "(unnamed)", topology->n_devices,
                         topology->n_devices == 1 ? "" : "s");
    for (uint32_t rank = 0; rank < n_ranks; rank++)
        device_of_rank[rank] = (uint32_t)(rank % topology->n_devices);
    return RING_OK;
}

static uint32_t vertex_of(const struct model_ring *ring, uint32_t rank)
{
    return ring->topology->devices[ring->device_of_rank[rank]];
}

/* The device can price a block of each pass. */
static enum ring_status check_curves(const struct model_device *device, const struct ring_plan *plan,
                                     struct ring_error *error)
{
    const struct ring_work any_work = {.q_tokens = 1, .k_tokens = 1, .visible_pairs = 1};
    struct model_block_cost cost;

    enum ring_status status = model_device_check(device, error);
    if (status == RING_OK && plan->pass != RING_PASS_BACKWARD)
        status = model_device_block(device, &plan->problem, RING_PASS_FORWARD, &any_work, &cost, error);
    if (status == RING_OK && plan->pass != RING_PASS_FORWARD)
        status = model_device_block(device, &plan->problem, RING_PASS_BACKWARD, &any_work, &cost, error);
    return status;
}

/* Every rank has a device, and every device can price a block. */
static enum ring_status check_devices(const struct model_ring *ring, struct ring_error *error)
{
    const struct ring_plan *plan = ring->plan;
    const struct model_device *last = NULL;

    const double fixed_s[] = {ring->compute.block_s, ring->compute.backward_block_s};
    for (int i = 0; i < 2; i++)
        if (fixed_s[i] < 0 || !isfinite(fixed_s[i]))
            return ring_fail(error, RING_BAD_INPUT, "a block takes %g s, wanted more than 0 and finite",
                             fixed_s[i]);
    if (ring->compute.backward_block_s > 0 && !(ring->compute.block_s > 0))
        return ring_fail(error, RING_BAD_INPUT,
                         "a backward block takes %g s, but a forward one has no time of its own",
                         ring->compute.backward_block_s);
    for (uint32_t rank = 0; rank < plan->n_ranks; rank++) {
        if (ring->device_of_rank[rank] >= ring->topology->n_devices)
            return ring_fail(error, RING_BAD_INPUT, "rank %" PRIu32 " is placed on device %" PRIu32 " of %zu",
                             rank, ring->device_of_rank[rank], ring->topology->n_devices);
        const struct model_device *device = ring->topology->vertices[vertex_of(ring, rank)].device;
        if (device == last || ring->compute.block_s > 0)
            continue;
        last = device;
        enum ring_status status = check_curves(device, plan, error);
        if (status != RING_OK)
            return status;
    }
    return RING_OK;
}

/* Bytes that decide a link's size class: of the largest block, so that all hops of a plan see one price.
 * Gradients, which are as large or twice that, see the same one. */
uint64_t model_ring_class_bytes(const struct ring_plan *plan)
{
    return plan->n_slots > 1 ? ring_plan_slot_bytes(plan, 0, 1) : ring_plan_block_bytes(plan, 0);
}

static enum ring_status price_links(struct model_ring *ring, struct ring_error *error)
{
    size_t n_links = ring->topology->n_links;
    uint64_t bytes = model_ring_class_bytes(ring->plan);

    ring->link_bytes_per_s = malloc((n_links + 1) * sizeof *ring->link_bytes_per_s);
    if (!ring->link_bytes_per_s)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for %zu links", n_links);
    for (size_t i = 0; i < n_links; i++)
        ring->link_bytes_per_s[i] = model_link_class(&ring->topology->links[i], bytes)->bytes_per_s;
    return RING_OK;
}

/* Who talks to whom: fills hop_first and the targets of all hops. */
static enum ring_status list_hops(struct model_ring *ring, struct ring_error *error)
{
    const struct ring_plan *plan = ring->plan;
    uint32_t *targets = malloc(plan->n_ranks * sizeof *targets);
    size_t capacity = plan->n_ranks;

    ring->hop_first = calloc(plan->n_ranks + (size_t)1, sizeof *ring->hop_first);
    ring->hops = malloc(capacity * sizeof *ring->hops);
    bool enough = targets && ring->hop_first && ring->hops;
    uint32_t n_hops = 0;
    for (uint32_t rank = 0; rank < plan->n_ranks && enough; rank++) {
        uint32_t n = ring_plan_targets(plan, rank, targets);
        if (n_hops + (size_t)n > capacity) {
            capacity = 2 * capacity + n;
            struct model_hop *more = realloc(ring->hops, capacity * sizeof *more);
            enough = more && capacity < UINT32_MAX;
            ring->hops = more ? more : ring->hops;
        }
        ring->hop_first[rank] = n_hops;
        for (uint32_t i = 0; i < n && enough; i++)
            ring->hops[n_hops++] = (struct model_hop){.target = targets[i]};
    }
    free(targets);
    if (!enough)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for the hops of %" PRIu32 " ranks",
                         plan->n_ranks);
    ring->hop_first[plan->n_ranks] = n_hops;
    return RING_OK;
}

/* Of the devices that are known as processor cores, each rank has those that it computes on, and one more. */
static bool has_spare_core(const struct model_ring *ring)
{
    uint64_t n_cores = 0, threads = ring->compute.threads > 1 ? ring->compute.threads : 1;

    for (size_t i = 0; i < ring->topology->n_devices; i++)
        n_cores += ring->topology->vertices[ring->topology->devices[i]].device->cores;
    return n_cores >= ring->plan->n_ranks * (threads + 1);
}

/* The receiving core copies and has no time for it while it computes. */
static bool copy_must_wait(const struct model_ring *ring, const struct model_hop *hop)
{
    if (ring->compute.block_s > 0 && ring->compute.core_free)
        return false;
    if (ring->progress == MODEL_PROGRESS_THREAD && ring->spare_core)
        return false;
    for (uint32_t i = 0; i < hop->n_links; i++)
        if (ring->topology->links[hop->links[i]].mover == MODEL_MOVED_BY_RECEIVER)
            return true;
    return false;
}

static void price_hop(const struct model_ring *ring, struct model_hop *hop, uint64_t bytes)
{
    hop->bytes_per_s = INFINITY;
    hop->latency_s = 0;
    for (uint32_t i = 0; i < hop->n_links; i++) {
        const struct model_link *link = &ring->topology->links[hop->links[i]];
        hop->latency_s += model_link_class(link, bytes)->latency_s;
        hop->bytes_per_s = fmin(hop->bytes_per_s, ring->link_bytes_per_s[hop->links[i]]);
    }
    hop->lazy = ring->progress == MODEL_PROGRESS_NONE || copy_must_wait(ring, hop);
}

/* The storage behind all routes while it grows. It may move, so hops point into it only when all are there.
 */
struct route_store {
    uint32_t *links;
    size_t n, capacity;
};

static bool append_route(struct route_store *store, const uint32_t *links, size_t n_links)
{
    if (store->n + n_links > store->capacity) {
        size_t capacity = 2 * store->capacity + n_links;
        uint32_t *more = realloc(store->links, capacity * sizeof *more);
        if (!more)
            return false;
        store->links = more;
        store->capacity = capacity;
    }
    if (n_links > 0)
        memcpy(store->links + store->n, links, n_links * sizeof *links);
    store->n += n_links;
    return true;
}

static enum ring_status route_hops(struct model_ring *ring, struct model_router *router,
                                   struct route_store *store, struct ring_error *error)
{
    for (uint32_t rank = 0; rank < ring->plan->n_ranks; rank++)
        for (uint32_t h = ring->hop_first[rank]; h < ring->hop_first[rank + 1]; h++) {
            const uint32_t *links = NULL;
            size_t n_links = 0;
            enum ring_status status =
                model_router_find(router, vertex_of(ring, rank), vertex_of(ring, ring->hops[h].target),
                                  &links, &n_links, error);
            if (status != RING_OK)
                return status;
            if (!append_route(store, links, n_links))
                return ring_fail(error, RING_NO_MEMORY, "out of memory for the routes of %" PRIu32 " ranks",
                                 ring->plan->n_ranks);
            ring->hops[h].n_links = (uint32_t)n_links;
        }
    return RING_OK;
}

static enum ring_status find_routes(struct model_ring *ring, struct ring_error *error)
{
    struct model_router router;
    struct route_store store = {.links = malloc(sizeof *store.links), .capacity = 1};

    enum ring_status status = model_router_init(&router, ring->topology, error);
    if (status == RING_OK) {
        status = route_hops(ring, &router, &store, error);
        model_router_fini(&router);
    }
    ring->route_links = store.links;
    if (status == RING_OK && !store.links)
        status = ring_fail(error, RING_NO_MEMORY, "out of memory for routes");
    if (status != RING_OK)
        return status;
    const uint32_t *next = ring->route_links;
    uint64_t bytes = model_ring_class_bytes(ring->plan);
    for (uint32_t h = 0; h < ring->hop_first[ring->plan->n_ranks]; h++) {
        ring->hops[h].links = next;
        next += ring->hops[h].n_links;
        price_hop(ring, &ring->hops[h], bytes);
    }
    return RING_OK;
}

/* Whether two hops need one link at once, or two ranks one device (or, found before, three messages one hop).
 */
static enum ring_status find_shared(struct model_ring *ring, struct ring_error *error)
{
    const struct model_topology *topology = ring->topology;
    bool *device_taken = calloc(topology->n_devices + 1, sizeof *device_taken);
    bool *link_taken = calloc(topology->n_links + 1, sizeof *link_taken);

    if (!device_taken || !link_taken) {
        free(device_taken);
        free(link_taken);
        return ring_fail(error, RING_NO_MEMORY, "out of memory for %zu links", topology->n_links);
    }
    for (uint32_t rank = 0; rank < ring->plan->n_ranks && !ring->shared; rank++) {
        ring->shared = device_taken[ring->device_of_rank[rank]];
        device_taken[ring->device_of_rank[rank]] = true;
        if (ring->shared)
            ring->shared_what = topology->vertices[vertex_of(ring, rank)].name;
    }
    for (uint32_t h = 0; h < ring->hop_first[ring->plan->n_ranks] && !ring->shared; h++)
        for (uint32_t i = 0; i < ring->hops[h].n_links && !ring->shared; i++) {
            uint32_t link = ring->hops[h].links[i];
            ring->shared = link_taken[link];
            link_taken[link] = true;
            if (ring->shared)
                ring->shared_what = topology->links[link].name;
        }
    free(device_taken);
    free(link_taken);
    return RING_OK;
}

enum ring_status model_ring_init(struct model_ring *ring, const struct model_ring_spec *spec,
                                 struct ring_error *error)
{
    *ring = (struct model_ring){
        .plan = spec->plan,
        .topology = spec->topology,
        .device_of_rank = spec->device_of_rank,
        .compute = spec->compute,
        .progress = spec->progress,
    };
    ring->spare_core = has_spare_core(ring);
    enum ring_status status = check_devices(ring, error);
    if (status == RING_OK)
        status = price_links(ring, error);
    if (status == RING_OK)
        status = list_hops(ring, error);
    if (status == RING_OK)
        status = find_routes(ring, error);
    if (status == RING_OK)
        status = model_ring_count_bytes(ring, error);
    if (status == RING_OK)
        status = find_shared(ring, error);
    if (status == RING_OK)
        status = model_faults_apply(ring, spec->faults, error);
    if (status == RING_OK)
        model_ring_plan_looks(ring);
    if (status != RING_OK)
        model_ring_fini(ring);
    return status;
}

void model_ring_fini(struct model_ring *ring)
{
    free(ring->hops);
    free(ring->hop_first);
    free(ring->route_links);
    free(ring->link_bytes_per_s);
    free(ring->link_bytes);
    model_faulty_free(ring->faulty);
    *ring = (struct model_ring){.plan = NULL};
}

const struct model_hop *model_ring_hop(const struct model_ring *ring, uint32_t source, uint32_t target)
{
    uint32_t low = ring->hop_first[source], high = ring->hop_first[source + 1];

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (ring->hops[middle].target < target)
            low = middle + 1;
        else
            high = middle;
    }
    return low < ring->hop_first[source + 1] && ring->hops[low].target == target ? &ring->hops[low] : NULL;
}
