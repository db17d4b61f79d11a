/* SPDX-License-Identifier: MIT
 *
 * See simulate.h. */
#include "tools/simulate.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exec/kernels/block.h"
#include "models/recurrence.h"
#include "sim/sim.h"
#include "tools/cache.h"
#include "tools/drift.h"
#include "tools/passes.h"
#include "tools/play.h"
#include "tools/traffic.h"
#include "tools/verdict.h"

/* The two passes of a step whose steps are not kept: the forward one alone is the same as before the backward
 * one, so it is played once more. */
static enum ring_status split_passes(const struct tool_setup *setup, struct tool_result *result,
                                     struct ring_error *error)
{
    const struct model_ring *ring = &setup->ring;
    struct ring_plan_spec spec = setup->scenario->plan;
    struct ring_plan plan;
    struct model_ring alone;
    struct model_ring_spec priced = {.plan = &plan,
                                     .topology = ring->topology,
                                     .device_of_rank = ring->device_of_rank,
                                     .compute = ring->compute,
                                     .progress = ring->progress,
                                     .faults = &setup->scenario->faults};
    spec.pass = RING_PASS_FORWARD;
    spec.keep_kv = false;
    enum ring_status status = ring_plan_init(&plan, &spec, error);
    if (status == RING_OK)
        status = model_ring_init(&alone, &priced, error);
    if (status != RING_OK)
        return status;
    double *ends_s = calloc(plan.n_ranks, sizeof *ends_s);
    struct ring_parts *totals = calloc(plan.n_ranks, sizeof *totals);
    if (ends_s == NULL || totals == NULL)
        status = ring_fail(error, RING_NO_MEMORY, "out of memory for %" PRIu32 " ranks", plan.n_ranks);
    if (status == RING_OK)
        status = model_recurrence(&alone, ends_s, totals, NULL, error);
    if (status == RING_OK)
        tool_passes_of_totals(result, totals);
    free(ends_s);
    free(totals);
    model_ring_fini(&alone);
    return status;
}

static enum ring_status by_recurrence(const struct tool_setup *setup, bool with_steps,
                                      struct tool_result *result, struct ring_error *error)
{
    uint32_t n = setup->plan.n_ranks;
    double *ends_s = calloc(n, sizeof *ends_s);
    struct ring_parts *totals = calloc(n, sizeof *totals);
    enum ring_status status = tool_result_allocate(result, n, setup->plan.n_steps, with_steps, error);
    if (status == RING_OK && (ends_s == NULL || totals == NULL))
        status = ring_fail(error, RING_NO_MEMORY, "out of memory for %" PRIu32 " ranks", n);
    if (status == RING_OK)
        status =
            model_recurrence_moving(&setup->ring, ends_s, totals, result->steps, &result->moving_s, error);
    for (uint32_t i = 0; status == RING_OK && i < n; i++) {
        struct tool_rank *rank = &result->ranks[i];
        rank->compute_s = totals[i].compute_s;
        rank->transfer_s = totals[i].transfer_s;
        rank->wait_s = totals[i].wait_s;
        rank->overhead_s = totals[i].overhead_s;
        rank->end_s = ends_s[i];
        result->time_s = fmax(result->time_s, ends_s[i]);
    }
    free(ends_s);
    free(totals);
    if (status != RING_OK)
        return status;
    if (result->steps != NULL)
        tool_passes_of_steps(result, result->steps);
    else if (result->n_passes == 1)
        tool_passes_of_totals(result, NULL);
    else
        status = split_passes(setup, result, error);
    if (status != RING_OK)
        return status;
    result->world = "recurrence";
    result->world_detail = "max-plus, no link and no device is shared";
    return RING_OK;
}

