/* SPDX-License-Identifier: MIT
 *
 * What a result says about its question, whoever answers it. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/fault_words.h"
#include "tools/simulate.h"
#include "tools/units.h"

static enum ring_status describe_question(struct tool_result *result, const struct tool_setup *setup,
                                          struct ring_error *error)
{
    const struct config_scenario *scenario = setup->scenario;
    struct tool_question *question = &result->question;
    uint32_t n = setup->plan.n_ranks;
    uint32_t *natural = malloc(n * sizeof *natural);
    struct ring_error ignored;
    if (natural == NULL)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for %" PRIu32 " ranks", n);
    *question = (struct tool_question){
        .name = tool_result_keep(result, "%s", scenario->name),
        .path = tool_result_keep(result, "%s", scenario->path),
        .cluster = tool_result_keep(result, "%s", scenario->cluster),
        .plan = scenario->plan,
        .compute = scenario->compute,
        .progress = scenario->progress,
        .data = scenario->data,
        .measure = scenario->measure,
    };
    question->plan.strategy = tool_result_keep(result, "%s", setup->plan.kind->name);
    question->data.kind = tool_result_keep(result, "%s", scenario->data.kind);
    question->measure.kernel = tool_result_keep(result, "%s", scenario->measure.kernel);
    question->natural = model_place_natural(scenario->topology, n, natural, &ignored) == RING_OK &&
                        memcmp(natural, scenario->placement, n * sizeof *natural) == 0;
    free(natural);
    question->fault_seed = scenario->faults.seed;
    if (scenario->faults.n > 0)
        question->faults = tool_faults_keep(result, &scenario->faults);
    return RING_OK;
}

/* Pairs of all blocks that a rank meets. Where all shards have one shape, only the side of a block matters.
 */
static uint64_t pairs_of_rank(const struct ring_plan *plan, uint32_t rank)
{
    uint64_t pairs = ring_plan_work(plan, rank, rank).visible_pairs, after = plan->n_ranks - 1 - rank;
    if (plan->even) {
        if (rank > 0)
            pairs += rank * ring_plan_work(plan, rank, rank - 1).visible_pairs;
        if (after > 0)
            pairs += after * ring_plan_work(plan, rank, rank + 1).visible_pairs;
        return pairs;
    }
    for (uint32_t block = 0; block < plan->n_ranks; block++)
        if (block != rank)
            pairs += ring_plan_work(plan, rank, block).visible_pairs;
    return pairs;
}

static void describe_ranks(struct tool_result *result, const struct tool_setup *setup)
{
    const struct ring_plan *plan = &setup->plan;
    const struct model_topology *topology = setup->scenario->topology;
    result->flops = 0;
    for (uint32_t i = 0; i < result->n_ranks; i++) {
        struct tool_rank *rank = &result->ranks[i];
        const struct model_vertex *vertex =
            &topology->vertices[topology->devices[setup->scenario->placement[i]]];
        rank->device = tool_result_keep(result, "%s", vertex->name);
        rank->device_memory_bytes = vertex->device->memory_bytes;
        struct model_memory memory = model_ring_memory(plan, i);
        rank->memory_bytes = memory.total_bytes;
        rank->run_bytes = memory.run_bytes;
        rank->bytes_sent =
            i > 0 && ring_plan_alike(plan) ? result->ranks[0].bytes_sent : ring_plan_bytes_sent(plan, i);
        rank->visible_pairs = pairs_of_rank(plan, i);
        result->flops += model_attention_flops(rank->visible_pairs, &plan->problem, plan->pass) *
                         plan->problem.batch * plan->problem.heads;
    }
}

static enum ring_status describe_links(struct tool_result *result, const struct tool_setup *setup,
                                       struct ring_error *error)
{
    const struct model_ring *ring = &setup->ring;
    size_t n_links = ring->topology->n_links;
    double *bytes = calloc(n_links + 1, sizeof *bytes);
    result->links = calloc(n_links + 1, sizeof *result->links);
    if (bytes == NULL || result->links == NULL) {
        free(bytes);
        return ring_fail(error, RING_NO_MEMORY, "out of memory for %zu links", n_links);
    }
    model_ring_link_bytes(ring, bytes);
    for (size_t i = 0; i < n_links; i++) {
        if (!(bytes[i] > 0))
            continue;
        result->links[result->n_links++] = (struct tool_link){
            .name = tool_result_keep(result, "%s", ring->topology->links[i].name),
            .bytes = bytes[i],
            .busy_s = bytes[i] / ring->link_bytes_per_s[i],
            .bytes_per_s = ring->link_bytes_per_s[i],
        };
    }
    free(bytes);
    return RING_OK;
}

