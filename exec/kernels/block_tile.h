/* SPDX-License-Identifier: MIT
 *
 * The arithmetic of one tile: up to VECS * LANES queries against up to BLOCK_KEY_GROUP keys. Private to
 * block_tiled.c, which brings the operands into place and says there how they lie and why. */
#ifndef BLOCK_TILE_H
#define BLOCK_TILE_H

#include <stdbool.h>

#include "exec/kernels/block.h"
#include "exec/kernels/block_objects.h"
#include "exec/kernels/block_vector.h"

enum { WIDTH = VECS * LANES, N_TILES = 4 };

/* The working memory of one call; every array starts on a vector's boundary. */
struct work {
    float m[N_TILES][WIDTH], l[N_TILES][WIDTH];
    float scores[BLOCK_KEY_GROUP][WIDTH]; /* of the tile in hand; then, in place, their exponentials */
    float shrink[WIDTH];                  /* what the old state is multiplied by */
    int32_t limits[WIDTH];                /* keys of the group in hand that each query sees */
    uint64_t visible[N_TILES][WIDTH];     /* keys of the whole block that each query sees */
    float tail[ROWS *
               BLOCK_TILED_MAX_HEAD_DIM]; /* the block's last keys, made a whole number of ROWS with zeros */
    float *q;                             /* [N_TILES][head_dim][WIDTH], scaled */
    float *o;                             /* [N_TILES][head_dim][WIDTH] */
    float *k, *v;                         /* [BLOCK_KEY_GROUP][head_dim], widened; unused for fp32 */
};

/* A group of keys where the products can read it. */
struct group {
    const float *k, *v; /* [n_keys][head_dim] */
    const float *tail;  /* rows from n_whole on, padded to ROWS */
    size_t n_whole;     /* keys in whole ROWS */
};

/* acc[row][vec] = sum over step < depth of a[row * a_row + step * a_step] * b[step][vec]. n_vecs <= VECS is a
 * constant at every call: the loops over it and over ROWS vanish and acc lives in registers. */
INLINE void multiply(vec acc[ROWS][VECS], const float *a, size_t a_row, size_t a_step, const float *b,
                     size_t depth, int n_vecs)
{
#pragma GCC unroll 8
    for (int row = 0; row < ROWS; row++)
#pragma GCC unroll 3
        for (int i = 0; i < n_vecs; i++)
            acc[row][i] = vec_splat(0.0f);
    for (size_t step = 0; step < depth; step++) {
        vec column[VECS];
#pragma GCC unroll 3
        for (int i = 0; i < n_vecs; i++)
            column[i] = vec_load(b + i * LANES);
#pragma GCC unroll 8
        for (int row = 0; row < ROWS; row++) {
            vec x = vec_splat(a[(size_t)row * a_row]);
#pragma GCC unroll 3
            for (int i = 0; i < n_vecs; i++)
                acc[row][i] = vec_fma(x, column[i], acc[row][i]);
        }
        a += a_step;
        b += WIDTH;
    }
}

/* S^T of a tile's queries and the group's first n_keys keys (rounded up to ROWS). */
INLINE void score(struct work *work, const float *q, const struct group *group, size_t n_keys,
                  size_t head_dim, int n_vecs)
{
    for (size_t key = 0; key < n_keys; key += ROWS) {
        const float *k = key < group->n_whole ? group->k + key * head_dim : group->tail;
        vec acc[ROWS][VECS];
        multiply(acc, k, head_dim, 1, q, head_dim, n_vecs);
#pragma GCC unroll 8
        for (int row = 0; row < ROWS; row++)
#pragma GCC unroll 3
            for (int i = 0; i < n_vecs; i++)
                vec_store(&work->scores[key + (size_t)row][i * LANES], acc[row][i]);
    }
}

