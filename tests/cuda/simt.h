/* SPDX-License-Identifier: MIT
 *
 * The second implementation of exec/cuda/kernels/warp.cuh: the same names in plain C++ over fibers.h, so that
 * the kernels' own sources compile for the host and compute real numbers. Included before any of them
 * (-include). A sum of products of 16-bit elements is made in double and rounded once to fp32; tensor cores
 * keep fewer bits, of a size that is far below that of the elements. */
#ifndef TESTS_CUDA_SIMT_H
#define TESTS_CUDA_SIMT_H

#define CUDA_BLOCK_SHIM

#include <math.h>
#include <stdint.h>
#include <string.h>

extern "C" {
#include "engine/status.h"
#include "exec/kernels/data.h"
}
#include "tests/cuda/fibers.h"

#define DEVICE inline
#define __global__
#define __launch_bounds__(...)
#define threadIdx (fiber_place.thread)
#define blockIdx  (fiber_place.block)
#define gridDim   (fiber_place.grid)

/* A call into libm where the processor at hand has no such instruction; in double the sum is all but exact.
 */
#define fmaf(a, b, c) ((float)((double)(a) * (double)(b) + (double)(c)))

struct bf16 {
    uint16_t bits;
};
struct fp16 {
    uint16_t bits;
};
struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
inline struct float2 make_float2(float x, float y)
{
    return float2{x, y};
}
struct dim3 : fiber_dim {
    dim3(unsigned along_x, unsigned along_y, unsigned along_z) : fiber_dim{along_x, along_y, along_z}
    {
    }
};

inline float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}
inline float widen(bf16 x)
{
    return float_of((uint32_t)x.bits << 16);
}
/* An fp16 in the middle of an fp32's bits is 2^-112 of its value, subnormals too; infinities and NaN are left
 * to data_load. */
inline float widen(fp16 x)
{
    if ((x.bits & 0x7c00) == 0x7c00)
        return (float)data_load(RING_FP16, &x, 0);
    return float_of((uint32_t)(x.bits & 0x8000) << 16 | (uint32_t)(x.bits & 0x7fff) << 13) * 0x1p112f;
}

template <class T> struct element_type;
template <> struct element_type<bf16> {
    static const enum ring_dtype dtype = RING_BF16;
};
template <> struct element_type<fp16> {
    static const enum ring_dtype dtype = RING_FP16;
};

template <class T> inline uint32_t pack(float low, float high)
{
    uint16_t both[2];
    data_store(element_type<T>::dtype, both, 0, low);
    data_store(element_type<T>::dtype, both, 1, high);
    return (uint32_t)both[0] | (uint32_t)both[1] << 16;
}

inline unsigned char *shared_memory()
{
    return fiber_shared();
}
inline void block_sync()
{
    fiber_barrier();
}
inline float exp2_approximate(float x)
{
    return exp2f(x);
}
inline void copy_async(void *shared, const void *global, bool there)
{
    fiber_copy(shared, global, there);
}
inline void copy_commit()
{
    fiber_copy_commit();
}
template <int N> inline void copy_wait()
{
    fiber_copy_wait(N);
}

struct shuffle_operands {
    float value, result;
    int mask;
};
inline void apply_shuffle(void *lanes[FIBER_LANES])
{
    struct shuffle_operands **lane = (struct shuffle_operands **)lanes;
    for (int i = 0; i < FIBER_LANES; i++)
        lane[i]->result = lane[i ^ lane[i]->mask]->value;
}
inline float shuffle_xor(float value, int mask)
{
    struct shuffle_operands mine = {value, 0.0f, mask};
    fiber_together(apply_shuffle, &mine);
    return mine.result;
}

struct matrix_operands {
    const void *row;
    uint32_t *r;
};
template <bool TRANSPOSED> inline void apply_load(void *lanes[FIBER_LANES])
{
    struct matrix_operands **lane = (struct matrix_operands **)lanes;
    for (int i = 0; i < FIBER_LANES; i++)
        if ((uintptr_t)lane[i]->row % 16 != 0 || !fiber_is_shared(lane[i]->row, 16))
            fiber_violation("a row of a matrix is not aligned, or not in shared memory");
    for (int matrix = 0; matrix < 4; matrix++)
        for (int i = 0; i < FIBER_LANES; i++) {
            uint32_t both = 0;
            for (int k = 0; k < 2; k++) {
                int row = TRANSPOSED ? i % 4 * 2 + k : i / 4, column = TRANSPOSED ? i / 4 : i % 4 * 2 + k;
                const uint16_t *elements = (const uint16_t *)lane[8 * matrix + row]->row;
                both |= (uint32_t)elements[column] << 16 * k;
            }
            lane[i]->r[matrix] = both;
        }
}
inline void load_matrices(uint32_t (&r)[4], const void *row)
{
    struct matrix_operands mine = {row, r};
    fiber_together(apply_load<false>, &mine);
}
inline void load_matrices_transposed(uint32_t (&r)[4], const void *row)
{
    struct matrix_operands mine = {row, r};
    fiber_together(apply_load<true>, &mine);
}

struct multiply_operands {
    float *c;
    const uint32_t *a;
    uint32_t b[2];
};
template <class T> inline float half_of(uint32_t both, int k)
{
    T x = {(uint16_t)(both >> 16 * k)};
    return widen(x);
}
template <class T> inline void apply_multiply(void *lanes[FIBER_LANES])
{
    struct multiply_operands **lane = (struct multiply_operands **)lanes;
    double a[16][16], b[8][16];
    for (int i = 0; i < FIBER_LANES; i++) {
        int g = i / 4, t = i % 4 * 2;
        for (int k = 0; k < 2; k++) {
            a[g][t + k] = half_of<T>(lane[i]->a[0], k);
            a[g + 8][t + k] = half_of<T>(lane[i]->a[1], k);
            a[g][t + 8 + k] = half_of<T>(lane[i]->a[2], k);
            a[g + 8][t + 8 + k] = half_of<T>(lane[i]->a[3], k);
            b[g][t + k] = half_of<T>(lane[i]->b[0], k);
            b[g][t + 8 + k] = half_of<T>(lane[i]->b[1], k);
        }
    }
    for (int i = 0; i < FIBER_LANES; i++)
        for (int c = 0; c < 4; c++) {
            double sum = lane[i]->c[c];
            for (int k = 0; k < 16; k++)
                sum += a[i / 4 + c / 2 * 8][k] * b[i % 4 * 2 + c % 2][k];
            lane[i]->c[c] = (float)sum;
        }
}
template <class T> inline void multiply_add(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
    struct multiply_operands mine = {c, a, {b0, b1}};
    fiber_together(apply_multiply<T>, &mine);
}

template <class Args> struct kernel_call {
    void (*kernel)(Args);
    Args args;

    static void run(const void *call)
    {
        const struct kernel_call *self = (const struct kernel_call *)call;
        self->kernel(self->args);
    }
};

/* A launch that a device would refuse is refused as it would be: there, a grid's y and z are below 2^16. */
template <class Args>
static enum ring_status launch(void (*kernel)(Args), const char *name, dim3 grid, unsigned threads,
                               size_t shared_bytes, void *, struct ring_error *error, Args args)
{
    if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.y > 65535 || grid.z > 65535)
        return ring_fail(error, RING_WORLD, "%s: no device launches %u x %u x %u blocks", name, grid.x,
                         grid.y, grid.z);
    struct kernel_call<Args> call = {
        kernel, args
    };
    fiber_run(kernel_call<Args>::run, &call, grid, threads, shared_bytes);
    return RING_OK;
}

#endif