static enum ring_status by_simgrid(const struct tool_setup *setup, bool with_steps,
                                   struct tool_result *result, struct ring_error *error)
{
    uint32_t n = setup->plan.n_ranks, n_steps = setup->plan.n_steps;
    struct sim_spec spec = {.ring = &setup->ring};
    double *ends_s = calloc(n, sizeof *ends_s);
    if (ends_s == NULL)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for %" PRIu32 " ranks", n);
    struct ring_trace all;
    enum ring_status status = tool_play_traced(&spec, ends_s, &all, error);
    free(ends_s);
    if (status == RING_OK)
        status = tool_result_allocate(result, n, n_steps, true, error);
    if (status == RING_OK)
        status = ring_parts_from_trace(&all, n, n_steps, 0, result->steps, error);
    if (status == RING_OK)
        status = tool_traffic_moving(&all, &result->moving_s, error);
    if (status == RING_OK)
        status = tool_passes_check(&setup->plan, &all, error);
    ring_trace_fini(&all);
    if (status != RING_OK)
        return status;
    tool_add_up(result, result->steps);
    tool_passes_of_steps(result, result->steps);
    if (!with_steps) {
        free(result->steps);
        result->steps = NULL;
    }
    result->world = "simgrid";
    result->world_detail = sim_description();
    return RING_OK;
}

/* What threads do to a prediction, and what nobody knows about that. */
static void note_threads(struct tool_result *result, const struct tool_setup *setup)
{
    const struct model_ring *ring = &setup->ring;
    uint32_t threads = ring->compute.threads, device = setup->scenario->placement[0];
    if (threads <= 1)
        return;
    if (ring->compute.block_s > 0)
        tool_result_note(result, "threads: %u changes nothing where blocks take a fixed time", threads);
    else if (ring->topology->vertices[ring->topology->devices[device]].device->cores == 0)
        tool_result_note(result,
                         "threads: %u changes nothing: the figures of %s are those of the whole device",
                         threads, result->ranks[0].device);
    else
        tool_result_note(
            result,
            "%u threads a rank are taken to be %u times as fast as one core's curve says; how well "
            "they share the work was not calibrated",
            threads, threads);
}

/* A calibration is of the kernel that `auto` takes; a run may be told to take another. */
static enum ring_status note_kernel(struct tool_result *result, const struct tool_setup *setup,
                                    struct ring_error *error)
{
    const struct config_scenario *scenario = setup->scenario;
    const struct model_ring *ring = &setup->ring;
    const struct ring_problem *p = &scenario->plan.problem;
    const char *name = scenario->measure.kernel;
    const struct block_kernel *kernel;
    uint32_t device = ring->topology->devices[scenario->placement[0]];
    if (strcmp(name, "auto") == 0 || ring->compute.block_s > 0 ||
        ring->topology->vertices[device].device->cores == 0)
        return RING_OK;
    enum ring_status status = block_kernel_choose(name, p->dtype, p->head_dim, scenario->places.dtype,
                                                  scenario->places.kernel, &kernel, error);
    if (status == RING_OK && kernel != block_kernel_find(NULL, p->dtype, p->head_dim))
        tool_result_note(
            result,
            "measure.kernel is %s, and blocks are predicted for the kernel that `auto` takes: a run "
            "takes another time",
            kernel->name);
    return status;
}

enum ring_status tool_simulate(const struct tool_setup *setup, const char *world, bool with_steps,
                               struct tool_result *result, struct ring_error *error)
{
    bool simgrid = strcmp(world, "simgrid") == 0 ||
                   (strcmp(world, "auto") == 0 && !model_recurrence_serves(&setup->ring));
    bool keep = with_steps || setup->plan.n_ranks <= TOOL_STEPS_RANKS;
    tool_result_init(result);
    tool_passes_init(result, &setup->plan);
    enum ring_status status =
        simgrid ? by_simgrid(setup, keep, result, error) : by_recurrence(setup, keep, result, error);
    if (status == RING_OK)
        status = tool_describe(result, setup, error);
    if (status == RING_OK)
        tool_cache_doubt(result, setup);
    if (status == RING_OK)
        note_threads(result, setup);
    if (status == RING_OK)
        status = note_kernel(result, setup, error);
    if (status == RING_OK)
        tool_drift_say(result, setup);
    if (status == RING_OK)
        tool_verdict_find(result, &setup->ring);
    if (status == RING_OK)
        status = tool_blame_find(result, setup, simgrid, error);
    return status;
}
