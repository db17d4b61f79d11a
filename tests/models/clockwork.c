/* SPDX-License-Identifier: MIT
 *
 * See clockwork.h. */
#include "tests/models/clockwork.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct message {
    uint32_t from, to, slot_from, slot_to, tag;
    double left_bytes, rate;            /* a second, as long as nothing else ends */
    bool sent, received, receiver_here; /* what its ends have done */
    bool begun, moved;
    double moved_s;
};

enum place { AT_POST, AT_RECEIVES, AT_COMPUTE, AT_SENDS, AT_ADD, AT_END };

struct actor {
    enum place place;
    uint32_t step, wait;
    double computed_s;
    struct ring_plan_step now;
};

struct clockwork {
    const struct model_ring *ring;
    double now_s;
    struct actor *actors;
    struct message *messages;
    size_t n_messages;
    double *step_ends_s;
};

/* The first message of the pair and tag that this side has not posted yet, or a new one. */
static struct message *meet(struct clockwork *clock, uint32_t from, uint32_t to, uint32_t tag, bool sending)
{
    for (size_t i = 0; i < clock->n_messages; i++) {
        struct message *message = &clock->messages[i];
        if (message->from == from && message->to == to && message->tag == tag &&
            !(sending ? message->sent : message->received))
            return message;
    }
    struct message *message = &clock->messages[clock->n_messages++];
    *message = (struct message){.from = from, .to = to, .tag = tag};
    return message;
}

/* The latest message that this rank posted in this slot. */
static struct message *in_slot(struct clockwork *clock, uint32_t rank, uint32_t slot, bool sending)
{
    for (size_t i = clock->n_messages; i-- > 0;) {
        struct message *message = &clock->messages[i];
        if (sending && message->sent && message->from == rank && message->slot_from == slot)
            return message;
        if (!sending && message->received && message->to == rank && message->slot_to == slot)
            return message;
    }
    return NULL;
}

static void post(struct clockwork *clock, uint32_t rank)
{
    struct actor *actor = &clock->actors[rank];

    ring_plan_step(clock->ring->plan, rank, actor->step, &actor->now);
    for (uint32_t i = 0; i < actor->now.n_receives; i++) {
        struct message *message =
            meet(clock, actor->now.receives[i].peer, rank, actor->now.receives[i].tag, false);
        message->received = true;
        message->slot_to = actor->now.receives[i].slot;
    }
    for (uint32_t i = 0; i < actor->now.n_sends; i++) {
        struct message *message = meet(clock, rank, actor->now.sends[i].peer, actor->now.sends[i].tag, true);
        message->sent = true;
        message->slot_from = actor->now.sends[i].slot;
        message->left_bytes = (double)actor->now.sends[i].bytes;
    }
    actor->computed_s = clock->now_s + model_ring_step_s(clock->ring, rank, &actor->now);
    actor->place = AT_RECEIVES;
    actor->wait = 0;
}

/* Lets the rank take one more thing off its list, if that is over by now. */
static bool advance(struct clockwork *clock, uint32_t rank)
{
    struct actor *actor = &clock->actors[rank];

    if (actor->place == AT_END)
        return false;
    if (actor->place == AT_POST) {
        post(clock, rank);
        return true;
    }
    if (actor->place == AT_RECEIVES) {
        if (actor->wait == actor->now.n_await_receives) {
            actor->place = AT_COMPUTE;
            return true;
        }
        struct message *message = in_slot(clock, rank, actor->now.await_receive_slots[actor->wait], false);
        const struct model_hop *hop = model_ring_hop(clock->ring, message->from, rank);
        if (!hop->lazy || actor->computed_s <= clock->now_s)
            message->receiver_here = true;
        if (!message->moved || message->moved_s + hop->latency_s > clock->now_s)
            return false;
        actor->wait++;
        return true;
    }
    if (actor->place == AT_COMPUTE) {
        if (actor->computed_s > clock->now_s)
            return false;
        actor->place = AT_SENDS;
        actor->wait = 0;
        return true;
    }
    if (actor->place == AT_SENDS && actor->wait < actor->now.n_await_sends) {
        struct message *message = in_slot(clock, rank, actor->now.await_send_slots[actor->wait], true);
        if (!message->moved)
            return false;
        actor->wait++;
        return true;
    }
    if (actor->place == AT_SENDS) {
        actor->computed_s = clock->now_s + model_ring_add_s(clock->ring, rank, &actor->now);
        actor->place = AT_ADD;
        return true;
    }
    if (actor->computed_s > clock->now_s)
        return false;
    clock->step_ends_s[(size_t)rank * clock->ring->plan->n_steps + actor->step] = clock->now_s;
    actor->step++;
    actor->place = actor->step == clock->ring->plan->n_steps ? AT_END : AT_POST;
    return true;
}

