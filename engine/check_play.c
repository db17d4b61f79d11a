/* SPDX-License-Identifier: MIT
 *
 * One rank's step against abstract memory: slots hold block numbers, a message moves when both ends have
 * posted it, and everything that a real memory would silently get wrong is a fault here. */
#include "engine/check_play.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum ring_status ring_check_fault(struct check *check, uint32_t rank, const char *format, ...)
{
    char what[256];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return ring_fail(check->error, RING_BAD_INPUT, "plan '%s', rank %" PRIu32 ", step %" PRIu32 ": %s",
                     check->plan->kind->name, rank, check->ranks[rank].step, what);
}

/* What a block's payload must weigh, from the shapes alone. */
static uint64_t payload_bytes(const struct ring_plan *plan, enum ring_payload payload, uint32_t block)
{
    struct ring_problem problem = plan->problem;

    if (payload == RING_GRADIENT && problem.dtype != RING_FP64)
        problem.dtype = plan->gradient_dtype;
    return ring_problem_kv_bytes(&problem, ring_layout_shard(&plan->layout, block).tokens);
}

static enum ring_status check_message(struct check *check, uint32_t rank, const struct ring_message *message,
                                      bool is_send)
{
    const char *verb = is_send ? "send" : "receive";

    if (message->peer >= check->plan->n_ranks)
        return ring_check_fault(check, rank, "%s names rank %" PRIu32 " of %" PRIu32, verb, message->peer,
                                check->plan->n_ranks);
    if (message->tag >= RING_TAG_LIMIT)
        return ring_check_fault(check, rank, "%s has tag %" PRIu32 ", wanted below %d", verb, message->tag,
                                RING_TAG_LIMIT);
    if (message->slot >= check->plan->n_slots)
        return ring_check_fault(check, rank, "%s names slot %" PRIu32 " of %" PRIu32, verb, message->slot,
                                check->plan->n_slots);
    if (message->payload == RING_CONTRIBUTION ||
        ring_plan_slot(check->plan, message->slot) != message->payload)
        return ring_check_fault(
            check, rank, "%s of payload %d names slot %" PRIu32 ", which is for payload %d", verb,
            (int)message->payload, message->slot, (int)ring_plan_slot(check->plan, message->slot));
    if (message->block >= check->plan->n_ranks ||
        message->bytes != payload_bytes(check->plan, message->payload, message->block))
        return ring_check_fault(
            check, rank, "%s of block %" PRIu32 " has %" PRIu64 " bytes, which is not that block's size",
            verb, message->block, message->bytes);
    if (message->bytes > ring_plan_slot_bytes(check->plan, rank, message->slot))
        return ring_check_fault(check, rank, "%s of %" PRIu64 " bytes does not fit slot %" PRIu32, verb,
                                message->bytes, message->slot);
    return RING_OK;
}

static enum ring_status post_receive(struct check *check, uint32_t rank, const struct ring_message *message)
{
    struct rank_state *state = &check->ranks[rank];
    enum ring_status status = check_message(check, rank, message, false);

    if (status != RING_OK)
        return status;
    struct slot_state *slot = &state->slots[message->slot];
    if (message->slot == RING_HOME_SLOT)
        return ring_check_fault(check, rank, "a receive would overwrite the rank's own block");
    if (slot->receiving || slot->sending || (state->now.computes && state->now.slot == message->slot))
        return ring_check_fault(check, rank, "a receive would overwrite slot %" PRIu32 " while it is %s",
                                message->slot,
                                slot->receiving ? "being received into"
                                : slot->sending ? "being sent"
                                                : "being computed on");
    *slot = (struct slot_state){.block = CHECK_NOTHING, .receiving = true};
    state->pending[state->n_pending++] = (struct pending){*message, false};
    return RING_OK;
}

static enum ring_status post_send(struct check *check, uint32_t rank, const struct ring_message *message)
{
    struct rank_state *state = &check->ranks[rank];
    enum ring_status status = check_message(check, rank, message, true);

    if (status != RING_OK)
        return status;
    struct slot_state *slot = &state->slots[message->slot];
    if (slot->receiving || slot->block != message->block)
        return ring_check_fault(check, rank,
                                "a send of block %" PRIu32 " reads slot %" PRIu32 ", which does not hold it",
                                message->block, message->slot);
    if (slot->sending)
        return ring_check_fault(check, rank, "slot %" PRIu32 " is sent twice at once", message->slot);
    slot->sending = true;
    slot->sent = false;
    state->pending[state->n_pending++] = (struct pending){*message, true};
    return RING_OK;
}

