/* SPDX-License-Identifier: MIT
 *
 * Memory of a rank, and whether a plan fits on its devices. Sizes of what travels come from the plan's own
 * slots; the rest is rows of queries. */
#include "models/memory.h"

#include <inttypes.h>
#include <stdlib.h>

/* Slots of one payload are alike but for the own ones, so each payload is sized once. */
static void add_slots(struct model_memory *memory, const struct ring_plan *plan, uint32_t rank)
{
    uint32_t own = ring_plan_own_gradient_slot(plan);
    uint64_t travelling[3] = {0};

    for (uint32_t slot = RING_HOME_SLOT + 1; slot < plan->n_slots; slot++) {
        enum ring_payload payload = ring_plan_slot(plan, slot);
        if (slot == own) {
            memory->own_gradient_bytes = ring_plan_slot_bytes(plan, rank, slot);
            continue;
        }
        if (travelling[payload] == 0)
            travelling[payload] = ring_plan_slot_bytes(plan, rank, slot);
        if (payload == RING_KV)
            memory->buffer_bytes += travelling[payload];
        else if (payload == RING_GRADIENT)
            memory->gradient_bytes += travelling[payload];
        else
            memory->contribution_bytes += travelling[payload];
    }
}

struct model_memory model_ring_memory_staged(const struct ring_plan *plan, uint32_t rank,
                                             uint64_t staging_bytes)
{
    const struct ring_problem *problem = &plan->problem;
    uint64_t rows = ring_layout_shard(&plan->layout, rank).tokens * problem->batch * problem->heads;
    uint64_t wide = problem->dtype == RING_FP64 ? 8 : 4; /* bytes of an accumulator */
    uint64_t own_bytes = rows * problem->head_dim * ring_dtype_bytes(problem->dtype);
    bool backward = plan->pass != RING_PASS_FORWARD;
    struct model_memory memory = {
        .q_bytes = own_bytes,
        .kv_bytes = ring_plan_slot_bytes(plan, rank, RING_HOME_SLOT),
        .out_bytes = own_bytes,
        .state_bytes = rows * (problem->head_dim + UINT64_C(2)) * wide,
        .lse_bytes = rows * wide,
        .d_out_bytes = backward ? own_bytes : 0,
        .d_q_bytes = backward ? rows * problem->head_dim * wide : 0,
        .delta_bytes = backward ? rows * wide : 0,
        .staging_bytes = staging_bytes,
    };

    add_slots(&memory, plan, rank);
    memory.total_bytes = memory.q_bytes + memory.kv_bytes + memory.buffer_bytes + memory.out_bytes +
                         memory.state_bytes + memory.lse_bytes + memory.d_out_bytes + memory.d_q_bytes +
                         memory.delta_bytes + memory.contribution_bytes + memory.gradient_bytes +
                         memory.own_gradient_bytes + memory.staging_bytes;
    memory.run_bytes = memory.total_bytes - memory.out_bytes - (backward ? 0 : memory.lse_bytes);
    return memory;
}

struct model_memory model_ring_memory(const struct ring_plan *plan, uint32_t rank)
{
    return model_ring_memory_staged(plan, rank, 0);
}

/* Whether the plan is one, and no rank of it needs more. The rank with the most tokens is the first or the
 * last, see ring_layout_max_tokens. */
static bool holds(const struct ring_plan_spec *spec, uint64_t capacity_bytes, uint64_t staging_bytes)
{
    struct ring_plan plan;
    struct ring_error ignored;

    if (ring_plan_init(&plan, spec, &ignored) != RING_OK)
        return false;
    return model_ring_memory_staged(&plan, 0, staging_bytes).total_bytes <= capacity_bytes &&
           model_ring_memory_staged(&plan, plan.n_ranks - 1, staging_bytes).total_bytes <= capacity_bytes;
}

/* Memory grows with the tokens, so bisection finds the last that fit. Every rank needs a token; what the
 * engine refuses for its length does not fit either. */
