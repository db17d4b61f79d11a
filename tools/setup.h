/* SPDX-License-Identifier: MIT
 *
 * From the command line to something that can be simulated or run: the scenario loaded, its plan made, the
 * plan placed and priced. Calibrates this machine first where the scenario asks for it and nobody did. */
#ifndef TOOL_SETUP_H
#define TOOL_SETUP_H

#include "config/config.h"
#include "engine/plan.h"
#include "models/ring.h"
#include "tools/options.h"

struct tool_setup {
    struct config_scenario *scenario;
    struct ring_plan plan;
    struct model_ring ring;
    struct model_fit fit;       /* whether each device can hold what the plan puts on it */
    char path[4096];            /* of the scenario file */
    struct ring_error unpriced; /* why blocks have a made-up time; "": they have their own */
};

/* The scenario of the command line, or the quickstart scenario. All or nothing. */
enum ring_status tool_setup_open(struct tool_setup *setup, const struct tool_options *options,
                                 struct ring_error *error);
/* The same for what only runs: where the devices have no curve, each block has a made-up time of 1 ms. */
enum ring_status tool_setup_open_run(struct tool_setup *setup, const struct tool_options *options,
                                     struct ring_error *error);
/* Prices it anew, with kernels that take slowdown times what the curves say. */
enum ring_status tool_setup_price(struct tool_setup *setup, double slowdown, struct ring_error *error);
void tool_setup_close(struct tool_setup *setup);

/* Path of the command line's scenario, or of the quickstart scenario. */
enum ring_status tool_setup_file(const struct tool_options *options, char *out, size_t size,
                                 struct ring_error *error);

/* Path of a file that comes with the project: below $RINGLAB_DATA, else below the source tree. RING_IO if it
 * is not there, saying so. */
enum ring_status tool_data_path(const char *file, char *out, size_t size, struct ring_error *error);

#endif
