/* SPDX-License-Identifier: MIT
 *
 * Through whom a step's time passes. The critical path leads backwards from the rank that ends last: while it
 * computed, time went there; where it waited for a message, the path goes over the hop to whoever let the
 * message begin, and on from there. The wave is the other way round: when a delay that somebody causes
 * reaches each rank. Both are read off the parts of every rank's steps, whatever world they are from. */
#ifndef MODEL_PATH_H
#define MODEL_PATH_H

#include "engine/parts.h"
#include "models/ring.h"

enum model_path_kind { MODEL_PATH_COMPUTE, MODEL_PATH_MESSAGE };

/* A stretch of time: steps first_step to last_step of a rank, or that many messages of one hop. */
struct model_path_part {
    enum model_path_kind kind;
    uint32_t rank, peer; /* of a message: from rank to peer */
    uint32_t first_step, last_step;
    double begin_s, end_s;
};

struct model_path {
    struct model_path_part *parts; /* in order of time, without gaps; like ones in a row are one */
    size_t n_parts;
};

/* steps [n_ranks][n_steps], times from 0. Finish path with model_path_fini. RING_NO_MEMORY. */
enum ring_status model_path_find(const struct model_ring *ring, const struct ring_parts *steps,
                                 struct model_path *path, struct ring_error *error);
void model_path_fini(struct model_path *path);

/* first_steps [n_ranks]: the first step of each rank that ends later than in healthy by more than a hundredth
 * of a mean step; n_steps: none does. Both [n_ranks][n_steps]. */
void model_wave_find(uint32_t n_ranks, uint32_t n_steps, const struct ring_parts *steps,
                     const struct ring_parts *healthy, uint32_t *first_steps);

#endif
