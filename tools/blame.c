/* SPDX-License-Identifier: MIT
 *
 * Finding blame: asks models/ and keeps what it says. Its words are in blame_words.c. */
#include "tools/blame.h"

#include <inttypes.h>
#include <stdlib.h>

#include "tools/play.h"
#include "tools/result.h"
#include "tools/result_json.h"
#include "tools/setup.h"

static enum ring_status play_recurrence(void *context, const struct model_ring *ring, double *time_s,
                                        struct ring_error *error)
{
    (void)context;
    return tool_play(ring, false, time_s, NULL, error);
}

static enum ring_status play_simgrid(void *context, const struct model_ring *ring, double *time_s,
                                     struct ring_error *error)
{
    (void)context;
    return tool_play(ring, true, time_s, NULL, error);
}

/* As many as take a few seconds at most. */
static uint32_t affordable_plays(uint32_t n_ranks, bool simgrid)
{
    double plays = (simgrid ? 3e5 : 1e8) / ((double)n_ranks * n_ranks);

    return plays > 400 ? 400 : plays < 4 ? 4 : (uint32_t)plays;
}

static enum ring_status keep_culprits(struct tool_result *result, const struct model_blame *found,
                                      struct ring_error *error)
{
    struct tool_blame *blame = &result->blame;

    blame->healed_s = found->n_culprits > 0 ? found->healed_s : result->time_s;
    blame->culprits = calloc(found->n_culprits + 1, sizeof *blame->culprits);
    if (blame->culprits == NULL)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for %zu culprits", found->n_culprits);
    blame->n_culprits = found->n_culprits;
    for (size_t i = 0; i < found->n_culprits; i++)
        blame->culprits[i] = (struct tool_culprit){
            .name = tool_result_keep(result, "%s", found->culprits[i].name),
            .device = found->culprits[i].device,
            .saves_s = found->culprits[i].saves_s,
            .alone_s = found->culprits[i].alone_s,
        };
    return RING_OK;
}

/* When the delay reaches each rank: against the ring with everyone repaired. */
static enum ring_status find_wave(struct tool_result *result, const struct model_ring *ring,
                                  const struct model_blame *found, bool simgrid, struct ring_error *error)
{
    struct model_ring healed;
    double time_s;
    struct ring_parts *steps = calloc((size_t)result->n_ranks * result->n_steps + 1, sizeof *steps);

    result->blame.wave = calloc(result->n_ranks, sizeof *result->blame.wave);
    if (steps == NULL || result->blame.wave == NULL) {
        free(steps);
        return ring_fail(error, RING_NO_MEMORY, "out of memory for the steps of %" PRIu32 " ranks",
                         result->n_ranks);
    }
    enum ring_status status = model_ring_with_faults(&healed, ring, &found->healed, error);
    if (status == RING_OK) {
        status = tool_play(&healed, simgrid, &time_s, steps, error);
        model_ring_with_faults_fini(&healed);
    }
    if (status == RING_OK)
        model_wave_find(result->n_ranks, result->n_steps, result->steps, steps, result->blame.wave);
    free(steps);
    return status;
}

enum ring_status tool_blame_find(struct tool_result *result, const struct tool_setup *setup, bool simgrid,
                                 struct ring_error *error)
{
    const struct model_stage stage = {
        .play = simgrid ? play_simgrid : play_recurrence,
        .most_plays = affordable_plays(result->n_ranks, simgrid),
        .time_s = result->time_s,
    };
    struct model_blame found;
    enum ring_status status = model_blame_find(&setup->ring, &stage, &found, error);

    if (status != RING_OK)
        return status;
    status = keep_culprits(result, &found, error);
    if (status == RING_OK && result->steps != NULL)
        status = model_path_find(&setup->ring, result->steps, &result->blame.path, error);
    if (status == RING_OK && result->steps != NULL && found.n_culprits > 0)
        status = find_wave(result, &setup->ring, &found, simgrid, error);
    if (status == RING_OK)
        tool_blame_say(result, setup);
    model_blame_fini(&found);
    return status;
}

void tool_blame_fini(struct tool_blame *blame)
{
    free(blame->culprits);
    free(blame->wave);
    model_path_fini(&blame->path);
    *blame = (struct tool_blame){.n_culprits = 0};
}

static json_t *culprits_json(const struct tool_blame *blame)
{
    json_t *list = json_array();

    for (size_t i = 0; i < blame->n_culprits; i++) {
        const struct tool_culprit *culprit = &blame->culprits[i];
        json_array_append_new(list, json_pack("{ss? ss so so}", "name", culprit->name, "kind",
                                              culprit->device ? "device" : "link", "saves_s",
                                              tool_json_number(culprit->saves_s), "alone_s",
                                              tool_json_number(culprit->alone_s)));
    }
    return list;
}

static json_t *path_json(const struct model_path *path)
{
    json_t *list = json_array();

    for (size_t i = 0; i < path->n_parts; i++) {
        const struct model_path_part *part = &path->parts[i];
        json_array_append_new(
            list, json_pack("{ss sI sI sI sI so so}", "kind",
                            part->kind == MODEL_PATH_COMPUTE ? "compute" : "message", "rank",
                            (json_int_t)part->rank, "peer", (json_int_t)part->peer, "first_step",
                            (json_int_t)part->first_step, "last_step", (json_int_t)part->last_step, "begin_s",
                            tool_json_number(part->begin_s), "end_s", tool_json_number(part->end_s)));
    }
    return list;
}

static json_t *wave_json(const struct tool_result *result)
{
    json_t *list = result->blame.wave == NULL ? json_null() : json_array();

    for (uint32_t rank = 0; result->blame.wave != NULL && rank < result->n_ranks; rank++)
        json_array_append_new(list, result->blame.wave[rank] < result->n_steps
                                        ? json_integer(result->blame.wave[rank])
                                        : json_null());
    return list;
}

json_t *tool_blame_json(const struct tool_result *result)
{
    return json_pack("{so so so so}", "healed_s", tool_json_number(result->blame.healed_s), "culprits",
                     culprits_json(&result->blame), "critical_path", path_json(&result->blame.path), "wave",
                     wave_json(result));
}
