/* SPDX-License-Identifier: MIT
 *
 * What the test programs that run under mpirun share: a rank's place, and the two ways to say something that
 * the launcher passes on. */
#ifndef TESTS_MPI_RANKS_H
#define TESTS_MPI_RANKS_H

#include <mpi.h>

#include "exec/transport.h"

struct seat {
    MPI_Comm comm; /* of the ranks that take part */
    int rank, n_ranks;
    struct exec_bound bound;
};

/* A line of the test's output, from rank 0 of comm. */
void report(const struct seat *seat, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Each test plays on the first n_ranks ranks; the others do not come here. RING_OK, or one line. */
enum ring_status test_rings(const struct seat *seat, struct ring_error *error);
enum ring_status test_overlap(const struct seat *seat, struct ring_error *error);
enum ring_status test_passes(const struct seat *seat, struct ring_error *error);
enum ring_status test_conformance(const struct seat *seat, struct ring_error *error);

/* A transport with a computation of the caller's (NULL: none). */
enum ring_status open_transport(const struct seat *seat, enum model_progress progress,
                                const struct exec_compute *compute, struct exec_transport **out,
                                struct ring_error *error);

#endif
