/* SPDX-License-Identifier: MIT
 *
 * fp32 throughout, without tensor cores: the kernels that are as exact as the CPU's. A block of threads is a
 * square of 16 x 16; a thread has the pairs and the columns of its own row and column, 16 apart. Tiles in
 * shared memory have rows of D + 4 numbers, so that 16 rows read at once are in different banks. */
#ifndef CUDA_PLAIN_CUH
#define CUDA_PLAIN_CUH

#include "exec/cuda/kernels/view.cuh"

enum { PLAIN_SIDE = 16, PLAIN_TILE = 32, PLAIN_PAD = 4 };

template <int D> struct plain_shape {
    static constexpr int PITCH = D + PLAIN_PAD, TILE = PLAIN_TILE * PITCH;
    static constexpr int SQUARE = PLAIN_TILE * (PLAIN_TILE + 1);
    static constexpr size_t FORWARD_BYTES = (size_t)(3 * TILE + SQUARE) * 4;
    static constexpr size_t BACKWARD_BYTES = (size_t)(4 * TILE + 2 * SQUARE + 3 * PLAIN_TILE) * 4;
};

/* A tile of dense rows of which so many exist; the rest, and columns past head_dim, 0. */
template <int D> DEVICE void plain_load(float *tile, const float *from, int n_rows, int head_dim)
{
    for (int i = threadIdx.x; i < PLAIN_TILE * D; i += PLAIN_THREADS) {
        int row = i / D, column = i % D;
        tile[row * plain_shape<D>::PITCH + column] =
            row < n_rows && column < head_dim ? from[(size_t)row * head_dim + column] : 0.0f;
    }
}

/* The 2 x 2 products of rows y, y + 16 of a and x, x + 16 of b. */
template <int D> DEVICE void plain_products(float (&s)[2][2], const float *a, const float *b, int y, int x)
{
    constexpr int PITCH = plain_shape<D>::PITCH;
    s[0][0] = s[0][1] = s[1][0] = s[1][1] = 0.0f;
#pragma unroll 4
    for (int i = 0; i < D; i += 4) {
        float4 at[2], bt[2];
#pragma unroll
        for (int r = 0; r < 2; r++) {
            at[r] = *(const float4 *)(a + (y + PLAIN_SIDE * r) * PITCH + i);
            bt[r] = *(const float4 *)(b + (x + PLAIN_SIDE * r) * PITCH + i);
        }
#pragma unroll
        for (int r = 0; r < 2; r++)
#pragma unroll
            for (int c = 0; c < 2; c++) {
                s[r][c] = fmaf(at[r].x, bt[c].x, s[r][c]);
                s[r][c] = fmaf(at[r].y, bt[c].y, s[r][c]);
                s[r][c] = fmaf(at[r].z, bt[c].z, s[r][c]);
                s[r][c] = fmaf(at[r].w, bt[c].w, s[r][c]);
            }
    }
}

/* sum[r][i] += square[y + 16 r][all] * tile[all][x + 16 i]. */
template <int D>
DEVICE void plain_accumulate(float (&sum)[2][D / 16], const float *square, const float *tile, int y, int x)
{
#pragma unroll 4
    for (int k = 0; k < PLAIN_TILE; k++) {
        float p[2];
#pragma unroll
        for (int r = 0; r < 2; r++)
            p[r] = square[(y + PLAIN_SIDE * r) * (PLAIN_TILE + 1) + k];
#pragma unroll
        for (int i = 0; i < D / 16; i++) {
            float b = tile[k * plain_shape<D>::PITCH + x + PLAIN_SIDE * i];
            sum[0][i] = fmaf(p[0], b, sum[0][i]);
            sum[1][i] = fmaf(p[1], b, sum[1][i]);
        }
    }
}

/* Writes or adds a thread's part of 32 rows from row on. */
template <int D>
DEVICE void plain_store(float *rows, const float (&sum)[2][D / 16], int row, int n_rows, int head_dim, int y,
                        int x, float factor, bool add)
{
#pragma unroll
    for (int r = 0; r < 2; r++)
#pragma unroll
        for (int i = 0; i < D / 16; i++) {
            int at = row + y + PLAIN_SIDE * r, column = x + PLAIN_SIDE * i;
            if (at < n_rows && column < head_dim) {
                float *to = rows + (size_t)at * head_dim + column;
                *to = factor * sum[r][i] + (add ? *to : 0.0f);
            }
        }
}

