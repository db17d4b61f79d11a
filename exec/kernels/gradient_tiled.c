/* SPDX-License-Identifier: MIT
 *
 * The tiled fp32 kernel, backward: fp32 or bf16 inputs, fp32 everything else. Compiled once per instruction
 * set like block_tiled.c, with the same vectors; gradient.c names the objects.
 *
 * Five products, all by one small loop with ROWS x VECS accumulators, one broadcast a row and VECS loads a
 * step. Queries lie in the lanes for the first two, whose results meet in the softmax, and head_dim for the
 * others, whose results are rows of gradients as the caller keeps them, so that no gradient is ever
 * transposed:
 *
 *     S^T[key][query]  = sum over dim   K[key][dim]     Q^T[dim][query]
 *     dP^T[key][query] = sum over dim   V[key][dim]     dO^T[dim][query]
 *     dQ[query][dim]   = sum over key   dS^T[key][query] K[key][dim]
 *     dV[key][dim]     = sum over query P^T[key][query]  dO[query][dim]
 *     dK[key][dim]     = sum over query dS^T[key][query] Q[query][dim]
 *
 * K, V, dK and dV of up to SPAN keys stay in the second-level cache while groups of QUERIES pass over them,
 * from call to call, and P and dS of a group of QUERIES x KEYS nearly in the first. Rows are kept a vector
 * further apart than they are long: a power of two would send a column of them to few of the cache's sets. */
#include <string.h>

#include "exec/kernels/block_mask.h"
#include "exec/kernels/gradient_objects.h"
#include "exec/kernels/gradient_tile.h"

enum { SPAN = 512 };

/* Four neighbours of one row, or of four rows' transposes. */
typedef float quad __attribute__((vector_size(16), may_alias));
typedef int32_t quad_index __attribute__((vector_size(16)));

static size_t pad(size_t head_dim)
{
    return (head_dim + LANES - 1) / LANES * LANES;
}

static size_t scratch_bytes(size_t head_dim)
{
    size_t stride = pad(head_dim) + LANES;
    return sizeof(struct work) + 64 +
           sizeof(float) * (2 * head_dim * QUERIES + 3 * QUERIES * stride + 4 * SPAN * stride);
}

static struct work *lay_out(void *scratch, size_t head_dim)
{
    struct work *work = scratch;
    work->head_dim = head_dim;
    work->padded = pad(head_dim);
    work->stride = work->padded + LANES;
    work->q_columns = (float *)((char *)scratch + (sizeof(*work) + 63) / 64 * 64);
    work->do_columns = work->q_columns + head_dim * QUERIES;
    work->q_rows = work->do_columns + head_dim * QUERIES;
    work->do_rows = work->q_rows + QUERIES * work->stride;
    work->dq_rows = work->do_rows + QUERIES * work->stride;
    work->k = work->dq_rows + QUERIES * work->stride;
    work->v = work->k + SPAN * work->stride;
    work->dk = work->v + SPAN * work->stride;
    work->dv = work->dk + SPAN * work->stride;
    return work;
}

/* A bf16 number is the upper half of an fp32 number. */
INLINE float widen(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float x;
    memcpy(&x, &wide, sizeof(x));
    return x;
}

/* Rows first ... first + n_rows of a dense array, times factor, with zeros behind and below: up to n_padded
 * rows. */
INLINE void load_rows(const struct work *work, float *to, const void *from, size_t first, size_t n_rows,
                      size_t n_padded, float factor, bool bf16)
{
    size_t d = work->head_dim, n_zeros = work->padded - d;
    for (size_t row = 0; row < n_rows; row++, to += work->stride) {
        const float *wide = (const float *)from + (first + row) * d;
        const uint16_t *bits = (const uint16_t *)from + (first + row) * d;
        for (size_t dim = 0; dim < d; dim++)
            to[dim] = factor * (bf16 ? widen(bits[dim]) : wide[dim]);
        memset(to + d, 0, n_zeros * sizeof(float));
    }
    for (size_t row = n_rows; row < n_padded; row++, to += work->stride)
        memset(to, 0, work->padded * sizeof(float));
}

