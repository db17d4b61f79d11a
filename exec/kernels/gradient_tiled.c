/* SPDX-License-Identifier: MIT
 *
 * The tiled fp32 kernel, backward: fp32 or bf16 inputs, fp32 everything else. Compiled once per instruction
 * set like block_tiled.c, with the same vectors; gradient.c names the objects.
 *
 * Five products, all by one small loop with TILE_ROWS x TILE_VECS accumulators, one broadcast a row and
 * TILE_VECS loads a step. Keys lie in the lanes for the first two, whose results meet in the softmax, and
 * head_dim for the others, whose results are rows of gradients as the caller keeps them:
 *
 *     S[query][key]    = sum over dim   Q[query][dim]   K^T[dim][key]
 *     dP[query][key]   = sum over dim   dO[query][dim]  V^T[dim][key]
 *     dQ[query][dim]  += sum over key   dS[query][key]  K[key][dim]
 *     dV[key][dim]    += sum over query P[query][key]   dO[query][dim]
 *     dK[key][dim]    += sum over query dS[query][key]  Q[query][dim]
 *
 * So K and V alone are transposed, once for all the queries that see a span of them, and no gradient ever is.
 * K, V, dK and dV of up to SPAN keys stay in the second-level cache while groups of QUERIES pass over them,
 * from call to call, and the operands of a tile in the first. The next group's rows are fetched meanwhile, a
 * few lines a tile. */
#include <string.h>

#include "exec/kernels/block_mask.h"
#include "exec/kernels/gradient_objects.h"
#include "exec/kernels/gradient_tile.h"

enum { SPAN = 512 };

/* Floats from one row of head_dim to the next. */
static size_t row_stride(size_t head_dim)
{
    return (head_dim + LANES - 1) / LANES * LANES + GAP;
}

static size_t scratch_bytes(size_t head_dim)
{
    return sizeof(struct work) + 64 +
           sizeof(float) * (2 * SPAN * head_dim + (2 * QUERIES + SPAN + LANES) * row_stride(head_dim));
}

static struct work *lay_out(void *scratch, size_t head_dim)
{
    struct work *work = scratch;
    size_t stride = row_stride(head_dim);
    work->head_dim = head_dim;
    work->stride = stride;
    work->q = (float *)((char *)scratch + (sizeof(*work) + 63) / 64 * 64);
    work->d_out = work->q + QUERIES * stride;
    work->k = work->d_out + QUERIES * stride;
    work->rows = work->k + SPAN * stride;
    work->k_columns = work->rows + LANES * stride;
    work->v_columns = work->k_columns + SPAN * head_dim;
    return work;
}

/* n numbers as fp32, with zeros behind them up to a whole vector. */
INLINE void load_row(float *to, const void *from, size_t n, bool bf16)
{
    const float *wide = from;
    const uint16_t *bits = from;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        vec_store(to + i, bf16 ? vec_widen(bits + i) : vec_load_loose(wide + i));
    if (i == n)
        return;
    vec_store(to + i, vec_splat(0.0f));
    for (; i < n; i++)
        to[i] = bf16 ? widen(bits[i]) : wide[i];
}

/* Rows first ... first + n_rows of a dense array with zeros behind and below: up to n_padded rows. */
INLINE void load_rows(const struct work *work, float *to, const void *from, size_t first, size_t n_rows,
                      size_t n_padded, bool bf16)
{
    size_t d = work->head_dim, row_bytes = d * (bf16 ? sizeof(uint16_t) : sizeof(float));
    for (size_t row = 0; row < n_rows; row++)
        load_row(to + row * work->stride, (const char *)from + (first + row) * row_bytes, d, bf16);
    if (n_rows < n_padded)
        memset(to + n_rows * work->stride, 0, (n_padded - n_rows) * work->stride * sizeof(float));
}

