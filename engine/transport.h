/* SPDX-License-Identifier: MIT
 *
 * The door between the engine and a world: five calls. A world may be a simulated cluster, MPI processes, or
 * a recorder in a test; the engine cannot tell and must not ask.
 *
 *   post_send, post_recv  start moving one buffer to or from a peer; return at once
 *   post_compute          start working on the block in hand; returns at once
 *   wait                  returns when one request is finished (it may do pending work meanwhile)
 *   now                   seconds on the world's clock; never goes back
 *
 * Promises. Messages between two ranks with equal tags arrive in the order posted. A buffer must stay
 * untouched until its request is waited for. Every request is waited for exactly once. A send may need the
 * peer's receive to be posted before it finishes (rendezvous); two ranks that both post before they wait
 * never block each other. A computation must be finished before its wait returns, and may begin at any time
 * after its post. Sending to oneself is legal. A message, a buffer's two words and a task are copied by the
 * call that takes them: they need not outlive it. Calls return RING_OK, or fail for good: after a failure the
 * run is over. */
#ifndef RING_TRANSPORT_H
#define RING_TRANSPORT_H

#include <stdint.h>

#include "engine/plan.h"
#include "engine/status.h"

/* Borrowed memory. data may be NULL in a world that only counts bytes. */
struct ring_buffer {
    void *data;
    uint64_t bytes;
};

/* One job of a rank's device. Blocks are [batch][kv_heads][block's tokens][head_dim], row-major: K then V in
 * kv, dK then dV in the other two. */
struct ring_task {
    enum ring_job job;
    uint32_t rank;
    uint32_t step;
    uint32_t block;
    bool first;                      /* see struct ring_plan_step; for an add: begins */
    struct ring_work work;           /* of the attention jobs */
    struct ring_buffer kv;           /* of the attention jobs */
    struct ring_buffer contribution; /* fp32; a backward job overwrites it, an add reads it */
    struct ring_buffer gradient;     /* of the plan's gradient dtype; an add adds to it, or begins it */
};

/* One operation in flight; the caller's memory, so that posting allocates nothing. A request may not be moved
 * while in flight. begun_s and ended_s are set when wait returns, on the clock of now(): for a computation,
 * when it really ran; for a message, when its bytes began and ended moving as far as this side can tell
 * (begun_s is the time of the post where it cannot). */
struct ring_request {
    void *handle;   /* the world's own */
    uint32_t index; /* the world's own */
    uint32_t row;   /* a wrapping transport's own (trace.h) */
    double begun_s;
    double ended_s;
};

struct ring_transport;

struct ring_transport_ops {
    enum ring_status (*post_send)(struct ring_transport *transport, const struct ring_message *message,
                                  struct ring_buffer buffer, struct ring_request *request);
    enum ring_status (*post_recv)(struct ring_transport *transport, const struct ring_message *message,
                                  struct ring_buffer buffer, struct ring_request *request);
    enum ring_status (*post_compute)(struct ring_transport *transport, const struct ring_task *task,
                                     struct ring_request *request);
    enum ring_status (*wait)(struct ring_transport *transport, struct ring_request *request);
    double (*now)(struct ring_transport *transport);
};

/* Embed as the first member of a world's own struct. error holds the line of the call that failed. */
struct ring_transport {
    const struct ring_transport_ops *ops;
    struct ring_error error;
};

/* How a world that carries real data does a task's arithmetic: supplied by whoever owns the data, so that the
 * same kernel serves every world. A task is cut into pieces that are run once each, in order, so that a world
 * can look after its messages in between. context is the owner's.
 *
 * Where n_hands > 1, so many threads of a world may also share a task: after share each of them, numbered
 * from 0, calls lend until nothing is left for it, in place of the two calls above. The result is the same,
 * bit for bit, however many hands come. */
enum ring_lent {
    RING_LENT_WORK,    /* a piece was done */
    RING_LENT_WAITING, /* the next piece waits for another hand's: come again */
    RING_LENT_ALL,     /* nothing is left to be taken up; other hands may still be at work */
};
struct ring_compute {
    uint32_t (*n_pieces)(void *context, const struct ring_task *task);
    enum ring_status (*run_piece)(void *context, const struct ring_task *task, uint32_t piece,
                                  struct ring_error *error);
    void *context;
    uint32_t n_hands;
    void (*share)(void *context, const struct ring_task *task);
    enum ring_status (*lend)(void *context, const struct ring_task *task, uint32_t hand, enum ring_lent *lent,
                             struct ring_error *error);
};

#endif
