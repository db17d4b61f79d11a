/* SPDX-License-Identifier: MIT
 *
 * A ring's faults, sorted by whom they strike. Internal to models/. */
#ifndef MODEL_FAULTY_H
#define MODEL_FAULTY_H

#include "models/fault.h"
#include "models/ring.h"

struct model_faulty {
    const struct model_faults *faults;   /* borrowed */
    uint32_t *rank_first;                /* [n_ranks + 1] into of_ranks */
    const struct model_fault **of_ranks; /* slow, jitter, dies; in the file's order */
    uint32_t *link_first;                /* [n_links + 1] into of_links */
    const struct model_fault *
        *of_links;     /* bandwidth, latency, flap, dies; a dead device's links have it too */
    bool links_change; /* some link in use, other than by dying */
};

#endif
