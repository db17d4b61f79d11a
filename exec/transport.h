/* SPDX-License-Identifier: MIT
 *
 * The real world behind the engine's five calls: MPI between processes, the host's clock, and a CPU that
 * computes.
 *
 * On a CPU the thread that calls MPI computes too, so post_compute only records the task; the next wait - for
 * whatever - does the pending work first, piece by piece, alone or with the rank's other threads (crew.h).
 * What becomes of messages meanwhile is the progress setting, and makes all the difference: MPI moves a large
 * message only while somebody calls it.
 *
 *   poll    between pieces the messages in flight are tested, often enough for ten looks at each
 *   none    nothing is tested before the work is done, so nothing large moves
 *   thread  a thread beside this one tests them; the work is not interrupted (helper.h)
 *
 * A device computes by itself, and its blocks may have to be fetched before MPI can have them: then workers
 * (struct exec_worker) do both, wait polls them and MPI together, and progress makes no difference.
 *
 * In a trace, time that a poll took (a copy through shared memory runs inside one) is not computation: such a
 * computation's interval is shown as if the polls had all come after it, which leaves sums and ends true. */
#ifndef EXEC_TRANSPORT_H
#define EXEC_TRANSPORT_H

#include <mpi.h>

#include "engine/transport.h"
#include "exec/bounded.h"
#include "exec/crew.h"
#include "exec/hardship.h"
#include "models/ring.h"

struct exec_flight;

/* Who does the work of an operation in flight where it is not this processor or plain MPI: a device's
 * (exec/cuda/). start begins it and returns at once, test asks how it is and sets done (of a computation also
 * begun_s and ended_s), drop forgets one that is not done. What it needs meanwhile is flight->work. */
struct exec_worker {
    enum ring_status (*start)(void *context, struct exec_flight *flight, struct ring_error *error);
    enum ring_status (*test)(void *context, struct exec_flight *flight, struct ring_error *error);
    void (*drop)(void *context, struct exec_flight *flight);
    void *context;
};

/* What a computation is. */
struct exec_compute {
    const struct ring_compute *kernel; /* real work; NULL: timed, or nothing at all if block_s is 0 too */
    double block_s;                    /* > 0: every block takes exactly so long, whatever the kernel */
    double backward_block_s;           /* the same in a backward pass; 0: 2.5 * block_s */
    bool core_free;                    /* a timed block sleeps rather than spins */
    const struct exec_worker *worker;  /* computes by itself, from the post on, in place of all the above */
};

/* For tests of what happens when a rank is lost: the signal this rank sends itself when it is to send hop. */
struct exec_fault {
    int signal; /* 0: none */
    uint32_t hop;
};

struct exec_transport_spec {
    MPI_Comm comm; /* borrowed, and duplicated: our tags meet nobody else's */
    enum model_progress progress;
    struct exec_compute compute;
    const struct exec_worker *mover; /* moves the messages; NULL: MPI, from and to where they lie */
    struct exec_bound bound;
    double clock_offset_s; /* from struct exec_clock */
    struct exec_fault fault;
    struct exec_hardship *hardship; /* what this rank has to endure; borrowed; NULL: nothing */
    bool spare_core;                /* for progress: thread, a core that nobody computes on */
    bool count_copies;              /* see exec_transport_copy_cpu_s; costs a system call a look */
};

struct exec_transport;

/* Collective over spec->comm. Sets that communicator's errors to return. RING_WORLD, RING_NO_MEMORY. */
enum ring_status exec_transport_open(struct exec_transport **out, const struct exec_transport_spec *spec,
                                     struct ring_error *error);
/* Collective if the run went well; after a failure, with messages still in flight, it leaves MPI alone. */
void exec_transport_close(struct exec_transport *transport);

/* What the engine takes. Valid until close. */
struct ring_transport *exec_transport_base(struct exec_transport *transport);

/* Changes what computing is from here on; nothing may be in flight. */
void exec_transport_set_compute(struct exec_transport *transport, const struct exec_compute *compute);

/* Bytes posted to be sent since open, to others and to itself. */
uint64_t exec_transport_bytes_sent(const struct exec_transport *transport);

/* Of a rank's threads beside its own, while they worked, since open. */
struct exec_crew_time exec_transport_crew_time(const struct exec_transport *transport);

/* Processor time that went into copying what was received through shared memory, since open. */
double exec_transport_copy_cpu_s(const struct exec_transport *transport);

#endif
