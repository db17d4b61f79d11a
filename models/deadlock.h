/* SPDX-License-Identifier: MIT
 *
 * The line of a run in which nobody can go on: what died, and who waits for whom at which hop, the earliest
 * first, for that is where it began. The same words in every simulated world. */
#ifndef MODEL_DEADLOCK_H
#define MODEL_DEADLOCK_H

#include <stddef.h>

#include "models/ring.h"

enum model_wait_kind { MODEL_WAIT_COMPUTE, MODEL_WAIT_RECEIVE, MODEL_WAIT_SEND };

/* What a rank waits for: its own computation, a block that peer sends, or peer to take a block. */
struct model_wait {
    enum model_wait_kind kind;
    uint32_t rank, peer, block; /* peer, block: not of a computation */
    uint32_t hop;               /* a step of the plan */
};

/* Writes the line, as much as fits: "no progress (d5 dies at 0.004 s): nobody can go on: rank 5 waits for
 * block 3 from rank 4 at hop 2; ...; and 6 more". Sorts the waits. */
void model_deadlock_line(const struct model_ring *ring, struct model_wait *waits, size_t n_waits, char *line,
                         size_t size);

#endif
