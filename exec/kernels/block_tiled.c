/* SPDX-License-Identifier: MIT
 *
 * The tiled fp32 kernel: fp32 or bf16 inputs (bf16 is widened while packing), fp32 state. This one file is
 * compiled once per instruction set (BLOCK_TILED_ISA names it), block.c chooses at run time.
 *
 * Both products are the same small loop, a block of accumulators, one broadcast a row and a few vectors a
 * step:
 *
 *     S^T[key][query] = sum over dim K[key][dim] Q^T[dim][query]      queries in the lanes
 *     O[query][dim]  += sum over key P[query][key] V[key][dim]        dims in the lanes
 *
 * Only Q is transposed, once a call. Softmax is vertical: maximum, sum and scaling are lane by lane. P is
 * kept as S^T is, where a key's probabilities for the next queries lie side by side to be broadcast, and O
 * and V as the caller keeps them. So a query's bits do not depend on its neighbours.
 *
 * A tile is TILE_VECS vectors of queries by BLOCK_KEY_GROUP keys. N_TILES of them pass over the same group of
 * keys while it lies in the second-level cache. The arithmetic of a tile is in block_tile.h; here are
 * packing, masks and the loops. */
#include "exec/kernels/block_objects.h"

#include <string.h>

#include "exec/kernels/block.h"
#include "exec/kernels/block_mask.h"
#include "exec/kernels/block_tile.h"

/* head_dim in whole vectors. */
static size_t pad(size_t head_dim)
{
    return (head_dim + LANES - 1) / LANES * LANES;
}

static size_t scratch_bytes(size_t head_dim)
{
    return sizeof(struct work) + 64 +
           sizeof(float) *
               (head_dim * (N_TILES * WIDTH + 2 * BLOCK_KEY_GROUP) + BLOCK_KEY_GROUP * pad(head_dim));
}

static struct work *lay_out(void *scratch, size_t head_dim)
{
    struct work *work = scratch;
    work->q = (float *)((char *)scratch + (sizeof(*work) + 63) / 64 * 64);
    work->packed = work->q + N_TILES * WIDTH * head_dim;
    work->k = work->packed + BLOCK_KEY_GROUP * pad(head_dim);
    work->v = work->k + BLOCK_KEY_GROUP * head_dim;
    return work;
}

/* to[dim][row] = factor * from[row][dim] for the rows of one tile; lanes from n_rows on become 0. bf16 rows
 * and the last ones of a tile that is not full are first laid out in `rows`, [LANES][head_dim]. Rows are read
 * side by side, more of them than the processor foresees, so the next ones are fetched meanwhile. */
INLINE void pack(float *to, const void *from, size_t n_rows, size_t head_dim, float factor, bool bf16,
                 float *rows)
{
    const size_t element = bf16 ? sizeof(uint16_t) : sizeof(float);
    for (size_t first = 0; first < WIDTH; first += LANES) {
        const float *wide = (const float *)from + first * head_dim;
        const char *next = (const char *)from + (first + LANES) * head_dim * element;
        size_t left = n_rows > first ? n_rows - first : 0, n = (left < LANES ? left : LANES) * head_dim;
        if (bf16)
            for (size_t i = 0; i < n; i++)
                rows[i] = widen(((const uint16_t *)from)[first * head_dim + i]);
        else if (left < LANES)
            memcpy(rows, wide, n * sizeof(float));
        if (bf16 || left < LANES) {
            memset(rows + n, 0, (LANES * head_dim - n) * sizeof(float));
            wide = rows;
        }
        for (size_t dim = 0; dim < head_dim; dim += 4) {
            vec x[4];
            vec_transpose_load(x, wide + dim, head_dim);
            for (size_t i = 0; i < LANES / 4; i++)
                __builtin_prefetch(next + (dim * LANES + i * 16) * element);
            for (size_t i = 0; i < 4; i++)
                vec_store(&to[(dim + i) * WIDTH + first], x[i] * factor);
        }
    }
}

/* Brings queries first .. first + n_rows into tile: Q, the state, and how many keys each sees. Empty lanes
 * see what the last query sees, so that they never make a tile look masked. */
INLINE void tile_load(struct work *work, size_t tile, const struct block_forward *block, size_t first,
                      size_t n_rows, bool bf16)
{
    size_t d = block->head_dim;
    const char *q = (const char *)block->q + first * d * (bf16 ? sizeof(uint16_t) : sizeof(float));
    pack(work->q + tile * WIDTH * d, q, n_rows, d, (float)block->scale, bf16, work->k);
    block_find_visible(work->visible[tile], block, first, n_rows, WIDTH);
    for (size_t i = 0; i < WIDTH; i++) {
        bool real = i < n_rows;
        work->m[tile][i] = real ? ((const float *)block->m)[first + i] : -__builtin_inff();
        work->l[tile][i] = real ? ((const float *)block->l)[first + i] : 0.0f;
    }
}

INLINE void tile_store(const struct work *work, size_t tile, const struct block_forward *block, size_t first,
                       size_t n_rows)
{
    memcpy((float *)block->m + first, work->m[tile], n_rows * sizeof(float));
    memcpy((float *)block->l + first, work->l[tile], n_rows * sizeof(float));
}

/* Lays V out in panels of nearly equal numbers of vectors. Rows that are one panel are read where they are;
 * others are copied, each panel's rows next to each other, as rows a power of two apart would meet in few
 * sets of the cache. */
