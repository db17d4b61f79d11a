/* SPDX-License-Identifier: MIT
 *
 * The loop. Each step starts moving the block in hand to the next rank and the next block in from the
 * previous one, works on the block in hand meanwhile, and ends when all three are done. Overlap is not a
 * parameter: it is what is left when post_* return at once. Receives are waited for first, so that a block's
 * latency passes while the computation runs. */
#include "engine/run.h"

#include <assert.h>

/* Requests in flight of one rank: at most one of each direction per slot. */
struct requests {
    struct ring_request receives[1 + RING_MAX_BUFFERS];
    struct ring_request sends[1 + RING_MAX_BUFFERS];
    struct ring_request compute;
};

static struct ring_buffer message_buffer(const struct ring_memory *memory, const struct ring_message *message)
{
    struct ring_buffer slot = memory->slots[message->slot];

    assert(message->bytes <= slot.bytes);
    return (struct ring_buffer){.data = slot.data, .bytes = message->bytes};
}

static enum ring_status post_messages(const struct ring_plan_step *step, const struct ring_memory *memory,
                                      struct requests *requests, struct ring_transport *transport)
{
    enum ring_status status = RING_OK;

    for (uint32_t i = 0; i < step->n_receives && status == RING_OK; i++) {
        const struct ring_message *message = &step->receives[i];
        status = transport->ops->post_recv(transport, message, message_buffer(memory, message),
                                           &requests->receives[message->slot]);
    }
    for (uint32_t i = 0; i < step->n_sends && status == RING_OK; i++) {
        const struct ring_message *message = &step->sends[i];
        status = transport->ops->post_send(transport, message, message_buffer(memory, message),
                                           &requests->sends[message->slot]);
    }
    return status;
}

static enum ring_status wait_slots(const uint32_t *slots, uint32_t n_slots, struct ring_request *requests,
                                   struct ring_transport *transport)
{
    enum ring_status status = RING_OK;

    for (uint32_t i = 0; i < n_slots && status == RING_OK; i++)
        status = transport->ops->wait(transport, &requests[slots[i]]);
    return status;
}

enum ring_status ring_run(const struct ring_plan *plan, uint32_t rank, const struct ring_memory *memory,
                          struct ring_transport *transport)
{
    struct requests requests;
    struct ring_plan_step step;
    enum ring_status status = RING_OK;

    assert(memory->n_slots >= plan->n_slots);
    for (uint32_t s = 0; s < plan->n_steps && status == RING_OK; s++) {
        ring_plan_step(plan, rank, s, &step);

        status = post_messages(&step, memory, &requests, transport);
        if (status == RING_OK && step.computes) {
            struct ring_task task = {
                .rank = rank,
                .step = s,
                .block = step.block,
                .work = step.work,
                .kv = {memory->slots[step.slot].data, ring_plan_block_bytes(plan, step.block)},
            };
            status = transport->ops->post_compute(transport, &task, &requests.compute);
        }
        if (status == RING_OK)
            status =
                wait_slots(step.await_receive_slots, step.n_await_receives, requests.receives, transport);
        if (status == RING_OK && step.computes)
            status = transport->ops->wait(transport, &requests.compute);
        if (status == RING_OK)
            status = wait_slots(step.await_send_slots, step.n_await_sends, requests.sends, transport);
    }
    return status;
}
