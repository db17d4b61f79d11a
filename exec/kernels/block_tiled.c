/* SPDX-License-Identifier: MIT
 *
 * The tiled fp32 kernel: fp32 or bf16 inputs (bf16 is widened while packing), fp32 state. This one file is
 * compiled once per instruction set (BLOCK_TILED_ISA names it), block.c chooses at run time.
 *
 * Queries lie in the vector lanes throughout: with Q and O packed transposed, both products are the same
 * small loop
 *
 *     S^T[key][query] = sum over dim K[key][dim]   Q^T[dim][query]        (scores)
 *     O^T[dim][query] = sum over key V^T[dim][key] P^T[key][query]        (output)
 *
 * a ROWS x VECS block of accumulators, one broadcast a row and one load a vector each step. The softmax
 * between them is then vertical: maximum, sum and scaling are lane by lane, and no lane ever meets another.
 * So a query's bits do not depend on its neighbours; nor on the instruction set, as long as it has a fused
 * multiply-add.
 *
 * A tile is up to VECS * LANES queries by BLOCK_KEY_GROUP keys: Q^T and the scores stay in the first-level
 * cache. N_TILES tiles of queries pass over the same group of keys while it lies in the second level. The
 * arithmetic of a tile is in block_tile.h; here are packing, masks and the loops. */
#include "exec/kernels/block_objects.h"

#include <string.h>

#include "exec/kernels/block.h"
#include "exec/kernels/block_tile.h"

/* Four neighbours of one row, or of four rows' transposes. */
typedef float quad __attribute__((vector_size(16), aligned(4), may_alias));
typedef uint32_t quad_bits __attribute__((vector_size(16)));
typedef int32_t quad_index __attribute__((vector_size(16)));

static size_t scratch_bytes(size_t head_dim)
{
    return sizeof(struct work) + 64 + sizeof(float) * head_dim * (2 * N_TILES * WIDTH + 2 * BLOCK_KEY_GROUP);
}

