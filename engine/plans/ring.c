/* SPDX-License-Identifier: MIT
 *
 * The ring. At step s rank r has block r - s in hand: it sends it on to r + 1, receives the next one from r -
 * 1, and computes on it meanwhile. After N steps every query has met every key, and every block has made N -
 * 1 hops.
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
 * Buffers: home keeps the rank's own block; the block of step s >= 1 lives in travelling slot 1 + (s - 1) mod
 * n. The receive for step s + n - 1 is posted at step s, when the slot's last user, step s - 1, has been
 * computed and sent: with n = 2 that is one block ahead (double buffering), with more buffers further ahead,
 * so that a sender that is early need not wait for a receiver that is late.
 *
 * Source: Liu, Zaharia, Abbeel, "Ring Attention with Blockwise Transformers", 2023. */
#include <inttypes.h>

#include "engine/plans/plans.h"

static uint32_t next_rank(const struct ring_plan *plan, uint32_t rank)
{
    return rank + 1 == plan->n_ranks ? 0 : rank + 1;
}

static uint32_t previous_rank(const struct ring_plan *plan, uint32_t rank)
{
    return rank == 0 ? plan->n_ranks - 1 : rank - 1;
}

/* The block that rank has in hand at step. */
static uint32_t block_at(const struct ring_plan *plan, uint32_t rank, uint32_t step)
{
    return rank >= step ? rank - step : rank + plan->n_ranks - step;
}

static uint32_t slot_at(const struct ring_plan *plan, uint32_t step)
{
    return step == 0 ? RING_HOME_SLOT : 1 + (step - 1) % plan->n_buffers;
}

/* The hop that leaves the sender's step; equal at both ends. */
static struct ring_message hop(const struct ring_plan *plan, uint32_t peer, uint32_t step, uint32_t block,
                               uint32_t slot)
{
    return (struct ring_message){
        .peer = peer,
        .tag = step % RING_TAG_LIMIT,
        .step = step,
        .block = block,
        .slot = slot,
        .bytes = ring_plan_block_bytes(plan, block),
    };
}

static enum ring_status ring_init(struct ring_plan *plan, struct ring_error *error)
{
    if (plan->pass != RING_PASS_FORWARD)
        return ring_fail(error, RING_UNSUPPORTED, "pass '%s' is not supported yet, wanted 'forward'",
                         ring_pass_names[plan->pass]);
    plan->n_steps = plan->n_ranks;
    plan->n_slots = plan->n_ranks == 1 ? 1 : 1 + plan->n_buffers;
    return RING_OK;
}

static void ring_step(const struct ring_plan *plan, uint32_t rank, uint32_t step, struct ring_plan_step *out)
{
    uint32_t last = plan->n_ranks - 1; /* the last step, which forwards nothing */
    uint32_t ahead = plan->n_buffers - 1;

    out->n_receives = 0;
    for (uint32_t s = step == 0 ? 1 : step + ahead; s <= step + ahead && s <= last; s++)
        out->receives[out->n_receives++] =
            hop(plan, previous_rank(plan, rank), s - 1, block_at(plan, rank, s), slot_at(plan, s));

    out->block = block_at(plan, rank, step);
    out->slot = slot_at(plan, step);
    out->work = ring_plan_work(plan, rank, out->block);
    out->computes = out->work.visible_pairs > 0;

    out->n_sends = out->n_await_receives = out->n_await_sends = 0;
    if (step < last) {
        out->sends[out->n_sends++] = hop(plan, next_rank(plan, rank), step, out->block, out->slot);
        out->await_receive_slots[out->n_await_receives++] = slot_at(plan, step + 1);
        out->await_send_slots[out->n_await_sends++] = out->slot;
    }
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
};
