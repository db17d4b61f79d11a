/* SPDX-License-Identifier: MIT
 *
 * The reference kernels: any head_dim, any size, every dtype but fp16; complete, slow and meant to be read.
 * One source serves all types: numbers are widened to double, a group of keys is worked through in double,
 * and the state is rounded to its own type after each group. What fast kernels are measured against, and what
 * serves a shape that they do not. */
#include <math.h>

#include "exec/kernels/block.h"
#include "exec/kernels/block_objects.h"
#include "exec/kernels/data.h"

/* The working memory of one call, in doubles. */
struct work {
    double *k, *v; /* [BLOCK_KEY_GROUP][head_dim], the group in hand */
    double *q, *o; /* [head_dim], the query in hand and what the group adds to its output */
    double *p;     /* [BLOCK_KEY_GROUP], its logits, then their exponentials */
};

static size_t scratch_bytes(size_t head_dim)
{
    return sizeof(double) * (2 * BLOCK_KEY_GROUP * head_dim + 2 * head_dim + BLOCK_KEY_GROUP);
}

static struct work lay_out(void *scratch, size_t head_dim)
{
    struct work work = {.k = scratch};
    work.v = work.k + BLOCK_KEY_GROUP * head_dim;
    work.q = work.v + BLOCK_KEY_GROUP * head_dim;
    work.o = work.q + head_dim;
    work.p = work.o + head_dim;
    return work;
}

static void widen(double *to, enum ring_dtype dtype, const void *from, size_t first, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = data_load(dtype, from, first + i);
}

/* Keys of first .. first + n_keys that the query sees: a beginning, as positions ascend. */
static size_t count_visible(const struct block_forward *block, size_t query, size_t first, size_t n_keys)
{
    if (!block->causal)
        return n_keys;
    size_t n = 0;
    while (n < n_keys && block->k_position[first + n] <= block->q_position[query])
        n++;
    return n;
}

/* Logits of the query in hand against the group's first n_keys > 0 keys, into p; returns the largest. */
static double logits(const struct work *work, size_t n_keys, size_t head_dim, double scale)
{
    double top = -INFINITY;
    for (size_t key = 0; key < n_keys; key++) {
        double dot = 0.0;
        for (size_t dim = 0; dim < head_dim; dim++)
            dot += work->q[dim] * work->k[key * head_dim + dim];
        work->p[key] = scale * dot;
        if (work->p[key] > top)
            top = work->p[key];
    }
    return top;
}

/* Folds the group's first n_keys > 0 keys into one query's state (FlashAttention-2, Dao 2023, alg. 1). */
static void fold(const struct work *work, const struct block_forward *block, enum ring_dtype state,
                 size_t query, size_t n_keys)
{
    size_t d = block->head_dim;
    double m_old = data_load(state, block->m, query), m = m_old;
    double top = logits(work, n_keys, d, block->scale);
    if (top > m) {
        data_store(state, block->m, query, top);
        m = data_load(state, block->m, query); /* as it is kept: l and o must refer to the same number */
    }
    double base = fmax(m, -1e30); /* -inf only if every logit is: then exp(-inf) below, not exp(-inf + inf) */
    double sum = 0.0;
    for (size_t dim = 0; dim < d; dim++)
        work->o[dim] = 0.0;
    for (size_t key = 0; key < n_keys; key++) {
        double p = exp(work->p[key] - base);
        sum += p;
        for (size_t dim = 0; dim < d; dim++)
            work->o[dim] += p * work->v[key * d + dim];
    }
    double shrink = exp(m_old - base);
    data_store(state, block->l, query, shrink * data_load(state, block->l, query) + sum);
    for (size_t dim = 0; dim < d; dim++) {
        size_t at = query * d + dim;
        data_store(state, block->o, at, shrink * data_load(state, block->o, at) + work->o[dim]);
    }
}

static void forward(const struct block_forward *block, void *scratch, enum ring_dtype dtype,
                    enum ring_dtype state)
{
    size_t d = block->head_dim;
    struct work work = lay_out(scratch, d);
    for (size_t first = 0; first < block->k_tokens; first += BLOCK_KEY_GROUP) {
        size_t left = block->k_tokens - first, n_keys = left < BLOCK_KEY_GROUP ? left : BLOCK_KEY_GROUP;
        widen(work.k, dtype, block->k, first * d, n_keys * d);
        widen(work.v, dtype, block->v, first * d, n_keys * d);
        for (size_t query = 0; query < block->q_tokens; query++) {
            size_t n_visible = count_visible(block, query, first, n_keys);
            if (n_visible == 0)
                continue;
            widen(work.q, dtype, block->q, query * d, d);
            fold(&work, block, state, query, n_visible);
        }
    }
}

static void forward_fp64(const struct block_forward *block, void *scratch)
{
    forward(block, scratch, RING_FP64, RING_FP64);
}

static void forward_fp32(const struct block_forward *block, void *scratch)
{
    forward(block, scratch, RING_FP32, RING_FP32);
}

static void forward_bf16(const struct block_forward *block, void *scratch)
{
    forward(block, scratch, RING_BF16, RING_FP32);
}

static bool supports(size_t head_dim)
{
    return head_dim > 0;
}

const struct block_kernel block_reference_fp64 = {
    .name = "reference-fp64",
    .dtype = RING_FP64,
    .state = RING_FP64,
    .supports = supports,
    .q_tile = 64,
    .k_span = BLOCK_KEY_GROUP,
    .scratch_bytes = scratch_bytes,
    .forward = forward_fp64,
};

const struct block_kernel block_reference_fp32 = {
    .name = "reference-fp32",
    .dtype = RING_FP32,
    .state = RING_FP32,
    .supports = supports,
    .q_tile = 64,
    .k_span = BLOCK_KEY_GROUP,
    .scratch_bytes = scratch_bytes,
    .forward = forward_fp32,
};

const struct block_kernel block_reference_bf16 = {
    .name = "reference-fp32",
    .dtype = RING_BF16,
    .state = RING_FP32,
    .supports = supports,
    .q_tile = 64,
    .k_span = BLOCK_KEY_GROUP,
    .scratch_bytes = scratch_bytes,
    .forward = forward_bf16,
};
