/* SPDX-License-Identifier: MIT
 *
 * The arithmetic of one group of queries against one group of keys, backward. Private to gradient_tiled.c,
 * which brings the operands into place and says there how they lie and why. */
#ifndef GRADIENT_TILE_H
#define GRADIENT_TILE_H

#include "exec/kernels/block_vector.h"
#include "exec/kernels/gradient.h"

enum { WIDTH = VECS * LANES, KEYS = BLOCK_GRADIENT_KEY_GROUP, QUERIES = BLOCK_GRADIENT_QUERY_GROUP };
_Static_assert(QUERIES % WIDTH == 0 && WIDTH % ROWS == 0 && KEYS % ROWS == 0, "tiles fill the groups");

/* The working memory of one call; every array starts on a vector's boundary. Rows of head_dim numbers are
 * `stride` apart, zero from head_dim to the next whole vector. */
struct work {
    float p[KEYS][QUERIES], ds[KEYS][QUERIES]; /* of the groups in hand, transposed */
    float lse[QUERIES], delta[QUERIES];        /* lse +inf where a row sees nothing, so that p is 0 */
    int32_t limits[QUERIES];                   /* keys of the group in hand that each query sees; ascends */
    uint64_t visible[QUERIES];                 /* keys of the whole span that each query sees; ascends */
    size_t head_dim, padded, stride;
    float scale;
    float *q_columns, *do_columns;     /* [head_dim][QUERIES], q scaled */
    float *q_rows, *do_rows, *dq_rows; /* [QUERIES][stride], q scaled */
    float *k, *v, *dk, *dv;            /* [SPAN][stride] */
};

/* acc[row][vec] = sum over step < depth of a[row * a_row + step * a_step] * b[step * b_step + vec]. n_vecs <=
 * VECS is a constant at every call: the loops over it and over ROWS vanish and acc lives in registers. */
INLINE void multiply(vec acc[ROWS][VECS], const float *a, size_t a_row, size_t a_step, const float *b,
                     size_t b_step, size_t depth, int n_vecs)
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
        b += b_step;
    }
}

/* S^T of one tile of queries (from column `column` on, n_vecs vectors) and ROWS keys from `key` of the group
 * on, to where P^T will be. */
INLINE void score(struct work *work, size_t column, const float *k, size_t key, int n_vecs)
{
    vec acc[ROWS][VECS];
    multiply(acc, k + key * work->stride, work->stride, 1, work->q_columns + column, QUERIES, work->head_dim,
             n_vecs);
#pragma GCC unroll 8
    for (size_t row = 0; row < ROWS; row++)
#pragma GCC unroll 3
        for (size_t i = 0; i < (size_t)n_vecs; i++)
            vec_store(&work->p[key + row][column + i * LANES], acc[row][i]);
}

/* P^T and dS^T of the same, from that. */
INLINE void soften(struct work *work, size_t column, const float *v, size_t key, bool masked, int n_vecs)
{
    vec acc[ROWS][VECS];
    multiply(acc, v + key * work->stride, work->stride, 1, work->do_columns + column, QUERIES, work->head_dim,
             n_vecs);
#pragma GCC unroll 8
    for (size_t row = 0; row < ROWS; row++)
#pragma GCC unroll 3
        for (size_t i = 0; i < (size_t)n_vecs; i++) {
            size_t at = column + i * LANES;
            vec s = vec_load(&work->p[key + row][at]);
            if (masked)
                s = vec_keep_below(s, (int32_t)(key + row), &work->limits[at]);
            vec p = vec_exp(s - vec_load(&work->lse[at]));
            vec_store(&work->p[key + row][at], p);
            vec_store(&work->ds[key + row][at], p * (acc[row][i] - vec_load(&work->delta[at])));
        }
}

typedef void score_some(struct work *work, size_t column, const float *k, size_t key);
typedef void soften_some(struct work *work, size_t column, const float *v, size_t key, bool masked);

static void score_1(struct work *work, size_t column, const float *k, size_t key)
{
    score(work, column, k, key, 1);
}

static void score_2(struct work *work, size_t column, const float *k, size_t key)
{
    score(work, column, k, key, 2);
}

static void score_3(struct work *work, size_t column, const float *k, size_t key)
{
    score(work, column, k, key, VECS < 3 ? VECS : 3);
}

static void soften_1(struct work *work, size_t column, const float *v, size_t key, bool masked)
{
    soften(work, column, v, key, masked, 1);
}

static void soften_2(struct work *work, size_t column, const float *v, size_t key, bool masked)
{
    soften(work, column, v, key, masked, 2);
}

static void soften_3(struct work *work, size_t column, const float *v, size_t key, bool masked)
{
    soften(work, column, v, key, masked, VECS < 3 ? VECS : 3);
}

/* P and dS of a tile of n_vecs vectors of queries and the keys that they see: first all of S, then the rest,
 * so that Q^T and then dO^T stay in the first-level cache while the keys pass. Vectors that see none of ROWS
 * keys are left out, and nobody will look for what they would have given. */
