/* SPDX-License-Identifier: MIT
 *
 * The two backward kernels on tensor cores (formulas: exec/kernels/gradient.h; FlashAttention-2, Dao 2023,
 * alg. 2). Probabilities are computed anew from q, k and lse. One kernel owns keys and walks over the queries
 * that see them, summing dK and dV in registers; the other owns queries and walks over their keys, summing
 * dQ. Two products more than one kernel would need (7 for 5), and in return no sum is shared between blocks
 * of threads: no atomics, the same bits every time. */
#ifndef CUDA_BACKWARD_CUH
#define CUDA_BACKWARD_CUH

#include "exec/cuda/kernels/tile.cuh"

/* Probabilities of a long sequence are too small for fp16's normal numbers, so they are computed times 2^8
 * and the gradients divided by it; bf16 has the exponents. */
template <class T> struct probability {
    static constexpr float SHIFT = 0.0f, UNDO = 1.0f;
};
template <> struct probability<fp16> {
    static constexpr float SHIFT = 8.0f, UNDO = 1.0f / 256.0f;
};

/* lse in base 2; of a row without any key, whose probabilities are hidden, a number that does no harm. */
DEVICE float lse_base_2(float lse)
{
    return lse == -INFINITY ? 0.0f : lse * LOG2_E;
}

/* COLUMNS of D are what one block of threads sums; a head_dim of 256 needs two. */
template <int D, int COLUMNS, int M, int QUERIES> struct backward_keys_shape {
    static constexpr int KEYS = TILE_WARPS * 16 * M, PARTS = D / COLUMNS;
    static constexpr size_t BYTES = (size_t)(2 * KEYS + 4 * QUERIES) * D * 2 + 2 * 3 * QUERIES * 4;
};

/* One of the walk's two stages: a tile of queries of one of the kv head's query heads, in shared memory. */
template <class T, int D, int QUERIES> struct query_stage {
    T *q, *d_out; /* [QUERIES][D] */
    float *lse, *delta;
    int *limit;

    DEVICE query_stage(T *tiles, int stage)
    {
        float *numbers = (float *)(tiles + 4 * QUERIES * D) + 3 * QUERIES * stage;
        q = tiles + 2 * QUERIES * D * stage;
        d_out = q + QUERIES * D;
        lse = numbers;
        delta = numbers + QUERIES;
        limit = (int *)(numbers + 2 * QUERIES);
    }

    /* Begins loading; complete after a wait and a barrier. */
    DEVICE void load(const struct block_view &view, int head, int first_query) const
    {
        size_t rows = rows_before(view.heads, head, view.q_at.tokens) + first_query;
        int n_rows = view.q_at.tokens - first_query;
        load_tile<T, QUERIES, D>(q, (const T *)view.q + rows * view.head_dim, n_rows, view.head_dim);
        load_tile<T, QUERIES, D>(d_out, (const T *)view.d_out + rows * view.head_dim, n_rows, view.head_dim);
        for (int i = threadIdx.x; i < QUERIES; i += TILE_THREADS) {
            lse[i] = i < n_rows ? lse_base_2(view.lse[rows + i]) : 0.0f;
            delta[i] = i < n_rows ? view.delta[rows + i] : 0.0f;
            limit[i] = keys_seen(view, first_query + i);
        }
    }
};

/* s, transposed logits of 16 M keys from key on, becomes probabilities; hidden pairs 0. */
template <class T, int M, int N>
DEVICE void probabilities_of_keys(float (&s)[M][N][4], const float *lse, const int *limit, int key,
                                  float scale_log2)
{
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int j = 0; j < N; j++)
#pragma unroll
        for (int c = 0; c < 2; c++) {
            int query = 8 * j + lane % 4 * 2 + c, seen = limit[query];
            float minus = probability<T>::SHIFT - lse[query];
#pragma unroll
            for (int i = 0; i < M; i++)
#pragma unroll
                for (int half = 0; half < 2; half++) {
                    float p = exp2_approximate(fmaf(s[i][j][2 * half + c], scale_log2, minus));
                    s[i][j][2 * half + c] = key + 16 * i + 8 * half + lane / 4 < seen ? p : 0.0f;
                }
        }
}

