/* SPDX-License-Identifier: MIT
 *
 * What the tiled kernels, and those on matrix units, need of one vector of floats, for the instruction set
 * that their objects are compiled for. Not a library: private to those files. Additions, products and
 * comparisons are GCC's own vector operators; here is only what those cannot say well: a fused multiply-add
 * that does not depend on the compiler's contraction (so that the bits are the source's, whatever the flags),
 * a maximum in one instruction, and the exponential. */
#ifndef BLOCK_VECTOR_H
#define BLOCK_VECTOR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))

/* LANES floats a vector. */
#if defined(__AVX512F__)

enum { LANES = 16 };
typedef __m512 vec;

INLINE vec vec_splat(float x)
{
    return _mm512_set1_ps(x);
}
INLINE vec vec_fma(vec a, vec b, vec c)
{
    return _mm512_fmadd_ps(a, b, c);
}
INLINE vec vec_max(vec a, vec b) /* b where either is NaN */
{
    return _mm512_max_ps(a, b);
}

#elif defined(__AVX2__) && defined(__FMA__)

enum { LANES = 8 };
typedef __m256 vec;

INLINE vec vec_splat(float x)
{
    return _mm256_set1_ps(x);
}
INLINE vec vec_fma(vec a, vec b, vec c)
{
    return _mm256_fmadd_ps(a, b, c);
}
INLINE vec vec_max(vec a, vec b)
{
    return _mm256_max_ps(a, b);
}

#else /* anything: four lanes, a rounded product before the sum */

enum { LANES = 4 };
typedef float vec __attribute__((vector_size(16), may_alias));
typedef uint32_t vec_mask __attribute__((vector_size(16), may_alias));

INLINE vec vec_splat(float x)
{
    return (vec){x, x, x, x};
}
INLINE vec vec_fma(vec a, vec b, vec c)
{
    return a * b + c;
}
INLINE vec vec_max(vec a, vec b)
{
#if defined(__SSE2__)
    return _mm_max_ps(a, b);
#else
    vec_mask greater = (vec_mask)(a > b);
    return (vec)(((vec_mask)a & greater) | ((vec_mask)b & ~greater));
#endif
}

#endif

typedef uint32_t vec_bits __attribute__((vector_size(4 * LANES), may_alias));
typedef int32_t vec_int __attribute__((vector_size(4 * LANES), may_alias));

/* One vector anywhere in memory, and its first eight floats with zeros behind them. */
typedef float vec_loose __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
INLINE vec vec_load_loose(const float *from)
{
    return (vec) * (const vec_loose *)from;
}
INLINE void vec_store_loose(float *to, vec x)
{
    *(vec_loose *)to = (vec_loose)x;
}
INLINE vec vec_load_8(const float *from)
{
#if defined(__AVX512F__)
    return _mm512_maskz_loadu_ps(0xff, from);
#else
    return vec_load_loose(from);
#endif
}
INLINE void vec_store_8(float *to, vec x)
{
#if defined(__AVX512F__)
    _mm512_mask_storeu_ps(to, 0xff, x);
#else
    vec_store_loose(to, x);
#endif
}

/* A bf16 number, the upper half of an fp32 number, and LANES of them. */
INLINE float widen(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float x;
    memcpy(&x, &wide, sizeof(x));
    return x;
}
typedef uint16_t vec_halves __attribute__((vector_size(2 * LANES), aligned(2), may_alias));
INLINE vec vec_widen(const uint16_t *from)
{
    return (vec)(__builtin_convertvector(*(const vec_halves *)from, vec_bits) << 16);
}

/* Four neighbours of each of LANES rows that are `stride` apart become four vectors, one a neighbour: blocks
 * of 4 x 4 side by side, so that each vector is whole when it is stored. */
