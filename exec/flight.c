/* SPDX-License-Identifier: MIT
 *
 * Operations in flight: their memory, and their bytes' way into MPI. See flight.h. */
#include "exec/flight.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "exec/bounded.h"
#include "exec/chunk.h"

enum { POOL_FLIGHTS = 32 };

struct exec_pool {
    struct exec_flight flights[POOL_FLIGHTS];
    struct exec_pool *next;
};

void exec_hangar_init(struct exec_hangar *hangar)
{
    *hangar = (struct exec_hangar){.idle = NULL};
    hangar->messages.end = &hangar->messages.first;
    hangar->computes.end = &hangar->computes.first;
}

void exec_hangar_fini(struct exec_hangar *hangar)
{
    while (hangar->messages.first)
        exec_flight_remove(hangar, hangar->messages.first);
    while (hangar->pools) {
        struct exec_pool *pool = hangar->pools;
        hangar->pools = pool->next;
        free(pool);
    }
}

static bool grow(struct exec_hangar *hangar)
{
    struct exec_pool *pool = calloc(1, sizeof *pool);

    if (!pool)
        return false;
    pool->next = hangar->pools;
    hangar->pools = pool;
    for (int i = 0; i < POOL_FLIGHTS; i++) {
        pool->flights[i].next = hangar->idle;
        hangar->idle = &pool->flights[i];
    }
    return true;
}

static struct exec_queue *queue_of(struct exec_hangar *hangar, enum exec_flight_kind kind)
{
    return kind == EXEC_COMPUTE ? &hangar->computes : &hangar->messages;
}

struct exec_flight *exec_flight_add(struct exec_hangar *hangar, enum exec_flight_kind kind, double posted_s)
{
    struct exec_queue *queue = queue_of(hangar, kind);

    if (!hangar->idle && !grow(hangar))
        return NULL;
    struct exec_flight *flight = hangar->idle;
    hangar->idle = flight->next;
    *flight = (struct exec_flight){.kind = kind, .posted_s = posted_s, .begun_s = posted_s};
    *queue->end = flight;
    queue->end = &flight->next;
    return flight;
}

void exec_flight_remove(struct exec_hangar *hangar, struct exec_flight *flight)
{
    struct exec_queue *queue = queue_of(hangar, flight->kind);
    struct exec_flight **link = &queue->first;

    while (*link != flight)
        link = &(*link)->next;
    *link = flight->next;
    if (!flight->next)
        queue->end = link;
    if (flight->requests != flight->inline_requests)
        free(flight->requests);
    flight->requests = NULL;
    flight->next = hangar->idle;
    hangar->idle = flight;
}

enum ring_status exec_flight_start(struct exec_flight *flight, struct ring_buffer buffer, MPI_Comm comm,
                                   int rank, struct ring_error *error)
{
    uint64_t n_chunks = exec_chunk_count(buffer.bytes);
    int peer = (int)flight->message.peer, tag = (int)flight->message.tag;
    char what[128];
    enum ring_status status = RING_OK;

    flight->requests = n_chunks <= EXEC_INLINE_CHUNKS ? flight->inline_requests
                                                      : malloc((size_t)n_chunks * sizeof *flight->requests);
    if (!flight->requests)
        return ring_fail(error, RING_NO_MEMORY, "rank %d: out of memory for %" PRIu64 " chunks", rank,
                         n_chunks);
    exec_flight_describe(flight, what, sizeof what);
    for (uint64_t i = 0; i < n_chunks && status == RING_OK; i++) {
        char *data = buffer.bytes ? (char *)buffer.data + exec_chunk_offset(buffer.bytes, i) : buffer.data;
        int length = exec_chunk_length(buffer.bytes, i);
        MPI_Request *request = &flight->requests[i];
        status =
            exec_mpi(flight->kind == EXEC_SEND ? MPI_Isend(data, length, MPI_BYTE, peer, tag, comm, request)
                                               : MPI_Irecv(data, length, MPI_BYTE, peer, tag, comm, request),
                     rank, what, error);
        flight->n_requests += status == RING_OK;
    }
    return status;
}

enum ring_status exec_flight_test(struct exec_flight *flight, int rank, struct ring_error *error)
{
    int done = 0;
    /* Of one request, Open MPI looks again after moving bytes; of several, it does not. */
    int code = flight->n_requests == 1
                   ? MPI_Test(flight->requests, &done, MPI_STATUS_IGNORE)
                   : MPI_Testall(flight->n_requests, flight->requests, &done, MPI_STATUSES_IGNORE);

    if (code != MPI_SUCCESS) {
        char what[128];
        exec_flight_describe(flight, what, sizeof what);
        return exec_mpi(code, rank, what, error);
    }
    flight->done = done;
    return RING_OK;
}

void exec_flight_describe(const struct exec_flight *flight, char *out, size_t size)
{
    const struct ring_message *message = &flight->message;

    if (flight->kind == EXEC_COMPUTE) {
        snprintf(out, size, "step %" PRIu32 ": block %" PRIu32 " on the device", flight->task.step,
                 flight->task.block);
        return;
    }
    snprintf(out, size, "hop %" PRIu32 ": block %" PRIu32 " %s rank %" PRIu32, message->step, message->block,
             flight->kind == EXEC_SEND ? "to" : "from", message->peer);
}
