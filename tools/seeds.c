/* SPDX-License-Identifier: MIT
 *
 * See seeds.h. */
#include "tools/seeds.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/recurrence.h"
#include "tools/play.h"
#include "tools/result.h"
#include "tools/result_json.h"
#include "tools/setup.h"
#include "tools/sort.h"
#include "tools/units.h"

#define TIME(seconds) tool_figure(TOOL_SECONDS, seconds).text

static enum ring_status play_seed(const struct tool_setup *setup, bool simgrid, uint64_t seed, double *time_s,
                                  struct ring_error *error)
{
    struct model_faults faults = setup->scenario->faults;
    struct model_ring ring;

    faults.seed = seed;
    enum ring_status status = model_ring_with_faults(&ring, &setup->ring, &faults, error);
    if (status != RING_OK)
        return status;
    status = tool_play(&ring, simgrid, time_s, NULL, error);
    model_ring_with_faults_fini(&ring);
    return status;
}

static bool is_random(const struct model_faults *faults)
{
    for (size_t i = 0; i < faults->n; i++)
        if (faults->items[i].kind == MODEL_FAULT_JITTER)
            return true;
    return false;
}

enum ring_status tool_seeds_find(struct tool_result *result, const struct tool_setup *setup,
                                 const char *world, uint32_t n_seeds, struct ring_error *error)
{
    bool simgrid = strcmp(world, "simgrid") == 0 ||
                   (strcmp(world, "auto") == 0 && !model_recurrence_serves(&setup->ring));
    const struct model_faults *faults = &setup->scenario->faults;
    double *times_s = calloc((size_t)n_seeds + 1, sizeof *times_s);
    enum ring_status status = RING_OK;

    if (times_s == NULL)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for %" PRIu32 " seeds", n_seeds);
    for (uint32_t i = 0; i < n_seeds && status == RING_OK; i++) {
        if (i > 0 && !is_random(faults))
            times_s[i] = times_s[0];
        else
            status = play_seed(setup, simgrid, faults->seed + i, &times_s[i], error);
    }
    if (status == RING_OK && n_seeds > 0) {
        tool_sort(times_s, n_seeds);
        result->seeds = (struct tool_seeds){
            .n = n_seeds,
            .median_s = (times_s[(n_seeds - 1) / 2] + times_s[n_seeds / 2]) / 2,
            .p95_s = times_s[(uint32_t)ceil(0.95 * n_seeds) - 1],
            .worst_s = times_s[n_seeds - 1],
        };
        if (!is_random(faults))
            tool_result_note(result, "no fault of this scenario is random, so all seeds give the same");
    }
    free(times_s);
    return status;
}

void tool_seeds_print(const struct tool_seeds *seeds, FILE *file)
{
    if (seeds->n > 0)
        fprintf(file, "  %-14s %" PRIu32 ": median %s, p95 %s, worst %s\n", "seeds", seeds->n,
                TIME(seeds->median_s), TIME(seeds->p95_s), TIME(seeds->worst_s));
}

json_t *tool_seeds_json(const struct tool_seeds *seeds)
{
    return json_pack("{sI so so so}", "n", (json_int_t)seeds->n, "median_s",
                     tool_json_number(seeds->median_s), "p95_s", tool_json_number(seeds->p95_s), "worst_s",
                     tool_json_number(seeds->worst_s));
}
