/* SPDX-License-Identifier: MIT
 *
 * What a job costs a rank, asked once or a million times. The device model itself is in device.c. */
#include "models/price.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

struct model_price_entry {
    const struct model_device *device; /* NULL: free */
    enum ring_job job;
    struct ring_work work;
    double seconds;
};

static const struct model_device *device_of(const struct model_ring *ring, uint32_t rank)
{
    return ring->topology->vertices[ring->topology->devices[ring->device_of_rank[rank]]].device;
}

static uint64_t accumulator_bytes(const struct ring_problem *problem)
{
    return problem->dtype == RING_FP64 ? 8 : 4;
}

/* Delta and lse from the state that the forward pass left, and dO. */
static double prepare_s(const struct model_ring *ring, uint32_t rank)
{
    const struct ring_problem *problem = &ring->plan->problem;
    uint64_t rows = ring_layout_shard(&ring->plan->layout, rank).tokens * problem->batch * problem->heads;
    uint64_t wide = accumulator_bytes(problem);
    uint64_t row_bytes = problem->head_dim * (wide + ring_dtype_bytes(problem->dtype)) + 4 * wide;

    return ring->compute.block_s > 0
               ? 0
               : model_device_prepare_s(device_of(ring, rank), problem->dtype, (double)(rows * row_bytes));
}

double model_add_bytes(const struct ring_plan *plan, uint32_t block, bool begins)
{
    uint64_t gradient_bytes = ring_plan_payload_bytes(plan, RING_GRADIENT, block);

    return (double)(ring_plan_payload_bytes(plan, RING_CONTRIBUTION, block) +
                    (begins ? 1 : 2) * gradient_bytes);
}

double model_adding_s(const struct model_ring *ring, uint32_t rank, double bytes)
{
    const struct ring_plan *plan = ring->plan;
    enum ring_dtype dtype = plan->problem.dtype == RING_FP64 ? RING_FP64 : plan->gradient_dtype;

    return ring->compute.block_s > 0 ? 0 : model_device_add_s(device_of(ring, rank), dtype, bytes);
}

double model_fixed_block_s(double block_s, double backward_block_s, enum ring_job job)
{
    if (job == RING_JOB_ADD)
        return 0;
    if (job == RING_JOB_FORWARD)
        return block_s;
    return backward_block_s > 0 ? backward_block_s : 2.5 * block_s;
}

static double fixed_s(const struct model_compute *compute, enum ring_job job)
{
    return model_fixed_block_s(compute->block_s, compute->backward_block_s, job);
}

/* Each thread does its part of the kernel's work at a core's rate: the best that can be. */
static void share_among_threads(struct model_block_cost *cost, uint32_t threads)
{
    double saved_s = cost->kernel_s - cost->kernel_s / threads;

    cost->kernel_s -= saved_s;
    cost->total_s -= saved_s;
    cost->rate_flop_per_s *= threads;
}

/* Looking at messages while they are on their way, at most as long as the block takes. */
static void charge_looks(const struct model_ring *ring, const struct model_device *device,
                         struct model_block_cost *cost)
{
    if (!(device->poll_s > 0) || isinf(ring->look_interval_s))
        return;
    cost->poll_s = fmin(cost->kernel_s, ring->looking_s) / ring->look_interval_s * device->poll_s;
    cost->total_s += cost->poll_s;
}

/* The machine's speed is another than when its curves were taken. */
static void stretch(struct model_block_cost *cost, double slowdown)
{
    cost->total_s += (slowdown - 1) * cost->kernel_s;
    cost->kernel_s *= slowdown;
    cost->rate_flop_per_s /= slowdown;
}

/* Without what only the first of a pass has. */
static enum ring_status price_block(const struct model_ring *ring, uint32_t rank, enum ring_job job,
                                    const struct ring_work *work, struct model_block_cost *cost,
                                    struct ring_error *error)
{
    const struct ring_problem *problem = &ring->plan->problem;
    enum ring_pass pass = job == RING_JOB_FORWARD ? RING_PASS_FORWARD : RING_PASS_BACKWARD;

    if (ring->compute.block_s <= 0) {
        const struct model_device *device = device_of(ring, rank);
        enum ring_status status = model_device_block(device, problem, pass, work, cost, error);
        if (status == RING_OK && device->cores > 0 && ring->compute.threads > 1)
            share_among_threads(cost, ring->compute.threads);
        if (status == RING_OK && ring->compute.slowdown > 0)
            stretch(cost, ring->compute.slowdown);
        if (status == RING_OK)
            charge_looks(ring, device, cost);
        return status;
    }
    *cost = (struct model_block_cost){.outside = false};
    if (work->visible_pairs == 0)
        return RING_OK;
    cost->flops = model_attention_flops(work->visible_pairs, problem, pass) * problem->batch * problem->heads;
    cost->kernel_s = cost->total_s = fixed_s(&ring->compute, job);
    cost->rate_flop_per_s = cost->flops / cost->kernel_s;
    return RING_OK;
}

