/* SPDX-License-Identifier: MIT
 *
 * Which instance of the dQ kernel serves a head_dim, and its launch. */
#include "exec/cuda/kernels/backward.cuh"
#include "exec/cuda/kernels/host.cuh"

struct backward_queries_family {
    template <class T, int D>
    static enum ring_status run(uint32_t batch, const struct block_view &view, void *stream,
                                struct ring_error *error)
    {
        constexpr int M = D <= 64 ? 2 : 1, KEYS = D == 128 ? 64 : 32;
        typedef backward_queries_shape<D, M, KEYS> shape;
        return launch(backward_queries_kernel<T, D, M, KEYS>, "backward block, dQ",
                      grid_of(view.q_at.tokens, shape::QUERIES, 1, view.heads, batch), TILE_THREADS,
                      shape::BYTES, stream, error, view);
    }
};

enum ring_status cuda_launch_backward_queries(enum ring_dtype dtype, uint32_t batch,
                                              const struct block_view &view, void *stream,
                                              struct ring_error *error)
{
    return run_family<backward_queries_family>(dtype, batch, view, stream, error);
}
