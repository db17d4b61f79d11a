/* SPDX-License-Identifier: MIT
 *
 * The arithmetic of one tile: up to TILE_VECS vectors of queries against up to BLOCK_KEY_GROUP keys. Private
 * to block_tiled.c, which brings the operands into place and says there how they lie and why. */
#ifndef BLOCK_TILE_H
#define BLOCK_TILE_H

#include <stdbool.h>
#include <string.h>

#include "exec/kernels/block.h"
#include "exec/kernels/block_objects.h"
#include "exec/kernels/block_product.h"

/* TILE_VECS vectors of queries are a tile, PANEL_VECS vectors of dims a panel of V: accumulators, operands
 * and one broadcast fill the registers, 6 x 4 of 32 with AVX-512, 6 x 2 and 4 x 3 of 16 without. */
#if defined(__AVX512F__)
enum { TILE_VECS = 4, PANEL_VECS = 4 };
#elif defined(__AVX2__)
enum { TILE_VECS = 2, PANEL_VECS = 3 };
#else
enum { TILE_VECS = 2, PANEL_VECS = 2 };
#endif
enum {
    WIDTH = TILE_VECS * LANES,
    N_TILES = 512 / WIDTH, /* that pass over a group of keys while it lies in the second-level cache */
    MAX_PANELS = BLOCK_TILED_MAX_HEAD_DIM / LANES
};

/* The working memory of one call; every array starts on a vector's boundary. */
struct work {
    /* of the tile in hand, a vector of queries after the other; then, in place, their exponentials */
    float scores[TILE_VECS][BLOCK_KEY_GROUP + MAX_ROWS][LANES];
    float m[N_TILES][WIDTH], l[N_TILES][WIDTH];
    float top[WIDTH];                 /* largest score yet of the tile in hand, m included */
    float shrink[WIDTH];              /* what the old state is multiplied by */
    int32_t limits[WIDTH];            /* keys of the group in hand that each query sees; ascends */
    uint64_t visible[N_TILES][WIDTH]; /* keys of the whole block that each query sees; ascends */
    float tail[MAX_ROWS * BLOCK_TILED_MAX_HEAD_DIM]; /* the block's last keys with zeros behind them */
    float *q;                                        /* [N_TILES][head_dim][WIDTH], scaled */
    float *packed; /* V in panels, [BLOCK_KEY_GROUP][head_dim rounded up to a vector] in all */
    float *k, *v;  /* [BLOCK_KEY_GROUP][head_dim], widened; unused for fp32 */
};

/* V of a group, or of some of its dims, where gather can read it. */
struct panel {
    const float *v; /* [n_keys][step] */
    size_t step, n_dims;
};

/* A group of keys where the products can read it. */
struct group {
    const float *k; /* [n_readable][head_dim] */
    size_t n_readable, n_panels;
    struct panel panels[MAX_PANELS];
};

/* S^T of n_rows keys from `key` on and n_vecs vectors of queries from `first` on. */
INLINE void score_rows(struct work *work, const float *q, const struct group *group, size_t key,
                       size_t head_dim, size_t first, int n_rows, int n_vecs)
{
    const float *k = group->k + key * head_dim;
    if (key + (size_t)n_rows > group->n_readable) {
        size_t n = (group->n_readable - key) * head_dim;
        memcpy(work->tail, k, n * sizeof(float));
        memset(work->tail + n, 0, ((size_t)n_rows * head_dim - n) * sizeof(float));
        k = work->tail;
    }
    vec acc[MAX_ROWS][MAX_VECS];
    multiply(acc, n_rows, n_vecs, k, head_dim, 1, q + first * LANES, WIDTH, head_dim);
#pragma GCC unroll 8
    for (int row = 0; row < n_rows; row++)
#pragma GCC unroll 4
        for (int i = 0; i < n_vecs; i++)
            vec_store(work->scores[first + (size_t)i][key + (size_t)row], acc[row][i]);
#pragma GCC unroll 4
    for (int i = 0; i < n_vecs; i++) {
        float *top = &work->top[(first + (size_t)i) * LANES];
#pragma GCC unroll 8
        for (int row = 1; row < n_rows; row++)
            acc[0][i] = vec_max(acc[row][i], acc[0][i]);
        vec_store(top, vec_max(acc[0][i], vec_load(top)));
    }
}

