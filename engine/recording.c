/* SPDX-License-Identifier: MIT
 *
 * Calls are written down, requests remember their call. */
#include "engine/recording.h"

static enum ring_status record(struct ring_recording *recording, struct ring_recorded call)
{
    if (recording->n_calls < recording->capacity)
        recording->calls[recording->n_calls] = call;
    recording->n_calls++;
    if (recording->n_calls == recording->fail_at)
        return ring_fail(&recording->base.error, RING_WORLD, "call %zu was told to fail", recording->n_calls);
    return RING_OK;
}

static enum ring_status post(struct ring_transport *transport, struct ring_recorded call,
                             struct ring_request *request)
{
    struct ring_recording *recording = (struct ring_recording *)transport;

    request->index = (uint32_t)recording->n_calls;
    request->begun_s = (double)recording->n_calls;
    return record(recording, call);
}

static enum ring_status record_send(struct ring_transport *transport, const struct ring_message *message,
                                    struct ring_buffer buffer, struct ring_request *request)
{
    struct ring_recorded call = {RING_RECORDED_SEND, message->step, message->peer, message->block, buffer};

    return post(transport, call, request);
}

static enum ring_status record_recv(struct ring_transport *transport, const struct ring_message *message,
                                    struct ring_buffer buffer, struct ring_request *request)
{
    struct ring_recorded call = {RING_RECORDED_RECV, message->step, message->peer, message->block, buffer};

    return post(transport, call, request);
}

static enum ring_status record_compute(struct ring_transport *transport, const struct ring_task *task,
                                       struct ring_request *request)
{
    struct ring_recorded call = {RING_RECORDED_COMPUTE, task->step, task->rank, task->block, task->kv};

    return post(transport, call, request);
}

static enum ring_status record_wait(struct ring_transport *transport, struct ring_request *request)
{
    struct ring_recording *recording = (struct ring_recording *)transport;
    struct ring_recorded call = {.kind = RING_RECORDED_SEND};

    if (request->index < recording->capacity)
        call = recording->calls[request->index];
    call.kind = (enum ring_recorded_kind)(call.kind + RING_RECORDED_WAIT_SEND);
    request->ended_s = (double)recording->n_calls;
    return record(recording, call);
}

static double record_now(struct ring_transport *transport)
{
    return (double)((struct ring_recording *)transport)->n_calls;
}

void ring_recording_init(struct ring_recording *recording, struct ring_recorded *calls, size_t capacity)
{
    static const struct ring_transport_ops ops = {
        .post_send = record_send,
        .post_recv = record_recv,
        .post_compute = record_compute,
        .wait = record_wait,
        .now = record_now,
    };

    *recording = (struct ring_recording){.base = {.ops = &ops}, .calls = calls, .capacity = capacity};
}
