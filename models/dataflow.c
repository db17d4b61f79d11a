/* SPDX-License-Identifier: MIT
 *
 * The recurrence for any schedule: each rank is followed through its plan until it waits for something that
 * has no time yet, and is taken up again when that gets one. Times depend only on times that are final, so
 * the order in which ranks are taken up changes nothing; when none can be taken up and some are not done, the
 * schedule deadlocks. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "models/play.h"

enum { NONE = UINT32_MAX };

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
    uint32_t next; /* receive of the same hop posted after this one, as an index of inboxes */
    uint64_t bytes;
    double posted_s, send_posted_s, movable_s, moved_s;
};

/* A hop has at most one message that is posted and not yet waited for by its sender. */
struct flow {
    bool sending, taken, moved; /* sending: until waited for; taken: met its receive; moved: has a time */
    uint32_t tag, source, target;
    uint64_t bytes;
    double posted_s, movable_s, moved_s;
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
    uint32_t *outboxes;           /* [n_ranks][n_slots] hop of the send in flight, or NONE */
    struct flow *flows;           /* [n_hops] */
    uint32_t *queue;              /* ranks that can go on; a ring of n_ranks */
    uint32_t queue_head, n_queued;
    struct ring_error *error;
};

static void release(struct machine *machine)
{
    free(machine->ranks);
    free(machine->steps);
    free(machine->inboxes);
    free(machine->outboxes);
    free(machine->flows);
    free(machine->queue);
}

static enum ring_status allocate(struct machine *machine)
{
    const struct model_ring *ring = machine->play->ring;
    size_t n = machine->plan->n_ranks, n_slots = n * machine->plan->n_slots, n_hops = ring->hop_first[n];

    machine->ranks = calloc(n, sizeof *machine->ranks);
    machine->steps = malloc(n * sizeof *machine->steps);
    machine->inboxes = calloc(n_slots, sizeof *machine->inboxes);
    machine->outboxes = malloc(n_slots * sizeof *machine->outboxes);
    machine->flows = calloc(n_hops + 1, sizeof *machine->flows);
    machine->queue = malloc(n * sizeof *machine->queue);
    if (!machine->ranks || !machine->steps || !machine->inboxes || !machine->outboxes || !machine->flows ||
        !machine->queue)
        return ring_fail(machine->error, RING_NO_MEMORY, "out of memory for %zu ranks", n);
    for (size_t i = 0; i < n_slots; i++)
        machine->outboxes[i] = NONE;
    for (uint32_t rank = 0; rank < n; rank++)
        for (uint32_t h = ring->hop_first[rank]; h < ring->hop_first[rank + 1]; h++)
            machine->flows[h] =
                (struct flow){.source = rank, .target = ring->hops[h].target, .first = NONE, .last = NONE};
    return RING_OK;
}

static void wake(struct machine *machine, uint32_t rank)
{
    if (machine->ranks[rank].queued)
        return;
    machine->ranks[rank].queued = true;
    uint32_t at = machine->queue_head + machine->n_queued++;
    machine->queue[at < machine->plan->n_ranks ? at : at - machine->plan->n_ranks] = rank;
}

static struct inbox *inbox_of(struct machine *machine, uint32_t rank, uint32_t slot)
{
    return &machine->inboxes[(size_t)rank * machine->plan->n_slots + slot];
}

static uint32_t *outbox_of(struct machine *machine, uint32_t rank, uint32_t slot)
{
    return &machine->outboxes[(size_t)rank * machine->plan->n_slots + slot];
}

static double later(double a, double b)
{
    return a > b ? a : b;
}

/* The message of this inbox begins to move. */
static void move(struct machine *machine, struct inbox *inbox, double movable_s)
{
    struct flow *flow = &machine->flows[inbox->hop];

    inbox->movable_s = movable_s;
    inbox->moved_s = movable_s + (double)inbox->bytes / machine->play->ring->hops[inbox->hop].bytes_per_s;
    inbox->state = MOVED;
    flow->movable_s = inbox->movable_s;
    flow->moved_s = inbox->moved_s;
    flow->moved = true;
}

