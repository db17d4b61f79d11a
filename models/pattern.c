/* SPDX-License-Identifier: MIT
 *
 * See pattern.h. Anything unexpected means that the plan is not regular. */
#include "models/pattern.h"

#include <stddef.h>

/* A ring of the K/V receives outstanding. */
struct outstanding {
    uint32_t slots[RING_MAX_POSTS], posted[RING_MAX_POSTS];
    uint32_t n_posted, n_awaited;
};

/* Receives are awaited in the order in which they were posted, one a step, and not too long after. */
static bool read_kv(const struct ring_plan *plan, const struct ring_plan_step *step, uint32_t at,
                    struct outstanding *receives, struct model_pattern *pattern)
{
    if (receives->n_awaited == receives->n_posted)
        return false;
    uint32_t i = receives->n_awaited++ % RING_MAX_POSTS;
    pattern->lag = at - receives->posted[i];
    return step->await_receive_slots[0] == receives->slots[i] &&
           step->await_send_slots[0] == step->sends[0].slot && step->sends[0].block == step->block &&
           pattern->lag + 1 <= plan->n_buffers;
}

static bool read_gradient(const struct ring_plan *plan, const struct ring_plan_step *step,
                          const struct ring_message *receive, const struct model_pattern *pattern)
{
    uint32_t last = step->n_sends - 1;
    const struct ring_message *send = &step->sends[last];

    return receive && pattern->s > 0 && receive->block == step->block &&
           send->block == plan->kind->block(plan, 0, pattern->s - 1) &&
           step->await_receive_slots[last] == receive->slot && step->await_send_slots[last] == send->slot;
}

static bool read_step(const struct ring_plan *plan, uint32_t at, const struct ring_plan_step *step,
                      struct outstanding *receives, struct model_pattern *pattern)
{
    const struct ring_message *gradient = NULL;

    if (receives->n_posted + step->n_receives - receives->n_awaited > RING_MAX_POSTS)
        return false;
    for (uint32_t i = 0; i < step->n_receives; i++) {
        if (step->receives[i].payload == RING_GRADIENT) {
            if (gradient)
                return false;
            gradient = &step->receives[i];
            continue;
        }
        uint32_t next = receives->n_posted++ % RING_MAX_POSTS;
        receives->slots[next] = step->receives[i].slot;
        receives->posted[next] = at;
    }
    if (step->n_sends > 2 || step->n_await_receives != step->n_sends || step->n_await_sends != step->n_sends)
        return false;
    pattern->moves_kv = step->n_sends > 0 && step->sends[0].payload == RING_KV;
    pattern->moves_gradient = step->n_sends > 0 && step->sends[step->n_sends - 1].payload == RING_GRADIENT;
    if (step->n_sends != (uint32_t)pattern->moves_kv + pattern->moves_gradient)
        return false;
    if (pattern->moves_kv && !read_kv(plan, step, at, receives, pattern))
        return false;
    return pattern->moves_gradient ? read_gradient(plan, step, gradient, pattern) : !gradient;
}

bool model_patterns_read(const struct ring_plan *plan, struct model_pattern *patterns)
{
    struct outstanding receives = {.n_posted = 0};
    struct ring_plan_step step;
    uint32_t pass_begin = 0;

    if (!plan->kind->block)
        return false;
    for (uint32_t at = 0; at < plan->n_steps; at++) {
        struct model_pattern *pattern = &patterns[at];
        ring_plan_step(plan, 0, at, &step);
        if (step.first)
            pass_begin = at;
        *pattern = (struct model_pattern){.job = step.job,
                                          .first = step.first,
                                          .s = at - pass_begin,
                                          .works = at - pass_begin < plan->n_ranks};
        if (step.job == RING_JOB_ADD || pattern->s > plan->n_ranks ||
            step.block != plan->kind->block(plan, 0, pattern->s) ||
            step.block != plan->kind->block(plan, (plan->n_ranks - pattern->s) % plan->n_ranks, 0) ||
            !read_step(plan, at, &step, &receives, pattern))
            return false;
        /* rank 0 itself may see nothing of a block, so only what it must not do can be looked at */
        if (step.computes && (!pattern->works || step.adds != (step.job == RING_JOB_BACKWARD)))
            return false;
    }
    return receives.n_awaited == receives.n_posted;
}
