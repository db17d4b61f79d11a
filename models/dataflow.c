/* SPDX-License-Identifier: MIT
 *
 * The recurrence for any schedule: each rank is followed through its plan until it waits for something that
 * has no time yet, and is taken up again when that gets one. Times depend only on times that are final, so
 * the order in which ranks are taken up changes nothing; when none can be taken up and some are not done, the
 * schedule deadlocks. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "models/dataflow.h"
#include "models/deadlock.h"

static void release(struct machine *machine)
{
    free(machine->ranks);
    free(machine->steps);
    free(machine->inboxes);
    free(machine->outboxes);
    free(machine->flows);
    free(machine->queue);
}

static enum ring_status allocate(struct machine *machine)
{
    const struct model_ring *ring = machine->play->ring;
    size_t n = machine->plan->n_ranks, n_slots = n * machine->plan->n_slots, n_hops = ring->hop_first[n];

    machine->ranks = calloc(n, sizeof *machine->ranks);
    machine->steps = malloc(n * sizeof *machine->steps);
    machine->inboxes = calloc(n_slots, sizeof *machine->inboxes);
    machine->outboxes = malloc(n_slots * sizeof *machine->outboxes);
    machine->flows = calloc(n_hops + 1, sizeof *machine->flows);
    machine->queue = malloc(n * sizeof *machine->queue);
    if (!machine->ranks || !machine->steps || !machine->inboxes || !machine->outboxes || !machine->flows ||
        !machine->queue)
        return ring_fail(machine->error, RING_NO_MEMORY, "out of memory for %zu ranks", n);
    for (size_t i = 0; i < n_slots; i++)
        machine->outboxes[i] = NONE;
    for (uint32_t rank = 0; rank < n; rank++)
        for (uint32_t h = ring->hop_first[rank]; h < ring->hop_first[rank + 1]; h++)
            machine->flows[h] =
                (struct flow){.source = rank, .target = ring->hops[h].target, .first = NONE, .last = NONE};
    return RING_OK;
}

void model_wake(struct machine *machine, uint32_t rank)
{
    if (machine->ranks[rank].queued)
        return;
    machine->ranks[rank].queued = true;
    uint32_t at = machine->queue_head + machine->n_queued++;
    machine->queue[at < machine->plan->n_ranks ? at : at - machine->plan->n_ranks] = rank;
}

static double compute_s(struct machine *machine, uint32_t rank, const struct ring_plan_step *step)
{
    struct model_prices *prices = &machine->play->prices;

    if (!step->computes)
        return 0;
    double block_s = model_prices_block_s(prices, rank, step->job, &step->work);
    return step->job == RING_JOB_BACKWARD && step->first ? block_s + model_prices_prepare_s(prices, rank)
                                                         : block_s;
}

static enum ring_status post_all(struct machine *machine, uint32_t rank)
{
    struct rank_state *state = &machine->ranks[rank];
    struct ring_plan_step *step = &machine->steps[rank];
    enum ring_status status = RING_OK;

    ring_plan_step(machine->plan, rank, state->step, step);
    state->begin_s = state->now_s;
    for (uint32_t i = 0; i < step->n_receives && status == RING_OK; i++)
        status = model_mail_post_receive(machine, rank, &step->receives[i]);
    for (uint32_t i = 0; i < step->n_sends && status == RING_OK; i++)
        status = model_mail_post_send(machine, rank, &step->sends[i]);
    for (uint32_t i = 0; i < step->n_sends && status == RING_OK; i++)
        status = model_mail_let_go(machine, rank, &step->sends[i]);
    state->computed_s =
        state->begin_s + model_fault_compute_s(machine->play->ring, rank, state->step, state->begin_s,
                                               compute_s(machine, rank, step));
    state->parts =
        (struct ring_parts){.begin_s = state->begin_s, .compute_s = state->computed_s - state->begin_s};
    return status;
}

static enum ring_status bad_wait(struct machine *machine, uint32_t rank, const char *what, uint32_t slot)
{
    return ring_fail(machine->error, RING_BAD_INPUT,
                     "plan %s: rank %" PRIu32 " at step %" PRIu32 " waits for a %s in slot %" PRIu32
                     ", but there is none",
                     machine->plan->kind->name, rank, machine->ranks[rank].step, what, slot);
}

static void end_step(struct machine *machine, uint32_t rank, bool *blocked)
{
    struct rank_state *state = &machine->ranks[rank];
    struct ring_parts *total = &machine->play->totals[rank];
    const struct model_ring *ring = machine->play->ring;

    double add_s = model_fault_compute_s(ring, rank, state->step, state->now_s,
                                         model_ring_add_s(ring, rank, &machine->steps[rank]));
    *blocked = isinf(add_s);
    if (*blocked)
        return;
    state->now_s += add_s;
    state->parts.compute_s += add_s;
    state->parts.end_s = state->now_s;
    total->compute_s += state->parts.compute_s;
    total->transfer_s += state->parts.transfer_s;
    total->wait_s += state->parts.wait_s;
    if (machine->play->steps)
        machine->play->steps[(size_t)rank * machine->plan->n_steps + state->step] = state->parts;
    state->step++;
    state->phase = state->step < machine->plan->n_steps ? POSTING : DONE;
}

static enum ring_status receive_all(struct machine *machine, uint32_t rank, bool *blocked)
{
    struct rank_state *state = &machine->ranks[rank];
    const struct ring_plan_step *step = &machine->steps[rank];

    for (; state->next_wait < step->n_await_receives; state->next_wait++) {
        uint32_t slot = step->await_receive_slots[state->next_wait];
        struct inbox *inbox = slot < machine->plan->n_slots ? inbox_of(machine, rank, slot) : NULL;
        if (!inbox || inbox->state == FREE)
            return bad_wait(machine, rank, "receive", slot);
        if (!model_mail_wait_receive(machine, rank, inbox)) {
            *blocked = true;
            return RING_OK;
        }
    }
    *blocked = isinf(state->computed_s);
    state->now_s = later(state->now_s, state->computed_s);
    return RING_OK;
}

static enum ring_status send_all(struct machine *machine, uint32_t rank, bool *blocked)
{
    struct rank_state *state = &machine->ranks[rank];
    const struct ring_plan_step *step = &machine->steps[rank];

    for (; state->next_wait < step->n_await_sends; state->next_wait++) {
        uint32_t slot = step->await_send_slots[state->next_wait];
        uint32_t *outbox = slot < machine->plan->n_slots ? outbox_of(machine, rank, slot) : NULL;
        if (!outbox || *outbox == NONE)
            return bad_wait(machine, rank, "send", slot);
        if (!model_mail_wait_send(machine, rank, outbox)) {
            *blocked = true;
            return RING_OK;
        }
    }
    return RING_OK;
}

/* Follows a rank until it is done or waits for what has no time yet. */
static enum ring_status follow(struct machine *machine, uint32_t rank)
{
    struct rank_state *state = &machine->ranks[rank];
    enum ring_status status = RING_OK;
    bool blocked = false;

