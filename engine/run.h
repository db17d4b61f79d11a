/* SPDX-License-Identifier: MIT
 *
 * The engine: executes any plan over any transport. It owns no memory and knows no clock; see run.c for the
 * loop, which is ring attention in twenty lines. */
#ifndef RING_RUN_H
#define RING_RUN_H

#include "engine/plan.h"
#include "engine/transport.h"

/* A rank's slots, one buffer each, n_slots of the plan; buffers[RING_HOME_SLOT] holds the rank's own K/V. */
struct ring_memory {
    struct ring_buffer *slots;
    uint32_t n_slots;
};

/* Runs all steps of one rank. Returns the first failure of a transport call; its line is in transport->error.
 */
enum ring_status ring_run(const struct ring_plan *plan, uint32_t rank, const struct ring_memory *memory,
                          struct ring_transport *transport);

#endif
