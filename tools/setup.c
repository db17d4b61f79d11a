/* SPDX-License-Identifier: MIT
 *
 * See setup.h. */
#include "tools/setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/cache.h"
#include "tools/drift.h"

enum { MOST_RANKS = 1 << 16 }; /* that are tried to find a number on which a problem fits */

enum ring_status tool_data_path(const char *file, char *out, size_t size, struct ring_error *error)
{
    const char *folder = getenv("RINGLAB_DATA");
    if (folder == NULL || folder[0] == '\0')
        folder = RINGLAB_SOURCE_DIR;
    int length = snprintf(out, size, "%s/%s", folder, file);
    if (length < 0 || (size_t)length >= size)
        return ring_fail(error, RING_IO, "%s/%s: the path is too long", folder, file);
    if (access(out, R_OK) != 0)
        return ring_fail(error, RING_IO,
                         "%s is not there: name a scenario, or set RINGLAB_DATA to the folder that "
                         "holds scenarios/",
                         out);
    return RING_OK;
}

enum ring_status tool_setup_file(const struct tool_options *options, char *out, size_t size,
                                 struct ring_error *error)
{
    if (options->n_files == 0)
        return tool_data_path("scenarios/quickstart.yaml", out, size, error);
    int length = snprintf(out, size, "%s", options->files[0]);
    if (length < 0 || (size_t)length >= size)
        return ring_fail(error, RING_IO, "the scenario's path is too long");
    return RING_OK;
}

static const double made_up_block_s = 1e-3;

static enum ring_status price(struct tool_setup *setup, bool only_runs, double slowdown,
                              struct ring_error *error)
{
    const struct config_scenario *scenario = setup->scenario;
    struct model_ring_spec spec = {
        .plan = &setup->plan,
        .topology = scenario->topology,
        .device_of_rank = scenario->placement,
        .compute = scenario->compute,
        .progress = scenario->progress,
        .faults = &scenario->faults,
    };
    spec.compute.slowdown = slowdown;
    enum ring_status status = model_ring_init(&setup->ring, &spec, error);
    if (status != RING_BAD_INPUT || !only_runs || spec.compute.block_s > 0)
        return status;
    struct ring_error why = *error;
    spec.compute = (struct model_compute){.block_s = made_up_block_s};
    status = model_ring_init(&setup->ring, &spec, error);
    if (status == RING_OK)
        setup->unpriced = why;
    return status;
}

/* Nobody wants to know the smallest number of ranks where all is well. */
static enum ring_status find_fit(struct tool_setup *setup, struct ring_error *error)
{
    const struct config_scenario *scenario = setup->scenario;
    enum ring_status status =
        model_fit(&setup->plan, scenario->topology, scenario->placement, 0, 0, &setup->fit, error);
    if (status == RING_OK && !setup->fit.fits)
        status = model_fit(&setup->plan, scenario->topology, scenario->placement, 0, MOST_RANKS, &setup->fit,
                           error);
    return status;
}

static enum ring_status open_setup(struct tool_setup *setup, const struct tool_options *options,
                                   bool only_runs, struct ring_error *error)
{
    struct config_overrides overrides = {options->sets, options->n_sets};
    memset(setup, 0, sizeof *setup);
    enum ring_status status = tool_setup_file(options, setup->path, sizeof setup->path, error);
    if (status == RING_OK)
        status = tool_cache_load(setup->path, &overrides, options, &setup->scenario, error);
    if (status == RING_OK)
        status = ring_plan_init(&setup->plan, &setup->scenario->plan, error);
    if (status == RING_OK)
        status = price(setup, only_runs, options->as_calibrated ? 1 : tool_drift_of(setup->scenario), error);
    if (status == RING_OK) {
        status = find_fit(setup, error);
        if (status != RING_OK)
            model_ring_fini(&setup->ring);
    }
    if (status != RING_OK && setup->scenario != NULL) {
        config_scenario_free(setup->scenario);
        setup->scenario = NULL;
    }
    return status;
}

enum ring_status tool_setup_open(struct tool_setup *setup, const struct tool_options *options,
                                 struct ring_error *error)
{
    return open_setup(setup, options, false, error);
}

enum ring_status tool_setup_open_run(struct tool_setup *setup, const struct tool_options *options,
                                     struct ring_error *error)
{
    return open_setup(setup, options, true, error);
}

enum ring_status tool_setup_price(struct tool_setup *setup, double slowdown, struct ring_error *error)
{
    model_ring_fini(&setup->ring);
    return price(setup, false, slowdown, error);
}

void tool_setup_close(struct tool_setup *setup)
{
    if (setup->scenario == NULL)
        return;
    model_ring_fini(&setup->ring);
    config_scenario_free(setup->scenario);
    setup->scenario = NULL;
}
