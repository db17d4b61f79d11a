/* SPDX-License-Identifier: MIT
 *
 * The ring. At step s of the forward pass rank r has block r - s in hand: it sends it on to r + 1, receives
 * the next one from r - 1, and computes on it meanwhile. After N steps every query has met every key, and
 * every block has made N - 1 hops.
 *
 *   step          0         1         2         3          (N = 4, the block that each rank has in hand)
 *   rank 0        0         3         2         1
 *   rank 1        1         0         3         2
 *   rank 2        2         1         0         3
 *   rank 3        3         2         1         0
 *
 * Under a causal mask a block may be wholly in the future of a rank's queries: the rank then only forwards
 * it.
 *
 * The backward pass turns the same ring once more, and with each block travels its gradient (dK, dV), one
 * step behind: the contribution of step s exists only when step s has been computed, so the gradient leaves
 * during step s + 1, and arrives while the next rank computes its own contribution to the same block, which
 * is then added. One more hop, in a step of its own, brings every gradient home, summed over all ranks that
 * saw the block.
 *
 * Buffers: home keeps the rank's own block; the block of step s >= 1 lives in travelling slot 1 + (s - 1) mod
 * n. The receive for step s + n - 1 is posted at step s, when the slot's last user, step s - 1, has been
 * computed and sent: with n = 2 that is one block ahead (double buffering), with more buffers further ahead,
 * so that a sender that is early need not wait for a receiver that is late. Gradients use two slots in turn,
 * one contribution, and the own gradient where the last hop ends.
 *
 * Source: Liu, Zaharia, Abbeel, "Ring Attention with Blockwise Transformers", 2023. */
#include "engine/plans/plans.h"

static uint32_t next_rank(const struct ring_plan *plan, uint32_t rank)
{
    return rank + 1 == plan->n_ranks ? 0 : rank + 1;
}

static uint32_t previous_rank(const struct ring_plan *plan, uint32_t rank)
{
    return rank == 0 ? plan->n_ranks - 1 : rank - 1;
}

/* The block that rank has in hand at step s of a pass, s <= N (after N steps it is the own block again). */
static uint32_t block_at(const struct ring_plan *plan, uint32_t rank, uint32_t s)
{
    return rank >= s ? rank - s : rank + plan->n_ranks - s;
}

/* Slots: home, the travelling K/V, then for a backward pass the contribution, two gradients and the own
 * gradient. keep_kv gives every block a slot of its own, so that the backward pass finds them all. */
static uint32_t n_travelling(const struct ring_plan *plan)
{
    uint32_t most = plan->n_ranks - 1;

    return plan->keep_kv || plan->n_buffers > most ? most : plan->n_buffers;
}

static uint32_t kv_slot(const struct ring_plan *plan, uint32_t s)
{
    return s == 0 ? RING_HOME_SLOT : 1 + (s - 1) % n_travelling(plan);
}

static uint32_t contribution_slot(const struct ring_plan *plan)
{
    return 1 + n_travelling(plan);
}

/* The gradient of the block in hand at step s of the backward pass; at its end, the own gradient. */
static uint32_t gradient_slot(const struct ring_plan *plan, uint32_t s)
{
    uint32_t contribution = contribution_slot(plan);

    if (s == plan->n_ranks || plan->n_ranks == 1)
        return plan->own_gradient_slot;
    return contribution + 1 + s % 2;
}

static enum ring_payload ring_slot(const struct ring_plan *plan, uint32_t slot)
{
    uint32_t contribution = contribution_slot(plan);

    return slot < contribution ? RING_KV : slot == contribution ? RING_CONTRIBUTION : RING_GRADIENT;
}

/* Tags alternate between the payloads and repeat after RING_TAG_LIMIT / 2 steps: far more than are in flight.
 */
static struct ring_message hop(const struct ring_plan *plan, enum ring_payload payload, uint32_t peer,
                               uint32_t step, uint32_t block, uint32_t slot)
{
    return (struct ring_message){
        .payload = payload,
        .peer = peer,
        .tag = (2 * (step % (RING_TAG_LIMIT / 2))) + (payload == RING_GRADIENT ? 1 : 0),
        .step = step,
        .block = block,
        .slot = slot,
        .bytes = ring_plan_payload_bytes(plan, payload, block),
    };
}

