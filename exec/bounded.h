/* SPDX-License-Identifier: MIT
 *
 * Waiting that ends. A rank that hangs, or a machine that is gone, hangs a plain MPI_Wait for ever;
 * everything in exec/ waits through here instead: test, look at the clock, make room for others, and give up
 * with a status when time is over or somebody wants this process to stop. */
#ifndef EXEC_BOUNDED_H
#define EXEC_BOUNDED_H

#include <mpi.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/status.h"

/* How long to wait, and how politely. */
struct exec_bound {
    double timeout_s;                  /* of each wait */
    const volatile sig_atomic_t *stop; /* not 0: give up now (a signal came); NULL: never */
    bool crowded;                      /* more ranks than cores here: sleep early so that others get on */
    int rank;                          /* for the line of an error */
};

/* Whether this process was asked to stop. */
static inline bool exec_stopped(const struct exec_bound *bound)
{
    return bound->stop && *bound->stop;
}

/* One wait in progress. Begin it, then pause after each look that found nothing. */
struct exec_patience {
    const struct exec_bound *bound;
    double begun_s;
    double nap_s;
};
struct exec_patience exec_patience_begin(const struct exec_bound *bound);

/* Yields, later sleeps. RING_TIMED_OUT when the time is over and RING_WORLD when asked to stop, without a
 * line: the caller knows what it was waiting for. */
enum ring_status exec_patience_pause(struct exec_patience *patience);

/* Waits for requests, naming what in an error: "rank 3: waiting for `what`: no end after 60 s". MPI's own
 * errors become RING_WORLD with MPI's text. */
enum ring_status exec_await(const struct exec_bound *bound, MPI_Request *requests, int n_requests,
                            const char *what, struct ring_error *error);

/* RING_OK if code is MPI_SUCCESS; else RING_WORLD and "rank 3: what: MPI's text". */
enum ring_status exec_mpi(int code, int rank, const char *what, struct ring_error *error);

/* Bounded forms of what the ranks do together. Each is collective over comm. */
enum ring_status exec_barrier(MPI_Comm comm, const struct exec_bound *bound, const char *what,
                              struct ring_error *error);
/* Rank root's bytes to all. */
enum ring_status exec_broadcast(MPI_Comm comm, const struct exec_bound *bound, int root, void *data,
                                int bytes, const char *what, struct ring_error *error);
/* The largest of all ranks' values, to all, element by element; in place. */
enum ring_status exec_maximum(MPI_Comm comm, const struct exec_bound *bound, double *values, int n_values,
                              const char *what, struct ring_error *error);
/* Each rank's bytes, equally many, to rank 0 in rank order; gathered is NULL elsewhere. */
enum ring_status exec_gather(MPI_Comm comm, const struct exec_bound *bound, const void *mine, int bytes,
                             void *gathered, const char *what, struct ring_error *error);
/* One outcome for all: the status and the line of the lowest rank that failed, or RING_OK. For steps that a
 * rank can fail alone, so that all stop together and one of them says why. */
enum ring_status exec_agree(MPI_Comm comm, const struct exec_bound *bound, enum ring_status status,
                            struct ring_error *error);
/* The same after work of unequal length, for which the time limit of a hop is no measure. */
enum ring_status exec_agree_when_done(MPI_Comm comm, const struct exec_bound *bound, enum ring_status status,
                                      struct ring_error *error);
/* A block of any length from rank source to rank 0, where it lands in received; a no-op for other ranks and,
 * but for the copy, for source 0. */
enum ring_status exec_collect(MPI_Comm comm, const struct exec_bound *bound, int source, const void *mine,
                              uint64_t bytes, void *received, const char *what, struct ring_error *error);

#endif
