/* SPDX-License-Identifier: MIT
 *
 * The simulated world: the same engine, one SimGrid actor a rank, over a platform made from the topology.
 * Takes its durations from a struct model_ring; lets flows share links max-min fairly. The only folder that
 * includes simgrid/. */
#ifndef SIM_H
#define SIM_H

#include "engine/run.h"
#include "engine/trace.h"
#include "models/ring.h"

struct sim_spec {
    const struct model_ring *ring;
    /* Real data through the simulated world, both or neither: memory[n_ranks] and compute[n_ranks]. The run
     * happens in a forked child, so what must be seen afterwards has to be in shared mappings. */
    const struct ring_memory *memory;
    const struct ring_compute *compute;
};

/* Runs in a forked child (SimGrid is one engine a process and aborts on what it does not like). ends_s
 * [n_ranks]. traces, if not NULL, [n_ranks], initialised by the caller, rows are appended. Every rank starts
 * at 0. RING_DEADLOCK with who waits for whom at which hop; RING_WORLD if the child died, with its last
 * words. */
enum ring_status sim_run(const struct sim_spec *spec, double *ends_s, struct ring_trace *traces,
                         struct ring_error *error);

/* "SimGrid 3.32, CM02, ...": what was used, for the result file. */
const char *sim_description(void);

#endif
