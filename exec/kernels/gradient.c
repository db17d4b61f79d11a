/* SPDX-License-Identifier: MIT
 *
 * Which backward kernels there are, and the two small steps around them: what the forward pass's state must
 * be turned into first, and adding a contribution to a gradient. The kernels are in gradient_reference.c,
 * gradient_tiled.c and gradient_amx.c. */
#include "exec/kernels/gradient.h"

#include <math.h>
#include <string.h>

#include "exec/kernels/data.h"
#include "exec/kernels/gradient_objects.h"

const struct block_gradient_kernel *const block_gradient_kernels[] = {
#ifdef BLOCK_HAS_AMX
    &block_gradient_amx_bf16,
#endif
#ifdef BLOCK_HAS_X86
    &block_gradient_avx512_fp32,    &block_gradient_avx512_bf16,    &block_gradient_avx2_fp32,
    &block_gradient_avx2_bf16,
#endif
#ifdef BLOCK_HAS_DOT
    &block_gradient_dot_bf16,
#endif
    &block_gradient_portable_fp32,  &block_gradient_portable_bf16,  &block_gradient_reference_fp32,
    &block_gradient_reference_bf16, &block_gradient_reference_fp64, NULL,
};

const struct block_gradient_kernel *block_gradient_find(const struct block_kernel *forward)
{
    const struct block_gradient_kernel *best = NULL;
    for (size_t i = 0; block_gradient_kernels[i] != NULL; i++) {
        const struct block_gradient_kernel *kernel = block_gradient_kernels[i];
        if (kernel->dtype == forward->dtype && strcmp(kernel->name, forward->name) == 0)
            return kernel;
        if (best == NULL && kernel->dtype == forward->dtype && kernel->state == forward->state &&
            kernel->supports(8))
            best = kernel;
    }
    return best;
}

#define INLINE static inline __attribute__((always_inline))

/* The upper half of an fp32 number, rounded to nearest even; NaN stays NaN. */
INLINE uint16_t narrow(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    if (value != value)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

INLINE float widen(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof(value));
    return value;
}

/* Sum of d_out * o over one row. Eight partial sums in a fixed order: they run side by side. */
static double dot(const struct block_state *from, enum ring_dtype dtype, const void *d_out, size_t first)
{
    double sum[8] = {0.0};
    size_t n = from->head_dim, i = 0;
    if (from->state == RING_FP32 && dtype == RING_FP32) {
        const float *o = (const float *)from->o + first, *wide = (const float *)d_out + first;
        for (; i + 8 <= n; i += 8)
            for (size_t lane = 0; lane < 8; lane++)
                sum[lane] += (double)wide[i + lane] * (double)o[i + lane];
    } else if (from->state == RING_FP32 && dtype == RING_BF16) {
        const float *o = (const float *)from->o + first;
        const uint16_t *bits = (const uint16_t *)d_out + first;
        for (; i + 8 <= n; i += 8)
            for (size_t lane = 0; lane < 8; lane++)
                sum[lane] += (double)widen(bits[i + lane]) * (double)o[i + lane];
    }
    for (; i < n; i++)
        sum[i % 8] += data_load(dtype, d_out, first + i) * data_load(from->state, from->o, first + i);
    return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

void block_gradient_prepare(const struct block_state *from, enum ring_dtype dtype, const void *d_out,
                            void *lse, void *delta)
{
    enum ring_dtype t = from->state;
    for (size_t row = 0; row < from->rows; row++) {
        double m = data_load(t, from->m, row), l = data_load(t, from->l, row);
        data_store(t, lse, row, l == 0.0 ? -INFINITY : m + log(l));
        data_store(t, delta, row, l == 0.0 ? 0.0 : dot(from, dtype, d_out, row * from->head_dim) / l);
    }
}

/* Two roundings, to fp32 and then to bf16: a sum of a bf16 and an fp32 number may lie half an fp32 ulp beside
 * the middle of two bf16 numbers, and then goes to the even one: half a bf16 ulp and 2^-16 of it. */
INLINE void add_bf16(uint16_t *gradient, const float *contribution, size_t n, bool begin)
{
    for (size_t i = 0; i < n; i++)
        gradient[i] = narrow(begin ? contribution[i] : widen(gradient[i]) + contribution[i]);
}

#ifdef BLOCK_HAS_X86
/* Whole numbers are what it works with, and these get wide vectors with AVX2 only: twice as fast. */
__attribute__((target("avx2"))) static void add_bf16_avx2(uint16_t *gradient, const float *contribution,
                                                          size_t n, bool begin)
{
    add_bf16(gradient, contribution, n, begin);
}
#endif

static void add_fp32(float *gradient, const float *contribution, size_t n, bool begin)
{
    if (begin)
        memcpy(gradient, contribution, n * sizeof(float));
    else
        for (size_t i = 0; i < n; i++)
            gradient[i] += contribution[i];
}

void block_gradient_add(enum ring_dtype dtype, void *gradient, enum ring_dtype real, const void *contribution,
                        size_t n, bool begin)
{
    if (dtype == RING_FP32 && real == RING_FP32)
        add_fp32(gradient, contribution, n, begin);
#ifdef BLOCK_HAS_X86
    else if (dtype == RING_BF16 && real == RING_FP32 && __builtin_cpu_supports("avx2"))
        add_bf16_avx2(gradient, contribution, n, begin);
#endif
    else if (dtype == RING_BF16 && real == RING_FP32)
        add_bf16(gradient, contribution, n, begin);
    else
        for (size_t i = 0; i < n; i++)
            data_store(dtype, gradient, i,
                       (begin ? 0.0 : data_load(dtype, gradient, i)) + data_load(real, contribution, i));
}
