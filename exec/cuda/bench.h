/* SPDX-License-Identifier: MIT
 *
 * One block of attention on a device, of any shape, as a real run computes it, to be timed. */
#ifndef EXEC_CUDA_BENCH_H
#define EXEC_CUDA_BENCH_H

#include "exec/cuda/device.h"

struct exec_gpu_bench {
    const struct exec_device_runtime *runtime;
    uint32_t heads;
    size_t side;     /* the most queries or keys */
    void *inputs[4]; /* q, k, v, d_out */
    float *rows[4];  /* m, l, lse, delta */
    float *sums[4];  /* o, dQ, dK, dV */
};

/* A block of it. */
struct exec_gpu_shape {
    enum ring_pass pass;
    enum ring_dtype dtype;
    uint32_t head_dim;
    size_t q_tokens, k_tokens;
    bool causal; /* the square that the diagonal cuts; q_tokens == k_tokens */
    bool begin;  /* begins a state instead of folding into one */
};

/* Memory for blocks of up to side tokens, any dtype and head_dim of the kernels, full of numbers around 1 in
 * each of the types: how fast units run depends on the bits that they switch. RING_NO_MEMORY: of the device.
 */
enum ring_status exec_gpu_bench_open(struct exec_gpu_bench *bench, const struct exec_device_runtime *runtime,
                                     uint32_t heads, size_t side, void *stream, struct ring_error *error);
void exec_gpu_bench_close(struct exec_gpu_bench *bench);

/* Enqueues it. */
enum ring_status exec_gpu_bench_run(const struct exec_gpu_bench *bench, const struct exec_gpu_shape *shape,
                                    void *stream, struct ring_error *error);

/* Visible (query, key) pairs, a head; floating-point operations of all heads (4 * head_dim a pair forward,
 * 10 backward: FlashAttention-2, Dao 2023, section 4.1). */
double exec_gpu_shape_pairs(const struct exec_gpu_shape *shape);
double exec_gpu_shape_flops(const struct exec_gpu_bench *bench, const struct exec_gpu_shape *shape);

#endif
