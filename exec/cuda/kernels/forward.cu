/* SPDX-License-Identifier: MIT
 *
 * Which instance of the forward kernel serves a head_dim, and its launch. Rows a warp (16 M) and keys a tile
 * are what registers allow without spills; see docs/GPU.md. */
#include "exec/cuda/kernels/forward.cuh"
#include "exec/cuda/kernels/host.cuh"

struct forward_family {
    template <class T, int D>
    static enum ring_status run(uint32_t batch, const struct block_view &view, void *stream,
                                struct ring_error *error)
    {
        constexpr int M = D <= 128 ? 2 : 1, KEYS = D <= 64 ? 64 : 32;
        typedef forward_shape<D, M, KEYS> shape;
        return launch(forward_kernel<T, D, M, KEYS>, "forward block",
                      grid_of(view.q_at.tokens, shape::QUERIES, 1, view.heads, batch), TILE_THREADS,
                      shape::BYTES, stream, error, view);
    }
};

enum ring_status cuda_launch_forward(enum ring_dtype dtype, uint32_t batch, const struct block_view &view,
                                     void *stream, struct ring_error *error)
{
    return run_family<forward_family>(dtype, batch, view, stream, error);
}