/* If a send and a receive of this hop have both been posted, the message has its times, and whoever waits for
 * them can go on. The receive of a lazy hop only learns that its message is there. */
static enum ring_status match(struct machine *machine, uint32_t hop)
{
    struct flow *flow = &machine->flows[hop];

    if (!flow->sending || flow->taken || flow->first == NONE)
        return RING_OK;
    struct inbox *inbox = &machine->inboxes[flow->first];
    if (inbox->tag != flow->tag || inbox->bytes != flow->bytes)
        return ring_fail(machine->error, RING_BAD_INPUT,
                         "plan %s: rank %" PRIu32 " sends tag %" PRIu32 " of %" PRIu64
                         " bytes where rank %" PRIu32 " expects tag %" PRIu32 " of %" PRIu64 " bytes",
                         machine->plan->kind->name, flow->source, flow->tag, flow->bytes, flow->target,
                         inbox->tag, inbox->bytes);
    flow->taken = true;
    flow->first = inbox->next;
    inbox->send_posted_s = flow->posted_s;
    inbox->state = MATCHED;
    if (!machine->play->ring->hops[hop].lazy) {
        move(machine, inbox, later(flow->posted_s, inbox->posted_s));
        wake(machine, flow->source);
    }
    wake(machine, flow->target);
    return RING_OK;
}

static enum ring_status bad_message(struct machine *machine, uint32_t rank, const char *what,
                                    const struct ring_message *message)
{
    return ring_fail(machine->error, RING_BAD_INPUT,
                     "plan %s: rank %" PRIu32 " at step %" PRIu32 " posts a %s in slot %" PRIu32
                     " with rank %" PRIu32 ": no such slot or peer, or the slot is in use",
                     machine->plan->kind->name, rank, machine->ranks[rank].step, what, message->slot,
                     message->peer);
}

/* Index of the hop, or NONE where the plan named no such pair. */
static uint32_t hop_index(const struct machine *machine, uint32_t source, uint32_t target)
{
    const struct model_ring *ring = machine->play->ring;

    if (source >= machine->plan->n_ranks || target >= machine->plan->n_ranks)
        return NONE;
    const struct model_hop *hop = model_ring_hop(ring, source, target);
    return hop ? (uint32_t)(hop - ring->hops) : NONE;
}

static enum ring_status post_receive(struct machine *machine, uint32_t rank,
                                     const struct ring_message *message)
{
    uint32_t hop = hop_index(machine, message->peer, rank);

    if (hop == NONE || message->slot >= machine->plan->n_slots)
        return bad_message(machine, rank, "receive", message);
    struct inbox *inbox = inbox_of(machine, rank, message->slot);
    if (inbox->state != FREE)
        return bad_message(machine, rank, "receive", message);
    *inbox = (struct inbox){
        .state = POSTED,
        .hop = hop,
        .tag = message->tag,
        .next = NONE,
        .bytes = message->bytes,
        .posted_s = machine->ranks[rank].begin_s,
    };
    struct flow *flow = &machine->flows[hop];
    uint32_t index = (uint32_t)(inbox - machine->inboxes);
    if (flow->first == NONE)
        flow->first = index;
    else
        machine->inboxes[flow->last].next = index;
    flow->last = index;
    return match(machine, hop);
}

static enum ring_status post_send(struct machine *machine, uint32_t rank, const struct ring_message *message)
{
    uint32_t hop = hop_index(machine, rank, message->peer);

    if (hop == NONE || message->slot >= machine->plan->n_slots)
        return bad_message(machine, rank, "send", message);
    uint32_t *outbox = outbox_of(machine, rank, message->slot);
    if (*outbox != NONE)
        return bad_message(machine, rank, "send", message);
    struct flow *flow = &machine->flows[hop];
    if (flow->sending)
        return ring_fail(machine->error, RING_UNSUPPORTED,
                         "plan %s: rank %" PRIu32 " posts two sends to rank %" PRIu32
                         " at once (step %" PRIu32 "), which would share the links: simulate them",
                         machine->plan->kind->name, rank, message->peer, machine->ranks[rank].step);
    *outbox = hop;
    flow->sending = true;
    flow->taken = flow->moved = false;
    flow->tag = message->tag;
    flow->bytes = message->bytes;
    flow->posted_s = machine->ranks[rank].begin_s;
    return match(machine, hop);
}

