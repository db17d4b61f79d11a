/* SPDX-License-Identifier: MIT
 *
 * Kernels that only stream: one warp a row, or one thread an element. Clearing, normalising, what the
 * backward pass is prepared with, and the addition of a contribution. */
#ifndef CUDA_ROWS_CUH
#define CUDA_ROWS_CUH

#include "exec/cuda/kernels/view.cuh"

/* Rows of all heads and the whole batch; a kernel's warps stride over them. */
struct rows_view {
    const void *d_out;
    float *m, *l, *o, *out, *lse, *delta;
    size_t n_rows;
    int head_dim;
    float scale;
};

DEVICE size_t first_row()
{
    return ((size_t)blockIdx.x * ROW_THREADS + threadIdx.x) / 32;
}

DEVICE size_t row_stride()
{
    return (size_t)gridDim.x * (ROW_THREADS / 32);
}

/* lse of a row in base e. */
DEVICE float lse_of(float m, float l, float scale)
{
    return l == 0.0f ? -INFINITY : fmaf(m, scale, logf(l));
}

__global__ void clear_kernel(const struct rows_view view)
{
    int lane = threadIdx.x % 32;
    for (size_t row = first_row(); row < view.n_rows; row += row_stride()) {
        if (lane == 0) {
            view.m[row] = -INFINITY;
            view.l[row] = 0.0f;
        }
        for (int i = lane; i < view.head_dim; i += 32)
            view.o[row * view.head_dim + i] = 0.0f;
    }
}

__global__ void finish_kernel(const struct rows_view view)
{
    int lane = threadIdx.x % 32;
    for (size_t row = first_row(); row < view.n_rows; row += row_stride()) {
        float l = view.l[row];
        if (lane == 0)
            view.lse[row] = lse_of(view.m[row], l, view.scale);
        for (int i = lane; i < view.head_dim; i += 32) {
            size_t at = row * view.head_dim + i;
            view.out[at] = l == 0.0f ? 0.0f : view.o[at] / l;
        }
    }
}

template <class T> __global__ void prepare_kernel(const struct rows_view view)
{
    int lane = threadIdx.x % 32;
    for (size_t row = first_row(); row < view.n_rows; row += row_stride()) {
        float l = view.l[row], sum = 0.0f;
        for (int i = lane; i < view.head_dim; i += 32) {
            size_t at = row * view.head_dim + i;
            sum = fmaf(widen(((const T *)view.d_out)[at]), view.o[at], sum);
        }
        sum = sum_over<32>(sum);
        if (lane == 0) {
            view.lse[row] = lse_of(view.m[row], l, view.scale);
            view.delta[row] = l == 0.0f ? 0.0f : sum / l;
        }
    }
}

struct add_view {
    void *gradient;
    const float *contribution;
    size_t n;
    bool begin;
};

DEVICE void round_to(float *to, float x)
{
    *to = x;
}

template <class T> DEVICE void round_to(T *to, float x)
{
    to->bits = (uint16_t)pack<T>(x, 0.0f);
}

template <class T> __global__ void add_kernel(const struct add_view view)
{
    T *gradient = (T *)view.gradient;
    for (size_t i = (size_t)blockIdx.x * ROW_THREADS + threadIdx.x; i < view.n;
         i += (size_t)gridDim.x * ROW_THREADS) {
        float sum = view.contribution[i];
        round_to(&gradient[i], view.begin ? sum : widen(gradient[i]) + sum);
    }
}

#endif