/* columns[dim][key] of LANES keys from rows[key][dim]. */
static void transpose(const struct work *work, float *columns, const float *rows)
{
    for (size_t dim = 0; dim < work->head_dim; dim += 4) {
        vec x[4];
        vec_transpose_load(x, rows + dim, work->stride);
        for (size_t i = 0; i < 4; i++)
            vec_store(columns + (dim + i) * WIDTH, x[i]);
    }
}

/* K and V of the span, and no sums yet. */
INLINE void begin(struct work *work, const struct block_backward *block, bool bf16)
{
    size_t n = block->k_tokens, d = work->head_dim;
    for (size_t key = 0; key < n; key += LANES) {
        size_t n_rows = n - key < LANES ? n - key : LANES, at = key / WIDTH * WIDTH * d + key % WIDTH;
        float *k = work->k + key * work->stride;
        load_rows(work, k, block->k, key, n_rows, LANES, bf16);
        transpose(work, work->k_columns + at, k);
        load_rows(work, work->rows, block->v, key, n_rows, LANES, bf16);
        transpose(work, work->v_columns + at, work->rows);
    }
    memset(block->d_k, 0, n * d * sizeof(float));
    memset(block->d_v, 0, n * d * sizeof(float));
}

/* What each of the group's queries sees of the span. Empty places see what the last query sees. Returns that.
 */
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

/* Rows of the group behind the one that begins at query `first`. In the last group of a call they are mostly
 * the next call's; nothing reads them but the cache. */
static struct stream next_queries(const struct work *work, const void *rows, size_t first, size_t element)
{
    size_t row_bytes = work->head_dim * element;
    return (struct stream){(const char *)rows + (first + QUERIES) * row_bytes,
                           QUERIES * row_bytes / LINE_BYTES};
}

INLINE void load_queries(struct work *work, const struct block_backward *block, size_t first,
                         size_t n_queries, bool bf16)
{
    size_t n_padded = (n_queries + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS;
    load_rows(work, work->q, block->q, first, n_queries, n_padded, bf16);
    load_rows(work, work->d_out, block->d_out, first, n_queries, n_padded, bf16);
    for (size_t i = 0; i < QUERIES; i++) {
        float lse = i < n_queries ? ((const float *)block->lse)[first + i] : -__builtin_inff();
        work->base[i] = lse == -__builtin_inff() ? lse : -lse * 1.44269504f;
        work->delta[i] = i < n_queries ? ((const float *)block->delta)[first + i] : 0.0f;
    }
    size_t element = bf16 ? sizeof(uint16_t) : sizeof(float);
    work->ahead[0] = next_queries(work, block->q, first, element);
    work->ahead[1] = next_queries(work, block->d_out, first, element);
    work->ahead[2] = next_queries(work, block->d_q, first, sizeof(float));
}

/* The group of queries in hand against the span's keys from `from` on, n_keys <= KEYS of them. */
static void meet(struct work *work, const struct block_backward *block, size_t first, size_t n_queries,
                 size_t from, size_t n_keys)
{
    size_t d = work->head_dim, begin = 0;
    block_find_limits(work->limits, work->visible, QUERIES, from, n_keys);
    while (work->limits[begin + TILE_ROWS - 1] == 0)
        begin += TILE_ROWS;
    score(work, work->p, work->q, work->k_columns + from * d, begin, n_queries);
    score(work, work->ds, work->d_out, work->v_columns + from * d, begin, n_queries);
    soften(work, begin, n_queries);
    gather(work, (float *)block->d_q + first * d, (float *)block->d_k + from * d,
           (float *)block->d_v + from * d, work->k + from * work->stride, begin, n_queries);
}

INLINE void backward(const struct block_backward *block, void *scratch, bool bf16)
{
    struct work *work = lay_out(scratch, block->head_dim);
    unsigned before = vec_begin_flush();
    size_t n_keys = block->k_tokens;
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
            meet(work, block, query, n_queries, from, n_keys - from < KEYS ? n_keys - from : KEYS);
    }
    vec_end_flush(before);
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