static void soften_tile(struct work *work, size_t column, size_t n_vecs, const float *k, const float *v)
{
    score_some *const scores[] = {score_1, score_2, score_3};
    soften_some *const softens[] = {soften_1, soften_2, soften_3};
    const int32_t *limits = work->limits + column;
    size_t seen = (size_t)limits[n_vecs * LANES - 1], blind = 0;
    bool masked = (size_t)limits[0] < seen;
    for (size_t key = 0; key < seen; key += ROWS) {
        while (limits[(blind + 1) * LANES - 1] <= (int32_t)key)
            blind++;
        scores[n_vecs - blind - 1](work, column + blind * LANES, k, key);
    }
    blind = 0;
    for (size_t key = 0; key < seen; key += ROWS) {
        while (limits[(blind + 1) * LANES - 1] <= (int32_t)key)
            blind++;
        softens[n_vecs - blind - 1](work, column + blind * LANES, v, key, masked || key + ROWS > seen);
    }
}

/* dQ[query][dim ...] += scale * sum over the group's keys of dS K, for ROWS queries and n_vecs vectors of
 * dims. */
INLINE void gather_query(struct work *work, const float *k, size_t query, size_t dim, size_t n_keys,
                         int n_vecs)
{
    vec acc[ROWS][VECS];
    multiply(acc, work->ds[0] + query, 1, QUERIES, k + dim, work->stride, n_keys, n_vecs);
#pragma GCC unroll 8
    for (size_t row = 0; row < ROWS; row++)
#pragma GCC unroll 3
        for (size_t i = 0; i < (size_t)n_vecs; i++) {
            float *to = work->dq_rows + (query + row) * work->stride + dim + i * LANES;
            vec_store(to, vec_fma(acc[row][i], vec_splat(work->scale), vec_load(to)));
        }
}

/* to[key][dim ...] += sum over queries from `query` on of weights[key][query] rows[query], for ROWS keys: dV
 * from P and dO, dK from dS and Q. */
INLINE void gather_key(const struct work *work, float *to, float (*weights)[QUERIES], const float *rows,
                       size_t key, size_t query, size_t dim, size_t n_queries, int n_vecs)
{
    vec acc[ROWS][VECS];
    multiply(acc, weights[key] + query, QUERIES, 1, rows + query * work->stride + dim, work->stride,
             n_queries, n_vecs);
#pragma GCC unroll 8
    for (size_t row = 0; row < ROWS; row++)
#pragma GCC unroll 3
        for (size_t i = 0; i < (size_t)n_vecs; i++) {
            float *at = to + (key + row) * work->stride + dim + i * LANES;
            vec_store(at, vec_load(at) + acc[row][i]);
        }
}

/* gather_key for all keys of the group. Each ROWS keys begin with the first query that sees one of them. */
INLINE void gather_keys(const struct work *work, float *to, float (*weights)[QUERIES], const float *rows,
                        size_t query, size_t dim, size_t n_queries, size_t n_keys, int n_vecs)
{
    for (size_t key = 0; key < n_keys; key += ROWS) {
        while (query < n_queries && work->limits[query] <= (int32_t)key)
            query++;
        gather_key(work, to, weights, rows, key, query, dim, n_queries - query, n_vecs);
    }
}

/* All three gradients for one stretch of dims, all queries and keys of the groups. Queries below `begin` see
 * none of the keys; of the others each ROWS go as far as the last of them sees. */
INLINE void gather(struct work *work, size_t from, size_t begin, size_t n_queries, size_t n_keys, size_t dim,
                   int n_vecs)
{
    size_t at = from * work->stride;
    for (size_t query = begin; query < n_queries; query += ROWS)
        gather_query(work, work->k + at, query, dim, (size_t)work->limits[query + ROWS - 1], n_vecs);
    gather_keys(work, work->dv + at, work->p, work->do_rows, begin, dim, n_queries, n_keys, n_vecs);
    gather_keys(work, work->dk + at, work->ds, work->q_rows, begin, dim, n_queries, n_keys, n_vecs);
}

typedef void gather_some(struct work *work, size_t from, size_t begin, size_t n_queries, size_t n_keys,
                         size_t dim);

static void gather_1(struct work *work, size_t from, size_t begin, size_t n_queries, size_t n_keys,
                     size_t dim)
{
    gather(work, from, begin, n_queries, n_keys, dim, 1);
}

static void gather_2(struct work *work, size_t from, size_t begin, size_t n_queries, size_t n_keys,
                     size_t dim)
{
    gather(work, from, begin, n_queries, n_keys, dim, 2);
}

static void gather_3(struct work *work, size_t from, size_t begin, size_t n_queries, size_t n_keys,
                     size_t dim)
{
    gather(work, from, begin, n_queries, n_keys, dim, VECS < 3 ? VECS : 3);
}

#endif