    while (status == RING_OK && !blocked && state->phase != DONE) {
        switch (state->phase) {
        case POSTING:
            status = post_all(machine, rank);
            state->phase = RECEIVING;
            state->next_wait = 0;
            break;
        case RECEIVING:
            status = receive_all(machine, rank, &blocked);
            if (status == RING_OK && !blocked) {
                state->phase = SENDING;
                state->next_wait = 0;
            }
            break;
        case SENDING:
            status = send_all(machine, rank, &blocked);
            if (status == RING_OK && !blocked)
                end_step(machine, rank, &blocked);
            break;
        case DONE:
            break;
        }
    }
    return status;
}

/* What a rank that is stuck waits for. */
static struct model_wait find_wait(struct machine *machine, uint32_t rank)
{
    const struct rank_state *state = &machine->ranks[rank];
    const struct ring_plan_step *step = &machine->steps[rank];
    bool receiving = state->phase == RECEIVING;

    if (state->next_wait == (receiving ? step->n_await_receives : step->n_await_sends))
        return (struct model_wait){.kind = MODEL_WAIT_COMPUTE, .rank = rank, .hop = state->step};
    if (receiving) {
        const struct inbox *inbox = inbox_of(machine, rank, step->await_receive_slots[state->next_wait]);
        return (struct model_wait){.kind = MODEL_WAIT_RECEIVE,
                                   .rank = rank,
                                   .peer = machine->flows[inbox->hop].source,
                                   .block = inbox->block,
                                   .hop = inbox->step};
    }
    uint32_t outbox = *outbox_of(machine, rank, step->await_send_slots[state->next_wait]);
    const struct flow *flow = &machine->flows[outbox / MAX_PARCELS];
    return (struct model_wait){.kind = MODEL_WAIT_SEND,
                               .rank = rank,
                               .peer = flow->target,
                               .block = flow->parcels[outbox % MAX_PARCELS].block,
                               .hop = flow->step};
}

static enum ring_status deadlock(struct machine *machine)
{
    uint32_t n_ranks = machine->plan->n_ranks, n_stuck = 0;
    struct model_wait *waits = malloc(n_ranks * sizeof *waits);
    struct ring_error line;

    if (!waits)
        return ring_fail(machine->error, RING_DEADLOCK, "nobody can go on");
    for (uint32_t rank = 0; rank < n_ranks; rank++)
        if (machine->ranks[rank].phase != DONE)
            waits[n_stuck++] = find_wait(machine, rank);
    model_deadlock_line(machine->play->ring, waits, n_stuck, line.text, sizeof line.text);
    free(waits);
    return ring_fail(machine->error, RING_DEADLOCK, "%s", line.text);
}

enum ring_status model_play_dataflow(struct model_play *play, struct ring_error *error)
{
    struct machine machine = {.play = play, .plan = play->ring->plan, .error = error};
    uint32_t n_ranks = machine.plan->n_ranks, n_done = 0;

    enum ring_status status = allocate(&machine);
    for (uint32_t rank = 0; rank < n_ranks && status == RING_OK; rank++)
        model_wake(&machine, rank);
    while (status == RING_OK && (machine.n_queued > 0 || model_mail_settle_earliest(&machine))) {
        uint32_t rank = machine.queue[machine.queue_head];
        machine.queue_head = machine.queue_head + 1 == n_ranks ? 0 : machine.queue_head + 1;
        machine.n_queued--;
        machine.ranks[rank].queued = false;
        bool was_done = machine.ranks[rank].phase == DONE;
        status = follow(&machine, rank);
        n_done += !was_done && machine.ranks[rank].phase == DONE;
    }
    if (status == RING_OK && n_done < n_ranks)
        status = deadlock(&machine);
    for (uint32_t rank = 0; rank < n_ranks && status == RING_OK; rank++)
        play->ends_s[rank] = machine.ranks[rank].now_s;
    release(&machine);
    return status;
}
