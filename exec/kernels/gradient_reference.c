/* SPDX-License-Identifier: MIT
 *
 * The reference kernels, backward: any head_dim, any size, every dtype but fp16; complete, slow and meant to
 * be read. One source serves all types: numbers are widened to double, sums are kept in double, and the
 * gradients are rounded to their own type when they leave: dQ after each group of keys, dK and dV once. */
#include <math.h>

#include "exec/kernels/data.h"
#include "exec/kernels/gradient.h"
#include "exec/kernels/gradient_objects.h"

enum { KEYS = BLOCK_GRADIENT_KEY_GROUP, SPAN = 2 * KEYS };

/* Working memory, in doubles. */
struct work {
    double *k, *v;          /* [SPAN][head_dim] */
    double *dk, *dv;        /* [SPAN][head_dim], from begin to end; dk not yet scaled */
    double *q, *d_out, *dq; /* [head_dim], of the query in hand */
};

static size_t scratch_bytes(size_t head_dim)
{
    return sizeof(double) * (4 * SPAN + 3) * head_dim;
}

static struct work lay_out(void *scratch, size_t head_dim)
{
    struct work work = {.k = scratch};
    work.v = work.k + SPAN * head_dim;
    work.dk = work.v + SPAN * head_dim;
    work.dv = work.dk + SPAN * head_dim;
    work.q = work.dv + SPAN * head_dim;
    work.d_out = work.q + head_dim;
    work.dq = work.d_out + head_dim;
    return work;
}

static void widen(double *to, enum ring_dtype dtype, const void *from, size_t first, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = data_load(dtype, from, first + i);
}

static void clear(double *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = 0.0;
}

/* The query in hand against one key: FlashAttention-2 (Dao 2023), alg. 2, for a single pair. */
static void pair(const struct work *work, size_t key, size_t d, double scale, double lse, double delta)
{
    const double *k = work->k + key * d, *v = work->v + key * d;
    double s = 0.0, dp = 0.0;
    for (size_t dim = 0; dim < d; dim++) {
        s += work->q[dim] * k[dim];
        dp += work->d_out[dim] * v[dim];
    }
    double p = exp(scale * s - lse), ds = p * (dp - delta);
    for (size_t dim = 0; dim < d; dim++) {
        work->dq[dim] += ds * k[dim];
        work->dk[key * d + dim] += ds * work->q[dim];
        work->dv[key * d + dim] += p * work->d_out[dim];
    }
}

/* One query against what it sees of the keys from first to end. */
static void visit(const struct work *work, const struct block_backward *block, enum ring_dtype dtype,
                  enum ring_dtype real, size_t query, size_t first, size_t end)
{
    size_t d = block->head_dim;
    double lse = data_load(real, block->lse, query), delta = data_load(real, block->delta, query);
    if (lse == -INFINITY || (block->causal && block->k_position[first] > block->q_position[query]))
        return;
    widen(work->q, dtype, block->q, query * d, d);
    widen(work->d_out, dtype, block->d_out, query * d, d);
    clear(work->dq, d);
    for (size_t key = first; key < end; key++)
        if (!block->causal || block->k_position[key] <= block->q_position[query])
            pair(work, key, d, block->scale, lse, delta);
    for (size_t i = 0; i < d; i++)
        data_store(real, block->d_q, query * d + i,
                   data_load(real, block->d_q, query * d + i) + block->scale * work->dq[i]);
}

static void backward(const struct block_backward *block, void *scratch, enum ring_dtype dtype,
                     enum ring_dtype real)
{
    size_t d = block->head_dim, n = block->k_tokens * d;
    struct work work = lay_out(scratch, d);
    if (block->begin) {
        widen(work.k, dtype, block->k, 0, n);
        widen(work.v, dtype, block->v, 0, n);
        clear(work.dk, n);
        clear(work.dv, n);
    }
    for (size_t first = 0; first < block->k_tokens; first += KEYS) {
        size_t left = block->k_tokens - first, n_keys = left < KEYS ? left : KEYS;
        for (size_t query = 0; query < block->q_tokens; query++)
            visit(&work, block, dtype, real, query, first, first + n_keys);
    }
    for (size_t i = 0; block->end && i < n; i++) {
        data_store(real, block->d_k, i, block->scale * work.dk[i]);
        data_store(real, block->d_v, i, work.dv[i]);
    }
}

static void backward_fp64(const struct block_backward *block, void *scratch)
{
    backward(block, scratch, RING_FP64, RING_FP64);
}

static void backward_fp32(const struct block_backward *block, void *scratch)
{
    backward(block, scratch, RING_FP32, RING_FP32);
}

static void backward_bf16(const struct block_backward *block, void *scratch)
{
    backward(block, scratch, RING_BF16, RING_FP32);
}

static bool supports(size_t head_dim)
{
    return head_dim > 0;
}

const struct block_gradient_kernel block_gradient_reference_fp64 = {
    .name = "reference-fp64",
    .dtype = RING_FP64,
    .state = RING_FP64,
    .supports = supports,
    .q_tile = BLOCK_GRADIENT_QUERY_GROUP,
    .k_span = SPAN,
    .scratch_bytes = scratch_bytes,
    .backward = backward_fp64,
};

const struct block_gradient_kernel block_gradient_reference_fp32 = {
    .name = "reference-fp32",
    .dtype = RING_FP32,
    .state = RING_FP32,
    .supports = supports,
    .q_tile = BLOCK_GRADIENT_QUERY_GROUP,
    .k_span = SPAN,
    .scratch_bytes = scratch_bytes,
    .backward = backward_fp32,
};

const struct block_gradient_kernel block_gradient_reference_bf16 = {
    .name = "reference-fp32",
    .dtype = RING_BF16,
    .state = RING_FP32,
    .supports = supports,
    .q_tile = BLOCK_GRADIENT_QUERY_GROUP,
    .k_span = SPAN,
    .scratch_bytes = scratch_bytes,
    .backward = backward_bf16,
};
