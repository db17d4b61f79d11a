/* SPDX-License-Identifier: MIT
 *
 * The messages of the MPI transport: how one starts, how all on their way are looked at, and when one is said
 * to have moved. What a message in flight is, flight.c knows. */
#include "exec/transport_parts.h"

#include <math.h>

/* No core copies faster: a call that was quicker than this did not copy the message. */
#define FASTEST_COPY_BYTES_PER_S 50e9

static bool counts_cpu(const struct exec_transport *t)
{
    return t->spec.count_copies || t->helper;
}

static struct exec_call begin_call(const struct exec_transport *t)
{
    return (struct exec_call){.begin_s = exec_transport_now(t),
                              .cpu_s = counts_cpu(t) ? exec_clock_cpu_s() : 0};
}

static void end_call(const struct exec_transport *t, struct exec_call *call)
{
    call->cpu_s = counts_cpu(t) ? exec_clock_cpu_s() - call->cpu_s : 0;
    call->end_s = exec_transport_now(t);
}

/* Through shared memory, a receive's bytes are copied inside one of our calls to MPI: the one that finds it
 * complete, or the one before, where MPI does not look again after copying. It is the one that took long
 * enough for a copy. Elsewhere we cannot tell, and say since the post. */
static void date_receive(struct exec_transport *t, struct exec_flight *flight, struct exec_call call)
{
    double copy_s = (double)flight->message.bytes / FASTEST_COPY_BYTES_PER_S;

    if (t->spec.mover || flight->kind != EXEC_RECV || !t->shares_memory[flight->message.peer])
        return;
    if (call.end_s - call.begin_s < copy_s && t->last_call.end_s - t->last_call.begin_s >= copy_s &&
        t->last_call.begin_s >= flight->posted_s)
        call = t->last_call;
    /* a helper that shares its core copies by turns with what computes there */
    flight->begun_s = t->helper ? fmax(call.begin_s, call.end_s - call.cpu_s) : call.begin_s;
    flight->ended_s = call.end_s;
    t->copy_cpu_s += call.cpu_s;
}

static enum ring_status start_message(struct exec_transport *t, struct exec_flight *flight,
                                      struct ring_error *error)
{
    const struct exec_worker *mover = t->spec.mover;

    return mover ? mover->start(mover->context, flight, error)
                 : exec_flight_start(flight, flight->buffer, t->comm, t->rank, error);
}

enum ring_status exec_transport_start_message(struct exec_transport *t, struct exec_flight *flight)
{
    t->last_call = begin_call(t);
    enum ring_status status = start_message(t, flight, &t->base.error);
    end_call(t, &t->last_call);
    return status;
}

static enum ring_status test_message(struct exec_transport *t, struct exec_flight *flight,
                                     struct ring_error *error)
{
    const struct exec_worker *mover = t->spec.mover;

    return mover ? mover->test(mover->context, flight, error) : exec_flight_test(flight, t->rank, error);
}

/* Where nobody looks after messages during computation, none moves before the first look after it. */
static void date_first_look(const struct exec_transport *t, struct exec_flight *flight, double at_s)
{
    if (!flight->looked_at && !t->spec.mover && t->spec.progress == MODEL_PROGRESS_NONE)
        flight->begun_s = at_s;
    flight->looked_at = true;
}

/* A message that was held back goes when its time has come. */
static enum ring_status let_go(struct exec_transport *t, struct exec_flight *flight, struct ring_error *error)
{
    double now_s = exec_transport_now(t);

    if (now_s < flight->due_s)
        return RING_OK;
    flight->held = false;
    flight->begun_s = now_s;
    return start_message(t, flight, error);
}

enum ring_status exec_transport_look_at_messages(struct exec_transport *t, struct ring_error *error)
{
    for (struct exec_flight *flight = t->hangar.messages.first; flight; flight = flight->next) {
        if (flight->done)
            continue;
        if (flight->held) {
            enum ring_status status = let_go(t, flight, error);
            if (status != RING_OK)
                return status;
        }
        if (flight->held)
            continue;
        struct exec_call call = begin_call(t);
        date_first_look(t, flight, call.begin_s);
        enum ring_status status = test_message(t, flight, error);
        if (status != RING_OK)
            return status;
        end_call(t, &call);
        if (flight->done) {
            flight->ended_s = call.end_s;
            date_receive(t, flight, call);
        }
        t->last_call = call;
    }
    return RING_OK;
}

enum ring_status exec_transport_look(struct exec_transport *t)
{
    enum ring_status status = exec_transport_look_at_messages(t, &t->base.error);

    return status == RING_OK ? exec_transport_look_at_device(t) : status;
}
