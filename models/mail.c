/* SPDX-License-Identifier: MIT
 *
 * Messages of the dataflow: sends meet receives of the same hop and tag in the order of their posts, and get
 * their times as soon as everything is known that these depend on: both ends, and whether the sender's other
 * message shares the hop. */
#include "models/dataflow.h"

#include <inttypes.h>
#include <math.h>

/* The message has its times. */
static void set_times(struct machine *machine, struct parcel *parcel, double movable_s, double moved_s)
{
    struct inbox *inbox = &machine->inboxes[parcel->inbox];

    parcel->stuck = isinf(moved_s);
    if (parcel->stuck)
        return;
    inbox->movable_s = parcel->movable_s = movable_s;
    inbox->moved_s = parcel->moved_s = moved_s;
    inbox->state = MOVED;
    parcel->moved = true;
    const struct model_ring *ring = machine->play->ring;
    if (machine->play->until_s)
        model_count_moving(&machine->play->until_s[inbox->hop], &machine->play->moving_s[inbox->hop],
                           movable_s,
                           moved_s + model_fault_latency_s(ring, &ring->hops[inbox->hop], moved_s));
}

static void move_alone(struct machine *machine, uint32_t hop, struct parcel *parcel, double movable_s)
{
    const struct model_ring *ring = machine->play->ring;

    set_times(machine, parcel, movable_s,
              model_fault_moved_s(ring, &ring->hops[hop], movable_s, (double)parcel->bytes));
}

static void wake_ends(struct machine *machine, const struct flow *flow)
{
    model_wake(machine, flow->source);
    model_wake(machine, flow->target);
}

/* Gives times to what can have them: to a message that is alone, or to two of which both are known. */
static void settle(struct machine *machine, uint32_t hop)
{
    struct flow *flow = &machine->flows[hop];
    struct parcel *waiting[MAX_PARCELS];
    uint32_t n_waiting = 0, n_taken = 0;

    for (uint32_t i = 0; i < MAX_PARCELS; i++) {
        struct parcel *parcel = &flow->parcels[i];
        if (!parcel->sending || parcel->moved || parcel->stuck)
            continue;
        waiting[n_waiting++] = parcel;
        n_taken += parcel->taken;
    }
    if (n_waiting == 0 || n_taken < n_waiting)
        return;
    if (n_waiting == 1) {
        move_alone(machine, hop, waiting[0], waiting[0]->movable_s);
    } else {
        double moved_s[MAX_PARCELS];
        model_share_hop(machine->play->ring->hops[hop].bytes_per_s,
                        (const double[]){waiting[0]->movable_s, waiting[1]->movable_s},
                        (const double[]){(double)waiting[0]->bytes, (double)waiting[1]->bytes}, moved_s);
        int first = waiting[1]->movable_s < waiting[0]->movable_s;
        set_times(machine, waiting[first], waiting[first]->movable_s, moved_s[first]);
        set_times(machine, waiting[!first], waiting[!first]->movable_s, moved_s[!first]);
    }
    wake_ends(machine, flow);
}

/* Whoever is blocked waits for a message without a time, and none of those ends before this one does, so
 * nothing can come between it and its end. */
bool model_mail_settle_earliest(struct machine *machine)
{
    const struct model_ring *ring = machine->play->ring;
    uint32_t n_hops = ring->hop_first[machine->plan->n_ranks], earliest = NONE;
    struct parcel *parcel = NULL;
    double earliest_s = INFINITY;

    for (uint32_t hop = 0; hop < n_hops; hop++)
        for (uint32_t i = 0; i < MAX_PARCELS && !ring->hops[hop].lazy; i++) {
            struct parcel *other = &machine->flows[hop].parcels[i];
            if (!other->sending || !other->taken || other->moved || other->stuck)
                continue;
            double end_s = other->movable_s + (double)other->bytes / ring->hops[hop].bytes_per_s;
            if (parcel && end_s >= earliest_s)
                continue;
            earliest_s = end_s;
            earliest = hop;
            parcel = other;
        }
    if (!parcel)
        return false;
    move_alone(machine, earliest, parcel, parcel->movable_s);
    wake_ends(machine, &machine->flows[earliest]);
    return true;
}

/* Takes the oldest receive of that tag off the hop's list; NULL if there is none. */
static struct inbox *take_receive(struct machine *machine, struct flow *flow, uint32_t tag)
{
    uint32_t before = NONE;

