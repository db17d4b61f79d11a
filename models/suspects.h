/* SPDX-License-Identifier: MIT
 *
 * Who could be to blame, before anything is played. Internal to models/. */
#ifndef MODEL_SUSPECTS_H
#define MODEL_SUSPECTS_H

#include "models/blame.h"

enum { MODEL_MOST_SUSPECTS = 4 * MODEL_MOST_CULPRITS };

struct model_suspect {
    bool device, listed; /* listed: faults strike it; otherwise it differs from its peers */
    const char *name;
    uint32_t index;
    double excess_s; /* a guess of what it costs, to look at the worst first; infinity if listed */
    double share,
        late_s; /* of its like's: time of a device, bandwidth of a link; and latency less than own */
};

/* Fills suspects, worst first; returns how many, or SIZE_MAX without memory. */
size_t model_suspects_find(const struct model_ring *ring, struct model_suspect suspects[MODEL_MOST_SUSPECTS]);

/* Whether a fault is one of this suspect's. */
bool model_suspect_has(const struct model_suspect *suspect, const struct model_fault *fault);

#endif
