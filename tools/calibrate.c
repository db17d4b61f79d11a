/* SPDX-License-Identifier: MIT
 *
 * `ringlab calibrate`: measure this machine, and say where the figures are. */
#include <stdio.h>

#include "config/config.h"
#include "tools/cache.h"
#include "tools/commands.h"
#include "tools/ranks.h"

enum ring_status tool_calibrate(const struct tool_options *options, struct ring_error *error)
{
    char path[4096];
    struct config_summary summary;
    enum ring_status status = tool_cache_calibrate(options, error);
    if (status == RING_OK)
        status = config_cache_path(
            path, sizeof path, tool_ranks_device(options) ? "this-machine-cuda.yaml" : "this-machine.yaml",
            error);
    if (status == RING_OK)
        status = config_check(path, &summary, error);
    if (status == RING_OK)
        printf("%s: %s\n", path, summary.text);
    return status;
}
