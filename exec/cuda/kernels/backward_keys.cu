/* SPDX-License-Identifier: MIT
 *
 * Which instance of the dK, dV kernel serves a head_dim, and its launch. */
#include "exec/cuda/kernels/backward.cuh"
#include "exec/cuda/kernels/host.cuh"

struct backward_keys_family {
    template <class T, int D>
    static enum ring_status run(uint32_t batch, const struct block_view &view, void *stream,
                                struct ring_error *error)
    {
        constexpr int COLUMNS = D <= 128 ? D : 128, M = 1, QUERIES = 32;
        typedef backward_keys_shape<D, COLUMNS, M, QUERIES> shape;
        return launch(backward_keys_kernel<T, D, COLUMNS, M, QUERIES>, "backward block, dK and dV",
                      grid_of(view.k_at.tokens, shape::KEYS, shape::PARTS, view.kv_heads, batch),
                      TILE_THREADS, shape::BYTES, stream, error, view);
    }
};

enum ring_status cuda_launch_backward_keys(enum ring_dtype dtype, uint32_t batch,
                                           const struct block_view &view, void *stream,
                                           struct ring_error *error)
{
    return run_family<backward_keys_family>(dtype, batch, view, stream, error);
}