/* A backward computation overwrites the contribution: the last one must have been added. */
static enum ring_status write_contribution(struct check *check, uint32_t rank)
{
    struct rank_state *state = &check->ranks[rank];
    uint32_t slot = state->now.contribution_slot;

    if (slot >= check->plan->n_slots || ring_plan_slot(check->plan, slot) != RING_CONTRIBUTION)
        return ring_check_fault(check, rank,
                                "writes its contribution into slot %" PRIu32 ", which is not for it", slot);
    if (state->slots[slot].block != CHECK_NOTHING)
        return ring_check_fault(check, rank,
                                "overwrites its contribution to block %" PRIu32 " before it is added",
                                state->slots[slot].block);
    state->slots[slot].block = state->now.block;
    return RING_OK;
}

/* The end of a backward step: the contribution joins the gradient of its block. */
static enum ring_status add_contribution(struct check *check, uint32_t rank)
{
    struct rank_state *state = &check->ranks[rank];
    const struct ring_plan_step *step = &state->now;

    if (step->contribution_slot >= check->plan->n_slots || step->gradient_slot >= check->plan->n_slots)
        return ring_check_fault(check, rank, "adds slot %" PRIu32 " to slot %" PRIu32 " of %" PRIu32,
                                step->contribution_slot, step->gradient_slot, check->plan->n_slots);
    struct slot_state *contribution = &state->slots[step->contribution_slot];
    struct slot_state *gradient = &state->slots[step->gradient_slot];
    if (gradient->receiving || gradient->sending)
        return ring_check_fault(check, rank, "adds to slot %" PRIu32 " while it is in flight",
                                step->gradient_slot);
    if (contribution->block != step->block || (!step->begins && gradient->block != step->block))
        return ring_check_fault(check, rank, "adds to the gradient of block %" PRIu32 " what is not there",
                                step->block);
    gradient->n_ranks = step->begins ? 1 : gradient->n_ranks + 1;
    gradient->block = step->block;
    contribution->block = CHECK_NOTHING;
    return RING_OK;
}

static enum ring_status post_compute(struct check *check, uint32_t rank)
{
    struct rank_state *state = &check->ranks[rank];
    const struct ring_plan_step *step = &state->now;

    if (step->block >= check->plan->n_ranks || step->slot >= check->plan->n_slots)
        return ring_check_fault(check, rank,
                                "computes on block %" PRIu32 " in slot %" PRIu32 ", which do not exist",
                                step->block, step->slot);
    const struct slot_state *slot = &state->slots[step->slot];
    if (slot->receiving || slot->block != step->block)
        return ring_check_fault(check, rank,
                                "computes on block %" PRIu32 " in slot %" PRIu32 ", which does not hold it",
                                step->block, step->slot);
    uint8_t job = step->job == RING_JOB_FORWARD ? CHECK_FORWARD : CHECK_BACKWARD;
    if (state->computed[step->block] & job)
        return ring_check_fault(check, rank, "block %" PRIu32 " is computed twice", step->block);
    struct ring_shard queries = ring_layout_shard(&check->plan->layout, rank);
    struct ring_shard keys = ring_layout_shard(&check->plan->layout, step->block);
    struct ring_work work = ring_work_count(check->plan->problem.mask, &queries, &keys);
    if (work.visible_pairs != step->work.visible_pairs)
        return ring_check_fault(check, rank,
                                "block %" PRIu32 " has %" PRIu64 " visible pairs, the plan says %" PRIu64,
                                step->block, work.visible_pairs, step->work.visible_pairs);
    state->computed[step->block] |= job;
    return job == CHECK_BACKWARD ? write_contribution(check, rank) : RING_OK;
}

static void remove_pending(struct rank_state *state, size_t i)
{
    for (state->n_pending--; i < state->n_pending; i++)
        state->pending[i] = state->pending[i + 1];
}

/* The first unmet message of a payload and direction between rank and peer, at rank; n_pending if none. */
static size_t find_pending(const struct rank_state *state, uint32_t peer, enum ring_payload payload,
                           bool is_send)
{
    size_t i = 0;

    while (i < state->n_pending &&
           (state->pending[i].message.peer != peer || state->pending[i].message.payload != payload ||
            state->pending[i].is_send != is_send))
        i++;
    return i;
}

