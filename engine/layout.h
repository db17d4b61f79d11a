/* SPDX-License-Identifier: MIT
 *
 * Which tokens of the sequence each rank owns. A rank keeps its queries and its output rows, and the K/V of
 * the same tokens are the block that travels. Three ways to deal the tokens:
 *
 * - contiguous: rank r has the r-th slice. Under a causal mask the last rank has nearly all the work.
 * - zigzag: the sequence is cut into 2N chunks and rank r has chunks r and 2N-1-r: an early one with little
 *   to see and a late one with much, so every rank and every step has the same work.
 * - striped: rank r has tokens r, r+N, r+2N ...: nearly balanced, with a triangle in every block.
 *
 * A sequence that does not divide is dealt as evenly as whole tokens allow, the first slices or chunks one
 * token longer: nothing is padded and nothing is lost. */
#ifndef RING_LAYOUT_H
#define RING_LAYOUT_H

#include <stdint.h>

#include "engine/status.h"

#define RING_LAYOUTS(X) X(CONTIGUOUS, "contiguous") X(ZIGZAG, "zigzag") X(STRIPED, "striped")

#define RING_LAYOUT_ENUM(name, text) RING_LAYOUT_##name,
enum ring_layout_kind { RING_LAYOUTS(RING_LAYOUT_ENUM) RING_N_LAYOUTS };
#undef RING_LAYOUT_ENUM

extern const char *const ring_layout_names[RING_N_LAYOUTS];

struct ring_layout {
    enum ring_layout_kind kind;
    uint64_t tokens;
    uint32_t n_ranks;
};

/* Positions first, first + stride, ... of the global sequence; count of them. */
struct ring_run {
    uint64_t first;
    uint64_t count;
    uint64_t stride;
};

/* The tokens of one rank, ascending: the local index of a token is its place in runs[0] followed by runs[1].
 */
struct ring_shard {
    struct ring_run runs[2];
    uint32_t n_runs;
    uint64_t tokens; /* sum of the counts */
};

/* RING_BAD_INPUT where some rank would own no token, saying how many ranks or tokens fit. */
enum ring_status ring_layout_check(const struct ring_layout *layout, struct ring_error *error);

/* The shard of a rank < n_ranks. */
struct ring_shard ring_layout_shard(const struct ring_layout *layout, uint32_t rank);

/* Tokens of the largest shard: what a buffer that can hold any block must hold. */
uint64_t ring_layout_max_tokens(const struct ring_layout *layout);

/* Global position of the shard's token at local index < tokens. Ascends with index. */
uint64_t ring_shard_position(const struct ring_shard *shard, uint64_t index);

#endif