    for (uint32_t at = flow->first; at != NONE; before = at, at = machine->inboxes[at].next) {
        struct inbox *inbox = &machine->inboxes[at];
        if (inbox->tag != tag)
            continue;
        if (before == NONE)
            flow->first = inbox->next;
        else
            machine->inboxes[before].next = inbox->next;
        if (flow->last == at)
            flow->last = before;
        return inbox;
    }
    return NULL;
}

/* If a send and a receive of this hop have both been posted, the message can have its times. The receive of a
 * lazy hop only learns that its message is there. */
static enum ring_status match(struct machine *machine, uint32_t hop)
{
    struct flow *flow = &machine->flows[hop];
    bool met = false;

    for (uint32_t i = 0; i < MAX_PARCELS; i++) {
        struct parcel *parcel = &flow->parcels[i];
        if (!parcel->sending || parcel->taken)
            continue;
        struct inbox *inbox = take_receive(machine, flow, parcel->tag);
        if (!inbox)
            continue;
        if (inbox->bytes != parcel->bytes)
            return ring_fail(machine->error, RING_BAD_INPUT,
                             "plan %s: rank %" PRIu32 " sends %" PRIu64 " bytes of tag %" PRIu32
                             " where rank %" PRIu32 " expects %" PRIu64,
                             machine->plan->kind->name, flow->source, parcel->bytes, parcel->tag,
                             flow->target, inbox->bytes);
        parcel->taken = met = true;
        parcel->inbox = (uint32_t)(inbox - machine->inboxes);
        parcel->movable_s = later(parcel->posted_s, inbox->posted_s);
        inbox->state = MATCHED;
        inbox->parcel = i;
    }
    if (met && machine->play->ring->hops[hop].lazy)
        model_wake(machine, flow->target);
    else if (met)
        settle(machine, hop);
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
        .block = message->block,
        .step = message->step,
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
    uint32_t step = machine->ranks[rank].step, i = flow->parcels[0].sending;
    if (flow->parcels[i].sending || (flow->parcels[!i].sending && flow->step != step))
        return ring_fail(machine->error, RING_UNSUPPORTED,
                         "plan %s: rank %" PRIu32 " posts %s sends to rank %" PRIu32 " at once (step %" PRIu32
                         "), which would share the links: simulate them",
                         machine->plan->kind->name, rank, flow->parcels[i].sending ? "three" : "two",
                         message->peer, step);
    *outbox = MAX_PARCELS * hop + i;
    flow->step = step;
    flow->parcels[i] = (struct parcel){.sending = true,
                                       .tag = message->tag,
                                       .block = message->block,
                                       .bytes = message->bytes,
                                       .posted_s = machine->ranks[rank].begin_s};
    return RING_OK;
}

enum ring_status model_mail_let_go(struct machine *machine, uint32_t rank, const struct ring_message *message)
{
    return match(machine, hop_index(machine, rank, message->peer));
}

bool model_mail_wait_receive(struct machine *machine, uint32_t rank, struct inbox *inbox)
{
    struct rank_state *state = &machine->ranks[rank];
    const struct model_hop *hop = &machine->play->ring->hops[inbox->hop];

    if (inbox->state == POSTED || (inbox->state == MATCHED && !hop->lazy))
        return false;
    if (inbox->state == MATCHED) {
        struct flow *flow = &machine->flows[inbox->hop];
        struct parcel *parcel = &flow->parcels[inbox->parcel];
        double here_s = later(state->now_s, state->computed_s); /* only now does the receiver look after it */
        move_alone(machine, inbox->hop, parcel, later(parcel->posted_s, here_s));
        if (parcel->stuck)
            return false;
        model_wake(machine, flow->source);
    }
    model_wait_for(&state->now_s,
                   inbox->moved_s + model_fault_latency_s(machine->play->ring, hop, inbox->moved_s),
                   inbox->movable_s, state->computed_s, &state->parts);
    inbox->state = FREE;
    return true;
}

bool model_mail_wait_send(struct machine *machine, uint32_t rank, uint32_t *outbox)
{
    struct rank_state *state = &machine->ranks[rank];
    struct parcel *parcel = &machine->flows[*outbox / MAX_PARCELS].parcels[*outbox % MAX_PARCELS];

    if (!parcel->moved)
        return false;
    model_wait_for(&state->now_s, parcel->moved_s, parcel->movable_s, state->computed_s, &state->parts);
    parcel->sending = false;
    *outbox = NONE;
    return true;
}
