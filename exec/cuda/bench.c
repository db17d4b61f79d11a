/* SPDX-License-Identifier: MIT
 *
 * See bench.h. */
#include "exec/cuda/bench.h"

#include <math.h>
#include <stdlib.h>

enum { N_SMALL = 4 }; /* of each of the three kinds of pieces */

/* Random signs and mantissas over the exponent just below 1, in halves of a word: numbers of size 0.5 to 1
 * in bf16 and fp32, 1.5 to 2 in fp16. */
static void scatter(unsigned char *out, uint64_t bytes)
{
    uint32_t random = 1;

    for (uint64_t i = 0; i + 1 < bytes; i += 2) {
        random = random * 1664525u + 1013904223u;
        uint32_t half = (random >> 16 & 0x807f) | 0x3f00;
        out[i] = (unsigned char)half;
        out[i + 1] = (unsigned char)(half >> 8);
    }
}

/* Device memory full of such numbers, from a chunk of them on the host. */
static enum ring_status take(struct exec_gpu_bench *bench, void **memory, uint64_t bytes, const void *chunk,
                             uint64_t chunk_bytes, void *stream, struct ring_error *error)
{
    enum ring_status status = bench->runtime->take(bytes, memory, error);

    if (status != RING_OK)
        *memory = NULL;
    for (uint64_t at = 0; at < bytes && status == RING_OK; at += chunk_bytes) {
        uint64_t left = bytes - at;
        status = bench->runtime->copy((char *)*memory + at, chunk, left < chunk_bytes ? left : chunk_bytes,
                                      stream, error);
    }
    return status;
}

enum ring_status exec_gpu_bench_open(struct exec_gpu_bench *bench, const struct exec_device_runtime *runtime,
                                     uint32_t heads, size_t side, void *stream, struct ring_error *error)
{
    const uint64_t chunk_bytes = UINT64_C(4) << 20;
    uint64_t rows = (uint64_t)heads * side * sizeof(float), tensor = rows * CUDA_BLOCK_MAX_HEAD_DIM;
    void *chunk = NULL;

    *bench = (struct exec_gpu_bench){.runtime = runtime, .heads = heads, .side = side};
    enum ring_status status = runtime->take_pinned(chunk_bytes, &chunk, error);
    if (status == RING_OK)
        scatter(chunk, chunk_bytes);
    for (int i = 0; i < N_SMALL && status == RING_OK; i++) {
        void *sum = NULL, *row = NULL;
        status = take(bench, &bench->inputs[i], tensor, chunk, chunk_bytes, stream, error);
        if (status == RING_OK)
            status = take(bench, &sum, tensor, chunk, chunk_bytes, stream, error);
        bench->sums[i] = sum;
        if (status == RING_OK)
            status = take(bench, &row, rows, chunk, chunk_bytes, stream, error);
        bench->rows[i] = row;
    }
    if (status == RING_OK)
        status = runtime->settle(stream, error);
    if (status != RING_OK)
        exec_gpu_bench_close(bench);
    if (chunk)
        runtime->give_pinned(chunk);
    return status;
}

void exec_gpu_bench_close(struct exec_gpu_bench *bench)
{
    for (int i = 0; i < N_SMALL && bench->runtime; i++) {
        void *const pieces[] = {bench->inputs[i], bench->rows[i], bench->sums[i]};
        for (size_t k = 0; k < sizeof pieces / sizeof *pieces; k++)
            if (pieces[k])
                bench->runtime->give(pieces[k]);
    }
    *bench = (struct exec_gpu_bench){.runtime = NULL};
}

static struct ring_shard tokens_from_0(size_t tokens)
{
    const struct ring_layout layout = {.kind = RING_LAYOUT_CONTIGUOUS, .tokens = tokens, .n_ranks = 1};
    return ring_layout_shard(&layout, 0);
}

enum ring_status exec_gpu_bench_run(const struct exec_gpu_bench *bench, const struct exec_gpu_shape *shape,
                                    void *stream, struct ring_error *error)
{
    const struct cuda_block block = {
        .dtype = shape->dtype,
        .batch = 1,
        .heads = bench->heads,
        .kv_heads = bench->heads,
        .head_dim = shape->head_dim,
        .causal = shape->causal,
        .scale = 1 / sqrt((double)shape->head_dim),
        .queries = tokens_from_0(shape->q_tokens),
        .keys = tokens_from_0(shape->k_tokens),
        .q = bench->inputs[0],
        .k = bench->inputs[1],
        .v = bench->inputs[2],
        .d_out = bench->inputs[3],
        .m = bench->rows[0],
        .l = bench->rows[1],
        .lse = bench->rows[2],
        .delta = bench->rows[3],
        .o = bench->sums[0],
        .d_q = bench->sums[1],
        .d_k = bench->sums[2],
        .d_v = bench->sums[3],
    };

    return shape->pass == RING_PASS_FORWARD
               ? bench->runtime->kernels.forward(&block, shape->begin, stream, error)
               : bench->runtime->kernels.backward(&block, shape->begin, stream, error);
}

double exec_gpu_shape_pairs(const struct exec_gpu_shape *shape)
{
    double q = (double)shape->q_tokens, k = (double)shape->k_tokens;
    return shape->causal ? q * (q + 1) / 2 : q * k;
}

double exec_gpu_shape_flops(const struct exec_gpu_bench *bench, const struct exec_gpu_shape *shape)
{
    return (shape->pass == RING_PASS_FORWARD ? 4.0 : 10.0) * shape->head_dim * bench->heads *
           exec_gpu_shape_pairs(shape);
}
