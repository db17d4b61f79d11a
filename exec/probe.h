/* SPDX-License-Identifier: MIT
 *
 * How far this minute is from the one in which the machine was calibrated: a fixed block, timed on all ranks
 * at once before the first repeat and between the others, against what the device file says of it. It tells
 * a wrong model from a slow minute. */
#ifndef EXEC_PROBE_H
#define EXEC_PROBE_H

#include "exec/kernel_bench.h"
#include "exec/session.h"

struct exec_probe {
    struct exec_kernel_bench bench;
    double expected_s; /* of one block, from the device; 0: no probe here */
    size_t tokens;     /* of the block, a full square of one head */
};

/* Opens a probe where it means something: on the calibrated machine, with a kernel that its file knows.
 * Elsewhere it stays closed and drift is 0. RING_NO_MEMORY. */
enum ring_status exec_probe_open(struct exec_probe *probe, const struct exec_session *session,
                                 struct ring_error *error);
void exec_probe_close(struct exec_probe *probe);

/* Collective. Looks for so long, or for a few blocks if they take longer. *drift: this rank's time over the
 * calibrated one; above 1, slower now; 0: no probe. */
enum ring_status exec_probe_look(struct exec_probe *probe, const struct exec_session *session, double seconds,
                                 double *drift, struct ring_error *error);

#endif
