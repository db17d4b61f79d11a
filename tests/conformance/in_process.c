/* SPDX-License-Identifier: MIT
 *
 * See in_process.h. One lock for everything. */
#include "tests/conformance/in_process.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A message or a computation; freed by its last wait. */
struct operation {
    uint32_t source, target, tag;
    bool sent, received, done;
    const void *from;
    void *to;
    uint64_t bytes;
    double begun_s, ended_s;
    unsigned n_waits_left;
    struct ring_task task; /* of a computation */
    bool computes;
    struct operation *next; /* of the unmatched */
};

struct process {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct operation *unmatched; /* in the order posted */
    double clock_s;
};

struct seat {
    struct ring_transport base;
    struct process *process;
    const struct ring_compute *compute;
    in_process_body body;
    void *context;
    uint32_t rank;
    pthread_t thread;
    enum ring_status status;
    struct ring_error error;
};

/* The lock is held. */
static double tick(struct process *process)
{
    return process->clock_s += 1;
}

static struct operation *meet(struct process *process, uint32_t source, uint32_t target, uint32_t tag,
                              bool sends)
{
    struct operation **link = &process->unmatched;

    for (; *link; link = &(*link)->next) {
        struct operation *other = *link;
        if (other->source == source && other->target == target && other->tag == tag &&
            !(sends ? other->sent : other->received)) {
            *link = other->next;
            return other;
        }
    }
    *link = calloc(1, sizeof **link);
    if (*link)
        **link = (struct operation){.source = source, .target = target, .tag = tag, .n_waits_left = 2};
    return *link;
}

static enum ring_status post(struct ring_transport *transport, const struct ring_message *message,
                             struct ring_buffer buffer, struct ring_request *request, bool sends)
{
    struct seat *seat = (struct seat *)transport;
    struct process *process = seat->process;
    uint32_t source = sends ? seat->rank : message->peer, target = sends ? message->peer : seat->rank;

    pthread_mutex_lock(&process->lock);
    struct operation *operation = meet(process, source, target, message->tag, sends);
    if (operation && sends) {
        operation->sent = true;
        operation->from = buffer.data;
        operation->bytes = buffer.bytes;
    } else if (operation) {
        operation->received = true;
        operation->to = buffer.data;
    }
    if (operation && operation->sent && operation->received) {
        operation->begun_s = tick(process);
        memcpy(operation->to, operation->from, operation->bytes);
        operation->ended_s = tick(process);
        operation->done = true;
        pthread_cond_broadcast(&process->changed);
    }
    pthread_mutex_unlock(&process->lock);
    request->handle = operation;
    return operation ? RING_OK : ring_fail(&transport->error, RING_NO_MEMORY, "out of memory for a message");
}

static enum ring_status post_send(struct ring_transport *transport, const struct ring_message *message,
                                  struct ring_buffer buffer, struct ring_request *request)
{
    return post(transport, message, buffer, request, true);
}

static enum ring_status post_recv(struct ring_transport *transport, const struct ring_message *message,
                                  struct ring_buffer buffer, struct ring_request *request)
{
    return post(transport, message, buffer, request, false);
}

static enum ring_status post_compute(struct ring_transport *transport, const struct ring_task *task,
                                     struct ring_request *request)
{
    struct operation *operation = calloc(1, sizeof *operation);

    if (!operation)
        return ring_fail(&transport->error, RING_NO_MEMORY, "out of memory for a computation");
    *operation = (struct operation){.computes = true, .task = *task, .n_waits_left = 1};
    request->handle = operation;
    return RING_OK;
}

static double now(struct ring_transport *transport)
{
    struct process *process = ((struct seat *)transport)->process;

    pthread_mutex_lock(&process->lock);
    double now_s = process->clock_s;
    pthread_mutex_unlock(&process->lock);
    return now_s;
}

static enum ring_status compute_now(struct seat *seat, struct operation *operation)
{
    uint32_t n_pieces = seat->compute->n_pieces(seat->compute->context, &operation->task);
    enum ring_status status = RING_OK;

    operation->begun_s = now(&seat->base);
    for (uint32_t piece = 0; piece < n_pieces && status == RING_OK; piece++)
        status = seat->compute->run_piece(seat->compute->context, &operation->task, piece, &seat->base.error);
    operation->ended_s = now(&seat->base);
    return status;
}

static enum ring_status wait_moved(struct seat *seat, struct operation *operation)
{
    struct process *process = seat->process;
    struct timespec deadline;
    int result = 0;

    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += 20;
    pthread_mutex_lock(&process->lock);
    while (!operation->done && result != ETIMEDOUT)
        result = pthread_cond_timedwait(&process->changed, &process->lock, &deadline);
    bool done = operation->done;
    pthread_mutex_unlock(&process->lock);
    return done
               ? RING_OK
               : ring_fail(&seat->base.error, RING_TIMED_OUT, "a message from rank %u to rank %u never moved",
                           operation->source, operation->target);
}

static enum ring_status wait(struct ring_transport *transport, struct ring_request *request)
{
    struct seat *seat = (struct seat *)transport;
    struct operation *operation = request->handle;
    enum ring_status status =
        operation->computes ? compute_now(seat, operation) : wait_moved(seat, operation);

    if (status != RING_OK)
        return status;
    request->begun_s = operation->begun_s;
    request->ended_s = operation->ended_s;
    pthread_mutex_lock(&seat->process->lock);
    bool last = --operation->n_waits_left == 0;
    pthread_mutex_unlock(&seat->process->lock);
    if (last)
        free(operation);
    return RING_OK;
}

static void *rank_main(void *argument)
{
    struct seat *seat = argument;

    seat->status = seat->body(seat->context, seat->rank, &seat->base, &seat->error);
    return NULL;
}

enum ring_status in_process_run(uint32_t n_ranks, const struct ring_compute *compute, in_process_body body,
                                void *context, struct ring_error *error)
{
    static const struct ring_transport_ops ops = {post_send, post_recv, post_compute, wait, now};
    struct process process = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, 0};
    struct seat *seats = calloc(n_ranks, sizeof *seats);
    enum ring_status status = RING_OK;
    uint32_t n_started = 0;

    if (!seats)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for %u ranks", n_ranks);
    for (; n_started < n_ranks; n_started++) {
        struct seat *seat = &seats[n_started];
        *seat = (struct seat){.base = {.ops = &ops}, .process = &process, .compute = &compute[n_started]};
        seat->body = body;
        seat->context = context;
        seat->rank = n_started;
        if (pthread_create(&seat->thread, NULL, rank_main, seat) != 0)
            break;
    }
    if (n_started < n_ranks)
        status = ring_fail(error, RING_NO_MEMORY, "rank %u has no thread", n_started);
    for (uint32_t rank = 0; rank < n_started; rank++) {
        pthread_join(seats[rank].thread, NULL);
        if (status == RING_OK && seats[rank].status != RING_OK)
            status = ring_fail(error, seats[rank].status, "%s", seats[rank].error.text);
    }
    while (process.unmatched) {
        struct operation *left = process.unmatched;
        process.unmatched = left->next;
        free(left);
    }
    free(seats);
    return status;
}