/* Likewise for keys from `from` to `to`, or a few more; returns to where. */
INLINE size_t score(struct work *work, const float *q, const struct group *group, size_t from, size_t to,
                    size_t head_dim, size_t first, int n_vecs)
{
    while (from < to) {
        size_t left = to - from;
        if (n_vecs < TILE_VECS) {
            score_rows(work, q, group, from, head_dim, first, 8, n_vecs);
            from += 8;
        } else if (left > 8 || left == 6 || left == 5) { /* 128 = 20 x 6 + 2 x 4 */
            score_rows(work, q, group, from, head_dim, first, 6, n_vecs);
            from += 6;
        } else {
            score_rows(work, q, group, from, head_dim, first, 4, n_vecs);
            from += 4;
        }
    }
    return from;
}

typedef size_t score_some(struct work *work, const float *q, const struct group *group, size_t from,
                          size_t to, size_t head_dim, size_t first);
#define SCORE_SOME(n)                                                                                        \
    static __attribute__((noinline))                                                                         \
    size_t score_##n(struct work *work, const float *q, const struct group *group, size_t from, size_t to,   \
                     size_t head_dim, size_t first)                                                          \
    {                                                                                                        \
        return score(work, q, group, from, to, head_dim, first, n < TILE_VECS ? n : TILE_VECS);              \
    }
SCORE_SOME(1)
SCORE_SOME(2)
SCORE_SOME(3)
SCORE_SOME(4)

/* Largest score of one vector of queries, m included, of the n_keys > 0 keys that its last query sees. On the
 * way the mask hides from each query the keys from its limit on. */
INLINE vec find_top(float (*scores)[LANES], const int32_t *limits, size_t n_keys, vec m)
{
    for (size_t key = (size_t)limits[0]; key < n_keys; key++)
        vec_store(scores[key], vec_keep_below(vec_load(scores[key]), (int32_t)key, limits));
    vec top[4] = {m, m, m, m};
    size_t key = 0;
    for (; key + 4 <= n_keys; key += 4)
#pragma GCC unroll 4
        for (size_t i = 0; i < 4; i++)
            top[i] = vec_max(vec_load(scores[key + i]), top[i]);
    for (; key < n_keys; key++)
        top[0] = vec_max(vec_load(scores[key]), top[0]);
    return vec_max(vec_max(top[0], top[1]), vec_max(top[2], top[3]));
}

/* Scores of one vector of queries become exponentials against the new maximum; m and l move on, shrink is
 * what O still has to be scaled by. The maximum is held at -1e30 while subtracting, so that a row without a
 * visible key yields exp(-inf), never exp(-inf + inf). Its product with log2 e is rounded before it is
 * subtracted, the scores' is not: what is lost is the same for every key of a row and cancels in o / l. */
INLINE void soften(struct work *work, size_t tile, size_t vector, size_t n_keys, bool exact)
{
    const vec log2_e = vec_splat(1.44269504f), least = vec_splat(-1e30f);
    float(*scores)[LANES] = work->scores[vector];
    float *m = &work->m[tile][vector * LANES], *l = &work->l[tile][vector * LANES];
    vec old = vec_load(m), top = vec_load(&work->top[vector * LANES]);
    if (!exact || (size_t)work->limits[vector * LANES] < n_keys)
        top = find_top(scores, &work->limits[vector * LANES], n_keys, old);
    vec_store(m, top);
    vec base = vec_max(top, least) * log2_e;
    vec shrink = vec_exp2(vec_max(old, least) * log2_e - base);
    vec_store(&work->shrink[vector * LANES], shrink);
    vec minus_base = -base, sum[2] = {vec_splat(0.0f), vec_splat(0.0f)};
    size_t key = 0;
    for (; key + 4 <= n_keys; key += 4)
#pragma GCC unroll 4
        for (size_t i = 0; i < 4; i++) {
            vec p = vec_exp2(vec_fma(vec_load(scores[key + i]), log2_e, minus_base));
            vec_store(scores[key + i], p);
            sum[i % 2] += p;
        }
    for (; key < n_keys; key++) {
        vec p = vec_exp2(vec_fma(vec_load(scores[key]), log2_e, minus_base));
        vec_store(scores[key], p);
        sum[key % 2] += p;
    }
    vec_store(l, vec_fma(vec_load(l), shrink, sum[0] + sum[1]));
}

/* O = O * shrink + P V for n_rows queries of one vector, from lane `lane` on, and the panel's dims in n_vecs
 * vectors; the last may be half full. */
