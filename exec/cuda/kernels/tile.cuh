/* SPDX-License-Identifier: MIT
 *
 * Tiles of 16-bit elements in shared memory and the two products that attention is made of, for one warp. A
 * tile has D elements a row; the row's 16-byte chunks are permuted by the row's number, so that eight rows of
 * one column of chunks, which is what ldmatrix reads, lie in different banks. Columns from head_dim on and
 * rows past the end are zeros. */
#ifndef CUDA_TILE_CUH
#define CUDA_TILE_CUH

#include "exec/cuda/kernels/view.cuh"

/* Where in a row a multiple of 16 columns and a lane's own part of the permutation meet: column % 64 XOR own,
 * in the row's group of 64. */
DEVICE int swizzled(int column, int own)
{
    return (column & ~63) + ((column & 63) ^ own);
}

/* Begins copying ROWS rows, of which so many exist, from dense rows of head_dim elements; all threads. A
 * thread keeps to one column of chunks. */
template <class T, int ROWS, int D> DEVICE void load_tile(T *tile, const T *from, int n_rows, int head_dim)
{
    constexpr int CHUNKS = D / 8, STRIDE = TILE_THREADS / CHUNKS;
    static_assert(ROWS % STRIDE == 0, "every thread copies as many chunks");
    int row = (int)threadIdx.x / CHUNKS, column = (int)threadIdx.x % CHUNKS * 8;
    if (column >= head_dim)
        n_rows = 0;
    const T *next = from + (size_t)row * head_dim + column;
#pragma unroll
    for (int i = 0; i < ROWS / STRIDE; i++) {
        int at = row + i * STRIDE;
        bool there = at < n_rows;
        copy_async(tile + at * D + swizzled(column & ~15, (column & 8) ^ ((at & 7) << 3)),
                   there ? next : from, there);
        next += STRIDE * head_dim;
    }
}

template <int M, int N> DEVICE void clear(float (&c)[M][N][4])
{
#pragma unroll
    for (int i = 0; i < M; i++)
#pragma unroll
        for (int j = 0; j < N; j++)
#pragma unroll
            for (int k = 0; k < 4; k++)
                c[i][j][k] = 0.0f;
}

/* c (16 M x 8 N) = A B^T over D: rows a_row.. of tile a, rows 0.. of tile b. */
template <class T, int D, int M, int N>
DEVICE void rows_by_rows(float (&c)[M][N][4], const T *a, int a_row, const T *b)
{
    int lane = threadIdx.x % 32;
    int a_own = ((lane / 16) ^ (lane % 8)) << 3, b_own = ((lane / 8 % 2) ^ (lane % 8)) << 3;
    a += (a_row + lane % 16) * D;
    b += (lane / 16 * 8 + lane % 8) * D;
    clear(c);
#pragma unroll
    for (int step = 0; step < D / 16; step++) {
        uint32_t af[M][4];
#pragma unroll
        for (int i = 0; i < M; i++)
            load_matrices(af[i], a + 16 * i * D + swizzled(16 * step, a_own));
#pragma unroll
        for (int j = 0; j < N; j += 2) {
            uint32_t bf[4];
            load_matrices(bf, b + 8 * j * D + swizzled(16 * step, b_own));
#pragma unroll
            for (int i = 0; i < M; i++) {
                multiply_add<T>(c[i][j], af[i], bf[0], bf[1]);
                multiply_add<T>(c[i][j + 1], af[i], bf[2], bf[3]);
            }
        }
    }
}

/* c (16 M x 8 N) += A B: A (16 M x 8 K) as an accumulator left it, rows 0..8K of tile b, whose columns are
 * taken from a multiple of 64 on. */
template <class T, int D, int M, int N, int K>
DEVICE void registers_by_rows(float (&c)[M][N][4], const float (&a)[M][K][4], const T *b, int first_column)
{
    int lane = threadIdx.x % 32, own = ((lane / 16) ^ (lane % 8)) << 3;
    b += lane % 16 * D + first_column;
#pragma unroll
    for (int step = 0; step < K / 2; step++) {
        uint32_t af[M][4];
#pragma unroll
        for (int i = 0; i < M; i++) {
            af[i][0] = pack<T>(a[i][2 * step][0], a[i][2 * step][1]);
            af[i][1] = pack<T>(a[i][2 * step][2], a[i][2 * step][3]);
            af[i][2] = pack<T>(a[i][2 * step + 1][0], a[i][2 * step + 1][1]);
            af[i][3] = pack<T>(a[i][2 * step + 1][2], a[i][2 * step + 1][3]);
        }
#pragma unroll
        for (int j = 0; j < N; j += 2) {
            uint32_t bf[4];
            load_matrices_transposed(bf, b + 16 * step * D + swizzled(8 * j, own));
#pragma unroll
            for (int i = 0; i < M; i++) {
                multiply_add<T>(c[i][j], af[i], bf[0], bf[1]);
                multiply_add<T>(c[i][j + 1], af[i], bf[2], bf[3]);
            }
        }
    }
}

/* Two neighbouring numbers of a row of fp32, at an even column. */
DEVICE float2 *pair_at(float *rows, int row, int head_dim, int column)
{
    return (float2 *)(rows + (size_t)row * head_dim + column);
}

/* Writes or adds factor * c to rows of fp32 of head_dim columns: 16 M rows from row on, of which n_rows
 * exist, columns from column on. */
template <int M, int N>
DEVICE void store_rows(float *rows, const float (&c)[M][N][4], int row, int n_rows, int head_dim, int column,
                       float factor, bool add)
{
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < M; i++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            int at = row + 16 * i + 8 * half + lane / 4;
            if (at >= n_rows)
                continue;
#pragma unroll
            for (int j = 0; j < N; j++)
                if (column + 8 * j < head_dim) {
                    float2 *to = pair_at(rows, at, head_dim, column + 8 * j + lane % 4 * 2);
                    float2 sum = add ? *to : make_float2(0.0f, 0.0f);
                    sum.x += factor * c[i][j][2 * half];
                    sum.y += factor * c[i][j][2 * half + 1];
                    *to = sum;
                }
        }
}

#endif
