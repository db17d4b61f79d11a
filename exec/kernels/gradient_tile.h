/* SPDX-License-Identifier: MIT
 *
 * The arithmetic of one group of queries against one group of keys, backward. Private to gradient_tiled.c,
 * which brings the operands into place and says there how they lie and why. */
#ifndef GRADIENT_TILE_H
#define GRADIENT_TILE_H

#include "exec/kernels/block_product.h"
#include "exec/kernels/gradient.h"

/* TILE_ROWS x TILE_VECS accumulators, TILE_VECS operands and one broadcast fill the registers. */
#if defined(__AVX512F__)
enum { TILE_ROWS = 6, TILE_VECS = 4 };
#elif defined(__AVX2__)
enum { TILE_ROWS = 6, TILE_VECS = 2 };
#else
enum { TILE_ROWS = 4, TILE_VECS = 2 };
#endif
enum {
    WIDTH = TILE_VECS * LANES,
    KEYS = BLOCK_GRADIENT_KEY_GROUP,
    QUERIES = BLOCK_GRADIENT_QUERY_GROUP,
    GAP = 16, /* floats between rows: rows a power of two apart would meet in few of the cache's sets */
    PITCH = KEYS + GAP, /* from one query's row of P or dS to the next */
    N_STREAMS = 3,      /* Q, dO and dQ */
    LINE_BYTES = 64,
    LINES_AHEAD = 2
};
_Static_assert(QUERIES % TILE_ROWS == 0 && KEYS % WIDTH == 0, "tiles fill the groups");
_Static_assert((int)TILE_ROWS <= (int)LANES && (int)TILE_ROWS <= (int)GAP, "see soften and gather_keys");

/* Memory that the next group of queries will need, of which some lines are fetched at a time. */
struct stream {
    const char *at;
    size_t n_lines;
};

/* The working memory of one call; every array starts on a vector's boundary. Rows of head_dim numbers are
 * `stride` apart, zero from head_dim to the next whole vector. */
struct work {
    float p[QUERIES][PITCH], ds[QUERIES][PITCH]; /* of the groups in hand; at first S and dP */
    float base[QUERIES];                         /* -lse in base 2; -inf where a row sees nothing: p is 0 */
    float delta[QUERIES];
    int32_t limits[QUERIES];   /* keys of the group in hand that each query sees; ascends */
    uint64_t visible[QUERIES]; /* keys of the whole span that each query sees; ascends */
    size_t head_dim, stride;
    float scale;
    struct stream ahead[N_STREAMS];
    float *q, *d_out;             /* [QUERIES][stride] */
    float *k, *rows;              /* [SPAN][stride], [LANES][stride] */
    float *k_columns, *v_columns; /* [SPAN / WIDTH][head_dim][WIDTH] */
};

/* to[row][key] = rows[row] . columns[.][key], for TILE_ROWS queries and n_vecs vectors of keys. */
INLINE void score_tile(float *to, const float *rows, size_t stride, const float *columns, size_t head_dim,
                       int n_vecs)
{
    vec acc[MAX_ROWS][MAX_VECS];
    multiply(acc, TILE_ROWS, n_vecs, rows, stride, 1, columns, WIDTH, head_dim);
#pragma GCC unroll 8
    for (int row = 0; row < TILE_ROWS; row++)
#pragma GCC unroll 4
        for (int i = 0; i < n_vecs; i++)
            vec_store(to + row * PITCH + i * LANES, acc[row][i]);
}

typedef void score_some(float *to, const float *rows, size_t stride, const float *columns, size_t head_dim);
#define SCORE_SOME(n)                                                                                        \
    static void score_##n(float *to, const float *rows, size_t stride, const float *columns,                 \
                          size_t head_dim)                                                                   \
    {                                                                                                        \
        score_tile(to, rows, stride, columns, head_dim, n < TILE_VECS ? n : TILE_VECS);                      \
    }
SCORE_SOME(1)
SCORE_SOME(2)
SCORE_SOME(3)
SCORE_SOME(4)

