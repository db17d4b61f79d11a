/* SPDX-License-Identifier: MIT
 *
 * See scene.h. */
#include "tests/sim/scene.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void must(enum ring_status status, const struct ring_error *error)
{
    if (status == RING_OK)
        return;
    fprintf(stderr, "scene: %s: %s\n", ring_status_text(status), error->text);
    abort();
}

void scene_init(struct scene *scene)
{
    *scene = (struct scene){
        .spec =
            {
                .strategy = "ring",
                .problem = {.tokens = 64, .batch = 1, .heads = 1, .kv_heads = 1, .head_dim = 16},
                .n_ranks = 2,
                .n_buffers = 2,
            },
        .compute = {.block_s = 1e-3},
    };
    topology_builder_init(&scene->cluster);
    for (uint32_t i = 0; i < sizeof scene->placement / sizeof *scene->placement; i++)
        scene->placement[i] = i;
}

void scene_set_block(struct scene *scene, uint32_t n_ranks, uint64_t bytes)
{
    struct ring_problem *problem = &scene->spec.problem;
    bool decimal = bytes % (1000 * 125 * 8) == 0;
    uint64_t tokens = decimal ? 1000 : 1024, head_dim = decimal ? 125 : 128;

    scene->spec.n_ranks = n_ranks;
    problem->tokens = n_ranks * tokens;
    problem->head_dim = (uint32_t)head_dim;
    problem->heads = problem->kv_heads = (uint32_t)(bytes / (2 * tokens * head_dim * sizeof(float)));
}

static void price(struct scene *scene)
{
    struct model_ring_spec spec = {
        .plan = &scene->plan,
        .topology = topology_builder_finish(&scene->cluster),
        .device_of_rank = scene->placement,
        .compute = scene->compute,
        .progress = scene->progress,
    };
    struct ring_error error;

    must(model_ring_init(&scene->ring, &spec, &error), &error);
}

void scene_build(struct scene *scene)
{
    struct ring_error error;

    must(ring_plan_init(&scene->plan, &scene->spec, &error), &error);
    price(scene);
}

void scene_fini(struct scene *scene)
{
    model_ring_fini(&scene->ring);
    topology_builder_fini(&scene->cluster);
}

void scene_play(const struct scene *scene, double *ends_s)
{
    struct sim_spec spec = {.ring = &scene->ring};
    struct ring_error error;

    must(sim_run(&spec, ends_s, NULL, &error), &error);
}

void scene_play_traced(const struct scene *scene, double *ends_s, struct ring_trace *rows)
{
    struct sim_spec spec = {.ring = &scene->ring};
    struct ring_trace *traces = calloc(scene->plan.n_ranks, sizeof *traces); /* as ring_trace_init */
    struct ring_error error = {"out of memory"};

    must(traces ? sim_run(&spec, ends_s, traces, &error) : RING_NO_MEMORY, &error);
    ring_trace_init(rows);
    for (uint32_t rank = 0; rank < scene->plan.n_ranks; rank++) {
        for (size_t i = 0; i < traces[rank].n_rows; i++)
            must(ring_trace_append(rows, &traces[rank].rows[i]), &error);
        ring_trace_fini(&traces[rank]);
    }
    free(traces);
}

/* --- the script
 * ---------------------------------------------------------------------------------------------- */

static struct {
    const struct script_line *lines;
    uint32_t n_lines;
} script;

static struct ring_message script_message(const struct ring_plan *plan, uint32_t line, uint32_t peer,
                                          uint32_t slot)
{
    return (struct ring_message){
        .peer = peer,
        .tag = line,
        .step = script.lines[line].send_step,
        .block = script.lines[line].from,
        .slot = slot,
        .bytes = ring_plan_block_bytes(plan, script.lines[line].from),
    };
}

static void script_step(const struct ring_plan *plan, uint32_t rank, uint32_t step,
                        struct ring_plan_step *out)
{
    *out = (struct ring_plan_step){.n_receives = 0};
    for (uint32_t i = 0; i < script.n_lines; i++) {
        const struct script_line *line = &script.lines[i];
        if (line->to == rank && line->receive_step == step) {
            uint32_t slot = 1 + out->n_receives;
            out->receives[out->n_receives++] = script_message(plan, i, line->from, slot);
            out->await_receive_slots[out->n_await_receives++] = slot;
        }
        if (line->from == rank && line->send_step == step) {
            uint32_t slot = 1 + out->n_sends;
            out->sends[out->n_sends++] = script_message(plan, i, line->to, slot);
            out->await_send_slots[out->n_await_sends++] = slot;
        }
    }
}

static uint32_t script_targets(const struct ring_plan *plan, uint32_t rank, uint32_t *out)
{
    uint32_t n_targets = 0;

    for (uint32_t target = 0; target < plan->n_ranks; target++) {
        bool talks = false;
        for (uint32_t i = 0; i < script.n_lines; i++)
            talks |= script.lines[i].from == rank && script.lines[i].to == target;
        if (talks)
            out[n_targets++] = target;
    }
    return n_targets;
}

static enum ring_payload script_slot(const struct ring_plan *plan, uint32_t slot)
{
    (void)plan;
    (void)slot;
    return RING_KV;
}

void scene_build_script(struct scene *scene, const struct script_line *lines, uint32_t n_lines)
{
    static const struct ring_plan_kind kind = {
        .name = "script", .step = script_step, .targets = script_targets, .slot = script_slot};
    struct ring_error error;

    must(ring_plan_init(&scene->plan, &scene->spec, &error), &error);
    script.lines = lines;
    script.n_lines = n_lines;
    scene->plan.kind = &kind;
    scene->plan.n_slots = 1 + RING_MAX_BUFFERS;
    scene->plan.n_steps = 1;
    for (uint32_t i = 0; i < n_lines; i++) {
        uint32_t last =
            lines[i].send_step > lines[i].receive_step ? lines[i].send_step : lines[i].receive_step;
        if (last >= scene->plan.n_steps)
            scene->plan.n_steps = last + 1;
    }
    price(scene);
}

/* --- numbers
 * ------------------------------------------------------------------------------------------------- */

static uint64_t dice_next(struct dice *dice)
{
    uint64_t z = dice->state += 0x9e3779b97f4a7c15;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

uint64_t dice_below(struct dice *dice, uint64_t n)
{
    return dice_next(dice) % n;
}

double dice_between(struct dice *dice, double low, double high)
{
    double unit = (double)(dice_next(dice) >> 11) * 0x1p-53;

    return low * exp(unit * log(high / low));
}
