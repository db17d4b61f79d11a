/* SPDX-License-Identifier: MIT
 *
 * The five calls in simulated time. Posts take none. A message moves from when both ends have posted it (for
 * a lazy hop: and the receiver waits for it and computes nothing), as a flow that shares its links; the
 * sender's wait ends when the bytes have moved, the receiver's one latency later. Ends are matched here, not
 * by SimGrid's mailboxes: then one thing, the errand, knows both ends and when it really moved. */
#include <inttypes.h>
#include <math.h>
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <stdlib.h>

#include "sim/world.h"

enum side { SENDER, RECEIVER, COMPUTER };

static struct sim_errand *errand_new(struct sim_world *world, enum sim_errand_kind kind, uint32_t rank)
{
    struct sim_errand *errand = world->spare;

    if (errand)
        world->spare = errand->next;
    else
        errand = malloc(sizeof *errand);
    if (errand)
        *errand = (struct sim_errand){.kind = kind, .rank = rank};
    return errand;
}

/* One of the errand's waits has returned. */
static void errand_release(struct sim_world *world, struct sim_errand *errand)
{
    if (--errand->n_waits_left > 0)
        return;
    errand->next = world->spare;
    world->spare = errand;
}

/* Something on its way is dead, or will be before it could have moved: it never begins. */
static bool is_cut_off(const struct sim_world *world, const struct sim_errand *errand)
{
    return errand->hop->changes &&
           isinf(model_fault_moved_s(world->play.ring, errand->hop, simgrid_get_clock(),
                                     (double)errand->from_bytes));
}

/* Starts the message if nothing stands against it. by: the rank whose call it is. A route without links takes
 * no time. Where the receiver is about to wait it carries the message itself, at no more cost than its wait.
 */
static void move_if_ready(struct sim_seat *by, struct sim_errand *errand)
{
    struct sim_world *world = by->world;
    struct sim_seat *receiver = &world->seats[errand->hop->target];

    if (!errand->sent || !errand->received || !errand->may_move || is_cut_off(world, errand))
        return;
    errand->stage = SIM_READY;
    if (errand->hop->n_links == 0 || errand->from_bytes == 0) {
        errand->begun_s = simgrid_get_clock();
        sim_errand_end(world, errand);
    } else if (by == receiver) {
        errand->next_of_seat = receiver->ready;
        receiver->ready = errand;
    } else if (receiver->awaits == errand) {
        sim_seat_wake(receiver, errand);
    } else {
        sim_courier_send(world, errand);
    }
}

/* seat is about to wait for one errand: what else is ready goes by courier. */
static void send_ready(struct sim_seat *seat, const struct sim_errand *awaited)
{
    for (; seat->ready; seat->ready = seat->ready->next_of_seat) {
        if (seat->ready != awaited)
            sim_courier_send(seat->world, seat->ready);
    }
}

static bool has_posted(const struct sim_errand *errand, enum side side)
{
    return side == SENDER ? errand->sent : errand->received;
}

/* The oldest message of the hop and tag that only the other side has posted, taken from the queue; or a new
 * one, put into it. NULL: no memory. */
static struct sim_errand *meet(struct sim_world *world, uint32_t source, const struct model_hop *hop,
                               const struct ring_message *message, enum side side)
{
    struct sim_errand **link = &world->queues[hop - world->play.ring->hops], *errand;

    for (; *link; link = &(*link)->next) {
        errand = *link;
        if (errand->message.tag == message->tag && !has_posted(errand, side)) {
            *link = errand->next;
            return errand;
        }
    }
    errand = errand_new(world, SIM_MESSAGE, source);
    if (errand) {
        errand->hop = hop;
        errand->message = *message;
        errand->n_waits_left = 2;
        *link = errand;
    }
    return errand;
}

static enum ring_status post_message(struct ring_transport *transport, const struct ring_message *message,
                                     struct ring_buffer buffer, struct ring_request *request, enum side side)
{
    struct sim_seat *seat = (struct sim_seat *)transport;
    struct sim_world *world = seat->world;
    uint32_t source = side == SENDER ? seat->rank : message->peer;
    uint32_t target = side == SENDER ? message->peer : seat->rank;
    const struct model_hop *hop =
        source < world->play.ring->plan->n_ranks ? model_ring_hop(world->play.ring, source, target) : NULL;

    if (!hop)
        return ring_fail(&transport->error, RING_BAD_INPUT,
                         "rank %" PRIu32 ", hop %" PRIu32 ": a message from rank %" PRIu32 " to rank %" PRIu32
                         ", who never talk in this plan",
                         seat->rank, message->step, source, target);
    struct sim_errand *errand = meet(world, source, hop, message, side);
    if (!errand)
        return ring_fail(&transport->error, RING_NO_MEMORY, "out of memory for the messages of rank %" PRIu32,
                         seat->rank);
    if (side == SENDER) {
        errand->sent = true;
        errand->from = buffer.data;
        errand->from_bytes = buffer.bytes;
    } else {
        errand->received = true;
        errand->may_move = !hop->lazy;
        if (hop->lazy) {
            errand->next_of_seat = seat->lazy;
            seat->lazy = errand;
        }
        errand->to = buffer.data;
        errand->to_bytes = buffer.bytes;
    }
    request->handle = errand;
    request->index = (uint32_t)side;
    if (errand->sent && errand->received && errand->from_bytes > errand->to_bytes)
        return ring_fail(&transport->error, RING_BAD_INPUT,
                         "rank %" PRIu32 ", hop %" PRIu32 ": %" PRIu64 " bytes from rank %" PRIu32
                         " for a buffer of %" PRIu64,
                         target, message->step, errand->from_bytes, source, errand->to_bytes);
    move_if_ready(seat, errand);
    return RING_OK;
}

