/* SPDX-License-Identifier: MIT
 *
 * The two fp32 backward kernels: backward.cuh's without tensor cores, in the manner of plain.cuh. */
#ifndef CUDA_PLAIN_BACKWARD_CUH
#define CUDA_PLAIN_BACKWARD_CUH

#include "exec/cuda/kernels/plain.cuh"

/* What both kernels have in shared memory. */
template <int D> struct plain_tiles {
    float *q, *d_out, *k, *v; /* [32][D + 4] */
    float *p, *d_s;           /* [32][33] */
    float *lse, *delta;       /* [32] */
    int *limit;

    DEVICE plain_tiles()
    {
        typedef plain_shape<D> shape;
        q = (float *)shared_memory();
        d_out = q + shape::TILE;
        k = d_out + shape::TILE;
        v = k + shape::TILE;
        p = v + shape::TILE;
        d_s = p + shape::SQUARE;
        lse = d_s + shape::SQUARE;
        delta = lse + PLAIN_TILE;
        limit = (int *)(delta + PLAIN_TILE);
    }

    DEVICE void load_keys(const struct block_view &view, size_t keys, int first_key) const
    {
        int n_rows = view.k_at.tokens - first_key;
        plain_load<D>(k, (const float *)view.k + (keys + first_key) * view.head_dim, n_rows, view.head_dim);
        plain_load<D>(v, (const float *)view.v + (keys + first_key) * view.head_dim, n_rows, view.head_dim);
    }

    DEVICE void load_queries(const struct block_view &view, size_t rows, int first_query) const
    {
        int n_rows = view.q_at.tokens - first_query;
        plain_load<D>(q, (const float *)view.q + (rows + first_query) * view.head_dim, n_rows, view.head_dim);
        plain_load<D>(d_out, (const float *)view.d_out + (rows + first_query) * view.head_dim, n_rows,
                      view.head_dim);
        int i = threadIdx.x;
        if (i < PLAIN_TILE) {
            lse[i] = i < n_rows ? view.lse[rows + first_query + i] : 0.0f;
            delta[i] = i < n_rows ? view.delta[rows + first_query + i] : 0.0f;
            limit[i] = keys_seen(view, first_query + i);
        }
    }

    /* p and ds of the queries y, y + 16 and the keys x, x + 16. */
    DEVICE void differentiate(float (&prob)[2][2], float (&ds)[2][2], int first_key, int y, int x,
                              float scale) const
    {
        plain_products<D>(prob, q, k, y, x);
        plain_products<D>(ds, d_out, v, y, x);
#pragma unroll
        for (int r = 0; r < 2; r++)
#pragma unroll
            for (int c = 0; c < 2; c++) {
                int row = y + PLAIN_SIDE * r;
                bool seen = first_key + x + PLAIN_SIDE * c < limit[row];
                float of_row = seen ? lse[row] : 0.0f;
                prob[r][c] = seen ? exp2f((prob[r][c] * scale - of_row) * LOG2_E) : 0.0f;
                ds[r][c] = seen ? prob[r][c] * (ds[r][c] - delta[row]) : 0.0f;
            }
    }
};

template <int D>
__global__ void __launch_bounds__(PLAIN_THREADS, 1) plain_backward_keys_kernel(const struct block_view view)
{
    int first_key = (int)blockIdx.x * PLAIN_TILE, kv_head = blockIdx.y, group = view.heads / view.kv_heads;
    int x = threadIdx.x % PLAIN_SIDE, y = threadIdx.x / PLAIN_SIDE;
    size_t keys = rows_before(view.kv_heads, kv_head, view.k_at.tokens);
    int begin = first_that_sees(view, first_key) / PLAIN_TILE * PLAIN_TILE;
    struct plain_tiles<D> tiles;
    float d_k[2][D / 16] = {}, d_v[2][D / 16] = {};
    tiles.load_keys(view, keys, first_key);
    for (int head = kv_head * group; head < (kv_head + 1) * group; head++) {
        size_t rows = rows_before(view.heads, head, view.q_at.tokens);
        for (int from = begin; from < view.q_at.tokens; from += PLAIN_TILE) {
            block_sync();
            tiles.load_queries(view, rows, from);
            block_sync();
            float p[2][2], d_s[2][2];
            tiles.differentiate(p, d_s, first_key, y, x, view.scale);
#pragma unroll
            for (int r = 0; r < 2; r++)
#pragma unroll
                for (int c = 0; c < 2; c++) { /* transposed: [key][query] */
                    int at = (x + PLAIN_SIDE * c) * (PLAIN_TILE + 1) + y + PLAIN_SIDE * r;
                    tiles.p[at] = p[r][c];
                    tiles.d_s[at] = d_s[r][c];
                }
            block_sync();
            plain_accumulate<D>(d_v, tiles.p, tiles.d_out, y, x);
            plain_accumulate<D>(d_k, tiles.d_s, tiles.q, y, x);
        }
    }
    plain_store<D>(view.d_k + keys * view.head_dim, d_k, first_key, view.k_at.tokens, view.head_dim, y, x,
                   view.scale, false);
    plain_store<D>(view.d_v + keys * view.head_dim, d_v, first_key, view.k_at.tokens, view.head_dim, y, x,
                   1.0f, false);
}

template <int D>
__global__ void __launch_bounds__(PLAIN_THREADS, 1)
    plain_backward_queries_kernel(const struct block_view view)
{
    int first_query = (int)(gridDim.x - 1 - blockIdx.x) * PLAIN_TILE, head = blockIdx.y;
    int x = threadIdx.x % PLAIN_SIDE, y = threadIdx.x / PLAIN_SIDE;
    size_t rows = rows_before(view.heads, head, view.q_at.tokens);
    size_t keys = rows_before(view.kv_heads, head / (view.heads / view.kv_heads), view.k_at.tokens);
    int n_keys = keys_seen(view, least(first_query + PLAIN_TILE, view.q_at.tokens) - 1);
    struct plain_tiles<D> tiles;
    float d_q[2][D / 16] = {};
    tiles.load_queries(view, rows, first_query);
    for (int from = 0; from < n_keys; from += PLAIN_TILE) {
        block_sync();
        tiles.load_keys(view, keys, from);
        block_sync();
        float p[2][2], d_s[2][2];
        tiles.differentiate(p, d_s, from, y, x, view.scale);
#pragma unroll
        for (int r = 0; r < 2; r++)
#pragma unroll
            for (int c = 0; c < 2; c++)
                tiles.d_s[(y + PLAIN_SIDE * r) * (PLAIN_TILE + 1) + x + PLAIN_SIDE * c] = d_s[r][c];
        block_sync();
        plain_accumulate<D>(d_q, tiles.d_s, tiles.k, y, x);
    }
    plain_store<D>(view.d_q + rows * view.head_dim, d_q, first_query, view.q_at.tokens, view.head_dim, y, x,
                   view.scale, !view.begin);
}

#endif
