/* SPDX-License-Identifier: MIT
 *
 * The forward kernel on tensor cores. A block of threads has a tile of queries of one head, each warp 16 M
 * rows of it with their state (m, l, o) in registers; tiles of K and V stream through two buffers in shared
 * memory. Online softmax: FlashAttention-2 (Dao 2023), alg. 1; here the state comes from the blocks before
 * and goes on to the next. */
#ifndef CUDA_FORWARD_CUH
#define CUDA_FORWARD_CUH

#include "exec/cuda/kernels/tile.cuh"

/* Shapes of one instance; bytes of shared memory. */
template <int D, int M, int KEYS> struct forward_shape {
    static constexpr int QUERIES = TILE_WARPS * 16 * M;
    static constexpr size_t BYTES = (size_t)(QUERIES + 4 * KEYS) * D * 2;
};

/* A warp's running state. l is this lane's part of the sum until the rows are stored. */
template <int M, int N> struct running_state {
    float m[M][2], l[M][2], o[M][N][4];
};

template <int M, int N>
DEVICE void load_state(struct running_state<M, N> &state, const struct block_view &view, size_t first,
                       int row)
{
    int lane = threadIdx.x % 32;
    float *o = view.o + first * view.head_dim;
    clear(state.o);
#pragma unroll
    for (int i = 0; i < M; i++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            int at = row + 16 * i + 8 * half + lane / 4;
            bool there = !view.begin && at < view.q_at.tokens;
            state.m[i][half] = there ? view.m[first + at] : -INFINITY;
            state.l[i][half] = there && lane % 4 == 0 ? view.l[first + at] : 0.0f;
            if (!there)
                continue;
#pragma unroll
            for (int j = 0; j < N; j++)
                if (8 * j < view.head_dim) {
                    float2 pair = *pair_at(o, at, view.head_dim, 8 * j + lane % 4 * 2);
                    state.o[i][j][2 * half] = pair.x;
                    state.o[i][j][2 * half + 1] = pair.y;
                }
        }
}

template <int M, int N>
DEVICE void store_state(struct running_state<M, N> &state, const struct block_view &view, size_t first,
                        int row)
{
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < M; i++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            int at = row + 16 * i + 8 * half + lane / 4;
            float l = sum_over<4>(state.l[i][half]);
            if (at < view.q_at.tokens && lane % 4 == 0) {
                view.m[first + at] = state.m[i][half];
                view.l[first + at] = l;
            }
        }
    store_rows(view.o + first * view.head_dim, state.o, row, view.q_at.tokens, view.head_dim, 0, 1.0f, false);
}

/* Folds logits s, in place made probabilities, into m and l, and shrinks what o holds already. */
template <int M, int N, int K>
DEVICE void fold(struct running_state<M, N> &state, float (&s)[M][K][4], float scale_log2)
{
#pragma unroll
    for (int i = 0; i < M; i++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            float top = -INFINITY;
#pragma unroll
            for (int j = 0; j < K; j++)
                top = fmaxf(top, fmaxf(s[i][j][2 * half], s[i][j][2 * half + 1]));
            float old = state.m[i][half];
            top = fmaxf(old, max_over<4>(top));
            /* A row that has seen nothing stays (-inf, 0, 0): nothing is subtracted from -inf then. */
            float from = top == -INFINITY ? 0.0f : top;
            float shrink = exp2_approximate((old - from) * scale_log2), sum = 0.0f;
            float minus = -from * scale_log2;
#pragma unroll
            for (int j = 0; j < K; j++)
#pragma unroll
                for (int c = 2 * half; c < 2 * half + 2; c++) {
                    s[i][j][c] = exp2_approximate(fmaf(s[i][j][c], scale_log2, minus));
                    sum += s[i][j][c];
                }
            state.m[i][half] = top;
            state.l[i][half] = state.l[i][half] * shrink + sum;
#pragma unroll
            for (int j = 0; j < N; j++) {
                state.o[i][j][2 * half] *= shrink;
                state.o[i][j][2 * half + 1] *= shrink;
            }
        }
}

/* Hides keys from a row's limit on. */
template <int M, int K> DEVICE void hide(float (&s)[M][K][4], const int (&limit)[M][2], int first_key)
{
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < M; i++)
#pragma unroll
        for (int j = 0; j < K; j++)
#pragma unroll
            for (int c = 0; c < 4; c++)
                if (first_key + 8 * j + lane % 4 * 2 + c % 2 >= limit[i][c / 2])
                    s[i][j][c] = -INFINITY;
}

template <class T, int D, int M, int KEYS>
__global__ void __launch_bounds__(TILE_THREADS) forward_kernel(const struct block_view view)
{
    constexpr int QUERIES = forward_shape<D, M, KEYS>::QUERIES, N = D / 8;
    /* Under a causal mask the last queries have most to do: they go first. */
    int first_query = (int)(gridDim.x - 1 - blockIdx.x) * QUERIES;
    int head = blockIdx.y, lane = threadIdx.x % 32;
    int row = first_query + (int)threadIdx.x / 32 * 16 * M; /* the warp's first */
    size_t rows = rows_before(view.heads, head, view.q_at.tokens);
    size_t keys = rows_before(view.kv_heads, head / (view.heads / view.kv_heads), view.k_at.tokens);
    int n_keys = keys_seen(view, least(first_query + QUERIES, view.q_at.tokens) - 1);
    if (n_keys == 0 && !view.begin)
        return;

    T *q = (T *)shared_memory(), *k = q + QUERIES * D, *v = k + 2 * KEYS * D;
    const T *k_from = (const T *)view.k + keys * view.head_dim,
            *v_from = (const T *)view.v + keys * view.head_dim;
    load_tile<T, QUERIES, D>(q, (const T *)view.q + (rows + first_query) * view.head_dim,
                             view.q_at.tokens - first_query, view.head_dim);
    load_tile<T, KEYS, D>(k, k_from, n_keys, view.head_dim);
    load_tile<T, KEYS, D>(v, v_from, n_keys, view.head_dim);
    copy_commit();

    struct running_state<M, N> state;
    load_state(state, view, rows, row);
    int limit[M][2];
#pragma unroll
    for (int i = 0; i < M; i++)
#pragma unroll
        for (int half = 0; half < 2; half++)
            limit[i][half] = keys_seen(view, row + 16 * i + 8 * half + lane / 4);
    int seen_by_all = keys_seen(view, least(row, view.q_at.tokens - 1));
    int seen_by_any = keys_seen(view, least(row + 16 * M, view.q_at.tokens) - 1);

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
            float s[M][KEYS / 8][4];
            rows_by_rows<T, D>(s, q, row - first_query, k + buffer * KEYS * D);
            if (next > seen_by_all)
                hide(s, limit, from);
            fold(state, s, view.scale * LOG2_E);
            registers_by_rows<T, D>(state.o, s, v + buffer * KEYS * D, 0);
        }
        block_sync();
    }
    copy_wait<0>();
    store_state(state, view, rows, row);
}

#endif
