/* SPDX-License-Identifier: MIT
 *
 * The loop. Each step starts moving the block in hand to the next rank and the next block in from the
 * previous one, works on the block in hand meanwhile, and ends when all three are done. Overlap is not a
 * parameter: it is what is left when post_* return at once. Receives are waited for first, so that a block's
 * latency passes while the computation runs. */
#include "engine/run.h"

#include <assert.h>

/* Requests in flight in one direction. A slot has at most one. */
struct flight {
    uint32_t n;
    uint32_t slots[RING_MAX_POSTS];
    struct ring_request *requests[RING_MAX_POSTS];
    struct ring_request storage[RING_MAX_POSTS];
};

static void open_flight(struct flight *flight)
{
    flight->n = 0;
    for (uint32_t i = 0; i < RING_MAX_POSTS; i++)
        flight->requests[i] = &flight->storage[i];
}

static struct ring_request *take_off(struct flight *flight, uint32_t slot)
{
    assert(flight->n < RING_MAX_POSTS);
    flight->slots[flight->n] = slot;
    return flight->requests[flight->n++];
}

/* The request of a slot, which may be used again once it has been waited for. */
static struct ring_request *land(struct flight *flight, uint32_t slot)
{
    uint32_t i = 0, last = --flight->n;

    while (flight->slots[i] != slot)
        i++;
    struct ring_request *request = flight->requests[i];
    flight->slots[i] = flight->slots[last];
    flight->requests[i] = flight->requests[last];
    flight->requests[last] = request;
    return request;
}

static struct ring_buffer message_buffer(const struct ring_memory *memory, const struct ring_message *message)
{
    struct ring_buffer slot = memory->slots[message->slot];

    assert(message->bytes <= slot.bytes);
    return (struct ring_buffer){.data = slot.data, .bytes = message->bytes};
}

static enum ring_status post_messages(const struct ring_plan_step *step, const struct ring_memory *memory,
                                      struct flight *receives, struct flight *sends,
                                      struct ring_transport *transport)
{
    enum ring_status status = RING_OK;

    for (uint32_t i = 0; i < step->n_receives && status == RING_OK; i++) {
        const struct ring_message *message = &step->receives[i];
        status = transport->ops->post_recv(transport, message, message_buffer(memory, message),
                                           take_off(receives, message->slot));
    }
    for (uint32_t i = 0; i < step->n_sends && status == RING_OK; i++) {
        const struct ring_message *message = &step->sends[i];
        status = transport->ops->post_send(transport, message, message_buffer(memory, message),
                                           take_off(sends, message->slot));
    }
    return status;
}

static enum ring_status wait_slots(const uint32_t *slots, uint32_t n_slots, struct flight *flight,
                                   struct ring_transport *transport)
{
    enum ring_status status = RING_OK;

    for (uint32_t i = 0; i < n_slots && status == RING_OK; i++)
        status = transport->ops->wait(transport, land(flight, slots[i]));
    return status;
}

static struct ring_task step_task(const struct ring_plan *plan, uint32_t rank, uint32_t s,
                                  const struct ring_plan_step *step, const struct ring_memory *memory)
{
    struct ring_task task = {
        .job = step->job,
        .rank = rank,
        .step = s,
        .block = step->block,
        .first = step->first,
        .work = step->work,
        .kv = {memory->slots[step->slot].data, ring_plan_block_bytes(plan, step->block)},
    };

    if (step->job == RING_JOB_BACKWARD)
        task.contribution =
            (struct ring_buffer){memory->slots[step->contribution_slot].data,
                                 ring_plan_payload_bytes(plan, RING_CONTRIBUTION, step->block)};
    return task;
}

/* The contribution just computed joins the gradient that came with the block. */
static enum ring_status add_gradient(const struct ring_plan *plan, struct ring_task task,
                                     const struct ring_plan_step *step, const struct ring_memory *memory,
                                     struct ring_transport *transport)
{
    struct ring_request request;

    task.job = RING_JOB_ADD;
    task.first = step->begins;
    task.gradient = (struct ring_buffer){memory->slots[step->gradient_slot].data,
                                         ring_plan_payload_bytes(plan, RING_GRADIENT, step->block)};
    enum ring_status status = transport->ops->post_compute(transport, &task, &request);
    return status == RING_OK ? transport->ops->wait(transport, &request) : status;
}

enum ring_status ring_run(const struct ring_plan *plan, uint32_t rank, const struct ring_memory *memory,
                          struct ring_transport *transport)
{
    struct flight receives, sends;
    struct ring_request compute;
    struct ring_plan_step step;
    enum ring_status status = RING_OK;

    assert(memory->n_slots >= plan->n_slots);
    open_flight(&receives);
    open_flight(&sends);
    for (uint32_t s = 0; s < plan->n_steps && status == RING_OK; s++) {
        ring_plan_step(plan, rank, s, &step);
        struct ring_task task = step_task(plan, rank, s, &step, memory);

        status = post_messages(&step, memory, &receives, &sends, transport);
        if (status == RING_OK && step.computes)
            status = transport->ops->post_compute(transport, &task, &compute);
        if (status == RING_OK)
            status = wait_slots(step.await_receive_slots, step.n_await_receives, &receives, transport);
        if (status == RING_OK && step.computes)
            status = transport->ops->wait(transport, &compute);
        if (status == RING_OK)
            status = wait_slots(step.await_send_slots, step.n_await_sends, &sends, transport);
        if (status == RING_OK && step.adds)
            status = add_gradient(plan, task, &step, memory, transport);
    }
    return status;
}
