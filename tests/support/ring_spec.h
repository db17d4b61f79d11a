/* SPDX-License-Identifier: MIT
 *
 * The ring that tests of attention vary from: one batch, zigzag under a causal mask, both passes, two
 * buffers, gradients in fp32. */
#ifndef TESTS_SUPPORT_RING_SPEC_H
#define TESTS_SUPPORT_RING_SPEC_H

#include "engine/plan.h"

static inline struct ring_plan_spec usual_ring(uint32_t n_ranks, uint64_t tokens, uint32_t heads,
                                               uint32_t kv_heads, uint32_t head_dim, enum ring_dtype dtype)
{
    return (struct ring_plan_spec){
        .strategy = "ring",
        .problem = {.tokens = tokens,
                    .batch = 1,
                    .heads = heads,
                    .kv_heads = kv_heads,
                    .head_dim = head_dim,
                    .dtype = dtype,
                    .mask = RING_MASK_CAUSAL},
        .layout = RING_LAYOUT_ZIGZAG,
        .pass = RING_PASS_BOTH,
        .n_ranks = n_ranks,
        .n_buffers = RING_MIN_BUFFERS,
        .gradient_dtype = RING_FP32,
    };
}

#endif
