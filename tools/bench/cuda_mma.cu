/* SPDX-License-Identifier: MIT
 *
 * The rate of mma.sync itself: what kernels that are made of it can reach at most. See cuda.h. */
#include "exec/cuda/kernels/warp.cuh"

extern "C" {
#include "tools/bench/cuda.h"
}

enum { CHAINS = 8, TURNS = 4096, THREADS = 128, BLOCKS_A_PROCESSOR = 4 };

struct mma_view {
    float *sink;
};

/* Independent chains, so that one instruction need not wait for the one before. */
static __global__ void __launch_bounds__(THREADS) mma_kernel(const struct mma_view view)
{
    uint32_t a[4], b = 0x3f803f80u + threadIdx.x % 2; /* about 1 in both halves */
    float c[CHAINS][4];
#pragma unroll
    for (int i = 0; i < 4; i++)
        a[i] = b ^ (threadIdx.x & 0x7f007f);
#pragma unroll
    for (int chain = 0; chain < CHAINS; chain++)
#pragma unroll
        for (int i = 0; i < 4; i++)
            c[chain][i] = (float)(chain + i);
    for (int turn = 0; turn < TURNS; turn++) {
#pragma unroll
        for (int chain = 0; chain < CHAINS; chain++)
            multiply_add<bf16>(c[chain], a, b, b);
    }
    float sum = 0.0f;
#pragma unroll
    for (int chain = 0; chain < CHAINS; chain++)
        sum += c[chain][0] + c[chain][1] + c[chain][2] + c[chain][3];
    if (sum == -1.0f) /* never: but the compiler cannot know */
        *view.sink = sum;
}

extern "C" enum ring_status bench_cuda_mma(int n_processors, float *sink, void *stream, double *flops,
                                           struct ring_error *error)
{
    struct mma_view view = {sink};
    unsigned n_blocks = (unsigned)(BLOCKS_A_PROCESSOR * n_processors);

    *flops = 2.0 * 16 * 8 * 16 * CHAINS * TURNS * (THREADS / 32) * n_blocks;
    return launch(mma_kernel, "the loop of mma.sync", dim3(n_blocks, 1, 1), THREADS, 0, stream, error, view);
}
