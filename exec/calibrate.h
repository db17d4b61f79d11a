/* SPDX-License-Identifier: MIT
 *
 * `ringlab-rank calibrate`: measures this machine with all of its ranks at work at once - one busy core
 * predicts many busy cores too fast - and writes a device and a topology that scenarios name as
 * `this-machine`. */
#ifndef EXEC_CALIBRATE_H
#define EXEC_CALIBRATE_H

#include <mpi.h>
#include <signal.h>
#include <stdio.h>

#include "engine/status.h"

struct exec_calibrate_spec {
    MPI_Comm comm;
    double seconds;    /* to spend, about */
    const char *stamp; /* one line to leave in both files; NULL: none */
    const char *path;  /* of the topology; the device file goes beside it. NULL: where config looks for it */
    const volatile sig_atomic_t *stop;
    FILE *progress; /* NULL: none */
};

/* Collective. RING_IO where the files cannot be written; both are written or neither. */
enum ring_status exec_calibrate(const struct exec_calibrate_spec *spec, struct ring_error *error);

#endif
