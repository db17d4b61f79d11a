/* SPDX-License-Identifier: MIT
 *
 * Which instance of the dK, dV kernel serves a head_dim, and its launch. */
#include "exec/cuda/kernels/backward.cuh"
#include "exec/cuda/kernels/host.cuh"

template <class T, int D, int COLUMNS, int M, int QUERIES>
static enum ring_status run(uint32_t batch, const struct block_view &view, void *stream,
                            struct ring_error *error)
{
    typedef backward_keys_shape<D, COLUMNS, M, QUERIES> shape;
    return launch(backward_keys_kernel<T, D, COLUMNS, M, QUERIES>, "backward block, dK and dV",
                  grid_of(view.k_at.tokens, shape::KEYS, shape::PARTS, view.kv_heads, batch), TILE_THREADS,
                  shape::BYTES, stream, error, view);
}

template <class T>
static enum ring_status choose(uint32_t batch, const struct block_view &view, void *stream,
                               struct ring_error *error)
{
    if (view.head_dim <= 64)
        return run<T, 64, 64, 1, 32>(batch, view, stream, error);
    if (view.head_dim <= 128)
        return run<T, 128, 128, 1, 32>(batch, view, stream, error);
    return run<T, 256, 128, 1, 32>(batch, view, stream, error);
}

enum ring_status cuda_launch_backward_keys(enum ring_dtype dtype, uint32_t batch,
                                           const struct block_view &view, void *stream,
                                           struct ring_error *error)
{
    return dtype == RING_BF16 ? choose<bf16>(batch, view, stream, error)
                              : choose<fp16>(batch, view, stream, error);
}
