/* SPDX-License-Identifier: MIT
 *
 * `ringlab predict`: simulate and report. */
#include <stdio.h>

#include "tools/commands.h"
#include "tools/memory.h"
#include "tools/report.h"
#include "tools/setup.h"
#include "tools/simulate.h"

static enum ring_status predict(const struct tool_setup *setup, const struct tool_options *options,
                                struct ring_error *error)
{
    struct tool_result result;
    bool with_steps = options->steps || setup->plan.n_ranks <= TOOL_STEPS_RANKS;
    enum ring_status status = setup->fit.fits
                                  ? tool_simulate(setup, options->world, options->steps, &result, error)
                                  : tool_memory_unfit(setup, options->world, &result, error);
    if (status == RING_OK && setup->fit.fits && options->n_seeds > 0)
        status = tool_seeds_find(&result, setup, options->world, options->n_seeds, error);
    if (status == RING_OK && options->out != NULL)
        status = tool_result_save(&result, with_steps, options->out, error);
    if (status == RING_OK)
        status = options->json ? tool_result_write(&result, with_steps, stdout, error)
                               : tool_report(&result, stdout, error);
    tool_result_fini(&result);
    return status;
}

enum ring_status tool_predict(const struct tool_options *options, struct ring_error *error)
{
    struct tool_setup setup;
    enum ring_status status = tool_setup_open(&setup, options, error);
    if (status != RING_OK)
        return status;
    if (options->show)
        config_scenario_show(setup.scenario, stdout);
    else
        status = predict(&setup, options, error);
    tool_setup_close(&setup);
    return status;
}
