/* SPDX-License-Identifier: MIT
 *
 * How much there is to do when one rank's queries meet one block of keys, counted exactly in (query, key)
 * pairs. What a pair costs (FLOPs, bytes, seconds) is priced in models/. */
#ifndef RING_WORK_H
#define RING_WORK_H

#include <stdint.h>

#include "engine/layout.h"
#include "engine/problem.h"

/* One block's work, per head and batch entry. */
struct ring_work {
    uint64_t q_tokens;      /* queries that see at least one key of the block */
    uint64_t k_tokens;      /* keys that at least one query sees */
    uint64_t visible_pairs; /* pairs the mask leaves; of a full rectangle q_tokens * k_tokens; 0: skip */
};

/* Closed form, constant time. Zigzag's later steps come out as what they are: all queries on half the keys,
 * or half the queries on all keys. */
struct ring_work ring_work_count(enum ring_mask mask, const struct ring_shard *queries,
                                 const struct ring_shard *keys);

#endif