INLINE void panels_load(struct work *work, struct group *group, const float *v, size_t n_keys,
                        size_t head_dim)
{
    size_t left = pad(head_dim) / LANES, dim = 0;
    float *packed = work->packed;
    group->n_panels = (left + PANEL_VECS - 1) / PANEL_VECS;
    if (left <= PANEL_VECS && head_dim % LANES == 0) {
        group->panels[0] = (struct panel){.v = v, .step = head_dim, .n_dims = head_dim};
        return;
    }
    for (size_t i = 0; i < group->n_panels; i++) {
        size_t n_vecs = (left + group->n_panels - i - 1) / (group->n_panels - i), n_dims = n_vecs * LANES;
        if (n_dims > head_dim - dim)
            n_dims = head_dim - dim;
        group->panels[i] = (struct panel){.v = packed, .step = n_vecs * LANES, .n_dims = n_dims};
        for (size_t key = 0; key < n_keys; key++, packed += n_vecs * LANES) {
            const float *row = v + key * head_dim + dim;
            size_t at = 0;
            for (; at + LANES <= n_dims; at += LANES)
                vec_store(packed + at, vec_load_loose(row + at));
            if (at < n_dims)
                vec_store(packed + at, vec_load_8(row + at));
        }
        dim += n_dims;
        left -= n_vecs;
    }
}

/* Makes keys first .. first + n_keys readable for the products. fp32 rows of K are read where they are. */
INLINE void group_load(struct work *work, struct group *group, const struct block_forward *block,
                       size_t first, size_t n_keys, bool bf16)
{
    size_t d = block->head_dim;
    const float *v = (const float *)block->v + first * d;
    group->k = (const float *)block->k + first * d;
    group->n_readable = block->k_tokens - first;
    if (bf16) {
        const uint16_t *k_bits = (const uint16_t *)block->k + first * d,
                       *v_bits = (const uint16_t *)block->v + first * d;
        for (size_t i = 0; i < n_keys * d; i++)
            work->k[i] = widen(k_bits[i]);
        for (size_t i = 0; i < n_keys * d; i++)
            work->v[i] = widen(v_bits[i]);
        group->k = work->k;
        group->n_readable = n_keys;
        v = work->v;
    }
    panels_load(work, group, v, n_keys, d);
}

/* The tile against what it sees of the group that begins at key first and has n_keys. */
static void tile_attend(struct work *work, size_t tile, const struct block_forward *block, size_t query,
                        size_t n_rows, const struct group *group, size_t first, size_t n_keys)
{
    const uint64_t *visible = work->visible[tile];
    if (visible[WIDTH - 1] <= first)
        return;
    block_find_limits(work->limits, visible, WIDTH, first, n_keys);
    attend(work, tile, group, (float *)block->o + query * block->head_dim, n_rows, block->head_dim);
}

INLINE void forward(const struct block_forward *block, void *scratch, bool bf16)
{
    struct work *work = lay_out(scratch, block->head_dim);
    for (size_t q = 0; q < block->q_tokens; q += N_TILES * WIDTH) {
        size_t n_rows[N_TILES] = {0}, n_tiles = 0;
        for (size_t at = q; n_tiles < N_TILES && at < block->q_tokens; at += WIDTH, n_tiles++) {
            n_rows[n_tiles] = block->q_tokens - at < WIDTH ? block->q_tokens - at : WIDTH;
            tile_load(work, n_tiles, block, at, n_rows[n_tiles], bf16);
        }
        size_t n_seen = work->visible[n_tiles - 1][WIDTH - 1];
        for (size_t k = 0; k < n_seen; k += BLOCK_KEY_GROUP) {
            size_t n_keys = block->k_tokens - k < BLOCK_KEY_GROUP ? block->k_tokens - k : BLOCK_KEY_GROUP;
            struct group group;
            group_load(work, &group, block, k, n_keys, bf16);
            for (size_t tile = 0; tile < n_tiles; tile++)
                tile_attend(work, tile, block, q + tile * WIDTH, n_rows[tile], &group, k, n_keys);
        }
        for (size_t tile = 0; tile < n_tiles; tile++)
            tile_store(work, tile, block, q + tile * WIDTH, n_rows[tile]);
    }
}

static void forward_fp32(const struct block_forward *block, void *scratch)
{
    unsigned before = vec_begin_flush();
    forward(block, scratch, false);
    vec_end_flush(before);
}

static void forward_bf16(const struct block_forward *block, void *scratch)
{
    unsigned before = vec_begin_flush();
    forward(block, scratch, true);
    vec_end_flush(before);
}

const struct block_kernel BLOCK_TILED(fp32) = {
    .name = BLOCK_TILED_NAME,
    .dtype = RING_FP32,
    .state = RING_FP32,
    .supports = BLOCK_TILED(supports),
    .q_tile = N_TILES * WIDTH,
    .k_span = 8 * BLOCK_KEY_GROUP,
    .scratch_bytes = scratch_bytes,
    .forward = forward_fp32,
};

const struct block_kernel BLOCK_TILED(bf16) = {
    .name = BLOCK_TILED_NAME,
    .dtype = RING_BF16,
    .state = RING_FP32,
    .supports = BLOCK_TILED(supports),
    .q_tile = N_TILES * WIDTH,
    .k_span = 8 * BLOCK_KEY_GROUP,
    .scratch_bytes = scratch_bytes,
    .forward = forward_bf16,
};