/* Back to a dense array. */
static void store_rows(const struct work *work, float *to, const float *from, size_t n_rows)
{
    for (size_t row = 0; row < n_rows; row++)
        memcpy(to + row * work->head_dim, from + row * work->stride, work->head_dim * sizeof(float));
}

/* to[dim][query] = rows[query][dim]. head_dim is a multiple of 8. */
static void transpose(const struct work *work, float *to, const float *rows)
{
    for (size_t query = 0; query < QUERIES; query += 4)
        for (size_t dim = 0; dim < work->head_dim; dim += 4) {
            quad x[4];
            for (size_t i = 0; i < 4; i++)
                x[i] = *(const quad *)&rows[(query + i) * work->stride + dim];
            quad a = __builtin_shuffle(x[0], x[1], (quad_index){0, 4, 1, 5});
            quad b = __builtin_shuffle(x[2], x[3], (quad_index){0, 4, 1, 5});
            quad c = __builtin_shuffle(x[0], x[1], (quad_index){2, 6, 3, 7});
            quad d = __builtin_shuffle(x[2], x[3], (quad_index){2, 6, 3, 7});
            *(quad *)&to[dim * QUERIES + query] = __builtin_shuffle(a, b, (quad_index){0, 1, 4, 5});
            *(quad *)&to[(dim + 1) * QUERIES + query] = __builtin_shuffle(a, b, (quad_index){2, 3, 6, 7});
            *(quad *)&to[(dim + 2) * QUERIES + query] = __builtin_shuffle(c, d, (quad_index){0, 1, 4, 5});
            *(quad *)&to[(dim + 3) * QUERIES + query] = __builtin_shuffle(c, d, (quad_index){2, 3, 6, 7});
        }
}

/* What each of the group's queries sees of the span. Empty places see what the last query sees: a probability
 * of 0, but they never make a tile look masked. Returns what the last one sees. */
static size_t find_visible(struct work *work, const struct block_backward *block, size_t first,
                           size_t n_queries)
{
    size_t seen = block->causal ? 0 : block->k_tokens;
    for (size_t i = 0; i < QUERIES; i++) {
        if (block->causal && i < n_queries)
            seen = block_count_up_to(block->k_position, seen, block->k_tokens, block->q_position[first + i]);
        work->visible[i] = seen;
    }
    return seen;
}

INLINE void load_queries(struct work *work, const struct block_backward *block, size_t first,
                         size_t n_queries, bool bf16)
{
    load_rows(work, work->q_rows, block->q, first, n_queries, QUERIES, (float)block->scale, bf16);
    load_rows(work, work->do_rows, block->d_out, first, n_queries, QUERIES, 1.0f, bf16);
    load_rows(work, work->dq_rows, block->d_q, first, n_queries, QUERIES, 1.0f, false);
    transpose(work, work->q_columns, work->q_rows);
    transpose(work, work->do_columns, work->do_rows);
    for (size_t i = 0; i < QUERIES; i++) {
        float lse = i < n_queries ? ((const float *)block->lse)[first + i] : -__builtin_inff();
        work->lse[i] = lse == -__builtin_inff() ? __builtin_inff() : lse;
        work->delta[i] = i < n_queries ? ((const float *)block->delta)[first + i] : 0.0f;
    }
}

