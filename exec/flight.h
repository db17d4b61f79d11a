/* SPDX-License-Identifier: MIT
 *
 * Operations between their post and their wait, as the MPI transport keeps them: messages that MPI moves and
 * computations that nobody has done yet. Inside exec/ only. */
#ifndef EXEC_FLIGHT_H
#define EXEC_FLIGHT_H

#include <mpi.h>
#include <stdbool.h>

#include "engine/transport.h"

enum exec_flight_kind { EXEC_SEND, EXEC_RECV, EXEC_COMPUTE };

enum { EXEC_INLINE_CHUNKS = 4 };

struct exec_flight {
    enum exec_flight_kind kind;
    struct ring_message message; /* of a send or receive */
    struct ring_task task;       /* of a computation */
    MPI_Request *requests;       /* a chunk each; inline_requests, or our own memory for very long messages */
    int n_requests;
    MPI_Request inline_requests[EXEC_INLINE_CHUNKS];
    bool done;
    bool looked_at; /* since its post */
    bool held;      /* a send that is not to begin before due_s */
    double due_s;
    struct ring_buffer buffer; /* of a send or receive */
    void *work;                /* a worker's own */
    bool endures;              /* a computation that a worker has done, and that is to last until ended_s */
    double posted_s, begun_s, ended_s;
    struct exec_flight *next;
};

/* Those in flight of one kind, oldest first. */
struct exec_queue {
    struct exec_flight *first, **end;
};

/* All flights of a transport. Memory grows to the most that were ever in flight and is kept. */
struct exec_hangar {
    struct exec_queue messages, computes;
    struct exec_flight *idle;
    struct exec_pool *pools;
};

void exec_hangar_init(struct exec_hangar *hangar);
void exec_hangar_fini(struct exec_hangar *hangar);

/* A new flight at the end of the queue of its kind; NULL: out of memory. */
struct exec_flight *exec_flight_add(struct exec_hangar *hangar, enum exec_flight_kind kind, double posted_s);
/* Takes it out again, for good. */
void exec_flight_remove(struct exec_hangar *hangar, struct exec_flight *flight);

/* Hands a send's or receive's bytes to MPI, in chunks. */
enum ring_status exec_flight_start(struct exec_flight *flight, struct ring_buffer buffer, MPI_Comm comm,
                                   int rank, struct ring_error *error);
/* Asks MPI whether it has arrived; sets done. */
enum ring_status exec_flight_test(struct exec_flight *flight, int rank, struct ring_error *error);

/* "hop 3: block 2 from rank 1", "hop 0: block 1 to rank 2", "step 4: block 1 on the device": for errors. */
void exec_flight_describe(const struct exec_flight *flight, char *out, size_t size);

#endif
