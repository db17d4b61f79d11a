/* SPDX-License-Identifier: MIT
 *
 * The five calls over MPI. See transport.h for what a computation and a poll are here; messages on their way
 * are messages.c's, computations deferred.c's, politeness and time limits bounded.c's. */
#include "exec/transport_parts.h"

#include <signal.h>
#include <stdlib.h>

#include "exec/helper.h"

/* Between looks at what a device does, in a long wait. */
#define SHORT_NAP_S 20e-6

static struct exec_transport *of(struct ring_transport *transport)
{
    return (struct exec_transport *)transport;
}

static double now(struct ring_transport *transport)
{
    return exec_transport_now(of(transport));
}

static enum ring_status give_up(struct exec_transport *t, const struct exec_flight *flight,
                                enum ring_status status)
{
    char what[128];

    exec_flight_describe(flight, what, sizeof what);
    const char *lacks = flight->kind == EXEC_SEND   ? "been taken"
                        : flight->kind == EXEC_RECV ? "arrived"
                                                    : "been computed";
    if (status == RING_TIMED_OUT)
        return ring_fail(&t->base.error, status, "rank %d: %s has not %s after %g s", t->rank, what, lacks,
                         t->spec.bound.timeout_s);
    return ring_fail(&t->base.error, status, "rank %d: %s: stopped from outside while waiting for it",
                     t->rank, what);
}

static enum ring_status wait_for(struct ring_transport *transport, struct ring_request *request)
{
    struct exec_transport *t = of(transport);
    struct exec_flight *flight = request->handle;
    enum ring_status status = exec_transport_compute(t, flight);
    struct exec_patience patience = exec_patience_begin(&t->spec.bound);

    while (status == RING_OK && !flight->done) {
        status = exec_transport_look(t);
        if (status != RING_OK || flight->done)
            break;
        if (t->spec.mover) /* a chunk that has come wants the next to follow */
            patience.nap_s = SHORT_NAP_S;
        status = exec_patience_pause(&patience);
        if (status != RING_OK)
            return give_up(t, flight, status);
    }
    if (status != RING_OK)
        return status;
    request->begun_s = flight->begun_s;
    request->ended_s = flight->ended_s;
    exec_flight_remove(&t->hangar, flight);
    request->handle = NULL;
    return RING_OK;
}

static enum ring_status no_memory(struct exec_transport *t)
{
    return ring_fail(&t->base.error, RING_NO_MEMORY, "rank %d: out of memory for a message", t->rank);
}

static enum ring_status post(struct exec_transport *t, enum exec_flight_kind kind,
                             const struct ring_message *message, struct ring_buffer buffer,
                             struct ring_request *request)
{
    struct exec_flight *flight = exec_flight_add(&t->hangar, kind, exec_transport_now(t));

    if (!flight)
        return no_memory(t);
    request->handle = flight;
    flight->message = *message;
    flight->buffer = buffer;
    double delay_s =
        kind == EXEC_SEND && t->spec.hardship
            ? exec_hardship_delay_s(t->spec.hardship, message->peer, buffer.bytes, flight->posted_s)
            : 0;
    if (delay_s > 0) {
        flight->held = true;
        flight->due_s = flight->posted_s + delay_s;
        return RING_OK;
    }
    return exec_transport_start_message(t, flight);
}

static enum ring_status post_send(struct ring_transport *transport, const struct ring_message *message,
                                  struct ring_buffer buffer, struct ring_request *request)
{
    struct exec_transport *t = of(transport);

    if (t->spec.fault.signal && message->step == t->spec.fault.hop)
        raise(t->spec.fault.signal);
    t->bytes_sent += buffer.bytes;
    return post(t, EXEC_SEND, message, buffer, request);
}

static enum ring_status post_recv(struct ring_transport *transport, const struct ring_message *message,
                                  struct ring_buffer buffer, struct ring_request *request)
{
    return post(of(transport), EXEC_RECV, message, buffer, request);
}

static enum ring_status post_compute(struct ring_transport *transport, const struct ring_task *task,
                                     struct ring_request *request)
{
    struct exec_transport *t = of(transport);
    struct exec_flight *flight = exec_flight_add(&t->hangar, EXEC_COMPUTE, now(transport));

