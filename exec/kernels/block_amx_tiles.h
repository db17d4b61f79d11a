/* SPDX-License-Identifier: MIT
 *
 * The matrix instructions as block_amx.c and gradient_amx.c use them (Intel AMX, TDPBF16PS). One multiplies a
 * tile of 16 rows x 32 numbers with one of 32 numbers x 16 columns, whose rows hold pairs: C[row][column] +=
 * sum over pairs of A[row][pair] . B[pair][column]. Four such C, two by two, are what the register file holds
 * beside the operands. Private to those files.
 *
 * In memory tiles are 1 KiB each, rows one after the other; those that are summed over lie side by side, and
 * `next` is how far the neighbour's are away. Adding a tile's product to C is one rounded addition an
 * element: sums do not depend on how many tiles a call is given. */
#ifndef BLOCK_AMX_TILES_H
#define BLOCK_AMX_TILES_H

#include <stdbool.h>

#include "exec/kernels/block_vector.h"

enum {
    ROWS_A_TILE = 16,
    STEP = 32,         /* numbers that one instruction sums up: keys, queries or dims */
    TILE_FLOATS = 256, /* 1 KiB, whatever is in it */
    UNIT = 2 * LANES   /* queries that are worked on at a time */
};

/* Where four tiles of C lie: to, the one of b's neighbour, the ones of a's neighbour. */
struct corner {
    float *to;
    size_t a_next, b_next;
};

#if defined(BLOCK_MATRIX_DOT)
#include "exec/kernels/block_amx_dot.h"
#define SETTLE()
#else

/* Memory that matrix instructions read is written before, and what they write is read after. */
#define SETTLE() __asm__ volatile("" ::: "memory")

/* All eight registers whole; until release. */
static void configure(void)
{
    struct {
        uint8_t palette, start, reserved[14];
        uint16_t bytes_a_row[16];
        uint8_t rows[16];
    } tiles = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        tiles.bytes_a_row[i] = 64;
        tiles.rows[i] = ROWS_A_TILE;
    }
    SETTLE();
    _tile_loadconfig(&tiles);
}

static void release(void)
{
    _tile_release();
}

/* Accumulators 0 .. 3 += the two tiles from a and a + a_next on, times those from b and b + b_next on,
 * n_steps of them each one after the other. */
INLINE void multiply(const float *a, size_t a_next, const float *b, size_t b_next, size_t n_steps)
{
    for (size_t step = 0; step < n_steps; step++, a += TILE_FLOATS, b += TILE_FLOATS) {
        _tile_loadd(4, a, 64);
        _tile_loadd(6, b, 64);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(7, b + b_next, 64);
        _tile_dpbf16ps(1, 4, 7);
        _tile_loadd(5, a + a_next, 64);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
}

INLINE void store(struct corner c)
{
    _tile_stored(0, c.to, 64);
    _tile_stored(1, c.to + c.b_next, 64);
    _tile_stored(2, c.to + c.a_next, 64);
    _tile_stored(3, c.to + c.a_next + c.b_next, 64);
}

/* C = A B. */
INLINE void product(struct corner c, const float *a, size_t a_next, const float *b, size_t b_next,
                    size_t n_steps)
{
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    multiply(a, a_next, b, b_next, n_steps);
    store(c);
}

/* C += A B. */
INLINE void accumulate(struct corner c, const float *a, size_t a_next, const float *b, size_t b_next,
                       size_t n_steps)
{
    _tile_loadd(0, c.to, 64);
    _tile_loadd(1, c.to + c.b_next, 64);
    _tile_loadd(2, c.to + c.a_next, 64);
    _tile_loadd(3, c.to + c.a_next + c.b_next, 64);
    multiply(a, a_next, b, b_next, n_steps);
    store(c);
}

#endif

#endif