/* Hides what the mask hides: keys from limits[query] on. */
INLINE void hide(struct work *work, size_t n_keys, int n_vecs)
{
    for (size_t key = 0; key < n_keys; key++)
        for (int i = 0; i < n_vecs; i++) {
            float *scores = &work->scores[key][i * LANES];
            vec_store(scores, vec_keep_below(vec_load(scores), (int32_t)key, &work->limits[i * LANES]));
        }
}

/* Scores become exponentials against the new maximum; m and l move on, shrink is what O still has to be
 * scaled by. The maximum is held at -1e30 while subtracting, so that a row without a visible key yields
 * exp(-inf), never exp(-inf + inf). */
INLINE void soften(struct work *work, float *m, float *l, size_t n_keys, int n_vecs)
{
    vec top[VECS], sum[VECS];
    for (int i = 0; i < n_vecs; i++)
        top[i] = vec_load(m + i * LANES);
    for (size_t key = 0; key < n_keys; key++)
        for (int i = 0; i < n_vecs; i++)
            top[i] = vec_max(vec_load(&work->scores[key][i * LANES]), top[i]);
    for (int i = 0; i < n_vecs; i++) {
        vec old = vec_load(m + i * LANES);
        vec_store(m + i * LANES, top[i]);
        top[i] = vec_max(top[i], vec_splat(-1e30f));
        vec_store(work->shrink + i * LANES, vec_exp(old - top[i]));
        sum[i] = vec_splat(0.0f);
    }
    for (size_t key = 0; key < n_keys; key++)
        for (int i = 0; i < n_vecs; i++) {
            float *scores = &work->scores[key][i * LANES];
            vec p = vec_exp(vec_load(scores) - top[i]);
            vec_store(scores, p);
            sum[i] += p;
        }
    for (int i = 0; i < n_vecs; i++)
        vec_store(l + i * LANES,
                  vec_fma(vec_load(l + i * LANES), vec_load(work->shrink + i * LANES), sum[i]));
}

/* O^T = O^T * shrink + V^T P^T. */
INLINE void gather(struct work *work, float *o, const struct group *group, size_t n_keys, size_t head_dim,
                   int n_vecs)
{
    for (size_t dim = 0; dim < head_dim; dim += ROWS) {
        vec acc[ROWS][VECS];
        multiply(acc, group->v + dim, 1, head_dim, work->scores[0], n_keys, n_vecs);
#pragma GCC unroll 8
        for (int row = 0; row < ROWS; row++)
#pragma GCC unroll 3
            for (int i = 0; i < n_vecs; i++) {
                float *to = o + (dim + (size_t)row) * WIDTH + i * LANES;
                vec_store(to, vec_fma(vec_load(to), vec_load(work->shrink + i * LANES), acc[row][i]));
            }
    }
}

/* One tile of queries against the first n_keys keys of a group. */
INLINE void attend(struct work *work, size_t tile, const struct group *group, size_t n_keys, bool masked,
                   size_t head_dim, int n_vecs)
{
    size_t at = tile * WIDTH * head_dim;
    score(work, work->q + at, group, n_keys, head_dim, n_vecs);
    if (masked)
        hide(work, n_keys, n_vecs);
    soften(work, work->m[tile], work->l[tile], n_keys, n_vecs);
    gather(work, work->o + at, group, n_keys, head_dim, n_vecs);
}

typedef void attend_some(struct work *work, size_t tile, const struct group *group, size_t n_keys,
                         bool masked, size_t head_dim);

static void attend_1(struct work *work, size_t tile, const struct group *group, size_t n_keys, bool masked,
                     size_t head_dim)
{
    attend(work, tile, group, n_keys, masked, head_dim, 1);
}

static void attend_2(struct work *work, size_t tile, const struct group *group, size_t n_keys, bool masked,
                     size_t head_dim)
{
    attend(work, tile, group, n_keys, masked, head_dim, 2);
}

static void attend_3(struct work *work, size_t tile, const struct group *group, size_t n_keys, bool masked,
                     size_t head_dim)
{
    attend(work, tile, group, n_keys, masked, head_dim, VECS < 3 ? VECS : 3);
}

#endif
