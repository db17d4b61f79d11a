/* SPDX-License-Identifier: MIT
 *
 * How fast the CUDA kernels are on the device at hand: a table, no verdict. A block of its own queries and
 * keys, forward and backward, timed between events over many launches; work counted as everywhere else, 4 *
 * head_dim a visible pair and head forward, two and a half times that backward (five products for two),
 * however many products the kernels really do. */
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "exec/cuda/kernels/cuda_block.h"

enum { HEADS = 16, WARM_UP = 3, LAUNCHES = 20 };

static void must(cudaError_t status)
{
    if (status == cudaSuccess)
        return;
    fprintf(stderr, "%s\n", cudaGetErrorString(status));
    exit(3);
}

/* Device memory of n elements of random bits that are numbers of size under 2 in bf16 and fp16 (and fp32). */
static void *take(size_t bytes)
{
    void *device = NULL;
    unsigned short *host = malloc(bytes);
    unsigned random = 1;
    if (host == NULL)
        exit(3);
    for (size_t i = 0; i < bytes / 2; i++) {
        random = random * 1664525u + 1013904223u;
        host[i] = (unsigned short)((random >> 16 & 0x807f) | 0x3f00); /* 0.5 to 1 in bf16, either sign */
    }
    must(cudaMalloc(&device, bytes));
    must(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
    free(host);
    return device;
}

static double time_s(const struct cuda_block *block, bool backward)
{
    cudaEvent_t begun, ended;
    struct ring_error error;
    float ms = 0.0f;
    must(cudaEventCreate(&begun));
    must(cudaEventCreate(&ended));
    for (int i = 0; i < WARM_UP + LAUNCHES; i++) {
        if (i == WARM_UP)
            must(cudaEventRecord(begun, NULL));
        enum ring_status status = backward ? cuda_block_backward(block, true, NULL, &error)
                                           : cuda_block_forward(block, true, NULL, &error);
        if (status != RING_OK) {
            fprintf(stderr, "%s\n", error.text);
            exit(3);
        }
    }
    must(cudaEventRecord(ended, NULL));
    must(cudaEventSynchronize(ended));
    must(cudaEventElapsedTime(&ms, begun, ended));
    must(cudaEventDestroy(begun));
    must(cudaEventDestroy(ended));
    return ms / 1e3 / LAUNCHES;
}

static void run(enum ring_dtype dtype, uint64_t tokens, uint32_t head_dim, bool causal)
{
    struct ring_layout layout = {.kind = RING_LAYOUT_CONTIGUOUS, .tokens = tokens, .n_ranks = 1};
    struct ring_error error;
    size_t rows = HEADS * tokens, n = rows * head_dim, bytes = n * ring_dtype_bytes(dtype);
    struct cuda_block block = {.dtype = dtype,
                               .batch = 1,
                               .heads = HEADS,
                               .kv_heads = HEADS,
                               .head_dim = head_dim,
                               .causal = causal,
                               .scale = 1.0 / sqrt((double)head_dim),
                               .queries = ring_layout_shard(&layout, 0),
                               .keys = ring_layout_shard(&layout, 0)};
    void *inputs[] = {take(bytes), take(bytes), take(bytes), take(bytes)};
    float *results[] = {take(rows * 4), take(rows * 4), take(rows * 4), take(rows * 4),
                        take(n * 4),    take(n * 4),    take(n * 4),    take(n * 4)};
    block.q = inputs[0], block.k = inputs[1], block.v = inputs[2], block.d_out = inputs[3];
    block.m = results[0], block.l = results[1], block.lse = results[2], block.delta = results[3];
    block.o = results[4], block.d_q = results[5], block.d_k = results[6], block.d_v = results[7];
    double pairs = causal ? (double)tokens * ((double)tokens + 1.0) / 2.0 : (double)tokens * (double)tokens;
    double flops = 4.0 * head_dim * pairs * HEADS, forward_s = time_s(&block, false);
    if (cuda_block_prepare(&block, NULL, &error) != RING_OK)
        exit(3);
    double backward_s = time_s(&block, true);
    printf("%-5s %8llu %8u %-7s %12.3f %9.1f %12.3f %9.1f\n", ring_dtype_names[dtype],
           (unsigned long long)tokens, head_dim, causal ? "causal" : "full", 1e3 * forward_s,
           flops / forward_s / 1e12, 1e3 * backward_s, 2.5 * flops / backward_s / 1e12);
    for (size_t i = 0; i < sizeof(inputs) / sizeof(inputs[0]); i++)
        must(cudaFree(inputs[i]));
    for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++)
        must(cudaFree(results[i]));
}

int main(void)
{
    static const uint32_t head_dims[] = {64, 128, 256};
    int n_devices = 0;
    cudaError_t status = cudaGetDeviceCount(&n_devices);
    if (status != cudaSuccess || n_devices == 0) {
        fprintf(stderr, "no usable CUDA device: %s\n",
                status != cudaSuccess ? cudaGetErrorString(status) : "none found");
        return 3;
    }
    struct cudaDeviceProp device;
    must(cudaGetDeviceProperties(&device, 0));
    printf("%s, %d heads\n%-5s %8s %8s %-7s %12s %9s %12s %9s\n", device.name, HEADS, "dtype", "tokens",
           "head_dim", "mask", "forward [ms]", "[TFLOP/s]", "backward [ms]", "[TFLOP/s]");
    for (size_t d = 0; d < sizeof(head_dims) / sizeof(head_dims[0]); d++)
        for (int causal = 0; causal < 2; causal++) {
            for (uint64_t tokens = 2048; tokens <= 16384; tokens *= 2)
                run(RING_BF16, tokens, head_dims[d], causal == 1);
            run(RING_FP16, 8192, head_dims[d], causal == 1);
            run(RING_FP32, 4096, head_dims[d], causal == 1);
        }
    return 0;
}