/* Folds a thread's pairs, in place made probabilities, into its rows' m and l; what o is to be shrunk by. */
DEVICE void plain_fold(float (&s)[2][2], float (&m)[2], float (&l)[2], float (&shrink)[2], float scale_log2)
{
#pragma unroll
    for (int r = 0; r < 2; r++) {
        float top = fmaxf(m[r], max_over<PLAIN_SIDE>(fmaxf(s[r][0], s[r][1])));
        float from = top == -INFINITY ? 0.0f : top;
        shrink[r] = exp2f((m[r] - from) * scale_log2);
        s[r][0] = exp2f((s[r][0] - from) * scale_log2);
        s[r][1] = exp2f((s[r][1] - from) * scale_log2);
        l[r] = l[r] * shrink[r] + sum_over<PLAIN_SIDE>(s[r][0] + s[r][1]);
        m[r] = top;
    }
}

template <int D>
__global__ void __launch_bounds__(PLAIN_THREADS, 1) plain_forward_kernel(const struct block_view view)
{
    typedef plain_shape<D> shape;
    int first_query = (int)(gridDim.x - 1 - blockIdx.x) * PLAIN_TILE, head = blockIdx.y;
    int x = threadIdx.x % PLAIN_SIDE, y = threadIdx.x / PLAIN_SIDE;
    size_t rows = rows_before(view.heads, head, view.q_at.tokens);
    size_t keys = rows_before(view.kv_heads, head / (view.heads / view.kv_heads), view.k_at.tokens);
    int n_keys = keys_seen(view, least(first_query + PLAIN_TILE, view.q_at.tokens) - 1);
    if (n_keys == 0 && !view.begin)
        return;
    float *q = (float *)shared_memory(), *k = q + shape::TILE, *v = k + shape::TILE,
          *square = v + shape::TILE;
    plain_load<D>(q, (const float *)view.q + (rows + first_query) * view.head_dim,
                  view.q_at.tokens - first_query, view.head_dim);

    float m[2], l[2], o[2][D / 16];
    int limit[2];
#pragma unroll
    for (int r = 0; r < 2; r++) {
        int at = first_query + y + PLAIN_SIDE * r;
        bool there = !view.begin && at < view.q_at.tokens;
        m[r] = there ? view.m[rows + at] : -INFINITY;
        l[r] = there ? view.l[rows + at] : 0.0f;
        limit[r] = keys_seen(view, at);
#pragma unroll
        for (int i = 0; i < D / 16; i++)
            o[r][i] = there && x + PLAIN_SIDE * i < view.head_dim
                          ? view.o[(rows + at) * view.head_dim + x + PLAIN_SIDE * i]
                          : 0.0f;
    }
    for (int from = 0; from < n_keys; from += PLAIN_TILE) {
        block_sync();
        plain_load<D>(k, (const float *)view.k + (keys + from) * view.head_dim, n_keys - from, view.head_dim);
        plain_load<D>(v, (const float *)view.v + (keys + from) * view.head_dim, n_keys - from, view.head_dim);
        block_sync();
        float s[2][2], shrink[2];
        plain_products<D>(s, q, k, y, x);
#pragma unroll
        for (int r = 0; r < 2; r++)
#pragma unroll
            for (int c = 0; c < 2; c++)
                if (from + x + PLAIN_SIDE * c >= limit[r])
                    s[r][c] = -INFINITY;
        plain_fold(s, m, l, shrink, view.scale * LOG2_E);
#pragma unroll
        for (int r = 0; r < 2; r++) {
            square[(y + PLAIN_SIDE * r) * (PLAIN_TILE + 1) + x] = s[r][0];
            square[(y + PLAIN_SIDE * r) * (PLAIN_TILE + 1) + x + PLAIN_SIDE] = s[r][1];
#pragma unroll
            for (int i = 0; i < D / 16; i++)
                o[r][i] *= shrink[r];
        }
        block_sync();
        plain_accumulate<D>(o, square, v, y, x);
    }
    plain_store<D>(view.o + rows * view.head_dim, o, first_query, view.q_at.tokens, view.head_dim, y, x, 1.0f,
                   false);
#pragma unroll
    for (int r = 0; r < 2; r++) {
        int at = first_query + y + PLAIN_SIDE * r;
        if (x == 0 && at < view.q_at.tokens) {
            view.m[rows + at] = m[r];
            view.l[rows + at] = l[r];
        }
    }
}

#endif
