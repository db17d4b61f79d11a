/* SPDX-License-Identifier: MIT
 *
 * What bench-cuda measures the attention kernels against: how fast the device multiplies matrices. */
#ifndef BENCH_CUDA_H
#define BENCH_CUDA_H

#include "engine/problem.h"
#include "engine/status.h"

/* "cuBLAS"; NULL: built without it. */
extern const char *const bench_cuda_matmul_name;

/* Enqueues c = a b, square matrices of side n in device memory, fp32 accumulators; c of dtype. 2 n^3 FLOPs.
 * RING_UNSUPPORTED where there is no library for it. */
enum ring_status bench_cuda_matmul(enum ring_dtype dtype, int n, const void *a, const void *b, void *c,
                                   void *stream, struct ring_error *error);

/* Enqueues a loop of nothing but the matrix instruction of our kernels (mma.sync m16n8k16, bf16) on
 * registers, enough of it to fill n_processors multiprocessors. Returns the FLOPs in *flops. sink: 4 bytes of
 * device memory. */
enum ring_status bench_cuda_mma(int n_processors, float *sink, void *stream, double *flops,
                                struct ring_error *error);

#endif
