/* SPDX-License-Identifier: MIT
 *
 * The few things that only a GPU has, each under one name: PTX instructions of a warp, asynchronous copies,
 * shared memory and the launch itself. Everything else in this folder is plain C++ over these. There is a
 * second implementation in tests/cuda/simt.h for a CPU; a build that wants it defines CUDA_BLOCK_SHIM and
 * includes that file first. sm_80 is the baseline: no instruction here is newer.
 *
 * Instructions and the layout of their operands over the lanes: PTX ISA, "Warp-level matrix instructions",
 * m16n8k16. With g = lane / 4 and t = lane % 4, a lane holds
 *
 *     A (16 x 16)   a[0]: (g, 2t..2t+1)   a[1]: (g+8, 2t..)   a[2]: (g, 2t+8..)   a[3]: (g+8, 2t+8..)
 *     B (16 x 8)    b[0]: (2t..2t+1, g)   b[1]: (2t+8.., g)
 *     C (16 x 8)    c[0..1]: (g, 2t..2t+1)   c[2..3]: (g+8, 2t..) */
#ifndef CUDA_WARP_CUH
#define CUDA_WARP_CUH

#ifndef CUDA_BLOCK_SHIM

#include <cuda_runtime.h>
#include <stdint.h>

extern "C" {
#include "engine/status.h"
}

#define DEVICE __device__ __forceinline__

/* Types of the elements; their bits and nothing else. */
struct bf16 {
    uint16_t bits;
};
struct fp16 {
    uint16_t bits;
};

/* The block's dynamic shared memory. */
DEVICE unsigned char *shared_memory()
{
    extern __shared__ __align__(128) unsigned char bytes[];
    return bytes;
}

DEVICE void block_sync()
{
    __syncthreads();
}

DEVICE float shuffle_xor(float value, int mask)
{
    return __shfl_xor_sync(0xffffffffu, value, mask);
}

DEVICE float exp2_approximate(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

DEVICE uint32_t shared_address(const void *shared)
{
    return (uint32_t)__cvta_generic_to_shared(shared);
}

/* 16 bytes from global to shared memory, or 16 zeros where there is false; done once waited for. */
DEVICE void copy_async(void *shared, const void *global, bool there)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(shared)), "l"(global),
                 "r"(there ? 16 : 0)
                 : "memory");
}

/* Closes a group of copies; copy_wait<n> waits until at most the n newest groups are still under way. */
DEVICE void copy_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int N> DEVICE void copy_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

/* Four 8 x 8 matrices of 16-bit elements; lane 8 i + j gives the address of row j of matrix i. */
DEVICE void load_matrices(uint32_t (&r)[4], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row))
                 : "memory");
}

DEVICE void load_matrices_transposed(uint32_t (&r)[4], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row))
                 : "memory");
}

/* C += A B. */
template <class T> DEVICE void multiply_add(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1);

template <> DEVICE void multiply_add<bf16>(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <> DEVICE void multiply_add<fp16>(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* Two numbers rounded to nearest even, low in the lower half. */
template <class T> DEVICE uint32_t pack(float low, float high);

template <> DEVICE uint32_t pack<bf16>(float low, float high)
{
    uint32_t both;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}

template <> DEVICE uint32_t pack<fp16>(float low, float high)
{
    uint32_t both;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}

DEVICE float widen(fp16 x)
{
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
    return y;
}

DEVICE float widen(bf16 x)
{
    return __uint_as_float((uint32_t)x.bits << 16);
}

/* Enqueues kernel(args) on a stream. name is for the error's line. */
template <class Args>
static enum ring_status launch(void (*kernel)(Args), const char *name, dim3 grid, unsigned threads,
                               size_t shared_bytes, void *stream, struct ring_error *error, Args args)
{
    cudaError_t status = cudaSuccess;
    if (shared_bytes > 48 * 1024)
        status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared_bytes);
    if (status == cudaSuccess) {
        kernel<<<grid, threads, shared_bytes, (cudaStream_t)stream>>>(args);
        status = cudaGetLastError();
    }
    if (status == cudaSuccess)
        return RING_OK;
    return ring_fail(error, RING_WORLD, "%s: CUDA refused a launch of %u x %u x %u blocks: %s", name, grid.x,
                     grid.y, grid.z, cudaGetErrorString(status));
}

#endif

DEVICE float widen(float x)
{
    return x;
}

/* Sum or maximum over lanes that differ in the bits of LANES - 1; all of them get it. */
template <int LANES> DEVICE float sum_over(float x)
{
    for (int mask = 1; mask < LANES; mask *= 2)
        x += shuffle_xor(x, mask);
    return x;
}

template <int LANES> DEVICE float max_over(float x)
{
    for (int mask = 1; mask < LANES; mask *= 2)
        x = fmaxf(x, shuffle_xor(x, mask));
    return x;
}

#endif