INLINE void gather_rows(const struct work *work, float *o, size_t head_dim, const struct panel *panel,
                        size_t vector, size_t lane, int n_rows, int n_vecs)
{
    size_t at = vector * LANES + lane;
    bool half = panel->n_dims % LANES != 0;
    vec acc[MAX_ROWS][MAX_VECS];
    multiply(acc, n_rows, n_vecs, &work->scores[vector][0][lane], 1, LANES, panel->v, panel->step,
             (size_t)work->limits[at + (size_t)n_rows - 1]);
#pragma GCC unroll 8
    for (int row = 0; row < n_rows; row++) {
        vec shrink = vec_splat(work->shrink[at + (size_t)row]);
#pragma GCC unroll 4
        for (int i = 0; i < n_vecs; i++) {
            float *to = o + (at + (size_t)row) * head_dim + i * LANES;
            if (half && i == n_vecs - 1)
                vec_store_8(to, vec_fma(vec_load_8(to), shrink, acc[row][i]));
            else
                vec_store_loose(to, vec_fma(vec_load_loose(to), shrink, acc[row][i]));
        }
    }
}

/* Likewise for all n_rows <= LANES queries of the vector: 6 + 6 + 4 of 16, or eights, or fours. */
INLINE void gather(const struct work *work, float *o, size_t head_dim, const struct panel *panel,
                   size_t vector, size_t n_rows, int n_vecs)
{
    size_t lane = 0;
    const int big = LANES < 8 || (LANES == 8 && n_vecs > 1) ? 4 : n_vecs == 4 ? 6 : 8;
    for (; lane + (size_t)big <= n_rows; lane += (size_t)big)
        gather_rows(work, o, head_dim, panel, vector, lane, big, n_vecs);
    if (big > 4 && lane + 4 <= n_rows) {
        gather_rows(work, o, head_dim, panel, vector, lane, 4, n_vecs);
        lane += 4;
    }
    for (; lane < n_rows; lane++)
        gather_rows(work, o, head_dim, panel, vector, lane, 1, n_vecs);
}

typedef void gather_some(const struct work *work, float *o, size_t head_dim, const struct panel *panel,
                         size_t vector, size_t n_rows);
#define GATHER_SOME(n)                                                                                       \
    static                                                                                                   \
        __attribute__((noinline)) void gather_##n(const struct work *work, float *o, size_t head_dim,        \
                                                  const struct panel *panel, size_t vector, size_t n_rows)   \
    {                                                                                                        \
        gather(work, o, head_dim, panel, vector, n_rows, n < PANEL_VECS ? n : PANEL_VECS);                   \
    }
GATHER_SOME(1)
GATHER_SOME(2)
GATHER_SOME(3)
GATHER_SOME(4)

/* One tile of n_rows queries against a group, of which each sees limits[query] keys. o is its rows, in place.
 * A panel of V serves all the tile's queries while it lies in the first-level cache. */
static void attend(struct work *work, size_t tile, const struct group *group, float *o, size_t n_rows,
                   size_t head_dim)
{
    static score_some *const score_by_vecs[] = {score_1, score_2, score_3, score_4};
    static gather_some *const gather_by_vecs[] = {gather_1, gather_2, gather_3, gather_4};
    const float *q = work->q + tile * WIDTH * head_dim;
    size_t n_vecs = (n_rows + LANES - 1) / LANES, scored[TILE_VECS] = {0}, from = 0;
    memcpy(work->top, work->m[tile], sizeof(work->top));
    for (size_t vector = 0; vector < n_vecs; vector++)
        scored[vector] = from = score_by_vecs[n_vecs - vector - 1](
            work, q, group, from, (size_t)work->limits[(vector + 1) * LANES - 1], head_dim, vector);
    for (size_t i = 0; i < group->n_panels; i++) {
        const struct panel *panel = &group->panels[i];
        for (size_t vector = 0; vector < n_vecs; vector++) {
            size_t seen = (size_t)work->limits[(vector + 1) * LANES - 1], left = n_rows - vector * LANES;
            if (seen == 0)
                continue;
            if (i == 0)
                soften(work, tile, vector, seen, scored[vector] == seen);
            gather_by_vecs[(panel->n_dims - 1) / LANES](work, o, head_dim, panel, vector,
                                                        left < LANES ? left : LANES);
        }
        o += panel->n_dims;
    }
}

#endif
