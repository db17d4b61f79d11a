/* SPDX-License-Identifier: MIT
 *
 * A plan says who computes, sends and receives which block at which step: integers only, no data, no time, no
 * world. Peer arithmetic lives in the files of plans/ and nowhere else. A plan is not stored: each (rank,
 * step) is generated on demand, so that a ring of 16384 costs no memory; struct ring_plan is a few words and
 * can be copied.
 *
 * The engine (run.h) executes a plan, the checker (check.h) proves one, models/ prices one. A new schedule is
 * one file in plans/ and one row in the table of plan.c. */
#ifndef RING_PLAN_H
#define RING_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/layout.h"
#include "engine/problem.h"
#include "engine/work.h"

enum {
    RING_MIN_BUFFERS = 2,
    RING_MAX_BUFFERS = 16,
    RING_MAX_POSTS = RING_MAX_BUFFERS + 1, /* messages that one step may post or await, each way */
    RING_TAG_LIMIT = 32768, /* every tag is below it: the smallest bound MPI promises is 32767 */
};

/* A slot is a numbered piece of a rank's memory. ring_plan_slot says what each is for. Slot 0 is home: the
 * rank's own K/V, which never moves and is never overwritten. */
enum { RING_HOME_SLOT = 0 };

/* What a slot holds and a message carries. */
enum ring_payload {
    RING_KV,           /* a block's K and V, in the problem's dtype */
    RING_GRADIENT,     /* a block's dK and dV, summed over the ranks they have visited, in the plan's gradient
                          dtype */
    RING_CONTRIBUTION, /* one rank's own dK and dV for the block in hand, in fp32; never sent */
};

/* One block on its way over one hop. */
struct ring_message {
    enum ring_payload payload; /* RING_KV or RING_GRADIENT */
    uint32_t peer;             /* the other rank */
    uint32_t tag;              /* < RING_TAG_LIMIT, equal at both ends */
    uint32_t step;             /* the step that both ends post or await it in: the hop */
    uint32_t block;            /* the rank whose K/V (or gradient) it is */
    uint32_t slot;             /* where it leaves from or lands, on this side */
    uint64_t bytes;
};

/* What a device is asked to do with a block. */
enum ring_job {
    RING_JOB_FORWARD,  /* attend own queries to the block's keys; fold into the running (m, l, o) */
    RING_JOB_BACKWARD, /* add to own dQ; write the block's contribution to dK and dV */
    RING_JOB_ADD,      /* add a contribution to a gradient that has arrived, or begin one with it */
};

/* What one rank does in one step, in this order: post the receives, post the sends, post the compute; then
 * wait for the receives in await_receive_slots, the compute, and the sends in await_send_slots; then, in a
 * backward pass, add the contribution to the gradient. When the step ends, the block of the next step is in
 * hand and the slots of finished sends may be overwritten. */
struct ring_plan_step {
    uint32_t n_receives, n_sends;
    struct ring_message receives[RING_MAX_POSTS];
    struct ring_message sends[RING_MAX_POSTS];

    bool computes;     /* false: every pair is masked (or the step only moves data); the rank only forwards */
    enum ring_job job; /* forward or backward */
    bool first;        /* the first computation of its pass: a backward one also prepares delta */
    uint32_t block, slot;       /* the block in hand and where its K/V are */
    struct ring_work work;      /* visible_pairs > 0 exactly if computes */
    uint32_t contribution_slot; /* where a backward job writes */

    uint32_t n_await_receives, n_await_sends;
    uint32_t await_receive_slots[RING_MAX_POSTS];
    uint32_t await_send_slots[RING_MAX_POSTS];

    bool adds;              /* after the waits: gradient_slot += contribution_slot */
    bool begins;            /* the gradient's first contribution: gradient_slot = contribution_slot */
    uint32_t gradient_slot; /* holds (or begins) the gradient of the block in hand */
};

struct ring_plan;

/* One schedule: a row in the table of plan.c. */
struct ring_plan_kind {
    const char *name; /* "ring": the value of ring.strategy in a scenario */
    /* RING_BAD_INPUT if the settings do not fit this schedule; sets n_steps,
     * backward_step, n_slots and own_gradient_slot. */
    enum ring_status (*init)(struct ring_plan *plan, struct ring_error *error);
    void (*step)(const struct ring_plan *plan, uint32_t rank, uint32_t step, struct ring_plan_step *out);
    /* the ranks that rank ever sends to, ascending, into out (room for n_ranks); returns how many */
    uint32_t (*targets)(const struct ring_plan *plan, uint32_t rank, uint32_t *out);
    /* what a slot is for */
    enum ring_payload (*slot)(const struct ring_plan *plan, uint32_t slot);
    /* Set if the schedule is regular: at any step all ranks post, await and use the same slots, each sends
     * its messages to one rank and gets them from one, and those are at most the whole block in hand and
     * then, in a backward pass, the gradient of the block of the step before. The first n_ranks steps of a
     * pass work on the block in hand. Blocks go from rank to rank + 1, so the one in hand s steps into a pass
     * is that of rank - s at its start. Returns the block that rank has in hand at so many steps into a pass;
     * work and bytes follow from it. models/ prices such a plan without generating every rank's step. */
    uint32_t (*block)(const struct ring_plan *plan, uint32_t rank, uint32_t step);
};