/* A few lines of what comes next. All at once they would stand in the way of the loads in hand. */
INLINE void fetch_ahead(struct stream *ahead)
{
    for (size_t i = 0; i < N_STREAMS; i++)
        for (size_t line = 0; line < LINES_AHEAD && ahead[i].n_lines > 0; line++) {
            __builtin_prefetch(ahead[i].at, 0, 2);
            ahead[i].at += LINE_BYTES;
            ahead[i].n_lines--;
        }
}

/* to = rows columns, S from Q and K or dP from dO and V, for the queries from `begin` on and the vectors of
 * keys of which a tile's last query sees one. WIDTH keys stay in the first-level cache meanwhile. */
static void score(struct work *work, float (*to)[PITCH], const float *rows, const float *columns,
                  size_t begin, size_t n_queries)
{
    static score_some *const by_vecs[] = {score_1, score_2, score_3, score_4};
    int n_keys = work->limits[QUERIES - 1];
    for (int key = 0; key < n_keys; key += WIDTH, columns += WIDTH * work->head_dim)
        for (size_t row = begin; row < n_queries; row += TILE_ROWS) {
            int n_left = work->limits[row + TILE_ROWS - 1] - key;
            if (n_left <= 0)
                continue;
            fetch_ahead(work->ahead);
            by_vecs[n_left < WIDTH ? (n_left - 1) / LANES : TILE_VECS - 1](
                &to[row][key], rows + row * work->stride, work->stride, columns, work->head_dim);
        }
}

/* S and dP of one query and a vector of keys become P and dS. Where masked, keys from n_seen on give 0. */
INLINE void soften_vec(float *p, float *ds, vec factor, vec base, vec delta, int32_t n_seen, bool masked)
{
    static const int32_t minus_lane[GAP]
        __attribute__((aligned(64))) = {0, -1, -2, -3, -4, -5, -6, -7, -8, -9, -10, -11, -12, -13, -14, -15};
    vec s = vec_load(p);
    if (masked) /* lane < n_seen */
        s = vec_keep_below(s, -n_seen, minus_lane);
    vec weight = vec_exp2(vec_fma(s, factor, base));
    vec_store(p, weight);
    vec_store(ds, weight * (vec_load(ds) - delta));
}

/* P and dS of the queries from `begin` on. The vector behind those of a tile becomes 0, as a tile of keys may
 * reach into it. */
static void soften(struct work *work, size_t begin, size_t n_queries)
{
    const vec factor = vec_splat(work->scale * 1.44269504f), zero = vec_splat(0.0f);
    for (size_t row = begin; row < n_queries; row++) {
        int n_seen = work->limits[row], whole = n_seen / LANES * LANES, key = 0;
        int end = (work->limits[row / TILE_ROWS * TILE_ROWS + TILE_ROWS - 1] + LANES - 1) / LANES * LANES;
        vec base = vec_splat(work->base[row]), delta = vec_splat(work->delta[row]);
        float *p = work->p[row], *ds = work->ds[row];
        for (; key + 4 * LANES <= whole; key += 4 * LANES)
#pragma GCC unroll 4
            for (int i = 0; i < 4 * LANES; i += LANES)
                soften_vec(p + key + i, ds + key + i, factor, base, delta, 0, false);
        for (; key < end; key += LANES)
            soften_vec(p + key, ds + key, factor, base, delta, n_seen - key, true);
        if (end < KEYS) {
            vec_store(p + end, zero);
            vec_store(ds + end, zero);
        }
    }
}

/* to[row][dim] += factor * sum over step < depth of a[row * a_row + step * a_step] * b[step][dim], for
 * n_rows <= TILE_ROWS rows of a gradient where the caller keeps it, and n_vecs vectors of dims, of which the
 * last may be half full. */
struct gather {
    float *to;
    const float *a, *b;
    size_t head_dim, b_step, depth, n_rows;
    float factor;
    bool half;
};

