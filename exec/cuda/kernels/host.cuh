/* SPDX-License-Identifier: MIT
 *
 * What the host side of this folder shares: one function for each family of kernels, each in its own file so
 * that they are compiled side by side. Arguments have been checked. Private to this folder. */
#ifndef CUDA_HOST_CUH
#define CUDA_HOST_CUH

#include "exec/cuda/kernels/cuda_block.h"
#include "exec/cuda/kernels/view.cuh"

enum ring_status cuda_launch_forward(enum ring_dtype dtype, uint32_t batch, const struct block_view &view,
                                     void *stream, struct ring_error *error);
enum ring_status cuda_launch_backward_keys(enum ring_dtype dtype, uint32_t batch,
                                           const struct block_view &view, void *stream,
                                           struct ring_error *error);
enum ring_status cuda_launch_backward_queries(enum ring_dtype dtype, uint32_t batch,
                                              const struct block_view &view, void *stream,
                                              struct ring_error *error);
enum ring_status cuda_launch_plain_forward(uint32_t batch, const struct block_view &view, void *stream,
                                           struct ring_error *error);
enum ring_status cuda_launch_plain_backward(uint32_t batch, const struct block_view &view, void *stream,
                                            struct ring_error *error);

/* The instance of a family of 16-bit kernels that serves a dtype and head_dim. A family has
 * run<T, D>(batch, view, stream, error) for D of 64, 128 and 256, which launches it. */
template <class Family, class T>
static enum ring_status run_for_head_dim(uint32_t batch, const struct block_view &view, void *stream,
                                         struct ring_error *error)
{
    if (view.head_dim <= 64)
        return Family::template run<T, 64>(batch, view, stream, error);
    if (view.head_dim <= 128)
        return Family::template run<T, 128>(batch, view, stream, error);
    return Family::template run<T, 256>(batch, view, stream, error);
}

template <class Family>
static enum ring_status run_family(enum ring_dtype dtype, uint32_t batch, const struct block_view &view,
                                   void *stream, struct ring_error *error)
{
    return dtype == RING_BF16 ? run_for_head_dim<Family, bf16>(batch, view, stream, error)
                              : run_for_head_dim<Family, fp16>(batch, view, stream, error);
}

/* Blocks of threads for n rows, heads and the batch. */
static inline dim3 grid_of(int n, int rows_a_block, int parts, int heads, uint32_t batch)
{
    return dim3((unsigned)((n + rows_a_block - 1) / rows_a_block * parts), (unsigned)heads, batch);
}

#endif
