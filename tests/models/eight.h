/* SPDX-License-Identifier: MIT
 *
 * Eight devices in a ring of cables, with blocks that just hide hops, and faults to strike it with. */
#ifndef TESTS_MODELS_EIGHT_H
#define TESTS_MODELS_EIGHT_H

#include <math.h>

#include "models/fault.h"
#include "tests/models/ring_case.h"

static const double hop_ms = 1e3 * 33554432.0 / 25e9 + 1e-3, block_ms = 1.3744;

/* Cables d0 - d1 - ... - d7 - d0, each way a link; cable i leads from device i on. */
static inline void ring_of_eight(struct ring_case *that)
{
    ring_case_init(that);
    that->spec = (struct ring_plan_spec){
        .strategy = "ring",
        .problem = {.tokens = 65536,
                    .batch = 1,
                    .heads = 32,
                    .kv_heads = 8,
                    .head_dim = 128,
                    .dtype = RING_BF16,
                    .mask = RING_MASK_CAUSAL},
        .layout = RING_LAYOUT_ZIGZAG,
        .n_ranks = 8,
        .n_buffers = 2,
    };
    that->compute.block_s = block_ms / 1e3;
    that->cluster.topology.devices_forward = true;
    for (uint32_t i = 0; i < 8; i++)
        topology_builder_device(&that->cluster, "d%u", i);
    for (uint32_t i = 0; i < 8; i++)
        topology_builder_cable(&that->cluster, i, (i + 1) % 8, 25e9, 1e-6);
}

static inline void strike(struct ring_case *that, const struct model_faults *faults)
{
    struct ring_error error = {""};

    if (model_faults_apply(&that->ring, faults, &error) != RING_OK)
        fail_msg("%s", error.text);
}

static inline double end_ms(const struct ring_case *that)
{
    double end_s = 0;

    for (uint32_t rank = 0; rank < that->plan.n_ranks; rank++)
        end_s = fmax(end_s, that->ends_s[rank]);
    return 1e3 * end_s;
}

static inline struct model_fault slow(uint32_t device, double times)
{
    return (struct model_fault){
        .kind = MODEL_FAULT_SLOW, .subject = "slow one", .device = device, .amount = times, .to_s = INFINITY};
}

static inline struct model_fault thin(const uint32_t *link, double share)
{
    return (struct model_fault){.kind = MODEL_FAULT_BANDWIDTH,
                                .subject = "thin one",
                                .links = link,
                                .n_links = 1,
                                .amount = share,
                                .to_s = INFINITY};
}

#endif