#if defined(__AVX512F__)
INLINE vec vec_load_quads(const float *from, size_t stride)
{
    vec x = _mm512_castps128_ps512(_mm_loadu_ps(from));
    x = _mm512_insertf32x4(x, _mm_loadu_ps(from + 4 * stride), 1);
    x = _mm512_insertf32x4(x, _mm_loadu_ps(from + 8 * stride), 2);
    return _mm512_insertf32x4(x, _mm_loadu_ps(from + 12 * stride), 3);
}
#define VEC_UNPACK_LOW(a, b)  _mm512_unpacklo_ps(a, b)
#define VEC_UNPACK_HIGH(a, b) _mm512_unpackhi_ps(a, b)
#define VEC_LOW_PAIRS(a, b)   _mm512_shuffle_ps(a, b, 0x44)
#define VEC_HIGH_PAIRS(a, b)  _mm512_shuffle_ps(a, b, 0xee)
#elif defined(__AVX2__) && defined(__FMA__)
INLINE vec vec_load_quads(const float *from, size_t stride)
{
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(from)), _mm_loadu_ps(from + 4 * stride),
                                1);
}
#define VEC_UNPACK_LOW(a, b)  _mm256_unpacklo_ps(a, b)
#define VEC_UNPACK_HIGH(a, b) _mm256_unpackhi_ps(a, b)
#define VEC_LOW_PAIRS(a, b)   _mm256_shuffle_ps(a, b, 0x44)
#define VEC_HIGH_PAIRS(a, b)  _mm256_shuffle_ps(a, b, 0xee)
#else
INLINE vec vec_load_quads(const float *from, size_t stride)
{
    (void)stride;
    return vec_load_loose(from);
}
typedef int32_t vec_index __attribute__((vector_size(16)));
#define VEC_UNPACK_LOW(a, b)  __builtin_shuffle(a, b, (vec_index){0, 4, 1, 5})
#define VEC_UNPACK_HIGH(a, b) __builtin_shuffle(a, b, (vec_index){2, 6, 3, 7})
#define VEC_LOW_PAIRS(a, b)   __builtin_shuffle(a, b, (vec_index){0, 1, 4, 5})
#define VEC_HIGH_PAIRS(a, b)  __builtin_shuffle(a, b, (vec_index){2, 3, 6, 7})
#endif
INLINE void vec_transpose_load(vec to[4], const float *from, size_t stride)
{
    vec x[4];
    for (size_t i = 0; i < 4; i++)
        x[i] = vec_load_quads(from + i * stride, stride);
    vec a = VEC_UNPACK_LOW(x[0], x[1]), b = VEC_UNPACK_LOW(x[2], x[3]);
    vec c = VEC_UNPACK_HIGH(x[0], x[1]), d = VEC_UNPACK_HIGH(x[2], x[3]);
    to[0] = VEC_LOW_PAIRS(a, b);
    to[1] = VEC_HIGH_PAIRS(a, b);
    to[2] = VEC_LOW_PAIRS(c, d);
    to[3] = VEC_HIGH_PAIRS(c, d);
}

/* One vector in memory that is aligned to it. */
INLINE vec vec_load(const float *from)
{
    return *(const vec *)from;
}
INLINE void vec_store(float *to, vec x)
{
    *(vec *)to = x;
}

/* Numbers under 2^-126 count as 0 from here on, as operands and as results, in this thread: exponentials far
 * below a row's largest may be such numbers, and the processor takes a hundred times as long over them.
 * Returns what vec_end_flush needs to put things back. */
INLINE unsigned vec_begin_flush(void)
{
#if defined(__SSE2__)
    unsigned before = _mm_getcsr();
    _mm_setcsr(before | 0x8040);
    return before;
#else
    return 0;
#endif
}
INLINE void vec_end_flush(unsigned before)
{
#if defined(__SSE2__)
    _mm_setcsr(before);
#else
    (void)before;
#endif
}

/* x where the lane's index is below its limit, -inf elsewhere. */
INLINE vec vec_keep_below(vec x, int32_t index, const int32_t *limits)
{
    vec_int zero = {0};
    vec_bits keep = (vec_bits)((zero + index) < *(const vec_int *)limits);
    vec_bits minus_inf = (vec_bits)vec_splat(-__builtin_inff());
    return (vec)(((vec_bits)x & keep) | (minus_inf & ~keep));
}

/* 2^z with a relative error of 2 to 3 u, u = 2^-24; exactly 1 at 0, exactly 0 from some way below -126 on and
 * at -inf; NaN stays NaN. Meant for z that are not much over 0.
 *
 * With AVX-512, 2^z = 2^floor(z) p(z - floor(z)): one instruction takes the fraction, one scales, and the
 * polynomial of degree 5 is minimax in relative error on [0, 1] (8.2e-8 by Remez exchange) with p(0) = 1:
 * eight operations in all.
 *
 * Elsewhere, z = n + f with |f| <= 1/2: adding 1.5 * 2^23 rounds z to n in the low bits of the sum, the 127
 * beside it is the exponent's bias, so a shift makes 2^n; z is held at -127, where that exponent field is 0
 * and so is 2^n. Here the polynomial of degree 5 is minimax on [-1/2, 1/2] (9.3e-8). */
INLINE vec vec_exp2(vec z)
{
#if defined(__AVX512DQ__)
    vec f = _mm512_reduce_ps(z, _MM_FROUND_TO_NEG_INF);
    vec p = vec_splat(0x1.e974fap-10f);
    p = vec_fma(p, f, vec_splat(0x1.277856p-7f));
    p = vec_fma(p, f, vec_splat(0x1.c91ce6p-5f));
    p = vec_fma(p, f, vec_splat(0x1.ebdb56p-3f));
    p = vec_fma(p, f, vec_splat(0x1.62e4bap-1f));
    p = vec_fma(p, f, vec_splat(1.0f));
    return _mm512_scalef_ps(p, z);
#else
    const float rounder = 12582912.0f + 127.0f;
    z = vec_max(vec_splat(-127.0f), z);
    vec shifted = z + rounder;
    vec f = z - (shifted - rounder);
    vec p = vec_splat(0x1.5bda40p-10f);
    p = vec_fma(p, f, vec_splat(0x1.3ce8acp-7f));
    p = vec_fma(p, f, vec_splat(0x1.c6b6d8p-5f));
    p = vec_fma(p, f, vec_splat(0x1.ebf9c2p-3f));
    p = vec_fma(p, f, vec_splat(0x1.62e42ap-1f));
    p = vec_fma(p, f, vec_splat(1.0f));
    return p * (vec)((vec_bits)shifted << 23);
#endif
}

#endif
