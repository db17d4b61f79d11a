/* SPDX-License-Identifier: MIT
 *
 * Messages of the dataflow: sends meet receives of the same hop in the order of their posts, and get their
 * times as soon as both ends have done what the hop needs. */
#include "models/dataflow.h"

#include <inttypes.h>

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
        model_wake(machine, flow->source);
    }
    model_wake(machine, flow->target);
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

enum ring_status model_mail_post_receive(struct machine *machine, uint32_t rank,
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

enum ring_status model_mail_post_send(struct machine *machine, uint32_t rank,
                                      const struct ring_message *message)
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

static void account(struct rank_state *state, double end_s, double movable_s)
{
    model_account_wait(state->now_s, end_s, movable_s, state->computed_s, &state->parts.wait_s,
                       &state->parts.transfer_s);
    state->now_s = later(state->now_s, end_s);
}

bool model_mail_wait_receive(struct machine *machine, uint32_t rank, struct inbox *inbox)
{
    struct rank_state *state = &machine->ranks[rank];

    if (inbox->state == POSTED)
        return false;
    if (inbox->state == MATCHED) {
        double here_s = later(state->now_s, state->computed_s); /* only now does the receiver look after it */
        move(machine, inbox, later(inbox->send_posted_s, here_s));
        model_wake(machine, machine->flows[inbox->hop].source);
    }
    account(state, inbox->moved_s + machine->play->ring->hops[inbox->hop].latency_s, inbox->movable_s);
    inbox->state = FREE;
    return true;
}

bool model_mail_wait_send(struct machine *machine, uint32_t rank, uint32_t *outbox)
{
    struct flow *flow = &machine->flows[*outbox];

    if (!flow->moved)
        return false;
    account(&machine->ranks[rank], flow->moved_s, flow->movable_s);
    flow->sending = false;
    *outbox = NONE;
    return true;
}