struct ring_plan {
    const struct ring_plan_kind *kind;
    struct ring_problem problem;
    struct ring_layout layout;
    enum ring_pass pass;
    uint32_t n_ranks;
    uint32_t n_buffers;             /* travelling K/V buffers a rank, >= 2; more receive further ahead */
    enum ring_dtype gradient_dtype; /* in which dK and dV travel */
    bool keep_kv;                   /* pass both: forward keeps every block, backward moves gradients only */
    uint32_t n_steps;
    uint32_t backward_step;      /* the first of the backward pass; n_steps: there is none */
    uint32_t n_slots;            /* slots a rank needs, home included */
    uint32_t own_gradient_slot;  /* 0: no backward pass */
    struct ring_work by_side[3]; /* memo for even shards: block before, at, after the rank */
    uint64_t even_block_bytes;   /* memo for even shards */
    bool even;                   /* all shards have the same shape, so by_side holds */
};

/* What a plan is made from; a plain value that config fills. */
struct ring_plan_spec {
    const char *strategy; /* a name of ring_plan_kinds */
    struct ring_problem problem;
    enum ring_layout_kind layout;
    enum ring_pass pass;
    uint32_t n_ranks;
    uint32_t n_buffers;
    enum ring_dtype gradient_dtype; /* fp32 or the problem's dtype; matters for backward */
    bool keep_kv;                   /* matters for both */
};

/* All schedules, ended by NULL; the first is the default. */
extern const struct ring_plan_kind *const ring_plan_kinds[];

/* RING_BAD_INPUT with the field and what would fit: everything that problem, layout and schedule refuse. */
enum ring_status ring_plan_init(struct ring_plan *plan, const struct ring_plan_spec *spec,
                                struct ring_error *error);

/* Generates rank's step < n_steps. Only the first n_* entries of each array are set. */
void ring_plan_step(const struct ring_plan *plan, uint32_t rank, uint32_t step, struct ring_plan_step *out);

/* The ranks that rank ever sends to, ascending, into out (room for n_ranks); returns how many. */
uint32_t ring_plan_targets(const struct ring_plan *plan, uint32_t rank, uint32_t *out);

/* Work of rank's queries on a block's keys: ring_work_count with the memo. */
struct ring_work ring_plan_work(const struct ring_plan *plan, uint32_t rank, uint32_t block);

/* Bytes of a block's K and V, as they travel. */
uint64_t ring_plan_block_bytes(const struct ring_plan *plan, uint32_t block);

/* Bytes of a block's payload: K and V, or dK and dV in the type they have there. */
uint64_t ring_plan_payload_bytes(const struct ring_plan *plan, enum ring_payload payload, uint32_t block);

/* What a slot < n_slots is for. */
enum ring_payload ring_plan_slot(const struct ring_plan *plan, uint32_t slot);

/* The slot that holds the rank's own dK and dV, fully summed, when a backward pass has ended; 0 if there is
 * none. */
uint32_t ring_plan_own_gradient_slot(const struct ring_plan *plan);

/* Bytes that a slot must hold: the rank's own block for home and the own gradient, the largest block
 * elsewhere. */
uint64_t ring_plan_slot_bytes(const struct ring_plan *plan, uint32_t rank, uint32_t slot);

/* Bytes that a rank sends over the whole plan; the invariant that every run is held to. */
uint64_t ring_plan_bytes_sent(const struct ring_plan *plan, uint32_t rank);

/* Whether all ranks send and hold equally much: even shards under a regular schedule. Then one rank's bytes
 * are every rank's, and a ring of thousands need not be walked rank by rank. */
bool ring_plan_alike(const struct ring_plan *plan);

/* The pass that a step belongs to, forward or backward. */
static inline enum ring_pass ring_plan_step_pass(const struct ring_plan *plan, uint32_t step)
{
    return step < plan->backward_step ? RING_PASS_FORWARD : RING_PASS_BACKWARD;
}

/* Of those that ring_plan_bytes_sent counts, the bytes of one pass: forward or backward; both: all. */
uint64_t ring_plan_pass_bytes(const struct ring_plan *plan, uint32_t rank, enum ring_pass pass);

#endif
