/* SPDX-License-Identifier: MIT
 *
 * The suite over the simulated world: where every pair has its own way, where bytes move only while somebody
 * waits, where all share one device and one wire, and through the tracing transport. */
#include <stdio.h>
#include <stdlib.h>

#include "engine/trace.h"
#include "sim/child.h"
#include "sim/world.h"
#include "tests/conformance/suite.h"
#include "tests/support/topology_builder.h"

/* A world's cluster and habits. */
struct habits {
    bool one_device; /* all ranks on it: no wires at all */
    bool traced;
    enum model_progress progress;
};

/* All ranks may talk to all, themselves included; what they say is up to the case. */
static uint32_t everybody(const struct ring_plan *plan, uint32_t rank, uint32_t *out)
{
    (void)rank;
    for (uint32_t target = 0; target < plan->n_ranks; target++)
        out[target] = target;
    return plan->n_ranks;
}

static void no_step(const struct ring_plan *plan, uint32_t rank, uint32_t step, struct ring_plan_step *out)
{
    (void)plan;
    (void)rank;
    (void)step;
    *out = (struct ring_plan_step){.n_sends = 0};
}

struct run {
    const struct habits *habits;
    const struct conformance_case *one;
    struct sim_play play;
};

static enum ring_status play_rank(void *context, uint32_t rank, struct ring_transport *transport,
                                  struct ring_error *error)
{
    const struct run *run = context;
    struct ring_trace trace;
    struct ring_tracing tracing;

    if (!run->habits->traced)
        return conformance_play(run->one, rank, transport, error);
    ring_trace_init(&trace);
    ring_tracing_init(&tracing, rank, transport, &trace);
    enum ring_status status = conformance_play(run->one, rank, &tracing.base, error);
    ring_trace_fini(&trace);
    return status;
}

static enum ring_status play_all(void *context, struct ring_error *error)
{
    const struct run *run = context;
    double ends_s[CONFORMANCE_MAX_RANKS];

    return sim_world_play(&run->play, ends_s, error);
}

static enum ring_status play_on(struct run *run, const struct model_topology *topology,
                                struct ring_error *error)
{
    static const uint32_t apart[CONFORMANCE_MAX_RANKS] = {0, 1, 2, 3, 4}, together[CONFORMANCE_MAX_RANKS];
    struct ring_plan_spec spec = {
        .strategy = "ring",
        .problem = {.tokens = 64, .batch = 1, .heads = 1, .kv_heads = 1, .head_dim = 16},
        .n_ranks = run->one->n_ranks,
        .n_buffers = 2,
    };
    struct ring_compute compute[CONFORMANCE_MAX_RANKS];
    struct ring_plan plan;
    struct model_ring ring;

    enum ring_status status = ring_plan_init(&plan, &spec, error);
    if (status != RING_OK)
        return status;
    struct ring_plan_kind kind = {
        .name = "anyone", .step = no_step, .targets = everybody, .slot = plan.kind->slot};
    plan.kind = &kind;
    struct model_ring_spec ring_spec = {
        .plan = &plan,
        .topology = topology,
        .device_of_rank = run->habits->one_device ? together : apart,
        .compute = {.block_s = 1e-3},
        .progress = run->habits->progress,
    };
    status = model_ring_init(&ring, &ring_spec, error);
    if (status != RING_OK)
        return status;
    for (uint32_t rank = 0; rank < plan.n_ranks; rank++)
        compute[rank] = conformance_compute(rank);
    run->play = (struct sim_play){.ring = &ring, .compute = compute, .body = play_rank, .context = run};
    status = sim_in_child(play_all, run, error);
    model_ring_fini(&ring);
    return status;
}

static enum ring_status run_case(void *context, const struct conformance_case *one, struct ring_error *error)
{
    struct run run = {.habits = context, .one = one};
    struct topology_builder cluster;

    topology_builder_init(&cluster);
    topology_builder_star(&cluster, CONFORMANCE_MAX_RANKS, 25e9, 1e-6);
    enum ring_status status = play_on(&run, topology_builder_finish(&cluster), error);
    topology_builder_fini(&cluster);
    return status;
}

int main(void)
{
    static struct habits wires, lazy = {.progress = MODEL_PROGRESS_NONE}, crowded = {.one_device = true},
                                traced = {.traced = true};
    const struct conformance_world worlds[] = {
        {"simgrid", run_case, &wires},
        {"simgrid, no progress", run_case, &lazy},
        {"simgrid, one device", run_case, &crowded},
        {"simgrid, traced", run_case, &traced},
    };
    int n_failed = 0;

    for (size_t i = 0; i < sizeof worlds / sizeof *worlds; i++)
        n_failed += conformance_run_all(&worlds[i]);
    return n_failed;
}
