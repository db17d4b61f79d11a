/* SPDX-License-Identifier: MIT
 *
 * How the operands of block_amx.c lie, and how they get there and back. Private to it; the arithmetic is
 * there. */
#ifndef BLOCK_AMX_PACK_H
#define BLOCK_AMX_PACK_H

#include <string.h>

#include "exec/kernels/block.h"
#include "exec/kernels/block_objects.h"
#include "exec/kernels/block_vector.h"

enum {
    ROWS_A_TILE = 16,
    STEP = 32,         /* numbers that one instruction sums up: keys or dims */
    TILE_FLOATS = 256, /* 1 KiB, whatever is in it */
    UNIT = 2 * LANES,  /* queries that are worked on at a time: two tiles by two are the accumulators */
    N_UNITS = 16,      /* that pass over a group of keys while it lies in the caches */
    N_QUERIES = N_UNITS * UNIT
};

/* The working memory of one call; every array starts on a vector's boundary. padded is head_dim in whole
 * STEPs. */
struct work {
    float scores[2][BLOCK_KEY_GROUP][LANES];         /* of the unit in hand */
    uint32_t weights[2][BLOCK_KEY_GROUP / 2][LANES]; /* their exponentials, pairs of keys */
    float shrink[UNIT];                              /* what the old state is multiplied by */
    int32_t limits[UNIT]; /* keys of the group in hand that each query sees; ascends */
    float m[N_QUERIES], l[N_QUERIES];
    uint64_t visible[N_QUERIES]; /* keys of the whole block that each query sees; ascends */
    size_t padded;
    float *q;    /* [N_QUERIES / LANES][padded / STEP] tiles */
    float *k;    /* [BLOCK_KEY_GROUP / 16][padded / STEP] tiles */
    float *v;    /* [padded / 16][BLOCK_KEY_GROUP / STEP] tiles */
    float *o;    /* [N_QUERIES / LANES][padded][LANES] */
    float *rows; /* [BLOCK_KEY_GROUP / 2][padded], on the way */
};

static size_t pad(size_t head_dim)
{
    return (head_dim + STEP - 1) / STEP * STEP;
}

/* n_rows rows of a dense bf16 array to rows of padded numbers, with zeros behind and below, n_padded in all.
 */
static void load_rows(const struct work *work, uint16_t *to, const uint16_t *from, size_t n_rows,
                      size_t n_padded, size_t head_dim)
{
    for (size_t row = 0; row < n_rows; row++, to += work->padded) {
        memcpy(to, from + row * head_dim, head_dim * sizeof(uint16_t));
        memset(to + head_dim, 0, (work->padded - head_dim) * sizeof(uint16_t));
    }
    memset(to, 0, (n_padded - n_rows) * work->padded * sizeof(uint16_t));
}

/* Q of one vector of queries: pairs of dims are the rows of its tiles. */
static void load_q(struct work *work, size_t vector, const uint16_t *from, size_t n_rows, size_t head_dim)
{
    float *to = work->q + vector * LANES * work->padded / 2;
    load_rows(work, (uint16_t *)work->rows, from, n_rows, LANES, head_dim);
    for (size_t pair_of_dims = 0; pair_of_dims < work->padded / 2; pair_of_dims += 4) {
        vec x[4];
        vec_transpose_load(x, work->rows + pair_of_dims, work->padded / 2);
        for (size_t i = 0; i < 4; i++)
            vec_store(to + (pair_of_dims + i) * LANES, x[i]);
    }
}