/* The first block whose shape no curve of its rank's device has, in words. A few ranks stand for all: with an
 * even layout they see the same shapes. */
static void note_outside(struct tool_result *result, const struct tool_setup *setup, enum ring_job job)
{
    const struct ring_plan *plan = &setup->plan;
    uint32_t stride = plan->n_ranks <= 64 ? 1 : plan->n_ranks / 3;
    struct ring_error ignored;
    for (uint32_t rank = 0; rank < plan->n_ranks; rank += stride) {
        for (uint32_t block = 0; block < plan->n_ranks; block++) {
            struct ring_task task = {
                .job = job, .rank = rank, .block = block, .work = ring_plan_work(plan, rank, block)};
            struct model_block_cost cost = {0};
            if (model_ring_task(&setup->ring, &task, &cost, &ignored) != RING_OK || !cost.outside)
                continue;
            tool_result_note(
                result,
                "%sblocks of %" PRIu64 " x %" PRIu64 " tokens lie outside the measured curve of %s; the "
                "rate at its end (%s) was used",
                job == RING_JOB_BACKWARD ? "backward " : "", task.work.q_tokens, task.work.k_tokens,
                result->ranks[rank].device, tool_figure(TOOL_FLOP_PER_S, cost.rate_flop_per_s).text);
            return;
        }
    }
}

/* For so few ranks that the walk over all blocks is no work, and where messages can move beside computing. */
static void describe_passes(struct tool_result *result, const struct model_ring *ring)
{
    bool known = ring->plan->n_ranks <= TOOL_STEPS_RANKS;
    for (uint32_t i = 0; i < ring->hop_first[ring->plan->n_ranks]; i++)
        known = known && !ring->hops[i].lazy;
    for (uint32_t i = 0; i < result->n_passes; i++)
        result->passes[i].crossover_bytes_per_s =
            known ? model_ring_crossover(ring, result->passes[i].pass) : (double)NAN;
}

enum ring_status tool_describe(struct tool_result *result, const struct tool_setup *setup,
                               struct ring_error *error)
{
    enum ring_status status = describe_question(result, setup, error);
    if (status != RING_OK)
        return status;
    result->fit = setup->fit;
    describe_ranks(result, setup);
    describe_passes(result, &setup->ring);
    result->bound = model_ring_bound(&setup->ring);
    if (setup->unpriced.text[0] != '\0') { /* nobody knows how fast it could compute */
        result->bound.compute_s = result->bound.time_s = (double)NAN;
        for (uint32_t i = 0; i < result->n_passes; i++)
            result->passes[i].crossover_bytes_per_s = (double)NAN;
        tool_result_note(result, "%s: nothing says how long it should take", setup->unpriced.text);
    }
    bool modelled = !(setup->scenario->compute.block_s > 0);
    if (modelled && setup->plan.pass != RING_PASS_BACKWARD)
        note_outside(result, setup, RING_JOB_FORWARD);
    if (modelled && setup->plan.pass != RING_PASS_FORWARD)
        note_outside(result, setup, RING_JOB_BACKWARD);
    tool_faults_note(result, &setup->scenario->faults);
    return describe_links(result, setup, error);
}

void tool_add_up(struct tool_result *result, const struct ring_parts *steps)
{
    result->time_s = 0;
    for (uint32_t i = 0; i < result->n_ranks; i++) {
        struct tool_rank *rank = &result->ranks[i];
        rank->compute_s = rank->transfer_s = rank->wait_s = rank->overhead_s = rank->end_s = 0;
        for (uint32_t j = 0; j < result->n_steps; j++) {
            const struct ring_parts *parts = &steps[(size_t)i * result->n_steps + j];
            rank->compute_s += parts->compute_s;
            rank->transfer_s += parts->transfer_s;
            rank->wait_s += parts->wait_s;
            rank->overhead_s += parts->overhead_s;
            rank->end_s = fmax(rank->end_s, parts->end_s);
        }
        result->time_s = fmax(result->time_s, rank->end_s);
    }
}
