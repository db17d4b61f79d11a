/* SPDX-License-Identifier: MIT
 *
 * How often a rank that computes looks at its messages, and how long there is something to look at. What a
 * look costs is the device's (price.c). */
#include "models/price.h"

#include <math.h>

/* Ten looks at each transfer: a copy or a wire moves some 10 GB/s. Never more often than a look is worth,
 * never so seldom that a handshake waits long. */
#define LOOKS_PER_TRANSFER   10
#define EXPECTED_BYTES_PER_S 10e9
#define LEAST_LOOK_S         100e-6
#define MOST_LOOK_S          1e-3

double model_look_interval_s(uint64_t bytes)
{
    double transfer_s = (double)bytes / EXPECTED_BYTES_PER_S;

    return fmin(fmax(transfer_s / LOOKS_PER_TRANSFER, LEAST_LOOK_S), MOST_LOOK_S);
}

/* The largest message of a plan. */
static uint64_t largest_bytes(const struct ring_plan *plan)
{
    uint64_t bytes = model_ring_class_bytes(plan);
    uint64_t gradient = plan->pass == RING_PASS_FORWARD ? 0 : ring_plan_payload_bytes(plan, RING_GRADIENT, 0);

    return gradient > bytes ? gradient : bytes;
}

void model_ring_plan_looks(struct model_ring *ring)
{
    const struct ring_plan *plan = ring->plan;

    /* a thread that looks takes the computing core's time where it has no other */
    bool here = ring->progress == MODEL_PROGRESS_POLL ||
                (ring->progress == MODEL_PROGRESS_THREAD && !ring->spare_core);

    ring->look_interval_s = here && plan->n_ranks > 1 ? model_look_interval_s(largest_bytes(plan)) : INFINITY;
    ring->looking_s = 2 * ring->look_interval_s;
    for (uint32_t h = 0; h < ring->hop_first[plan->n_ranks]; h++) {
        const struct model_hop *hop = &ring->hops[h];
        double moving_s = hop->lazy ? 0 : (double)model_ring_class_bytes(plan) / hop->bytes_per_s;
        ring->looking_s = fmax(ring->looking_s, moving_s + 2 * ring->look_interval_s);
    }
}
