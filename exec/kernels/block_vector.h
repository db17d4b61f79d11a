/* SPDX-License-Identifier: MIT
 *
 * What block_tiled.c and gradient_tiled.c need of one vector of floats, for the instruction set that their
 * objects are compiled for. Not a library: private to those files. Additions, products and comparisons are
 * GCC's own vector operators; here is only what those cannot say well: a fused multiply-add that does not
 * depend on the compiler's contraction (so that the bits are the source's, whatever the flags), a maximum in
 * one instruction, and the exponential. */
#ifndef BLOCK_VECTOR_H
#define BLOCK_VECTOR_H

#include <stddef.h>
#include <stdint.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))

/* LANES floats a vector. ROWS x VECS vectors of accumulators are what the register file holds beside the
 * operands: 24 of 32 registers with AVX-512, 12 or 8 of 16 without. ROWS divides 8, and so every head_dim we
 * serve. */
#if defined(__AVX512F__)

enum { LANES = 16, ROWS = 8, VECS = 3 };
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

enum { LANES = 8, ROWS = 4, VECS = 3 };
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

enum { LANES = 4, ROWS = 4, VECS = 2 };
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

/* One vector in memory that is aligned to it. */
INLINE vec vec_load(const float *from)
{
    return *(const vec *)from;
}
INLINE void vec_store(float *to, vec x)
{
    *(vec *)to = x;
}

/* x where the lane's index is below its limit, -inf elsewhere. */
INLINE vec vec_keep_below(vec x, int32_t index, const int32_t *limits)
{
    vec_int zero = {0};
    vec_bits keep = (vec_bits)((zero + index) < *(const vec_int *)limits);
    vec_bits minus_inf = (vec_bits)vec_splat(-__builtin_inff());
    return (vec)(((vec_bits)x & keep) | (minus_inf & ~keep));
}

/* e^x for x <= 0 with a relative error of about (1 + |x|) 2^-24, so that the absolute one stays under 2^-23;
 * exactly 0 where e^x < 2^-126.5 and at -inf, exactly 1 at 0; NaN stays NaN.
 *
 * 2^z with z = x log2(e) = n + f, |f| <= 1/2: adding 1.5 * 2^23 rounds z to n in the low bits of the sum, the
 * 127 beside it is the exponent's bias, so a shift makes 2^n; z is held at -127, where that exponent field is
 * 0 and so is 2^n. 2^f is a polynomial of degree 6 with p(0) = 1, minimax in relative error (2.6e-9) by Remez
 * exchange. */
INLINE vec vec_exp(vec x)
{
    const float rounder = 12582912.0f + 127.0f;
    vec z = vec_max(vec_splat(-127.0f), x * 1.44269504f);
    vec shifted = z + rounder;
    vec f = z - (shifted - rounder);
    vec p = vec_splat(0x1.470b4ap-13f);
    p = vec_fma(p, f, vec_splat(0x1.5f7276p-10f));
    p = vec_fma(p, f, vec_splat(0x1.3b270ep-7f));
    p = vec_fma(p, f, vec_splat(0x1.c6ae72p-5f));
    p = vec_fma(p, f, vec_splat(0x1.ebfbe2p-3f));
    p = vec_fma(p, f, vec_splat(0x1.62e432p-1f));
    p = vec_fma(p, f, vec_splat(1.0f));
    return p * (vec)((vec_bits)shifted << 23);
}

#endif