enum ring_status model_ring_task(const struct model_ring *ring, const struct ring_task *task,
                                 struct model_block_cost *cost, struct ring_error *error)
{
    if (task->job == RING_JOB_ADD) {
        double bytes = model_add_bytes(ring->plan, task->block, task->first);
        *cost = (struct model_block_cost){.merge_s = model_adding_s(ring, task->rank, bytes)};
        cost->total_s = cost->merge_s;
        return RING_OK;
    }
    enum ring_status status = price_block(ring, task->rank, task->job, &task->work, cost, error);
    if (status == RING_OK && task->first && task->job == RING_JOB_BACKWARD && task->work.visible_pairs > 0) {
        cost->prepare_s = prepare_s(ring, task->rank);
        cost->total_s += cost->prepare_s;
    }
    return status;
}

double model_ring_task_s(const struct model_ring *ring, const struct ring_task *task)
{
    struct model_block_cost cost;

    /* model_ring_init has seen to it that this device has its curves, so there is no failure to pass on */
    model_ring_task(ring, task, &cost, NULL);
    return cost.total_s;
}

double model_ring_step_s(const struct model_ring *ring, uint32_t rank, const struct ring_plan_step *step)
{
    const struct ring_task task = {
        .job = step->job, .rank = rank, .block = step->block, .first = step->first, .work = step->work};

    return step->computes ? model_ring_task_s(ring, &task) : 0;
}

double model_ring_add_s(const struct model_ring *ring, uint32_t rank, const struct ring_plan_step *step)
{
    const struct ring_task task = {
        .job = RING_JOB_ADD, .rank = rank, .block = step->block, .first = step->begins};

    return step->adds ? model_ring_task_s(ring, &task) : 0;
}

enum ring_status model_prices_init(struct model_prices *prices, const struct model_ring *ring,
                                   struct ring_error *error)
{
    uint32_t n_ranks = ring->plan->n_ranks;

    *prices = (struct model_prices){
        .ring = ring,
        .last_work = calloc(n_ranks, sizeof *prices->last_work),
        .last_s = calloc(n_ranks, sizeof *prices->last_s),
        .last_job = calloc(n_ranks, sizeof *prices->last_job),
        .entries = calloc(64, sizeof *prices->entries),
        .capacity = 64,
    };
    if (prices->last_work && prices->last_s && prices->last_job && prices->entries)
        return RING_OK;
    model_prices_fini(prices);
    return ring_fail(error, RING_NO_MEMORY, "out of memory for the prices of %" PRIu32 " ranks", n_ranks);
}

void model_prices_fini(struct model_prices *prices)
{
    free(prices->last_work);
    free(prices->last_s);
    free(prices->last_job);
    free(prices->entries);
    *prices = (struct model_prices){.ring = NULL};
}

static bool same_work(const struct ring_work *a, const struct ring_work *b)
{
    return a->q_tokens == b->q_tokens && a->k_tokens == b->k_tokens && a->visible_pairs == b->visible_pairs;
}

/* The entry of this device and shape, or the free one where it belongs. */
static struct model_price_entry *find_entry(struct model_price_entry *entries, size_t capacity,
                                            const struct model_device *device, enum ring_job job,
                                            const struct ring_work *work)
{
    uint64_t hash = ((uint64_t)(uintptr_t)device >> 4) + (uint64_t)job;

    hash = (hash ^ work->q_tokens) * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ work->k_tokens) * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ work->visible_pairs) * UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = (size_t)(hash >> 20) & (capacity - 1);; i = (i + 1) & (capacity - 1))
        if (!entries[i].device ||
            (entries[i].device == device && entries[i].job == job && same_work(&entries[i].work, work)))
            return &entries[i];
}

/* Twice the room; if there is no memory for it, the table stays as it is and new shapes are not remembered.
 */
static void grow(struct model_prices *prices)
{
    size_t capacity = 2 * prices->capacity;
    struct model_price_entry *entries = calloc(capacity, sizeof *entries);

    if (!entries)
        return;
    for (size_t i = 0; i < prices->capacity; i++) {
        const struct model_price_entry *entry = &prices->entries[i];
        if (entry->device)
            *find_entry(entries, capacity, entry->device, entry->job, &entry->work) = *entry;
    }
    free(prices->entries);
    prices->entries = entries;
    prices->capacity = capacity;
}

static double look_up(struct model_prices *prices, uint32_t rank, enum ring_job job,
                      const struct ring_work *work)
{
    const struct model_device *device = device_of(prices->ring, rank);

    if (2 * prices->n_entries >= prices->capacity)
        grow(prices);
    struct model_price_entry *entry = find_entry(prices->entries, prices->capacity, device, job, work);
    if (entry->device)
        return entry->seconds;
    struct model_block_cost cost;
    price_block(prices->ring, rank, job, work, &cost, NULL);
    if (2 * prices->n_entries < prices->capacity) {
        *entry = (struct model_price_entry){device, job, *work, cost.total_s};
        prices->n_entries++;
    }
    return cost.total_s;
}

double model_prices_block_s(struct model_prices *prices, uint32_t rank, enum ring_job job,
                            const struct ring_work *work)
{
    if (work->visible_pairs == 0)
        return 0;
    if (prices->ring->compute.block_s > 0)
        return fixed_s(&prices->ring->compute, job);
    if (prices->last_job[rank] == job && same_work(&prices->last_work[rank], work))
        return prices->last_s[rank];
    prices->last_job[rank] = job;
    prices->last_work[rank] = *work;
    prices->last_s[rank] = look_up(prices, rank, job, work);
    return prices->last_s[rank];
}

double model_prices_prepare_s(const struct model_prices *prices, uint32_t rank)
{
    return prepare_s(prices->ring, rank);
}