/* dp = p * (dp - delta), delta by column (the transposed case). */
template <int M, int N>
DEVICE void differentiate_keys(float (&dp)[M][N][4], const float (&p)[M][N][4], const float *delta)
{
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int j = 0; j < N; j++)
#pragma unroll
        for (int c = 0; c < 4; c++) {
            float of_query = delta[8 * j + lane % 4 * 2 + c % 2];
#pragma unroll
            for (int i = 0; i < M; i++)
                dp[i][j][c] = p[i][j][c] * (dp[i][j][c] - of_query);
        }
}

template <class T, int D, int COLUMNS, int M, int QUERIES>
__global__ void __launch_bounds__(TILE_THREADS) backward_keys_kernel(const struct block_view view)
{
    typedef backward_keys_shape<D, COLUMNS, M, QUERIES> shape;
    constexpr int KEYS = shape::KEYS, N = COLUMNS / 8;
    int first_key = (int)blockIdx.x / shape::PARTS * KEYS;
    int column = (int)blockIdx.x % shape::PARTS * COLUMNS;
    int kv_head = blockIdx.y, group = view.heads / view.kv_heads;
    int row = (int)threadIdx.x / 32 * 16 * M; /* the warp's first key, within the tile */
    size_t keys = rows_before(view.kv_heads, kv_head, view.k_at.tokens);
    int first_tile = first_that_sees(view, first_key) / QUERIES;
    int tiles = (view.q_at.tokens + QUERIES - 1) / QUERIES - first_tile;
    int n_stages = tiles > 0 ? tiles * group : 0;

    T *k = (T *)shared_memory(), *v = k + KEYS * D, *queries = v + KEYS * D;
    load_tile<T, KEYS, D>(k, (const T *)view.k + (keys + first_key) * view.head_dim,
                          view.k_at.tokens - first_key, view.head_dim);
    load_tile<T, KEYS, D>(v, (const T *)view.v + (keys + first_key) * view.head_dim,
                          view.k_at.tokens - first_key, view.head_dim);
    if (n_stages > 0)
        query_stage<T, D, QUERIES>(queries, 0).load(view, kv_head * group, first_tile * QUERIES);
    copy_commit();

    float d_k[M][N][4], d_v[M][N][4];
    clear(d_k);
    clear(d_v);
    for (int n = 0; n < n_stages; n++) {
        int next = n + 1;
        if (next < n_stages)
            query_stage<T, D, QUERIES>(queries, next % 2)
                .load(view, kv_head * group + next / tiles, (first_tile + next % tiles) * QUERIES);
        copy_commit();
        copy_wait<1>();
        block_sync();
        const query_stage<T, D, QUERIES> now(queries, n % 2);
        float p[M][QUERIES / 8][4], d_s[M][QUERIES / 8][4];
        rows_by_rows<T, D>(p, k, row, now.q);
        probabilities_of_keys<T>(p, now.lse, now.limit, first_key + row, view.scale * LOG2_E);
        registers_by_rows<T, D>(d_v, p, now.d_out, column);
        rows_by_rows<T, D>(d_s, v, row, now.d_out);
        differentiate_keys(d_s, p, now.delta);
        registers_by_rows<T, D>(d_k, d_s, now.q, column);
        block_sync();
    }
    copy_wait<0>();
    int n_rows = view.k_at.tokens;
    store_rows(view.d_k + keys * view.head_dim, d_k, first_key + row, n_rows, view.head_dim, column,
               view.scale * probability<T>::UNDO, false);
    store_rows(view.d_v + keys * view.head_dim, d_v, first_key + row, n_rows, view.head_dim, column,
               probability<T>::UNDO, false);
}

template <int D, int M, int KEYS> struct backward_queries_shape {
    static constexpr int QUERIES = TILE_WARPS * 16 * M;
    static constexpr size_t BYTES = (size_t)(2 * QUERIES + 4 * KEYS) * D * 2;
};

/* A lane's rows of the queries' numbers. */
template <int M> struct own_rows {
    float lse[M][2], delta[M][2];
    int limit[M][2];

    DEVICE void load(const struct block_view &view, size_t first, int row)
    {
#pragma unroll
        for (int i = 0; i < M; i++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                int at = row + 16 * i + 8 * half + (int)threadIdx.x % 32 / 4;
                bool there = at < view.q_at.tokens;
                lse[i][half] = there ? lse_base_2(view.lse[first + at]) : 0.0f;
                delta[i][half] = there ? view.delta[first + at] : 0.0f;
                limit[i][half] = keys_seen(view, at);
            }
    }
};

