/* SPDX-License-Identifier: MIT
 *
 * What each query sees of a block or of a group of its keys, as numbers of keys: positions ascend, so that
 * what a query sees is a beginning. Private to the fast kernels. */
#ifndef BLOCK_MASK_H
#define BLOCK_MASK_H

#include "exec/kernels/block.h"

/* How many of the ascending positions are <= limit, given that the first `from` are. Looks near `from` first,
 * as the next query mostly sees a key or a few more than the last one. */
static inline size_t block_count_up_to(const uint64_t *positions, size_t from, size_t n, uint64_t limit)
{
    size_t step = 1;
    for (; from + step <= n && positions[from + step - 1] <= limit; step *= 2)
        from += step;
    if (from + step <= n)
        n = from + step - 1;
    while (from < n) {
        size_t middle = from + (n - from) / 2;
        if (positions[middle] <= limit)
            from = middle + 1;
        else
            n = middle;
    }
    return from;
}

/* Keys of the whole block that each of n_places queries from `first` on sees. Places behind the n_queries
 * real ones see what the last query sees, so that they never make a tile look masked. */
static inline void block_find_visible(uint64_t *visible, const struct block_forward *block, size_t first,
                                      size_t n_queries, size_t n_places)
{
    size_t seen = block->causal ? 0 : block->k_tokens;
    for (size_t i = 0; i < n_places; i++) {
        if (block->causal && i < n_queries)
            seen = block_count_up_to(block->k_position, seen, block->k_tokens, block->q_position[first + i]);
        visible[i] = seen;
    }
}

/* Likewise of the n_keys keys from first_key on, where the whole block's numbers are known. */
static inline void block_find_limits(int32_t *limits, const uint64_t *visible, size_t n_places,
                                     size_t first_key, size_t n_keys)
{
    for (size_t i = 0; i < n_places; i++) {
        size_t limit = visible[i] > first_key ? visible[i] - first_key : 0;
        limits[i] = (int32_t)(limit < n_keys ? limit : n_keys);
    }
}

#endif