/* K of a group: rows cut into tiles. */
static void load_k(struct work *work, const uint16_t *from, size_t n_keys, size_t head_dim)
{
    size_t n_steps = work->padded / STEP;
    for (size_t key = 0; key < BLOCK_KEY_GROUP; key++)
        for (size_t step = 0; step < n_steps; step++) {
            float *to =
                work->k + (key / ROWS_A_TILE * n_steps + step) * TILE_FLOATS + key % ROWS_A_TILE * LANES;
            size_t left = key < n_keys ? head_dim - step * STEP : 0, n = left < STEP ? left : STEP;
            if (n == STEP) {
                vec_store(to,
                          vec_load_loose((const float *)(const void *)(from + key * head_dim + step * STEP)));
                continue;
            }
            memset(to, 0, STEP * sizeof(uint16_t));
            if (n > 0)
                memcpy(to, from + key * head_dim + step * STEP, n * sizeof(uint16_t));
        }
}

/* Sixteen neighbours of two keys, side by side. */
INLINE vec_bits interleave(const uint16_t *even, const uint16_t *odd)
{
    __m512i low = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)even));
    __m512i high = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)odd));
    return (vec_bits)low | (vec_bits)high << 16;
}

/* V of a group: pairs of keys, transposed. */
static void load_v(struct work *work, const uint16_t *from, size_t n_keys, size_t head_dim)
{
    uint32_t *pairs = (uint32_t *)work->rows;
    static const uint16_t zeros[BLOCK_TILED_MAX_HEAD_DIM];
    size_t whole = head_dim / LANES * LANES;
    for (size_t key = 0; key < BLOCK_KEY_GROUP; key += 2, pairs += work->padded) {
        const uint16_t *even = key < n_keys ? from + key * head_dim : zeros,
                       *odd = key + 1 < n_keys ? from + (key + 1) * head_dim : zeros;
        for (size_t dim = 0; dim < whole; dim += LANES)
            *(vec_bits *)(pairs + dim) = interleave(even + dim, odd + dim);
        for (size_t dim = whole; dim < work->padded; dim++)
            pairs[dim] = dim < head_dim ? even[dim] | (uint32_t)odd[dim] << 16 : 0;
    }
    for (size_t key = 0; key < BLOCK_KEY_GROUP; key += STEP)
        for (size_t dim = 0; dim < work->padded; dim += 4) {
            vec x[4];
            vec_transpose_load(x, work->rows + key / 2 * work->padded + dim, work->padded);
            for (size_t i = 0; i < 4; i++)
                vec_store(work->v +
                              (dim / ROWS_A_TILE * (BLOCK_KEY_GROUP / STEP) + key / STEP) * TILE_FLOATS +
                              (dim % ROWS_A_TILE + i) * LANES,
                          x[i]);
        }
}

/* O of one vector of queries, transposed; rows of zeros behind. */
static void load_o(struct work *work, size_t vector, const float *from, size_t n_rows, size_t head_dim)
{
    float *to = work->o + vector * LANES * work->padded;
    if (n_rows < LANES) {
        memcpy(work->rows, from, n_rows * head_dim * sizeof(float));
        memset(work->rows + n_rows * head_dim, 0, (LANES - n_rows) * head_dim * sizeof(float));
        from = work->rows;
    }
    for (size_t dim = 0; dim < head_dim; dim += 4) {
        vec x[4];
        vec_transpose_load(x, from + dim, head_dim);
        for (size_t i = 0; i < 4; i++)
            vec_store(to + (dim + i) * LANES, x[i]);
    }
    memset(to + head_dim * LANES, 0, (work->padded - head_dim) * LANES * sizeof(float));
}

static void store_o(const struct work *work, size_t vector, float *to, size_t n_rows, size_t head_dim)
{
    const float *from = work->o + vector * LANES * work->padded;
    for (size_t dim = 0; dim < head_dim; dim += LANES)
        for (size_t row = 0; row < n_rows; row += 4) {
            vec x[4];
            vec_transpose_load(x, from + dim * LANES + row, LANES);
            for (size_t i = 0; i < 4 && row + i < n_rows; i++) {
                float *at = to + (row + i) * head_dim + dim;
                if (dim + LANES <= head_dim)
                    vec_store_loose(at, x[i]);
                else
                    vec_store_8(at, x[i]);
            }
        }
}

#endif