static enum ring_status post_send(struct ring_transport *transport, const struct ring_message *message,
                                  struct ring_buffer buffer, struct ring_request *request)
{
    return post_message(transport, message, buffer, request, SENDER);
}

static enum ring_status post_recv(struct ring_transport *transport, const struct ring_message *message,
                                  struct ring_buffer buffer, struct ring_request *request)
{
    return post_message(transport, message, buffer, request, RECEIVER);
}

/* The arithmetic, if there is any to do: at the post, when the block in hand is surely still there. */
static enum ring_status run_pieces(struct sim_seat *seat, const struct ring_task *task)
{
    const struct ring_compute *compute = seat->world->play.compute;
    enum ring_status status = RING_OK;

    if (!compute)
        return RING_OK;
    compute += seat->rank;
    uint32_t n_pieces = compute->n_pieces(compute->context, task);
    for (uint32_t piece = 0; piece < n_pieces && status == RING_OK; piece++)
        status = compute->run_piece(compute->context, task, piece, &seat->base.error);
    return status;
}

static enum ring_status post_compute(struct ring_transport *transport, const struct ring_task *task,
                                     struct ring_request *request)
{
    struct sim_seat *seat = (struct sim_seat *)transport;
    struct sim_errand *errand = errand_new(seat->world, SIM_COMPUTATION, seat->rank);

    if (!errand)
        return ring_fail(&transport->error, RING_NO_MEMORY,
                         "out of memory for the computation of rank %" PRIu32, seat->rank);
    errand->n_waits_left = 1;
    errand->alone_s =
        model_fault_compute_s(seat->world->play.ring, seat->rank, task->step, simgrid_get_clock(),
                              model_ring_task_s(seat->world->play.ring, task));
    errand->next = seat->computations;
    seat->computations = errand;
    errand->message.step = task->step; /* for messages to people */
    request->handle = errand;
    request->index = COMPUTER;
    errand->begun_s = simgrid_get_clock();
    errand->ended_s = errand->begun_s + errand->alone_s;
    if (seat->alone || errand->alone_s == 0 || isinf(errand->alone_s))
        errand->stage = SIM_CLOCKED;
    else
        sim_courier_send(seat->world, errand);
    return run_pieces(seat, task);
}

/* A lazy message may move from now on, once the rank computes nothing any more. */
static enum ring_status let_move(struct sim_seat *seat, struct sim_errand *errand)
{
    enum ring_status status = RING_OK;

    while (seat->computations && status == RING_OK)
        status = sim_world_await(seat, seat->computations);
    if (status != RING_OK)
        return status;
    for (struct sim_errand **link = &seat->lazy; *link; link = &(*link)->next_of_seat) {
        if (*link != errand)
            continue;
        *link = errand->next_of_seat;
        break;
    }
    errand->may_move = true;
    move_if_ready(seat, errand);
    return RING_OK;
}

void sim_transport_hurry(struct sim_seat *seat)
{
    while (seat->lazy) {
        struct sim_errand *errand = seat->lazy;
        seat->lazy = errand->next_of_seat;
        errand->may_move = true;
        move_if_ready(&seat->world->seats[errand->rank], errand);
    }
}

static enum ring_status wait(struct ring_transport *transport, struct ring_request *request)
{
    struct sim_seat *seat = (struct sim_seat *)transport;
    struct sim_errand *errand = request->handle;
    bool receives = request->index == RECEIVER;
    enum ring_status status = RING_OK;

    send_ready(seat, errand);
    if (receives && !errand->may_move) {
        status = let_move(seat, errand);
        send_ready(seat, errand);
    }
    if (status == RING_OK)
        status = sim_world_await(seat, errand);
    if (status != RING_OK)
        return status;
    request->begun_s = errand->begun_s;
    request->ended_s = errand->ended_s;
    if (receives) {
        request->ended_s += model_fault_latency_s(seat->world->play.ring, errand->hop, errand->ended_s);
        if (request->ended_s > simgrid_get_clock()) {
            sg_actor_sleep_until(request->ended_s);
            request->ended_s = simgrid_get_clock(); /* the same but for rounding */
        }
    }
    request->handle = NULL;
    errand_release(seat->world, errand);
    return RING_OK;
}

static double now(struct ring_transport *transport)
{
    (void)transport;
    return simgrid_get_clock();
}

void sim_transport_init(struct sim_seat *seat)
{
    static const struct ring_transport_ops ops = {
        .post_send = post_send,
        .post_recv = post_recv,
        .post_compute = post_compute,
        .wait = wait,
        .now = now,
    };

    seat->base = (struct ring_transport){.ops = &ops};
}