/* Logits s and dp = dO v^T become ds, in dp. */
template <class T, int M, int N>
DEVICE void differentiate_queries(float (&dp)[M][N][4], const float (&s)[M][N][4],
                                  const struct own_rows<M> &rows, int first_key, float scale_log2)
{
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < M; i++)
#pragma unroll
        for (int j = 0; j < N; j++)
#pragma unroll
            for (int c = 0; c < 4; c++) {
                float minus = probability<T>::SHIFT - rows.lse[i][c / 2];
                float p = exp2_approximate(fmaf(s[i][j][c], scale_log2, minus));
                bool seen = first_key + 8 * j + lane % 4 * 2 + c % 2 < rows.limit[i][c / 2];
                dp[i][j][c] = seen ? p * (dp[i][j][c] - rows.delta[i][c / 2]) : 0.0f;
            }
}

template <class T, int D, int M, int KEYS>
__global__ void __launch_bounds__(TILE_THREADS) backward_queries_kernel(const struct block_view view)
{
    constexpr int QUERIES = backward_queries_shape<D, M, KEYS>::QUERIES;
    int first_query = (int)(gridDim.x - 1 - blockIdx.x) * QUERIES;
    int head = blockIdx.y, row = (int)threadIdx.x / 32 * 16 * M; /* the warp's first, within the tile */
    size_t rows = rows_before(view.heads, head, view.q_at.tokens);
    size_t keys = rows_before(view.kv_heads, head / (view.heads / view.kv_heads), view.k_at.tokens);
    int n_rows = view.q_at.tokens - first_query;
    int n_keys = keys_seen(view, least(first_query + QUERIES, view.q_at.tokens) - 1);
    int seen_by_any = keys_seen(view, least(first_query + row + 16 * M, view.q_at.tokens) - 1);

    T *q = (T *)shared_memory(), *d_out = q + QUERIES * D, *k = d_out + QUERIES * D, *v = k + 2 * KEYS * D;
    const T *k_from = (const T *)view.k + keys * view.head_dim,
            *v_from = (const T *)view.v + keys * view.head_dim;
    load_tile<T, QUERIES, D>(q, (const T *)view.q + (rows + first_query) * view.head_dim, n_rows,
                             view.head_dim);
    load_tile<T, QUERIES, D>(d_out, (const T *)view.d_out + (rows + first_query) * view.head_dim, n_rows,
                             view.head_dim);
    load_tile<T, KEYS, D>(k, k_from, n_keys, view.head_dim);
    load_tile<T, KEYS, D>(v, v_from, n_keys, view.head_dim);
    copy_commit();

    struct own_rows<M> own;
    own.load(view, rows, first_query + row);
    float d_q[M][D / 8][4];
    clear(d_q);
    for (int from = 0, buffer = 0; from < n_keys; from += KEYS, buffer ^= 1) {
        int next = from + KEYS;
        if (next < n_keys) {
            load_tile<T, KEYS, D>(k + (buffer ^ 1) * KEYS * D, k_from + (size_t)next * view.head_dim,
                                  n_keys - next, view.head_dim);
            load_tile<T, KEYS, D>(v + (buffer ^ 1) * KEYS * D, v_from + (size_t)next * view.head_dim,
                                  n_keys - next, view.head_dim);
        }
        copy_commit();
        copy_wait<1>();
        block_sync();
        if (from < seen_by_any) {
            float s[M][KEYS / 8][4], d_s[M][KEYS / 8][4];
            rows_by_rows<T, D>(s, q, row, k + buffer * KEYS * D);
            rows_by_rows<T, D>(d_s, d_out, row, v + buffer * KEYS * D);
            differentiate_queries<T>(d_s, s, own, from, view.scale * LOG2_E);
            registers_by_rows<T, D>(d_q, d_s, k + buffer * KEYS * D, 0);
        }
        block_sync();
    }
    copy_wait<0>();
    store_rows(view.d_q + rows * view.head_dim, d_q, first_query + row, view.q_at.tokens, view.head_dim, 0,
               view.scale * probability<T>::UNDO, !view.begin);
}

#endif
