/* SPDX-License-Identifier: MIT
 *
 * What dataflow.c (ranks and their waits) and mail.c (messages and their times) share. Internal to both. */
#ifndef MODEL_DATAFLOW_H
#define MODEL_DATAFLOW_H

#include "models/play.h"

enum { NONE = UINT32_MAX }; /* no hop, no receive */

/* A receive lives in its slot from post to wait. */
enum inbox_state {
    FREE,
    POSTED,
    MATCHED,
    MOVED
}; /* MATCHED: a lazy message that the receiver must come for */
struct inbox {
    enum inbox_state state;
    uint32_t hop, tag;
    uint32_t parcel; /* from MATCHED on: which of the hop's */
    uint32_t block, step;
    uint32_t next; /* receive of the same hop posted after this one, as an index of inboxes */
    uint64_t bytes;
    double posted_s, movable_s, moved_s;
};

/* A message from its sender's post to its sender's wait. */
struct parcel {
    bool sending, taken, moved; /* sending: until waited for; taken: met its receive; moved: has a time */
    bool stuck;                 /* it will never have one, for its way has died */
    uint32_t tag, inbox;        /* inbox: as an index, from taken on */
    uint32_t block;
    uint64_t bytes;
    double posted_s, movable_s, moved_s; /* movable_s: if not lazy, from taken on */
};

/* A hop has at most two messages that are posted and not yet waited for by their sender, of one step. */
enum { MAX_PARCELS = 2 };
struct flow {
    uint32_t source, target;
    uint32_t step; /* the sender's, that the parcels are of */
    struct parcel parcels[MAX_PARCELS];
    uint32_t first, last; /* receives that wait for a message, NONE if empty */
};

enum phase { POSTING, RECEIVING, SENDING, DONE };
struct rank_state {
    enum phase phase;
    uint32_t step, next_wait; /* of the phase */
    double begin_s, computed_s, now_s;
    struct ring_parts parts;
    bool queued;
};

struct machine {
    struct model_play *play;
    const struct ring_plan *plan;
    struct rank_state *ranks;     /* [n_ranks] */
    struct ring_plan_step *steps; /* [n_ranks] the one each rank is in */
    struct inbox *inboxes;        /* [n_ranks][n_slots] */
    uint32_t *outboxes;           /* [n_ranks][n_slots] MAX_PARCELS * hop + parcel, or NONE */
    struct flow *flows;           /* [n_hops] */
    uint32_t *queue;              /* ranks that can go on; a ring of n_ranks */
    uint32_t queue_head, n_queued;
    struct ring_error *error;
};

/* Lets a rank be taken up again. */
void model_wake(struct machine *machine, uint32_t rank);

static inline struct inbox *inbox_of(struct machine *machine, uint32_t rank, uint32_t slot)
{
    return &machine->inboxes[(size_t)rank * machine->plan->n_slots + slot];
}

static inline uint32_t *outbox_of(struct machine *machine, uint32_t rank, uint32_t slot)
{
    return &machine->outboxes[(size_t)rank * machine->plan->n_slots + slot];
}

static inline double later(double a, double b)
{
    return a > b ? a : b;
}

/* Posts at the beginning of the rank's step; sends are let go when all of the step have been posted.
 * RING_BAD_INPUT, RING_UNSUPPORTED: see recurrence.h. */
enum ring_status model_mail_post_receive(struct machine *machine, uint32_t rank,
                                         const struct ring_message *message);
enum ring_status model_mail_post_send(struct machine *machine, uint32_t rank,
                                      const struct ring_message *message);
enum ring_status model_mail_let_go(struct machine *machine, uint32_t rank,
                                   const struct ring_message *message);

/* When no rank can go on: of all messages that could be slowed by a second one on their hop, which nobody can
 * post any more before, gives the earliest its time. False if there is none. */
bool model_mail_settle_earliest(struct machine *machine);

/* Takes the rank's clock to the end of one wait; false if that has no time yet. */
bool model_mail_wait_receive(struct machine *machine, uint32_t rank, struct inbox *inbox);
bool model_mail_wait_send(struct machine *machine, uint32_t rank, uint32_t *outbox);

#endif