static struct work *lay_out(void *scratch, size_t head_dim)
{
    struct work *work = scratch;
    work->q = (float *)((char *)scratch + (sizeof(*work) + 63) / 64 * 64);
    work->o = work->q + N_TILES * WIDTH * head_dim;
    work->k = work->o + N_TILES * WIDTH * head_dim;
    work->v = work->k + BLOCK_KEY_GROUP * head_dim;
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

INLINE float load_one(const void *from, size_t index, bool bf16)
{
    return bf16 ? widen(((const uint16_t *)from)[index]) : ((const float *)from)[index];
}

INLINE quad load_quad(const void *from, size_t index, bool bf16)
{
    if (!bf16)
        return *(const quad *)((const float *)from + index);
    const uint16_t *bits = (const uint16_t *)from + index;
    return (quad)((quad_bits){bits[0], bits[1], bits[2], bits[3]} << 16);
}

INLINE void transpose(quad x[4])
{
    quad a = __builtin_shuffle(x[0], x[1], (quad_index){0, 4, 1, 5});
    quad b = __builtin_shuffle(x[2], x[3], (quad_index){0, 4, 1, 5});
    quad c = __builtin_shuffle(x[0], x[1], (quad_index){2, 6, 3, 7});
    quad d = __builtin_shuffle(x[2], x[3], (quad_index){2, 6, 3, 7});
    x[0] = __builtin_shuffle(a, b, (quad_index){0, 1, 4, 5});
    x[1] = __builtin_shuffle(a, b, (quad_index){2, 3, 6, 7});
    x[2] = __builtin_shuffle(c, d, (quad_index){0, 1, 4, 5});
    x[3] = __builtin_shuffle(c, d, (quad_index){2, 3, 6, 7});
}

/* to[dim][row] = factor * from[row][dim]; lanes from n_rows to WIDTH become 0. */
INLINE void pack(float *to, const void *from, size_t n_rows, size_t head_dim, float factor, bool bf16)
{
    size_t whole = n_rows / 4 * 4;
    for (size_t row = 0; row < whole; row += 4)
        for (size_t dim = 0; dim < head_dim; dim += 4) {
            quad x[4];
            for (size_t i = 0; i < 4; i++)
                x[i] = load_quad(from, (row + i) * head_dim + dim, bf16);
            transpose(x);
            for (size_t i = 0; i < 4; i++)
                *(quad *)&to[(dim + i) * WIDTH + row] = x[i] * factor;
        }
    for (size_t row = whole; row < WIDTH; row++)
        for (size_t dim = 0; dim < head_dim; dim++)
            to[dim * WIDTH + row] = row < n_rows ? factor * load_one(from, row * head_dim + dim, bf16) : 0.0f;
}

/* to[row][dim] = from[dim][row]. */
INLINE void unpack(float *to, const float *from, size_t n_rows, size_t head_dim)
{
    size_t whole = n_rows / 4 * 4;
    for (size_t row = 0; row < whole; row += 4)
        for (size_t dim = 0; dim < head_dim; dim += 4) {
            quad x[4];
            for (size_t i = 0; i < 4; i++)
                x[i] = *(const quad *)&from[(dim + i) * WIDTH + row];
            transpose(x);
            for (size_t i = 0; i < 4; i++)
                *(quad *)&to[(row + i) * head_dim + dim] = x[i];
        }
    for (size_t row = whole; row < n_rows; row++)
        for (size_t dim = 0; dim < head_dim; dim++)
            to[row * head_dim + dim] = from[dim * WIDTH + row];
}

/* How many of the ascending positions are <= limit, given that the first `from` are. */
static size_t count_up_to(const uint64_t *positions, size_t from, size_t n, uint64_t limit)
{
    while (from < n) {
        size_t middle = from + (n - from) / 2;
        if (positions[middle] <= limit)
            from = middle + 1;
        else
            n = middle;
    }
    return from;
}

/* Brings queries first .. first + n_rows into tile: Q, the state, and how many keys each sees. Empty lanes
 * see what the last query sees, so that they never make a tile look masked. */
INLINE void tile_load(struct work *work, size_t tile, const struct block_forward *block, size_t first,
                      size_t n_rows, bool bf16)
{
    size_t d = block->head_dim;
    const char *q = (const char *)block->q + first * d * (bf16 ? sizeof(uint16_t) : sizeof(float));
    pack(work->q + tile * WIDTH * d, q, n_rows, d, (float)block->scale, bf16);
    pack(work->o + tile * WIDTH * d, (const float *)block->o + first * d, n_rows, d, 1.0f, false);
    size_t seen = block->causal ? 0 : block->k_tokens;
    for (size_t i = 0; i < WIDTH; i++) {
        bool real = i < n_rows;
        if (real && block->causal)
            seen = count_up_to(block->k_position, seen, block->k_tokens, block->q_position[first + i]);
        work->visible[tile][i] = seen;
        work->m[tile][i] = real ? ((const float *)block->m)[first + i] : -__builtin_inff();
        work->l[tile][i] = real ? ((const float *)block->l)[first + i] : 0.0f;
    }
}

INLINE void tile_store(const struct work *work, size_t tile, const struct block_forward *block, size_t first,
                       size_t n_rows)
{
    memcpy((float *)block->m + first, work->m[tile], n_rows * sizeof(float));
    memcpy((float *)block->l + first, work->l[tile], n_rows * sizeof(float));
    unpack((float *)block->o + first * block->head_dim, work->o + tile * WIDTH * block->head_dim, n_rows,
           block->head_dim);
}

/* Makes keys first .. first + n_keys readable for the products. fp32 rows are read where they are, but for
 * the block's last ones, which need zeros behind them. */
INLINE struct group group_load(struct work *work, const struct block_forward *block, size_t first,
                               size_t n_keys, bool bf16)
{
    size_t d = block->head_dim, n_whole = n_keys / ROWS * ROWS;
    struct group group = {.tail = work->tail, .n_whole = n_whole};
    if (bf16) {
        const uint16_t *k = (const uint16_t *)block->k + first * d,
                       *v = (const uint16_t *)block->v + first * d;
        for (size_t i = 0; i < n_keys * d; i++)
            work->k[i] = widen(k[i]);
        for (size_t i = 0; i < n_keys * d; i++)
            work->v[i] = widen(v[i]);
        group.k = work->k;
        group.v = work->v;
    } else {
        group.k = (const float *)block->k + first * d;
        group.v = (const float *)block->v + first * d;
    }
    if (n_whole < n_keys) {
        memset(work->tail, 0, ROWS * d * sizeof(float));
        memcpy(work->tail, group.k + n_whole * d, (n_keys - n_whole) * d * sizeof(float));
    }
    return group;
}

/* The tile against what it sees of the group that begins at key first and has n_keys. */
static void tile_attend(struct work *work, size_t tile, size_t n_rows, const struct group *group,
                        size_t first, size_t n_keys, size_t head_dim)
{
    const uint64_t *visible = work->visible[tile];
    if (visible[WIDTH - 1] <= first)
        return;
    size_t seen = visible[WIDTH - 1] - first;
    if (seen > n_keys)
        seen = n_keys;
    bool masked = visible[0] < first + seen;
    if (masked)
        for (size_t i = 0; i < WIDTH; i++) {
            size_t limit = visible[i] > first ? visible[i] - first : 0;
            work->limits[i] = (int32_t)(limit < n_keys ? limit : n_keys);
        }
    size_t n_vecs = (n_rows + LANES - 1) / LANES;
    attend_some *const by_vecs[] = {attend_1, attend_2, attend_3};
    by_vecs[n_vecs - 1](work, tile, group, seen, masked, head_dim);
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
            struct group group = group_load(work, block, k, n_keys, bf16);
            for (size_t tile = 0; tile < n_tiles; tile++)
                tile_attend(work, tile, n_rows[tile], &group, k, n_keys, block->head_dim);
        }
        for (size_t tile = 0; tile < n_tiles; tile++)
            tile_store(work, tile, block, q + tile * WIDTH, n_rows[tile]);
    }
}

static void forward_fp32(const struct block_forward *block, void *scratch)
{
    forward(block, scratch, false);
}

static void forward_bf16(const struct block_forward *block, void *scratch)
{
    forward(block, scratch, true);
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