static enum ring_status ring_init(struct ring_plan *plan, struct ring_error *error)
{
    uint32_t n_forward = plan->n_ranks, n_backward = plan->n_ranks == 1 ? 1 : plan->n_ranks + 1;
    bool backward = plan->pass != RING_PASS_FORWARD;

    (void)error;
    plan->backward_step = plan->pass != RING_PASS_BACKWARD ? n_forward : 0;
    plan->n_steps = plan->backward_step + (backward ? n_backward : 0);
    plan->n_slots = 1 + n_travelling(plan);
    if (backward) {
        uint32_t n_gradients = plan->n_ranks == 1 ? 0 : 2;
        plan->own_gradient_slot = plan->n_slots + 1 + n_gradients;
        plan->n_slots = plan->own_gradient_slot + 1;
    }
    return RING_OK;
}

/* The K/V half of step s of either pass; offset is the plan's step at which the pass begins. */
static void move_kv(const struct ring_plan *plan, uint32_t rank, uint32_t s, uint32_t offset,
                    struct ring_plan_step *out)
{
    uint32_t last = plan->n_ranks - 1, ahead = plan->n_buffers - 1;

    for (uint32_t t = s == 0 ? 1 : s + ahead; t <= s + ahead && t <= last; t++)
        out->receives[out->n_receives++] = hop(plan, RING_KV, previous_rank(plan, rank), offset + t - 1,
                                               block_at(plan, rank, t), kv_slot(plan, t));
    if (s < last) {
        out->sends[out->n_sends++] =
            hop(plan, RING_KV, next_rank(plan, rank), offset + s, out->block, out->slot);
        out->await_receive_slots[out->n_await_receives++] = kv_slot(plan, s + 1);
        out->await_send_slots[out->n_await_sends++] = out->slot;
    }
}

/* The gradient half of step s of the backward pass: the gradient of the last block leaves, that of the block
 * in hand arrives and will be added to. */
static void move_gradient(const struct ring_plan *plan, uint32_t rank, uint32_t s, uint32_t offset,
                          struct ring_plan_step *out)
{
    out->contribution_slot = contribution_slot(plan);
    out->gradient_slot = gradient_slot(plan, s);
    out->adds = out->computes;
    out->begins = s == 0;
    if (s == 0)
        return;
    out->receives[out->n_receives++] = hop(plan, RING_GRADIENT, previous_rank(plan, rank), offset + s,
                                           block_at(plan, rank, s), out->gradient_slot);
    out->sends[out->n_sends++] = hop(plan, RING_GRADIENT, next_rank(plan, rank), offset + s,
                                     block_at(plan, rank, s - 1), gradient_slot(plan, s - 1));
    out->await_receive_slots[out->n_await_receives++] = out->gradient_slot;
    out->await_send_slots[out->n_await_sends++] = gradient_slot(plan, s - 1);
}

static void ring_step(const struct ring_plan *plan, uint32_t rank, uint32_t step, struct ring_plan_step *out)
{
    bool backward = ring_plan_step_pass(plan, step) == RING_PASS_BACKWARD;
    uint32_t offset = backward ? plan->backward_step : 0;
    uint32_t s = step - offset;

    out->n_receives = out->n_sends = out->n_await_receives = out->n_await_sends = 0;
    out->job = backward ? RING_JOB_BACKWARD : RING_JOB_FORWARD;
    out->first = s == 0;
    out->adds = out->begins = out->computes = false;
    out->block = block_at(plan, rank, s);
    out->slot = RING_HOME_SLOT;
    if (s < plan->n_ranks) {
        out->slot = kv_slot(plan, s);
        out->work = ring_plan_work(plan, rank, out->block);
        out->computes = out->work.visible_pairs > 0;
        if (!backward || !plan->keep_kv)
            move_kv(plan, rank, s, offset, out);
    }
    if (backward)
        move_gradient(plan, rank, s, offset, out);
}

static uint32_t ring_targets(const struct ring_plan *plan, uint32_t rank, uint32_t *out)
{
    out[0] = next_rank(plan, rank);
    return plan->n_ranks == 1 ? 0 : 1;
}

const struct ring_plan_kind ring_plan_ring = {
    .name = "ring",
    .init = ring_init,
    .step = ring_step,
    .targets = ring_targets,
    .block = block_at,
    .slot = ring_slot,
};
