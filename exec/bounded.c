/* SPDX-License-Identifier: MIT
 *
 * Waiting that ends. See bounded.h. */
#include "exec/bounded.h"

#include <sched.h>
#include <string.h>

#include "exec/chunk.h"
#include "exec/clock.h"

/* How long a wait spins before it starts to sleep, and how its sleeps grow. A sleeping rank answers late, so
 * one with a core to itself spins for longer than any hop that is worth measuring. */
#define SPIN_S             0.02
#define CROWDED_SPIN_S     0.0002
#define FIRST_NAP_S        20e-6
#define CROWDED_LAST_NAP_S 100e-6
#define LAST_NAP_S         1e-3

/* The longest that a rank may work alone. */
#define ALONE_TIMEOUT_S 3600.0

struct exec_patience exec_patience_begin(const struct exec_bound *bound)
{
    return (struct exec_patience){bound, exec_clock_s(), FIRST_NAP_S};
}

enum ring_status exec_patience_pause(struct exec_patience *patience)
{
    const struct exec_bound *bound = patience->bound;
    double waited_s = exec_clock_s() - patience->begun_s;

    if (exec_stopped(bound))
        return RING_WORLD;
    if (waited_s > bound->timeout_s)
        return RING_TIMED_OUT;
    if (waited_s < (bound->crowded ? CROWDED_SPIN_S : SPIN_S)) {
        if (bound->crowded)
            sched_yield();
        return RING_OK;
    }
    exec_nap(patience->nap_s);
    double last_s = bound->crowded && waited_s < SPIN_S ? CROWDED_LAST_NAP_S : LAST_NAP_S;
    patience->nap_s = patience->nap_s * 2 < last_s ? patience->nap_s * 2 : last_s;
    return RING_OK;
}

enum ring_status exec_mpi(int code, int rank, const char *what, struct ring_error *error)
{
    char text[MPI_MAX_ERROR_STRING + 1] = "";
    int length = 0;

    if (code == MPI_SUCCESS)
        return RING_OK;
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS)
        length = 0;
    text[length] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return ring_fail(error, RING_WORLD, "rank %d: %s: %s", rank, what, text);
}

enum ring_status exec_await(const struct exec_bound *bound, MPI_Request *requests, int n_requests,
                            const char *what, struct ring_error *error)
{
    struct exec_patience patience = exec_patience_begin(bound);

    if (exec_stopped(bound)) /* with one rank nothing is ever waited for, and this is the place to see it */
        return ring_fail(error, RING_WORLD, "rank %d: stopped from outside before %s", bound->rank, what);
    for (;;) {
        int done = 0;
        enum ring_status status =
            exec_mpi(MPI_Testall(n_requests, requests, &done, MPI_STATUSES_IGNORE), bound->rank, what, error);
        if (status != RING_OK || done)
            return status;
        status = exec_patience_pause(&patience);
        if (status == RING_TIMED_OUT)
            return ring_fail(error, status, "rank %d: waiting for %s: no end after %g s", bound->rank, what,
                             bound->timeout_s);
        if (status != RING_OK)
            return ring_fail(error, status, "rank %d: stopped from outside while waiting for %s", bound->rank,
                             what);
    }
}

/* A collective that was begun with that code. */
static enum ring_status finish(int code, const struct exec_bound *bound, MPI_Request *request,
                               const char *what, struct ring_error *error)
{
    enum ring_status status = exec_mpi(code, bound->rank, what, error);
    return status == RING_OK ? exec_await(bound, request, 1, what, error) : status;
}

enum ring_status exec_barrier(MPI_Comm comm, const struct exec_bound *bound, const char *what,
                              struct ring_error *error)
{
    MPI_Request request;
    return finish(MPI_Ibarrier(comm, &request), bound, &request, what, error);
}

enum ring_status exec_broadcast(MPI_Comm comm, const struct exec_bound *bound, int root, void *data,
                                int bytes, const char *what, struct ring_error *error)
{
    MPI_Request request;
    return finish(MPI_Ibcast(data, bytes, MPI_BYTE, root, comm, &request), bound, &request, what, error);
}

enum ring_status exec_maximum(MPI_Comm comm, const struct exec_bound *bound, double *values, int n_values,
                              const char *what, struct ring_error *error)
{
    MPI_Request request;
    return finish(MPI_Iallreduce(MPI_IN_PLACE, values, n_values, MPI_DOUBLE, MPI_MAX, comm, &request), bound,
                  &request, what, error);
}

enum ring_status exec_gather(MPI_Comm comm, const struct exec_bound *bound, const void *mine, int bytes,
                             void *gathered, const char *what, struct ring_error *error)
{
    MPI_Request request;
    return finish(MPI_Igather(mine, bytes, MPI_BYTE, gathered, bytes, MPI_BYTE, 0, comm, &request), bound,
                  &request, what, error);
}

enum ring_status exec_collect(MPI_Comm comm, const struct exec_bound *bound, int source, const void *mine,
                              uint64_t bytes, void *received, const char *what, struct ring_error *error)
{
    enum { TAG = 1 };
    enum ring_status status = RING_OK;

    if (source == 0 && bound->rank == 0)
        memcpy(received, mine, bytes);
    if (source == 0 || (bound->rank != 0 && bound->rank != source))
        return RING_OK;
    for (uint64_t i = 0; i < exec_chunk_count(bytes) && status == RING_OK; i++) {
        uint64_t offset = exec_chunk_offset(bytes, i);
        int length = exec_chunk_length(bytes, i);
        MPI_Request request;
        int code = bound->rank == source
                       ? MPI_Isend((const char *)mine + offset, length, MPI_BYTE, 0, TAG, comm, &request)
                       : MPI_Irecv((char *)received + offset, length, MPI_BYTE, source, TAG, comm, &request);
        status = finish(code, bound, &request, what, error);
    }
    return status;
}

enum ring_status exec_agree(MPI_Comm comm, const struct exec_bound *bound, enum ring_status status,
                            struct ring_error *error)
{
    int n_ranks = 0;
    MPI_Comm_size(comm, &n_ranks);
    double blame = status == RING_OK ? 0 : n_ranks - bound->rank;
    enum ring_status met = exec_maximum(comm, bound, &blame, 1, "all ranks to be ready", error);

    if (met != RING_OK || blame == 0)
        return met;
    struct {
        enum ring_status status;
        struct ring_error error;
    } word = {.status = status};
    if (error)
        word.error = *error;
    met = exec_broadcast(comm, bound, n_ranks - (int)blame, &word, sizeof word, "the reason to stop", error);
    if (met == RING_OK && error)
        *error = word.error;
    return met == RING_OK ? word.status : met;
}

enum ring_status exec_agree_when_done(MPI_Comm comm, const struct exec_bound *bound, enum ring_status status,
                                      struct ring_error *error)
{
    struct exec_bound patient = *bound;

    if (patient.timeout_s < ALONE_TIMEOUT_S)
        patient.timeout_s = ALONE_TIMEOUT_S;
    return exec_agree(comm, &patient, status, error);
}