static enum ring_status post_all(struct machine *machine, uint32_t rank)
{
    struct rank_state *state = &machine->ranks[rank];
    struct ring_plan_step *step = &machine->steps[rank];
    enum ring_status status = RING_OK;

    ring_plan_step(machine->plan, rank, state->step, step);
    state->begin_s = state->now_s;
    for (uint32_t i = 0; i < step->n_receives && status == RING_OK; i++)
        status = post_receive(machine, rank, &step->receives[i]);
    for (uint32_t i = 0; i < step->n_sends && status == RING_OK; i++)
        status = post_send(machine, rank, &step->sends[i]);
    state->computed_s = state->begin_s;
    if (step->computes)
        state->computed_s += model_prices_block_s(&machine->play->prices, rank, &step->work);
    state->parts =
        (struct ring_parts){.begin_s = state->begin_s, .compute_s = state->computed_s - state->begin_s};
    return status;
}

static void account(struct rank_state *state, double end_s, double movable_s)
{
    model_account_wait(state->now_s, end_s, movable_s, state->computed_s, &state->parts.wait_s,
                       &state->parts.transfer_s);
    state->now_s = later(state->now_s, end_s);
}

/* True when the receive is over, false if its message has no sender yet. */
static bool wait_receive(struct machine *machine, uint32_t rank, struct inbox *inbox)
{
    struct rank_state *state = &machine->ranks[rank];

    if (inbox->state == POSTED)
        return false;
    if (inbox->state == MATCHED) {
        double here_s = later(state->now_s, state->computed_s); /* only now does the receiver look after it */
        move(machine, inbox, later(inbox->send_posted_s, here_s));
        wake(machine, machine->flows[inbox->hop].source);
    }
    account(state, inbox->moved_s + machine->play->ring->hops[inbox->hop].latency_s, inbox->movable_s);
    inbox->state = FREE;
    return true;
}

static bool wait_send(struct machine *machine, uint32_t rank, uint32_t *outbox)
{
    struct flow *flow = &machine->flows[*outbox];

    if (!flow->moved)
        return false;
    account(&machine->ranks[rank], flow->moved_s, flow->movable_s);
    flow->sending = false;
    *outbox = NONE;
    return true;
}

static enum ring_status bad_wait(struct machine *machine, uint32_t rank, const char *what, uint32_t slot)
{
    return ring_fail(machine->error, RING_BAD_INPUT,
                     "plan %s: rank %" PRIu32 " at step %" PRIu32 " waits for a %s in slot %" PRIu32
                     ", but there is none",
                     machine->plan->kind->name, rank, machine->ranks[rank].step, what, slot);
}

static void end_step(struct machine *machine, uint32_t rank)
{
    struct rank_state *state = &machine->ranks[rank];
    struct ring_parts *total = &machine->play->totals[rank];

    state->parts.end_s = state->now_s;
    total->compute_s += state->parts.compute_s;
    total->transfer_s += state->parts.transfer_s;
    total->wait_s += state->parts.wait_s;
    if (machine->play->steps)
        machine->play->steps[(size_t)rank * machine->plan->n_steps + state->step] = state->parts;
    state->step++;
    state->phase = state->step < machine->plan->n_steps ? POSTING : DONE;
}

static enum ring_status receive_all(struct machine *machine, uint32_t rank, bool *blocked)
{
    struct rank_state *state = &machine->ranks[rank];
    const struct ring_plan_step *step = &machine->steps[rank];

    for (; state->next_wait < step->n_await_receives; state->next_wait++) {
        uint32_t slot = step->await_receive_slots[state->next_wait];
        struct inbox *inbox = slot < machine->plan->n_slots ? inbox_of(machine, rank, slot) : NULL;
        if (!inbox || inbox->state == FREE)
            return bad_wait(machine, rank, "receive", slot);
        if (!wait_receive(machine, rank, inbox)) {
            *blocked = true;
            return RING_OK;
        }
    }
    state->now_s = later(state->now_s, state->computed_s);
    return RING_OK;
}

