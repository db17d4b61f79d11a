/* SPDX-License-Identifier: MIT
 *
 * `ringlab measure`: run for real and report, in the same form as a prediction. */
#include <stdio.h>

#include "tools/commands.h"
#include "tools/drift.h"
#include "tools/file.h"
#include "tools/measured.h"
#include "tools/report.h"
#include "tools/simulate.h"

enum ring_status tool_measure(const struct tool_options *options, struct ring_error *error)
{
    struct tool_setup setup;
    struct tool_result result;
    enum ring_status status = tool_setup_open_run(&setup, options, error);
    if (status != RING_OK)
        return status;
    bool with_steps = options->steps || setup.plan.n_ranks <= TOOL_STEPS_RANKS;
    tool_result_init(&result);
    if (options->out != NULL)
        status = tool_file_probe(options->out, error);
    if (status == RING_OK)
        status = tool_measure_run(&setup, options, &result, error);
    tool_drift_note(tool_drift_look(), result.looks, result.n_looks);
    if (status == RING_OK && options->out != NULL)
        status = tool_result_save(&result, with_steps, options->out, error);
    if (status == RING_OK)
        status = options->json ? tool_result_write(&result, with_steps, stdout, error)
                               : tool_report(&result, stdout, error);
    tool_result_fini(&result);
    tool_setup_close(&setup);
    return status;
}