    if (!flight)
        return no_memory(t);
    request->handle = flight;
    flight->task = *task;
    const struct exec_worker *worker = t->spec.compute.worker;
    return worker ? worker->start(worker->context, flight, &t->base.error) : RING_OK;
}

static const struct ring_transport_ops ops = {
    .post_send = post_send,
    .post_recv = post_recv,
    .post_compute = post_compute,
    .wait = wait_for,
    .now = now,
};

/* Which ranks are on this machine. */
static enum ring_status find_neighbours(struct exec_transport *t)
{
    MPI_Comm here;
    MPI_Group all_group, here_group;
    int n_ranks = 0, n_here = 0;

    MPI_Comm_size(t->comm, &n_ranks);
    t->shares_memory = calloc((size_t)n_ranks, sizeof *t->shares_memory);
    if (!t->shares_memory)
        return no_memory(t);
    enum ring_status status =
        exec_mpi(MPI_Comm_split_type(t->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here), t->rank,
                 "finding the ranks of this machine", &t->base.error);
    if (status != RING_OK)
        return status;
    MPI_Comm_group(t->comm, &all_group);
    MPI_Comm_group(here, &here_group);
    MPI_Comm_size(here, &n_here);
    for (int i = 0; i < n_here; i++) {
        int rank = MPI_UNDEFINED;
        MPI_Group_translate_ranks(here_group, 1, &i, all_group, &rank);
        if (rank >= 0 && rank < n_ranks)
            t->shares_memory[rank] = true;
    }
    MPI_Group_free(&all_group);
    MPI_Group_free(&here_group);
    MPI_Comm_free(&here);
    return RING_OK;
}

enum ring_status exec_transport_open(struct exec_transport **out, const struct exec_transport_spec *spec,
                                     struct ring_error *error)
{
    struct exec_transport *t = calloc(1, sizeof *t);

    *out = NULL;
    if (!t)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for the transport");
    t->base.ops = &ops;
    t->spec = *spec;
    t->comm = MPI_COMM_NULL;
    exec_hangar_init(&t->hangar);
    MPI_Comm_rank(spec->comm, &t->rank);
    MPI_Comm_set_errhandler(spec->comm, MPI_ERRORS_RETURN);
    enum ring_status status =
        exec_mpi(MPI_Comm_dup(spec->comm, &t->comm), t->rank, "opening the transport", &t->base.error);
    if (status == RING_OK)
        status = find_neighbours(t);
    if (status == RING_OK && spec->progress == MODEL_PROGRESS_THREAD && !spec->compute.worker)
        status = exec_helper_open(&t->helper, t, spec->spare_core, &t->base.error);
    if (status != RING_OK) {
        if (error)
            *error = t->base.error;
        exec_transport_close(t);
        return status;
    }
    *out = t;
    return RING_OK;
}

/* After a failure, workers have work left. */
static void drop_all(const struct exec_worker *worker, struct exec_flight *first)
{
    for (struct exec_flight *flight = first; worker && flight; flight = flight->next)
        worker->drop(worker->context, flight);
}

void exec_transport_close(struct exec_transport *t)
{
    if (!t)
        return;
    exec_helper_close(t->helper);
    drop_all(t->spec.mover, t->hangar.messages.first);
    drop_all(t->spec.compute.worker, t->hangar.computes.first);
    if (t->comm != MPI_COMM_NULL && !t->hangar.messages.first)
        MPI_Comm_free(&t->comm);
    exec_hangar_fini(&t->hangar);
    free(t->shares_memory);
    free(t);
}

struct ring_transport *exec_transport_base(struct exec_transport *transport)
{
    return &transport->base;
}

void exec_transport_set_compute(struct exec_transport *transport, const struct exec_compute *compute)
{
    transport->spec.compute = *compute;
}

uint64_t exec_transport_bytes_sent(const struct exec_transport *transport)
{
    return transport->bytes_sent;
}

double exec_transport_copy_cpu_s(const struct exec_transport *transport)
{
    return transport->copy_cpu_s;
}

struct exec_crew_time exec_transport_crew_time(const struct exec_transport *transport)
{
    return transport->crew_time;
}
