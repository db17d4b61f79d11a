/* SPDX-License-Identifier: MIT
 *
 * Which CUDA devices this machine has, as ringlab-rank knows it, and what --device makes of a command because
 * of it. */
#ifndef TOOL_DEVICES_H
#define TOOL_DEVICES_H

#include "engine/status.h"
#include "tools/options.h"

struct tool_devices {
    uint32_t n;
    char text[200]; /* "2 NVIDIA H200, driver for CUDA 13.0": of characters that any file can hold */
};

/* RING_WORLD, in one line, where none can be used; RING_UNSUPPORTED where the MPI part is not built. */
enum ring_status tool_devices_ask(struct tool_devices *devices, struct ring_error *error);

/* Where --device was given, looks for devices before anything else is done: RING_WORLD where cuda is asked
 * for in vain. auto becomes cuda, or cpu where there is none or the kernels do not serve the scenario; and a
 * scenario on this-machine is moved to this-machine-cuda, by a --set of its own. With --mpi-args the ranks
 * are elsewhere, and nothing is asked or changed. */
enum ring_status tool_devices_choose(struct tool_options *options, struct ring_error *error);

#endif