INLINE void gather_tile(const struct gather *gather, size_t a_row, size_t a_step, int n_vecs)
{
    vec acc[MAX_ROWS][MAX_VECS], factor = vec_splat(gather->factor);
    multiply(acc, TILE_ROWS, n_vecs, gather->a, a_row, a_step, gather->b, gather->b_step, gather->depth);
#pragma GCC unroll 8
    for (size_t row = 0; row < TILE_ROWS; row++) {
        if (row >= gather->n_rows)
            return;
#pragma GCC unroll 4
        for (int i = 0; i < n_vecs; i++) {
            float *to = gather->to + row * gather->head_dim + i * LANES;
            if (gather->half && i == n_vecs - 1)
                vec_store_8(to, vec_fma(acc[row][i], factor, vec_load_8(to)));
            else
                vec_store_loose(to, vec_fma(acc[row][i], factor, vec_load_loose(to)));
        }
    }
}

/* The weights of a row lie side by side for a query's row, and PITCH apart for a key's. */
typedef void gather_some(const struct gather *gather);
#define GATHER_SOME(n)                                                                                       \
    static void gather_query_##n(const struct gather *gather)                                                \
    {                                                                                                        \
        gather_tile(gather, PITCH, 1, n < TILE_VECS ? n : TILE_VECS);                                        \
    }                                                                                                        \
    static void gather_key_##n(const struct gather *gather)                                                  \
    {                                                                                                        \
        gather_tile(gather, 1, PITCH, n < TILE_VECS ? n : TILE_VECS);                                        \
    }
GATHER_SOME(1)
GATHER_SOME(2)
GATHER_SOME(3)
GATHER_SOME(4)

/* dQ from dS and K, some dims of it. Each tile of queries goes as far as the last of them sees. */
static void gather_queries(const struct work *work, float *d_q, const float *k, size_t begin,
                           size_t n_queries, gather_some *some, bool half)
{
    size_t d = work->head_dim;
    for (size_t row = begin; row < n_queries; row += TILE_ROWS)
        some(&(struct gather){d_q + row * d, work->ds[row], k, d, work->stride,
                              (size_t)work->limits[row + TILE_ROWS - 1], n_queries - row, work->scale, half});
}

/* dV from P and dO, or dK from dS and Q, some dims of it. Each tile of keys begins with the first query that
 * sees one of them; a last tile reads weights of keys that are not there, and leaves what they give. */
static void gather_keys(const struct work *work, float *to, const float (*weights)[PITCH], const float *rows,
                        size_t query, size_t n_queries, float factor, gather_some *some, bool half)
{
    size_t n_keys = (size_t)work->limits[QUERIES - 1], d = work->head_dim;
    for (size_t key = 0; key < n_keys; key += TILE_ROWS) {
        while (work->limits[query] <= (int32_t)key)
            query++;
        some(&(struct gather){to + key * d, &weights[query][key], rows + query * work->stride, d,
                              work->stride, n_queries - query, n_keys - key, factor, half});
    }
}

/* All three gradients, in panels of nearly equal numbers of vectors. */
static void gather(const struct work *work, float *d_q, float *d_k, float *d_v, const float *k, size_t begin,
                   size_t n_queries)
{
    static gather_some *const query[] = {gather_query_1, gather_query_2, gather_query_3, gather_query_4};
    static gather_some *const key[] = {gather_key_1, gather_key_2, gather_key_3, gather_key_4};
    size_t left = (work->head_dim + LANES - 1) / LANES, dim = 0, n_vecs;
    for (size_t n = (left + TILE_VECS - 1) / TILE_VECS; n > 0; n--, left -= n_vecs, dim += n_vecs * LANES) {
        n_vecs = (left + n - 1) / n;
        bool half = dim + n_vecs * LANES > work->head_dim;
        gather_queries(work, d_q + dim, k + dim, begin, n_queries, query[n_vecs - 1], half);
        gather_keys(work, d_v + dim, work->p, work->d_out + dim, begin, n_queries, 1.0f, key[n_vecs - 1],
                    half);
        gather_keys(work, d_k + dim, work->ds, work->q + dim, begin, n_queries, work->scale, key[n_vecs - 1],
                    half);
    }
}

#endif
