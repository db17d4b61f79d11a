/* SPDX-License-Identifier: MIT
 *
 * What every kernel is given: a block's pointers and shapes by value, and where its rows stand in the
 * sequence. Positions ascend, so which keys a query sees is one number, how many of the block's first keys,
 * and the mask in a tile is a comparison of an index with it. */
#ifndef CUDA_VIEW_CUH
#define CUDA_VIEW_CUH

#include "exec/cuda/kernels/warp.cuh"

struct places {
    int tokens;
    int first[2], count[2], stride[2]; /* a shard's runs; an absent one has count 0 */
};

struct block_view {
    const void *q, *k, *v, *d_out;
    float *m, *l, *o, *out;
    float *lse, *delta;
    float *d_q, *d_k, *d_v;
    struct places q_at, k_at;
    int heads, kv_heads, head_dim;
    bool causal, begin;
    float scale;
};

/* Threads of every kernel that works on tiles, and of those that work on rows. */
enum { TILE_THREADS = 128, TILE_WARPS = 4, PLAIN_THREADS = 256, ROW_THREADS = 256 };

constexpr float LOG2_E = 1.4426950408889634f, LN_2 = 0.69314718055994531f;

DEVICE int position_of(const struct places &at, int index)
{
    int later = index - at.count[0];
    return later < 0 ? at.first[0] + index * at.stride[0] : at.first[1] + later * at.stride[1];
}

/* How many of the positions are <= position. */
DEVICE int count_up_to(const struct places &at, int position)
{
    int n = 0;
#pragma unroll
    for (int run = 0; run < 2; run++) {
        int after = position - at.first[run];
        if (at.count[run] > 0 && after >= 0) {
            int reached = (int)((unsigned)after / (unsigned)at.stride[run]) + 1;
            n += reached < at.count[run] ? reached : at.count[run];
        }
    }
    return n;
}

/* How many of the block's first keys a query sees; none where there is no such query. */
DEVICE int keys_seen(const struct block_view &view, int query)
{
    if (query >= view.q_at.tokens)
        return 0;
    return view.causal ? count_up_to(view.k_at, position_of(view.q_at, query)) : view.k_at.tokens;
}

/* The first query that sees a key; the number of queries if none does. */
DEVICE int first_that_sees(const struct block_view &view, int key)
{
    return view.causal ? count_up_to(view.q_at, position_of(view.k_at, key) - 1) : 0;
}

DEVICE int least(int a, int b)
{
    return a < b ? a : b;
}

/* Rows before those of (batch z, head y) in an array of so many rows a head. */
DEVICE size_t rows_before(int heads, int head, int tokens)
{
    return ((size_t)blockIdx.z * heads + head) * tokens;
}

#endif
