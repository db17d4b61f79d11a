/* SPDX-License-Identifier: MIT
 *
 * The one small loop that the tiled kernels' products are, forward and backward. Private to block_tile.h and
 * gradient_tile.h, which say what the operands are. */
#ifndef BLOCK_PRODUCT_H
#define BLOCK_PRODUCT_H

#include "exec/kernels/block_vector.h"

enum { MAX_ROWS = 8, MAX_VECS = 4 };

/* acc[row][vec] = sum over step < depth of a[row * a_row + step * a_step] * b[step * b_step + vec]. n_rows
 * and n_vecs are constants at every call: the loops over them vanish and acc lives in registers. Written out
 * for several steps a turn it is slower. */
INLINE void multiply(vec acc[MAX_ROWS][MAX_VECS], int n_rows, int n_vecs, const float *a, size_t a_row,
                     size_t a_step, const float *b, size_t b_step, size_t depth)
{
#pragma GCC unroll 8
    for (int row = 0; row < n_rows; row++)
#pragma GCC unroll 4
        for (int i = 0; i < n_vecs; i++)
            acc[row][i] = vec_splat(0.0f);
    for (size_t step = 0; step < depth; step++) {
        vec column[MAX_VECS];
#pragma GCC unroll 4
        for (int i = 0; i < n_vecs; i++)
            column[i] = vec_load_loose(b + i * LANES);
#pragma GCC unroll 8
        for (int row = 0; row < n_rows; row++) {
            vec x = vec_splat(a[(size_t)row * a_row]);
#pragma GCC unroll 4
            for (int i = 0; i < n_vecs; i++)
                acc[row][i] = vec_fma(x, column[i], acc[row][i]);
        }
        a += a_step;
        b += b_step;
    }
}

#endif
