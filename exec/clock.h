/* SPDX-License-Identifier: MIT
 *
 * Real time, for the whole of exec/. One machine has one CLOCK_MONOTONIC for all its processes; between
 * machines the difference to rank 0's is measured by ping-pong. MPI_Wtime is not used: its zero differs from
 * process to process. */
#ifndef EXEC_CLOCK_H
#define EXEC_CLOCK_H

#include <mpi.h>

#include "exec/bounded.h"

/* Seconds on this machine's CLOCK_MONOTONIC. */
double exec_clock_s(void);

/* Seconds of a processor that this thread has had. */
double exec_clock_cpu_s(void);

/* Sleeps for so long, as exactly as the system lets it; at most 0 is no sleep. */
void exec_nap(double seconds);

/* Makes short sleeps end on time (the kernel's default may add 50 us to each). For the calling process. */
void exec_clock_sharpen(void);

/* How this rank's clock relates to rank 0's: common time = exec_clock_s() - offset_s. */
struct exec_clock {
    double offset_s;
    double error_s; /* at most so wrong: half the fastest round trip; 0 on rank 0's machine */
    int n_hosts;    /* machines that the ranks are on */
    int ranks_here; /* ranks on this machine */
    int rank_here;  /* this rank's number among them */
    int cores_here; /* that they may run on, together */
};

/* Collective over comm. Only one rank of each other machine plays ping-pong, one machine after the other. */
enum ring_status exec_clock_agree(MPI_Comm comm, const struct exec_bound *bound, struct exec_clock *clock,
                                  struct ring_error *error);

#endif