static enum ring_status send_all(struct machine *machine, uint32_t rank, bool *blocked)
{
    struct rank_state *state = &machine->ranks[rank];
    const struct ring_plan_step *step = &machine->steps[rank];

    for (; state->next_wait < step->n_await_sends; state->next_wait++) {
        uint32_t slot = step->await_send_slots[state->next_wait];
        uint32_t *outbox = slot < machine->plan->n_slots ? outbox_of(machine, rank, slot) : NULL;
        if (!outbox || *outbox == NONE)
            return bad_wait(machine, rank, "send", slot);
        if (!wait_send(machine, rank, outbox)) {
            *blocked = true;
            return RING_OK;
        }
    }
    return RING_OK;
}

/* Follows a rank until it is done or waits for what has no time yet. */
static enum ring_status follow(struct machine *machine, uint32_t rank)
{
    struct rank_state *state = &machine->ranks[rank];
    enum ring_status status = RING_OK;
    bool blocked = false;

    while (status == RING_OK && !blocked && state->phase != DONE) {
        switch (state->phase) {
        case POSTING:
            status = post_all(machine, rank);
            state->phase = RECEIVING;
            state->next_wait = 0;
            break;
        case RECEIVING:
            status = receive_all(machine, rank, &blocked);
            if (status == RING_OK && !blocked) {
                state->phase = SENDING;
                state->next_wait = 0;
            }
            break;
        case SENDING:
            status = send_all(machine, rank, &blocked);
            if (status == RING_OK && !blocked)
                end_step(machine, rank);
            break;
        case DONE:
            break;
        }
    }
    return status;
}

enum { LISTED_RANKS = 4 };

static enum ring_status deadlock(struct machine *machine)
{
    char list[800];
    size_t used = 0;
    uint32_t n_stuck = 0;

    for (uint32_t rank = 0; rank < machine->plan->n_ranks; rank++) {
        const struct rank_state *state = &machine->ranks[rank];
        if (state->phase == DONE || n_stuck++ >= LISTED_RANKS)
            continue;
        const struct ring_plan_step *step = &machine->steps[rank];
        bool receiving = state->phase == RECEIVING;
        uint32_t slot = receiving ? step->await_receive_slots[state->next_wait]
                                  : step->await_send_slots[state->next_wait];
        const struct flow *flow =
            &machine->flows[receiving ? inbox_of(machine, rank, slot)->hop : *outbox_of(machine, rank, slot)];
        int n = snprintf(list + used, sizeof list - used,
                         "%srank %" PRIu32 " waits %s rank %" PRIu32 " at hop %" PRIu32, used ? ", " : "",
                         rank, receiving ? "for a block of" : "to be rid of a block for",
                         receiving ? flow->source : flow->target, state->step);
        used += n > 0 ? (size_t)n : 0;
    }
    return ring_fail(machine->error, RING_DEADLOCK, "%" PRIu32 " ranks wait for ever: %s%s", n_stuck, list,
                     n_stuck > LISTED_RANKS ? " and so on" : "");
}

enum ring_status model_play_dataflow(struct model_play *play, struct ring_error *error)
{
    struct machine machine = {.play = play, .plan = play->ring->plan, .error = error};
    uint32_t n_ranks = machine.plan->n_ranks, n_done = 0;

    enum ring_status status = allocate(&machine);
    for (uint32_t rank = 0; rank < n_ranks && status == RING_OK; rank++)
        wake(&machine, rank);
    while (status == RING_OK && machine.n_queued > 0) {
        uint32_t rank = machine.queue[machine.queue_head];
        machine.queue_head = machine.queue_head + 1 == n_ranks ? 0 : machine.queue_head + 1;
        machine.n_queued--;
        machine.ranks[rank].queued = false;
        bool was_done = machine.ranks[rank].phase == DONE;
        status = follow(&machine, rank);
        n_done += !was_done && machine.ranks[rank].phase == DONE;
    }
    if (status == RING_OK && n_done < n_ranks)
        status = deadlock(&machine);
    for (uint32_t rank = 0; rank < n_ranks && status == RING_OK; rank++)
        play->ends_s[rank] = machine.ranks[rank].now_s;
    release(&machine);
    return status;
}
