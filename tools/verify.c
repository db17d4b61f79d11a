/* SPDX-License-Identifier: MIT
 *
 * `ringlab verify`: runs a world on real data, reads or makes each rank's report, and judges. */
#include "tools/verify.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/commands.h"
#include "tools/estimate.h"
#include "tools/launch.h"
#include "tools/ranks.h"
#include "tools/verify_report.h"

enum { DEFAULT_ROWS = 64 };

static enum ring_status verify_mpi(const struct tool_setup *setup, const struct tool_options *options,
                                   uint64_t max_rows, struct tool_verified *verified,
                                   struct ring_error *error)
{
    char path[4096], rows[32], repeats[16];
    snprintf(rows, sizeof rows, "%" PRIu64, max_rows);
    const char *extra[8] = {"--max-rows", rows};
    size_t n_extra = 2;
    if (options->dump != NULL) {
        extra[n_extra++] = "--dump";
        extra[n_extra++] = options->dump;
    }
    if (options->n_repeats > 0) {
        snprintf(repeats, sizeof repeats, "%" PRIu32, options->n_repeats);
        extra[n_extra++] = "--repeat";
        extra[n_extra++] = repeats;
    }
    struct tool_ranks ranks = {.task = "verify",
                               .scenario = setup->path,
                               .extra = extra,
                               .n_ranks = setup->plan.n_ranks,
                               .timeout_s = tool_ranks_timeout(setup) +
                                            options->n_repeats * setup->scenario->measure.timeout_s};
    tool_estimate_say(setup, options, true, options->n_repeats > 0 ? options->n_repeats : 1);
    enum ring_status status = tool_ranks_run(&ranks, options, path, sizeof path, error);
    if (status != RING_OK)
        return status;
    status = tool_verify_read(path, setup->plan.n_ranks, verified, error);
    tool_ranks_forget(path);
    return status;
}

static bool can_run_mpi(void)
{
    char path[4096];
    struct ring_error ignored;
    return tool_launch_find_rank(path, sizeof path, &ignored) == RING_OK;
}

static enum ring_status verify_world(const struct tool_setup *setup, const struct tool_options *options,
                                     struct tool_verified *verified, struct ring_error *error)
{
    uint64_t max_rows = options->max_rows_given ? options->max_rows : DEFAULT_ROWS;
    bool real = tool_ranks_device(options) || can_run_mpi(); /* no simulated cluster has a device */
    bool mpi = strcmp(options->world, "mpi") == 0 || (strcmp(options->world, "auto") == 0 && real);
    memset(verified, 0, sizeof *verified);
    enum ring_status status = tool_ranks_fit(setup, options, error);
    if (status == RING_OK && mpi)
        status = model_faults_real(&setup->scenario->faults, setup->scenario->places.faults, error);
    if (status != RING_OK)
        return status;
    if (!mpi && options->n_repeats > 1)
        return ring_fail(error, RING_BAD_INPUT, "--repeat is for real runs: --world mpi is wanted");
    if (mpi)
        return verify_mpi(setup, options, max_rows, verified, error);
    return tool_verify_simulated(setup, max_rows, options->dump, verified, error);
}

void tool_verified_fini(struct tool_verified *verified)
{
    free(verified->reports);
    free(verified->gradients);
    verified->reports = NULL;
    verified->gradients = NULL;
}

static enum ring_status judge(const struct tool_verified *verified, struct ring_error *error)
{
    uint64_t n_rows = 0, n_tensors = 0;
    for (uint32_t i = 0; i < verified->n_ranks; i++) {
        n_rows += verified->reports[i].n_bad;
        n_tensors += verified->gradients != NULL ? verified->gradients[i].n_bad : 0;
    }
    if (n_rows == 0 && n_tensors == 0)
        return RING_OK;
    return ring_fail(error, RING_WORLD, "%" PRIu64 " rows and %" PRIu64 " gradients are out of bounds",
                     n_rows, n_tensors);
}

enum ring_status tool_verify(const struct tool_options *options, struct ring_error *error)
{
    struct tool_setup setup;
    struct tool_verified verified = {.n_ranks = 0};
    enum ring_status status = tool_setup_open_run(&setup, options, error);
    if (status != RING_OK)
        return status;
    status = verify_world(&setup, options, &verified, error);
    if (status == RING_OK)
        status = options->json ? tool_verify_write(&setup, &verified, stdout, error)
                               : tool_verify_print(&setup, &verified, stdout, error);
    if (status == RING_OK && options->dump != NULL && !options->json)
        printf("  q, k, v, out%s are in %s\n",
               verified.gradients != NULL ? ", lse, d_out, d_q, d_k and d_v" : " and lse", options->dump);
    if (status == RING_OK)
        status = judge(&verified, error);
    tool_verified_fini(&verified);
    tool_setup_close(&setup);
    return status;
}
