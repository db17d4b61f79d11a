/* SPDX-License-Identifier: MIT
 *
 * Which instance of the forward kernel serves a head_dim, and its launch. Rows a warp (16 M) and keys a tile
 * are what registers allow without spills; see docs/GPU.md. */
#include "exec/cuda/kernels/forward.cuh"
#include "exec/cuda/kernels/host.cuh"

template <class T, int D, int M, int KEYS>
static enum ring_status run(uint32_t batch, const struct block_view &view, void *stream,
                            struct ring_error *error)
{
    typedef forward_shape<D, M, KEYS> shape;
    return launch(forward_kernel<T, D, M, KEYS>, "forward block",
                  grid_of(view.q_at.tokens, shape::QUERIES, 1, view.heads, batch), TILE_THREADS, shape::BYTES,
                  stream, error, view);
}

template <class T>
static enum ring_status choose(uint32_t batch, const struct block_view &view, void *stream,
                               struct ring_error *error)
{
    if (view.head_dim <= 64)
        return run<T, 64, 2, 64>(batch, view, stream, error);
    if (view.head_dim <= 128)
        return run<T, 128, 2, 32>(batch, view, stream, error);
    return run<T, 256, 1, 32>(batch, view, stream, error);
}

enum ring_status cuda_launch_forward(enum ring_dtype dtype, uint32_t batch, const struct block_view &view,
                                     void *stream, struct ring_error *error)
{
    return dtype == RING_BF16 ? choose<bf16>(batch, view, stream, error)
                              : choose<fp16>(batch, view, stream, error);
}