static bool begin_messages(struct clockwork *clock)
{
    bool any = false;

    for (size_t i = 0; i < clock->n_messages; i++) {
        struct message *message = &clock->messages[i];
        if (message->begun || !message->sent || !message->received)
            continue;
        const struct model_hop *hop = model_ring_hop(clock->ring, message->from, message->to);
        if (hop->lazy && !message->receiver_here)
            continue;
        message->begun = true;
        any = true;
    }
    return any;
}

/* Its share of its hop: of so much as all that move there have. */
static double rate(const struct clockwork *clock, const struct message *message)
{
    double n = 0;

    for (size_t i = 0; i < clock->n_messages; i++) {
        const struct message *other = &clock->messages[i];
        n += other->begun && !other->moved && other->from == message->from && other->to == message->to;
    }
    return model_ring_hop(clock->ring, message->from, message->to)->bytes_per_s / n;
}

/* The next time at which anything ends; infinity if nothing is going on. */
static double next_end(const struct clockwork *clock)
{
    double next_s = INFINITY;

    for (uint32_t rank = 0; rank < clock->ring->plan->n_ranks; rank++)
        if (clock->actors[rank].place != AT_END && clock->actors[rank].computed_s > clock->now_s)
            next_s = fmin(next_s, clock->actors[rank].computed_s);
    for (size_t i = 0; i < clock->n_messages; i++) {
        const struct message *message = &clock->messages[i];
        double arrived_s =
            message->moved_s + model_ring_hop(clock->ring, message->from, message->to)->latency_s;
        if (message->begun && !message->moved)
            next_s = fmin(next_s, clock->now_s + message->left_bytes / rate(clock, message));
        if (message->moved && arrived_s > clock->now_s)
            next_s = fmin(next_s, arrived_s);
    }
    return next_s;
}

/* Sets the clock to next_s, when something ends, and moves bytes meanwhile. */
static void let_pass(struct clockwork *clock, double next_s)
{
    for (size_t i = 0; i < clock->n_messages; i++)
        if (clock->messages[i].begun && !clock->messages[i].moved)
            clock->messages[i].rate = rate(clock, &clock->messages[i]);
    for (size_t i = 0; i < clock->n_messages && isfinite(next_s); i++) {
        struct message *message = &clock->messages[i];
        if (!message->begun || message->moved)
            continue;
        if (clock->now_s + message->left_bytes / message->rate <= next_s) {
            message->moved = true;
            message->moved_s = next_s;
        }
        message->left_bytes -= (next_s - clock->now_s) * message->rate;
    }
    clock->now_s = next_s;
}

bool clockwork_play(const struct model_ring *ring, double *step_ends_s)
{
    uint32_t n_ranks = ring->plan->n_ranks;
    struct clockwork clock = {
        .ring = ring,
        .actors = calloc(n_ranks, sizeof *clock.actors),
        .messages = calloc((size_t)n_ranks * ring->plan->n_steps * RING_MAX_POSTS, sizeof *clock.messages),
        .step_ends_s = step_ends_s,
    };
    bool all_done = false;

    while (clock.actors && clock.messages && isfinite(clock.now_s)) {
        bool moved = true;
        while (moved) {
            moved = begin_messages(&clock);
            for (uint32_t rank = 0; rank < n_ranks; rank++)
                while (advance(&clock, rank))
                    moved = true;
            moved = begin_messages(&clock) || moved;
        }
        all_done = true;
        for (uint32_t rank = 0; rank < n_ranks; rank++)
            all_done = all_done && clock.actors[rank].place == AT_END;
        if (all_done)
            break;
        let_pass(&clock, next_end(&clock));
    }
    free(clock.actors);
    free(clock.messages);
    return all_done;
}
