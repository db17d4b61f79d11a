/* SPDX-License-Identifier: MIT
 *
 * The simulated world from inside: one actor a rank, who blocks in its waits; couriers, who carry out errands
 * (a message's flow, a block's computation) and note when they ended; and the world, who notices when nobody
 * can go on. Everything happens in one thread, in simulated time; nothing here outlives sim_world_play. */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include <simgrid/forward.h>

#include "engine/transport.h"
#include "models/ring.h"

/* What a rank does with its transport; error holds the line of a failure. */
typedef enum ring_status (*sim_body)(void *context, uint32_t rank, struct ring_transport *transport,
                                     struct ring_error *error);

struct sim_play {
    const struct model_ring *ring;
    const struct ring_compute *compute; /* [n_ranks], or NULL: computations only take time */
    sim_body body;
    void *context;
};

/* Plays body on every rank, once in the life of this process (see child.h). ends_s [n_ranks]: when each
 * rank's body returned. The first failure of a rank ends the run. RING_DEADLOCK with who waits for whom at
 * which hop. */
enum ring_status sim_world_play(const struct sim_play *play, double *ends_s, struct ring_error *error);

/* --- for the files of this folder alone --- */

enum sim_errand_kind { SIM_MESSAGE, SIM_COMPUTATION };

/* READY: nothing stands against its beginning, which must be arranged before any time passes. CLOCKED: a
 * computation on a device of its rank's own, whose end is known from the beginning (never, if it is
 * infinite). STRANDED: a message whose way died while it moved. */
enum sim_stage { SIM_POSTED, SIM_READY, SIM_MOVING, SIM_CLOCKED, SIM_STRANDED, SIM_DONE };

/* Something that takes simulated time: a message from its first post to its last wait, or a computation. */
struct sim_errand {
    enum sim_errand_kind kind;
    enum sim_stage stage;
    double begun_s, ended_s;
    struct sim_errand *next; /* in its hop's queue, its rank's computations, or the spare ones */

    uint32_t rank;  /* of the computation; the sender of the message */
    double alone_s; /* the computation's time alone on its device */

    const struct model_hop *hop;
    struct ring_message message; /* as posted first */
    bool sent, received;         /* the ends that have posted */
    bool may_move;               /* the receiver lets it: from its post on, or only while it waits (lazy) */
    const void *from;
    void *to;
    uint64_t from_bytes, to_bytes;
    unsigned n_waits_left;
    struct sim_errand *next_of_seat; /* in its receiver's ready or lazy ones */
};

struct sim_seat {
    struct ring_transport base;
    struct sim_world *world;
    uint32_t rank;
    sg_host_t host;
    bool alone;                      /* no other rank computes on its device */
    sg_sem_t gate;                   /* opened when the errand that the rank awaits can be taken further */
    const struct sim_errand *awaits; /* NULL: the rank runs, sleeps, carries or has finished */
    struct sim_errand *computations; /* posted and not done */
    struct sim_errand *ready;        /* messages to this rank that its own call has made ready */
    struct sim_errand *lazy;         /* receives posted and not yet waited for, of lazy hops */
    double end_s;
};

struct sim_courier {
    struct sim_world *world;
    sg_sem_t gate;
    struct sim_errand *errand;
    struct sim_courier *next; /* of the idle ones */
};

struct sim_faults;

struct sim_world {
    struct sim_play play;
    struct sim_seat *seats;
    struct sim_errand **queues; /* by hop: messages that one end has posted, in order */
    struct sim_errand *spare;
    struct sim_courier *idle;
    struct sim_faults *faults; /* see faults.h; NULL: no link changes */
    uint32_t n_blocked, n_finished,
        n_errands;           /* ranks in a wait; ranks that returned; errands with couriers */
    enum ring_status status; /* not RING_OK: the run is over */
    struct ring_error error;
};

/* Makes seat's transport. */
void sim_transport_init(struct sim_seat *seat);
/* Lets the lazy messages to this rank move although it waits for something else. */
void sim_transport_hurry(struct sim_seat *seat);

/* Carries out an errand, here and now; returns when it has ended. */
void sim_errand_carry(struct sim_world *world, struct sim_errand *errand);
/* Has a courier do it. */
void sim_courier_send(struct sim_world *world, struct sim_errand *errand);
/* Lets all idle couriers go home; the busy ones follow. */
void sim_couriers_dismiss(struct sim_world *world);
/* The errand has ended now: moves the data, lets whoever awaits it go on. */
void sim_errand_end(struct sim_world *world, struct sim_errand *errand);

/* Blocks seat's actor until the errand is done, and carries it if nobody else does. Fails if the run is over,
 * by anybody's fault. */
enum ring_status sim_world_await(struct sim_seat *seat, struct sim_errand *errand);
/* Lets seat's actor go on if it awaits this errand. */
void sim_seat_wake(struct sim_seat *seat, const struct sim_errand *errand);

/* Ends the run with a failure, unless it has ended with another before. */
void sim_world_fail(struct sim_world *world, enum ring_status status, const char *line);

/* To be called when something that could have let a rank go on has come to its end. */
void sim_world_check_progress(struct sim_world *world);

#endif
