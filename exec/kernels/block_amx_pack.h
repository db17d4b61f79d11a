/* SPDX-License-Identifier: MIT
 *
 * How operands get into tiles and results out of them. bf16 rows become either of two forms of tile and of
 * each its transpose; fp32 rows become columns and go back. Private to block_amx.c and gradient_amx.c; how
 * tiles are used is in block_amx_tiles.h.
 *
 *     cut      16 rows x 32 dims, as they lie                                A, summed over dims
 *     columns  its transpose: 16 pairs of dims x 16 rows                     B, summed over dims
 *     paired   32 rows x 16 dims, pairs of rows side by side                 B, summed over rows
 *     turned   its transpose: 16 dims x 32 rows                              A, summed over rows
 *
 * head_dim, a multiple of 8, is filled up with zeros to a multiple of 32, and rows to whole tiles. */
#ifndef BLOCK_AMX_PACK_H
#define BLOCK_AMX_PACK_H

#include <stdbool.h>
#include <string.h>

#include "exec/kernels/block_amx_tiles.h"

/* Rows of a dense bf16 array, n_rows from `from` on, and zeros behind. */
struct dense {
    const uint16_t *from;
    size_t n_rows, head_dim;
};

static size_t pad(size_t head_dim)
{
    return (head_dim + STEP - 1) / STEP * STEP;
}

INLINE size_t at_most(size_t n, size_t most)
{
    return n < most ? n : most;
}

/* n <= 32 numbers of a row from dim on, a multiple of 8, and zeros; a row behind the last is zeros. */
INLINE __m512i load_row(const struct dense *rows, size_t row, size_t dim, size_t n)
{
    if (row >= rows->n_rows || dim >= rows->head_dim)
        return _mm512_setzero_si512();
    n = at_most(rows->head_dim - dim, n);
    return _mm512_maskz_loadu_epi32((__mmask16)((1u << n / 2) - 1), rows->from + row * rows->head_dim + dim);
}

INLINE void cut_tile(float *to, const struct dense *rows, size_t row, size_t dim)
{
    for (size_t i = 0; i < ROWS_A_TILE; i++)
        *(vec_bits *)(to + i * LANES) = (vec_bits)load_row(rows, row + i, dim, STEP);
}

INLINE void pair_tile(float *to, const struct dense *rows, size_t row, size_t dim)
{
    for (size_t i = 0; i < ROWS_A_TILE; i++) {
        __m512i even = load_row(rows, row + 2 * i, dim, LANES);
        __m512i odd = load_row(rows, row + 2 * i + 1, dim, LANES);
        vec_bits low = (vec_bits)_mm512_cvtepu16_epi32(_mm512_castsi512_si256(even));
        vec_bits high = (vec_bits)_mm512_cvtepu16_epi32(_mm512_castsi512_si256(odd));
        *(vec_bits *)(to + i * LANES) = low | high << 16;
    }
}

INLINE void turn_tile(float *to, const float *from)
{
    for (size_t i = 0; i < LANES; i += 4) {
        vec x[4];
        vec_transpose_load(x, from + i, LANES);
        for (size_t j = 0; j < 4; j++)
            vec_store(to + (i + j) * LANES, x[j]);
    }
}

/* [n_places / 16][padded / 32] tiles of rows as they lie, or as columns. */
static void pack_cut(float *to, const struct dense *rows, size_t n_places, bool columns)
{
    float tile[TILE_FLOATS] __attribute__((aligned(64)));
    for (size_t row = 0; row < n_places; row += ROWS_A_TILE)
        for (size_t dim = 0; dim < rows->head_dim; dim += STEP, to += TILE_FLOATS) {
            cut_tile(columns ? tile : to, rows, row, dim);
            if (columns)
                turn_tile(to, tile);
        }
}

/* [padded / 16][n_steps] tiles of paired rows, n_places <= 32 * n_steps of them. */
static void pack_paired(float *to, const struct dense *rows, size_t n_places, size_t n_steps, bool turned)
{
    float tile[TILE_FLOATS] __attribute__((aligned(64)));
    for (size_t row = 0; row < n_places; row += STEP, to += TILE_FLOATS)
        for (size_t dim = 0; dim < pad(rows->head_dim); dim += LANES) {
            float *at = to + dim / LANES * n_steps * TILE_FLOATS;
            pair_tile(turned ? tile : at, rows, row, dim);
            if (turned)
                turn_tile(at, tile);
        }
}

/* One vector of fp32 rows becomes columns, [padded][LANES]; n_rows <= LANES, the others are zeros. */
static void load_columns(float *to, const float *from, size_t n_rows, size_t head_dim)
{
    float rows[LANES * LANES] __attribute__((aligned(64)));
    for (size_t dim = 0; dim < head_dim; dim += LANES) {
        __mmask16 mask = (__mmask16)((1u << at_most(head_dim - dim, LANES)) - 1);
        for (size_t row = 0; row < LANES; row++)
            vec_store(rows + row * LANES, row < n_rows
                                              ? _mm512_maskz_loadu_ps(mask, from + row * head_dim + dim)
                                              : vec_splat(0.0f));
        turn_tile(to + dim * LANES, rows);
    }
    size_t behind = (head_dim + LANES - 1) / LANES * LANES;
    memset(to + behind * LANES, 0, (pad(head_dim) - behind) * LANES * sizeof(float));
}

/* And back. */
static void store_columns(float *to, const float *from, size_t n_rows, size_t head_dim)
{
    float rows[LANES * LANES] __attribute__((aligned(64)));
    for (size_t dim = 0; dim < head_dim; dim += LANES) {
        __mmask16 mask = (__mmask16)((1u << at_most(head_dim - dim, LANES)) - 1);
        turn_tile(rows, from + dim * LANES);
        for (size_t row = 0; row < n_rows; row++)
            _mm512_mask_storeu_ps(to + row * head_dim + dim, mask, vec_load(rows + row * LANES));
    }
}

#endif