/* Moves everything that rank has posted and whose other end is posted as well. */
static enum ring_status match(struct check *check, uint32_t rank)
{
    struct rank_state *state = &check->ranks[rank];

    for (size_t i = 0; i < state->n_pending;) {
        struct pending mine = state->pending[i];
        struct rank_state *other = &check->ranks[mine.message.peer];
        size_t j = find_pending(other, rank, mine.message.payload, !mine.is_send);
        if (j == other->n_pending ||
            find_pending(state, mine.message.peer, mine.message.payload, mine.is_send) != i) {
            i++;
            continue;
        }
        struct pending theirs = other->pending[j];
        const struct ring_message *send = mine.is_send ? &mine.message : &theirs.message;
        const struct ring_message *receive = mine.is_send ? &theirs.message : &mine.message;
        if (send->tag != receive->tag || send->block != receive->block || send->bytes != receive->bytes)
            return ring_check_fault(
                check, rank,
                "a send of block %" PRIu32 " (tag %" PRIu32 ", %" PRIu64
                " bytes) meets a receive of block %" PRIu32 " (tag %" PRIu32 ", %" PRIu64 " bytes)",
                send->block, send->tag, send->bytes, receive->block, receive->tag, receive->bytes);
        struct slot_state *sent = &(mine.is_send ? state : other)->slots[send->slot];
        sent->sent = true;
        struct slot_state *landed = &(mine.is_send ? other : state)->slots[receive->slot];
        landed->received = true;
        landed->block = receive->block;
        landed->n_ranks = sent->n_ranks;
        remove_pending(state, i);
        remove_pending(other, find_pending(other, rank, mine.message.payload, !mine.is_send));
        i = 0;
    }
    return RING_OK;
}

enum ring_status ring_check_post_step(struct check *check, uint32_t rank)
{
    struct rank_state *state = &check->ranks[rank];
    enum ring_status status = RING_OK;

    ring_plan_step(check->plan, rank, state->step, &state->now);
    state->posted = true;
    for (uint32_t i = 0; i < state->now.n_receives && status == RING_OK; i++)
        status = post_receive(check, rank, &state->now.receives[i]);
    for (uint32_t i = 0; i < state->now.n_sends && status == RING_OK; i++)
        status = post_send(check, rank, &state->now.sends[i]);
    if (status == RING_OK && state->now.computes)
        status = post_compute(check, rank);
    return status == RING_OK ? match(check, rank) : status;
}

enum ring_status ring_check_end_step(struct check *check, uint32_t rank, bool *ended)
{
    struct rank_state *state = &check->ranks[rank];
    const struct ring_plan_step *step = &state->now;

    *ended = false;
    for (uint32_t i = 0; i < step->n_await_receives; i++)
        if (step->await_receive_slots[i] >= check->plan->n_slots)
            return ring_check_fault(check, rank, "waits for slot %" PRIu32 " of %" PRIu32,
                                    step->await_receive_slots[i], check->plan->n_slots);
    for (uint32_t i = 0; i < step->n_await_sends; i++)
        if (step->await_send_slots[i] >= check->plan->n_slots)
            return ring_check_fault(check, rank, "waits for slot %" PRIu32 " of %" PRIu32,
                                    step->await_send_slots[i], check->plan->n_slots);
    for (uint32_t i = 0; i < step->n_await_receives; i++) {
        if (!state->slots[step->await_receive_slots[i]].receiving)
            return ring_check_fault(check, rank,
                                    "waits for a receive in slot %" PRIu32 " that was never posted",
                                    step->await_receive_slots[i]);
        if (!state->slots[step->await_receive_slots[i]].received)
            return RING_OK;
    }
    for (uint32_t i = 0; i < step->n_await_sends; i++) {
        if (!state->slots[step->await_send_slots[i]].sending)
            return ring_check_fault(check, rank,
                                    "waits for a send from slot %" PRIu32 " that was never posted",
                                    step->await_send_slots[i]);
        if (!state->slots[step->await_send_slots[i]].sent)
            return RING_OK;
    }
    for (uint32_t i = 0; i < step->n_await_receives; i++)
        state->slots[step->await_receive_slots[i]].receiving = false;
    for (uint32_t i = 0; i < step->n_await_sends; i++)
        state->slots[step->await_send_slots[i]].sending = false;
    enum ring_status status = step->adds ? add_contribution(check, rank) : RING_OK;
    if (status != RING_OK)
        return status;
    state->step++;
    state->posted = false;
    *ended = true;
    return RING_OK;
}
