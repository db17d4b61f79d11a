/* SPDX-License-Identifier: MIT
 *
 * What block_amx_tiles.h does, with dot products of vectors (AVX512_BF16, VDPBF16PS) on tiles that lie as
 * they do there: one multiplies 16 pairs of B's row with one pair of A, spread over the lanes. For processors
 * that have these at twice the rate of fp32 and no matrix units. Private to block_amx_tiles.h. */
#ifndef BLOCK_AMX_DOT_H
#define BLOCK_AMX_DOT_H

enum { ROWS_AT_ONCE = 8 }; /* by two vectors: 16 accumulators, and as many registers for operands */

static void configure(void)
{
}

static void release(void)
{
}

/* ROWS_AT_ONCE rows of C's two tiles side by side, from a's row on. */
INLINE void multiply(vec acc[ROWS_AT_ONCE][2], const float *a, const float *b, size_t b_next, size_t n_steps)
{
    for (size_t step = 0; step < n_steps; step++, a += TILE_FLOATS, b += TILE_FLOATS)
        for (size_t pair = 0; pair < LANES; pair++) {
            __m512bh left = (__m512bh)vec_load(b + pair * LANES);
            __m512bh right = (__m512bh)vec_load(b + b_next + pair * LANES);
#pragma GCC unroll 8
            for (size_t row = 0; row < ROWS_AT_ONCE; row++) {
                __m512bh x = (__m512bh)vec_splat(a[row * LANES + pair]);
                acc[row][0] = _mm512_dpbf16_ps(acc[row][0], x, left);
                acc[row][1] = _mm512_dpbf16_ps(acc[row][1], x, right);
            }
        }
}

INLINE void multiply_all(struct corner c, const float *a, size_t a_next, const float *b, size_t b_next,
                         size_t n_steps, bool begin)
{
    for (size_t first = 0; first < 2 * ROWS_A_TILE; first += ROWS_AT_ONCE) {
        size_t tile = first / ROWS_A_TILE, at = first % ROWS_A_TILE * LANES;
        float *to = c.to + tile * c.a_next + at;
        vec acc[ROWS_AT_ONCE][2];
#pragma GCC unroll 8
        for (size_t row = 0; row < ROWS_AT_ONCE; row++) {
            acc[row][0] = begin ? vec_splat(0.0f) : vec_load(to + row * LANES);
            acc[row][1] = begin ? vec_splat(0.0f) : vec_load(to + c.b_next + row * LANES);
        }
        multiply(acc, a + tile * a_next + at, b, b_next, n_steps);
#pragma GCC unroll 8
        for (size_t row = 0; row < ROWS_AT_ONCE; row++) {
            vec_store(to + row * LANES, acc[row][0]);
            vec_store(to + c.b_next + row * LANES, acc[row][1]);
        }
    }
}

static void product(struct corner c, const float *a, size_t a_next, const float *b, size_t b_next,
                    size_t n_steps)
{
    multiply_all(c, a, a_next, b, b_next, n_steps, true);
}

static void accumulate(struct corner c, const float *a, size_t a_next, const float *b, size_t b_next,
                       size_t n_steps)
{
    multiply_all(c, a, a_next, b, b_next, n_steps, false);
}

#endif
