/* SPDX-License-Identifier: MIT
 *
 * How long a real run will take, said before it begins. */
#include "tools/estimate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "models/recurrence.h"
#include "tools/play.h"
#include "tools/ranks.h"

static const double worth_saying_s = 10;
enum { MOST_RANKS = 64 }; /* that are played for it */

/* The scenario as it is about to run: on this machine, and on real data if it says so. RING_OK if that can be
 * predicted without measuring. */
static enum ring_status open_here(struct tool_setup *here, const struct tool_setup *setup,
                                  const struct tool_options *options, bool on_data, struct ring_error *error)
{
    const char **sets = calloc(options->n_sets + 2, sizeof *sets);
    if (sets == NULL)
        return ring_fail(error, RING_NO_MEMORY, "out of memory");
    size_t n = options->n_sets;
    for (size_t i = 0; i < n; i++)
        sets[i] = options->sets[i];
    sets[n++] = "cluster=this-machine";
    if (on_data)
        sets[n++] = "compute=model";
    const char *const files[] = {setup->path};
    struct tool_options looks = {
        .files = files, .n_files = 1, .sets = sets, .n_sets = n, .world = "auto", .show = true};
    enum ring_status status = tool_setup_open(here, &looks, error);
    free(sets);
    return status;
}

/* Of one pass; 0: unknown, as on devices or other machines, or before a calibration. Blocks of a fixed time
 * take that, whoever shares a core with whom; what moves between them is left out. */
static double estimate_s(const struct tool_setup *setup, const struct tool_options *options, bool on_data)
{
    struct tool_setup here;
    struct ring_error ignored;
    double step_s = 0;
    if (!on_data && setup->scenario->compute.block_s > 0)
        return model_ring_bound(&setup->ring).compute_s;
    if (options->mpi_args != NULL || tool_ranks_device(options) ||
        open_here(&here, setup, options, on_data, &ignored) != RING_OK)
        return 0;
    bool simgrid = !model_recurrence_serves(&here.ring);
    if (here.plan.n_ranks > MOST_RANKS || tool_play(&here.ring, simgrid, &step_s, NULL, &ignored) != RING_OK)
        step_s = model_ring_bound(&here.ring).time_s;
    tool_setup_close(&here);
    return step_s;
}

static void write_time(double seconds, char *out, size_t size)
{
    if (seconds < 120)
        snprintf(out, size, "%.0f s", seconds);
    else if (seconds < 7200)
        snprintf(out, size, "%.0f min", seconds / 60);
    else
        snprintf(out, size, "%.1f h", seconds / 3600);
}

void tool_estimate_say(const struct tool_setup *setup, const struct tool_options *options, bool on_data,
                       uint32_t n_passes)
{
    char all[32], one[32];
    double step_s = options->quiet ? 0 : estimate_s(setup, options, on_data);
    if (!(step_s * n_passes > worth_saying_s))
        return;
    write_time(step_s * n_passes, all, sizeof all);
    write_time(step_s, one, sizeof one);
    fflush(stdout);
    if (n_passes > 1)
        fprintf(stderr,
                "ringlab: this will take about %s: %u passes of %s (fewer with "
                "--set measure.repeats and measure.warmups)\n",
                all, n_passes, one);
    else
        fprintf(stderr, "ringlab: this will take about %s\n", all);
}
