/* SPDX-License-Identifier: MIT
 *
 * Which instances of the fp32 kernels serve a head_dim, and their launches. */
#include "exec/cuda/kernels/host.cuh"
#include "exec/cuda/kernels/plain.cuh"
#include "exec/cuda/kernels/plain_backward.cuh"

template <int D>
static enum ring_status forward(uint32_t batch, const struct block_view &view, void *stream,
                                struct ring_error *error)
{
    return launch(plain_forward_kernel<D>, "forward block",
                  grid_of(view.q_at.tokens, PLAIN_TILE, 1, view.heads, batch), PLAIN_THREADS,
                  plain_shape<D>::FORWARD_BYTES, stream, error, view);
}

template <int D>
static enum ring_status backward(uint32_t batch, const struct block_view &view, void *stream,
                                 struct ring_error *error)
{
    enum ring_status status = launch(plain_backward_keys_kernel<D>, "backward block, dK and dV",
                                     grid_of(view.k_at.tokens, PLAIN_TILE, 1, view.kv_heads, batch),
                                     PLAIN_THREADS, plain_shape<D>::BACKWARD_BYTES, stream, error, view);
    if (status != RING_OK)
        return status;
    return launch(plain_backward_queries_kernel<D>, "backward block, dQ",
                  grid_of(view.q_at.tokens, PLAIN_TILE, 1, view.heads, batch), PLAIN_THREADS,
                  plain_shape<D>::BACKWARD_BYTES, stream, error, view);
}

enum ring_status cuda_launch_plain_forward(uint32_t batch, const struct block_view &view, void *stream,
                                           struct ring_error *error)
{
    return view.head_dim <= 64    ? forward<64>(batch, view, stream, error)
           : view.head_dim <= 128 ? forward<128>(batch, view, stream, error)
                                  : forward<256>(batch, view, stream, error);
}

enum ring_status cuda_launch_plain_backward(uint32_t batch, const struct block_view &view, void *stream,
                                            struct ring_error *error)
{
    return view.head_dim <= 64    ? backward<64>(batch, view, stream, error)
           : view.head_dim <= 128 ? backward<128>(batch, view, stream, error)
                                  : backward<256>(batch, view, stream, error);
}
