/* SPDX-License-Identifier: MIT
 *
 * See devices.h. */
#include "tools/devices.h"

#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "tools/launch.h"
#include "tools/launch_command.h"
#include "tools/ranks.h"
#include "tools/setup.h"

static const char cluster[] = "cluster=this-machine-cuda";

enum ring_status tool_devices_ask(struct tool_devices *devices, struct ring_error *error)
{
    char program[4096], text[1024];
    *devices = (struct tool_devices){.n = 0};
    enum ring_status status = tool_launch_find_rank(program, sizeof program, error);
    if (status != RING_OK)
        return status;
    int code = tool_launch_ask(program, "devices", text, sizeof text);
    text[strcspn(text, "\n")] = '\0';
    for (char *at = text; *at != '\0'; at++)
        if (*at == '"' || *at == '\\' || *at == '#' || (unsigned char)*at < 0x20)
            *at = ' ';
    const char *words = strncmp(text, TOOL_LAUNCH_ERROR_MARK, strlen(TOOL_LAUNCH_ERROR_MARK)) == 0
                            ? text + strlen(TOOL_LAUNCH_ERROR_MARK)
                            : text;
    if (code == 0 && sscanf(text, "%u", &devices->n) == 1 && devices->n > 0) {
        snprintf(devices->text, sizeof devices->text, "%.199s", text);
        return RING_OK;
    }
    if (words == text)
        return ring_fail(error, RING_WORLD, "%s devices: exit status %d: %.200s", program, code, text);
    return ring_fail(error, RING_WORLD, "%.900s", words);
}

/* Whether the scenario is on this machine's processors; where it does not load, whether that is why. serves:
 * the device's kernels have its dtype and head_dim (exec/cuda/kernels/cuda_block.h), as far as one can tell.
 */
static bool is_here(const struct tool_options *options, bool *serves)
{
    char path[4096], cached[4096];
    struct config_overrides overrides = {options->sets, options->n_sets};
    struct config_scenario *scenario = NULL;
    struct ring_error why = {""};
    *serves = true;
    if (tool_setup_file(options, path, sizeof path, &why) != RING_OK)
        return false;
    if (config_scenario_load(path, &overrides, &scenario, &why) != RING_OK)
        return strstr(why.text, "this-machine is not calibrated") != NULL ||
               (config_cache_path(cached, sizeof cached, "this-machine", &why) == RING_OK &&
                strstr(why.text, cached) != NULL);
    const struct ring_problem *problem = &scenario->plan.problem;
    *serves = problem->dtype != RING_FP64 && problem->head_dim % 8 == 0 && problem->head_dim <= 256;
    bool here = strcmp(scenario->cluster, "this-machine") == 0;
    config_scenario_free(scenario);
    return here;
}

enum ring_status tool_devices_choose(struct tool_options *options, struct ring_error *error)
{
    struct tool_devices devices;
    bool any = options->device != NULL && strcmp(options->device, "auto") == 0, serves = true;
    if (!tool_ranks_device(options) || options->mpi_args != NULL || options->n_files > 1)
        return RING_OK;
    enum ring_status status = tool_devices_ask(&devices, error);
    if (status != RING_OK && any)
        options->device = "cpu";
    if (status != RING_OK)
        return any ? RING_OK : status;
    bool here = is_here(options, &serves);
    if (any)
        options->device = serves ? "cuda" : "cpu";
    if (here && serves)
        options->sets[options->n_sets++] = cluster; /* --device took a word: there is room */
    return RING_OK;
}