uint64_t model_largest_tokens(const struct ring_plan_spec *spec, uint64_t capacity_bytes,
                              uint64_t staging_bytes)
{
    struct ring_plan_spec trial = *spec;
    uint64_t fitting = spec->n_ranks, failing = UINT64_C(1) << 32;

    trial.problem.tokens = fitting;
    if (!holds(&trial, capacity_bytes, staging_bytes))
        return 0;
    while (failing - fitting > 1) {
        trial.problem.tokens = fitting + (failing - fitting) / 2;
        if (holds(&trial, capacity_bytes, staging_bytes))
            fitting = trial.problem.tokens;
        else
            failing = trial.problem.tokens;
    }
    return fitting;
}

/* One after the other: with few ranks, or keep_kv, one rank more may also mean one buffer more. */
uint32_t model_smallest_ranks(const struct ring_plan_spec *spec, uint64_t capacity_bytes,
                              uint64_t staging_bytes, uint32_t most_ranks)
{
    struct ring_plan_spec trial = *spec;

    for (trial.n_ranks = 1; trial.n_ranks <= most_ranks && trial.n_ranks <= spec->problem.tokens;
         trial.n_ranks++)
        if (holds(&trial, capacity_bytes, staging_bytes))
            return trial.n_ranks;
    return 0;
}

static struct ring_plan_spec spec_of(const struct ring_plan *plan)
{
    return (struct ring_plan_spec){
        .strategy = plan->kind->name,
        .problem = plan->problem,
        .layout = plan->layout.kind,
        .pass = plan->pass,
        .n_ranks = plan->n_ranks,
        .n_buffers = plan->n_buffers,
        .gradient_dtype = plan->gradient_dtype,
        .keep_kv = plan->keep_kv,
    };
}

/* What all ranks on one device hold. */
struct load {
    uint64_t bytes;
    uint32_t n_ranks;
};

static uint64_t capacity_of(const struct model_topology *topology, uint32_t device)
{
    return topology->vertices[topology->devices[device]].device->memory_bytes;
}

/* The rank on the device that is fullest for its size. */
static void find_fullest(const struct ring_plan *plan, const struct model_topology *topology,
                         const uint32_t *device_of_rank, const struct load *loads, struct model_fit *fit)
{
    double fullest = 0;

    for (uint32_t rank = 0; rank < plan->n_ranks; rank++) {
        const struct load *load = &loads[device_of_rank[rank]];
        uint64_t capacity = capacity_of(topology, device_of_rank[rank]);
        double full = capacity > 0 ? (double)load->bytes / (double)capacity : 0;
        bool fits = capacity == 0 || load->bytes <= capacity;
        if (rank > 0 && full <= fullest)
            continue;
        fullest = full;
        fit->fits = fits;
        fit->rank = rank;
        fit->n_sharing = load->n_ranks;
        fit->needed_bytes = load->bytes;
        fit->capacity_bytes = capacity;
    }
}

enum ring_status model_fit(const struct ring_plan *plan, const struct model_topology *topology,
                           const uint32_t *device_of_rank, uint64_t staging_bytes, uint32_t most_ranks,
                           struct model_fit *fit, struct ring_error *error)
{
    struct load *loads = calloc(topology->n_devices + 1, sizeof *loads);

    *fit = (struct model_fit){.fits = true};
    if (!loads)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for %zu devices", topology->n_devices);
    for (uint32_t rank = 0; rank < plan->n_ranks; rank++) {
        uint32_t device = device_of_rank[rank];
        if (device >= topology->n_devices) {
            free(loads);
            return ring_fail(error, RING_BAD_INPUT, "rank %" PRIu32 " is placed on device %" PRIu32 " of %zu",
                             rank, device, topology->n_devices);
        }
        loads[device].bytes += model_ring_memory_staged(plan, rank, staging_bytes).total_bytes;
        loads[device].n_ranks++;
    }
    find_fullest(plan, topology, device_of_rank, loads, fit);
    free(loads);
    fit->memory = model_ring_memory_staged(plan, fit->rank, staging_bytes);
    if (fit->capacity_bytes == 0)
        return RING_OK;
    struct ring_plan_spec spec = spec_of(plan);
    uint64_t share = fit->capacity_bytes / fit->n_sharing;
    fit->largest_tokens = model_largest_tokens(&spec, share, staging_bytes);
    fit->smallest_ranks = model_smallest_ranks(&spec, share, staging_bytes, most_ranks);
    return RING_OK;
}