/* The group of queries in hand against the span's keys from `from` on, n_keys <= KEYS of them. */
static void meet(struct work *work, size_t n_queries, size_t from, size_t n_keys)
{
    for (size_t i = 0; i < QUERIES; i++) {
        size_t limit = work->visible[i] > from ? work->visible[i] - from : 0;
        work->limits[i] = (int32_t)(limit < n_keys ? limit : n_keys);
    }
    n_keys = (size_t)work->limits[QUERIES - 1];
    size_t begin = 0, end = (n_queries + WIDTH - 1) / WIDTH * WIDTH;
    while (begin < end && work->limits[begin + WIDTH - 1] == 0)
        begin += WIDTH;
    for (size_t tile = begin; tile < end; tile += WIDTH) {
        size_t n_rows = n_queries - tile < WIDTH ? n_queries - tile : WIDTH;
        soften_tile(work, tile, (n_rows + LANES - 1) / LANES, work->k + from * work->stride,
                    work->v + from * work->stride);
    }
    gather_some *const by_vecs[] = {gather_1, gather_2, gather_3};
    size_t n_vecs;
    for (size_t left = work->padded / LANES, dim = 0; left > 0; left -= n_vecs, dim += n_vecs * LANES) {
        n_vecs = left == 4 || left == 2 || VECS < 3 ? 2 : 3; /* never 3 and 1: one vector has too few sums */
        n_vecs = left < n_vecs ? left : n_vecs;
        by_vecs[n_vecs - 1](work, from, begin, n_queries, n_keys, dim);
    }
}

/* K and V of the span, and no sums yet. */
INLINE void begin(struct work *work, const struct block_backward *block, bool bf16)
{
    size_t n_padded = (block->k_tokens + ROWS - 1) / ROWS * ROWS;
    load_rows(work, work->k, block->k, 0, block->k_tokens, n_padded, 1.0f, bf16);
    load_rows(work, work->v, block->v, 0, block->k_tokens, n_padded, 1.0f, bf16);
    memset(work->dk, 0, n_padded * work->stride * sizeof(float));
    memset(work->dv, 0, n_padded * work->stride * sizeof(float));
}

INLINE void backward(const struct block_backward *block, void *scratch, bool bf16)
{
    struct work *work = lay_out(scratch, block->head_dim);
    size_t d = work->head_dim, n_keys = block->k_tokens;
    work->scale = (float)block->scale;
    if (block->begin)
        begin(work, block, bf16);
    for (size_t query = 0; query < block->q_tokens; query += QUERIES) {
        size_t left = block->q_tokens - query, n_queries = left < QUERIES ? left : QUERIES;
        size_t n_seen = find_visible(work, block, query, n_queries);
        if (n_seen == 0)
            continue;
        load_queries(work, block, query, n_queries, bf16);
        for (size_t from = 0; from < n_seen; from += KEYS)
            meet(work, n_queries, from, n_keys - from < KEYS ? n_keys - from : KEYS);
        store_rows(work, (float *)block->d_q + query * d, work->dq_rows, n_queries);
    }
    if (block->end) {
        store_rows(work, block->d_k, work->dk, n_keys);
        store_rows(work, block->d_v, work->dv, n_keys);
    }
}

static void backward_fp32(const struct block_backward *block, void *scratch)
{
    backward(block, scratch, false);
}

static void backward_bf16(const struct block_backward *block, void *scratch)
{
    backward(block, scratch, true);
}

const struct block_gradient_kernel BLOCK_GRADIENT(fp32) = {
    .name = BLOCK_TILED_NAME,
    .dtype = RING_FP32,
    .state = RING_FP32,
    .supports = BLOCK_TILED(supports),
    .q_tile = 2 * QUERIES,
    .k_span = SPAN,
    .scratch_bytes = scratch_bytes,
    .backward = backward_fp32,
};

const struct block_gradient_kernel BLOCK_GRADIENT(bf16) = {
    .name = BLOCK_TILED_NAME,
    .dtype = RING_BF16,
    .state = RING_FP32,
    .supports = BLOCK_TILED(supports),
    .q_tile = 2 * QUERIES,
    .k_span = SPAN,
    .scratch_bytes = scratch_bytes,
    .backward = backward_bf16,
};
