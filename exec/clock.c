/* SPDX-License-Identifier: MIT
 *
 * Real time. See clock.h. */
#include "exec/clock.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

enum { PING_TAG = 2, N_PINGS = 64 };

double exec_clock_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double exec_clock_cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void exec_nap(double seconds)
{
    if (seconds <= 0)
        return;
    time_t whole_s = (time_t)seconds;
    struct timespec t = {whole_s, (long)(1e9 * (seconds - (double)whole_s))};
    nanosleep(&t, NULL); /* ended early by a signal: whoever naps looks at the clock anyway */
}

void exec_clock_sharpen(void)
{
    prctl(PR_SET_TIMERSLACK, 1000UL); /* ns */
}

/* One byte pair each way: asks (rank 0's side) or answers with its clock. */
static enum ring_status ping(MPI_Comm comm, const struct exec_bound *bound, int peer, double *remote_s,
                             struct ring_error *error)
{
    MPI_Request requests[2];
    double asked = 0;

    enum ring_status status = exec_mpi(MPI_Irecv(remote_s, 1, MPI_DOUBLE, peer, PING_TAG, comm, &requests[0]),
                                       bound->rank, "ping", error);
    if (status == RING_OK)
        status = exec_mpi(MPI_Isend(&asked, 1, MPI_DOUBLE, peer, PING_TAG, comm, &requests[1]), bound->rank,
                          "ping", error);
    return status == RING_OK ? exec_await(bound, requests, 2, "a clock's answer", error) : status;
}

static enum ring_status pong(MPI_Comm comm, const struct exec_bound *bound, struct ring_error *error)
{
    MPI_Request request;
    double asked;

    enum ring_status status =
        exec_mpi(MPI_Irecv(&asked, 1, MPI_DOUBLE, 0, PING_TAG, comm, &request), bound->rank, "ping", error);
    if (status == RING_OK)
        status = exec_await(bound, &request, 1, "rank 0 to ask for the time", error);
    double mine_s = exec_clock_s();
    if (status == RING_OK)
        status = exec_mpi(MPI_Isend(&mine_s, 1, MPI_DOUBLE, 0, PING_TAG, comm, &request), bound->rank, "ping",
                          error);
    return status == RING_OK ? exec_await(bound, &request, 1, "rank 0 to hear the time", error) : status;
}

/* The fastest of some round trips has the least room for error: the remote clock was read about half way. */
static enum ring_status measure_offset(MPI_Comm comm, const struct exec_bound *bound, int peer,
                                       struct exec_clock *clock, struct ring_error *error)
{
    enum ring_status status = RING_OK;

    clock->error_s = 1e9;
    for (int i = 0; i < N_PINGS && status == RING_OK; i++) {
        double remote_s, begun_s = exec_clock_s();
        status = ping(comm, bound, peer, &remote_s, error);
        double ended_s = exec_clock_s();
        if (status == RING_OK && (ended_s - begun_s) / 2 < clock->error_s) {
            clock->error_s = (ended_s - begun_s) / 2;
            clock->offset_s = remote_s - (begun_s + ended_s) / 2;
        }
    }
    return status;
}

/* Rank 0 measures each machine's first rank in turn and tells it; that rank then tells its machine. */
static enum ring_status visit_hosts(MPI_Comm comm, const struct exec_bound *bound, const int *leaders,
                                    int n_ranks, struct exec_clock *clock, struct ring_error *error)
{
    enum ring_status status = RING_OK;
    double told[2] = {0, 0};

    for (int peer = 1; peer < n_ranks && status == RING_OK; peer++) {
        if (!leaders[peer] || (bound->rank != 0 && bound->rank != peer))
            continue;
        MPI_Request request;
        if (bound->rank == 0) {
            struct exec_clock theirs = {0};
            status = measure_offset(comm, bound, peer, &theirs, error);
            told[0] = theirs.offset_s;
            told[1] = theirs.error_s;
            if (status == RING_OK)
                status = exec_mpi(MPI_Isend(told, 2, MPI_DOUBLE, peer, PING_TAG, comm, &request), bound->rank,
                                  "clock offset", error);
        } else {
            for (int i = 0; i < N_PINGS && status == RING_OK; i++)
                status = pong(comm, bound, error);
            if (status == RING_OK)
                status = exec_mpi(MPI_Irecv(told, 2, MPI_DOUBLE, 0, PING_TAG, comm, &request), bound->rank,
                                  "clock offset", error);
        }
        if (status == RING_OK)
            status = exec_await(bound, &request, 1, "clock offset", error);
        if (bound->rank == peer) {
            clock->offset_s = told[0];
            clock->error_s = told[1];
        }
    }
    return status;
}

/* Each rank may be bound to a core of its own, or all to the same. */
static enum ring_status count_cores(MPI_Comm here, const struct exec_bound *bound, int *n_cores,
                                    struct ring_error *error)
{
    cpu_set_t cores;
    MPI_Request request;

    CPU_ZERO(&cores);
    if (sched_getaffinity(0, sizeof cores, &cores) != 0)
        CPU_SET(0, &cores);
    int code = MPI_Iallreduce(MPI_IN_PLACE, &cores, (int)sizeof cores, MPI_BYTE, MPI_BOR, here, &request);
    enum ring_status status = exec_mpi(code, bound->rank, "counting cores", error);
    if (status == RING_OK)
        status = exec_await(bound, &request, 1, "this machine's cores", error);
    *n_cores = CPU_COUNT(&cores);
    return status;
}

enum ring_status exec_clock_agree(MPI_Comm comm, const struct exec_bound *bound, struct exec_clock *clock,
                                  struct ring_error *error)
{
    MPI_Comm here;
    int n_ranks = 0;

    *clock = (struct exec_clock){0};
    enum ring_status status =
        exec_mpi(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here), bound->rank,
                 "finding the ranks of this machine", error);
    if (status != RING_OK)
        return status;
    MPI_Comm_size(comm, &n_ranks);
    MPI_Comm_size(here, &clock->ranks_here);
    MPI_Comm_rank(here, &clock->rank_here);

    status = count_cores(here, bound, &clock->cores_here, error);
    int *leaders = calloc((size_t)n_ranks, sizeof *leaders);
    int leads = clock->rank_here == 0;
    if (!leaders && status == RING_OK)
        status = ring_fail(error, RING_NO_MEMORY, "rank %d: out of memory", bound->rank);
    if (status == RING_OK)
        status = exec_gather(comm, bound, &leads, sizeof leads, leaders, "machines", error);
    if (status == RING_OK)
        status = exec_broadcast(comm, bound, 0, leaders, n_ranks * (int)sizeof *leaders, "machines", error);
    for (int i = 0; status == RING_OK && i < n_ranks; i++)
        clock->n_hosts += leaders[i];
    if (status == RING_OK)
        status = visit_hosts(comm, bound, leaders, n_ranks, clock, error);
    double agreed[2] = {clock->offset_s, clock->error_s};
    if (status == RING_OK)
        status = exec_broadcast(here, bound, 0, agreed, sizeof agreed, "this machine's clock offset", error);
    clock->offset_s = agreed[0];
    clock->error_s = agreed[1];
    free(leaders);
    if (status == RING_OK)
        MPI_Comm_free(&here);
    return status;
}
