/* SPDX-License-Identifier: MIT
 *
 * See script.h. */
#include "tests/models/script.h"

static const struct script *played;

static struct ring_message message_of(uint32_t index, uint32_t peer)
{
    const struct script_message *message = &played->messages[index];

    return (struct ring_message){.payload = RING_KV,
                                 .peer = peer,
                                 .step = message->send_step,
                                 .slot = 1 + index,
                                 .bytes = message->bytes};
}

static void script_step(const struct ring_plan *plan, uint32_t rank, uint32_t step,
                        struct ring_plan_step *out)
{
    *out = (struct ring_plan_step){.computes = played->computes[rank][step], .block = rank};
    if (out->computes)
        out->work = ring_plan_work(plan, rank, rank);
    for (uint32_t i = 0; i < played->n_messages; i++) {
        const struct script_message *message = &played->messages[i];
        if (message->to == rank && message->receive_step == step)
            out->receives[out->n_receives++] = message_of(i, message->from);
        if (message->from == rank && message->send_step == step)
            out->sends[out->n_sends++] = message_of(i, message->to);
        if (message->to == rank && message->receive_await_step == step)
            out->await_receive_slots[out->n_await_receives++] = 1 + i;
        if (message->from == rank && message->send_await_step == step)
            out->await_send_slots[out->n_await_sends++] = 1 + i;
    }
}

static uint32_t script_targets(const struct ring_plan *plan, uint32_t rank, uint32_t *out)
{
    uint32_t n = 0;

    for (uint32_t target = 0; target < plan->n_ranks; target++)
        for (uint32_t i = 0; i < played->n_messages; i++)
            if (played->messages[i].from == rank && played->messages[i].to == target) {
                out[n++] = target;
                break;
            }
    return n;
}

static enum ring_payload script_slot(const struct ring_plan *plan, uint32_t slot)
{
    (void)plan;
    (void)slot;
    return RING_KV;
}

void script_into_plan(const struct script *script, struct ring_plan *plan)
{
    static const struct ring_plan_kind kind = {
        .name = "script", .step = script_step, .targets = script_targets, .slot = script_slot};

    played = script;
    plan->kind = &kind;
    plan->n_ranks = script->n_ranks;
    plan->n_steps = script->n_steps;
    plan->n_slots = 1 + SCRIPT_MESSAGES;
}
