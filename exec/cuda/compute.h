/* SPDX-License-Identifier: MIT
 *
 * Computations on a device, as the MPI transport's worker: a task is put on the compute lane when it is
 * posted, between two events, and is done when the second has passed. */
#ifndef EXEC_CUDA_COMPUTE_H
#define EXEC_CUDA_COMPUTE_H

#include "exec/cuda/lanes.h"
#include "exec/transport.h"

/* How a task gets onto a stream; only enqueues. */
struct exec_launch {
    enum ring_status (*launch)(void *context, const struct ring_task *task, void *stream,
                               struct ring_error *error);
    void *context;
};

struct exec_compute_lane {
    struct exec_lanes *lanes; /* borrowed */
    struct exec_launch launch;
    struct exec_worker worker; /* to hand to the transport */
};

void exec_compute_lane_init(struct exec_compute_lane *compute, struct exec_lanes *lanes,
                            const struct exec_launch *launch);

#endif
