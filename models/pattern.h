/* SPDX-License-Identifier: MIT
 *
 * What all ranks of a regular plan do at a step, read off rank 0's: see struct ring_plan_kind. Internal to
 * models/. */
#ifndef MODEL_PATTERN_H
#define MODEL_PATTERN_H

#include "engine/plan.h"

struct model_pattern {
    enum ring_job job;
    bool first;          /* of its pass */
    uint32_t s;          /* step of the pass: what kind->block wants */
    bool works;          /* on the block in hand, as far as the mask leaves anything of it */
    bool moves_kv;       /* sends the block in hand, awaits the next and the send */
    uint32_t lag;        /* how many steps ago the receive of the awaited block was posted */
    bool moves_gradient; /* sends that of the last block, awaits that of the block in hand and the send */
};

/* patterns [n_steps]. False if the plan is not of this kind. */
bool model_patterns_read(const struct ring_plan *plan, struct model_pattern *patterns);

#endif
