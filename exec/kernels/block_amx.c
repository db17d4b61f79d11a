/* SPDX-License-Identifier: MIT
 *
 * The bf16 kernel on matrix units (Intel AMX, TDPBF16PS): bf16 inputs, fp32 scores, sums and state, and
 * probabilities rounded to bf16 for the second product, as accelerators do. What is lost by that is about
 * 2^-9 of each probability; the fp32 arithmetic of block_tiled.c on the same inputs loses nothing.
 *
 * Queries are the columns throughout, so that softmax is vertical, and what it leaves, pairs of keys'
 * probabilities side by side, is the next B:
 *
 *     S^T[key][query]  = K[key][dim] Q^T[dim][query]      A = K as it lies, B = Q as columns, once a call
 *     O^T[dim][query] += V^T[dim][key] P^T[key][query]    A = V turned, once a group for all queries
 *
 * What tiles are is in block_amx_tiles.h, how they are filled in block_amx_pack.h; compiled a second time the
 * products are those of block_amx_dot.h. */
#include "exec/kernels/block_amx_pack.h"

#include <string.h>

#include "exec/kernels/block.h"
#include "exec/kernels/block_mask.h"
#include "exec/kernels/block_objects.h"
#include "exec/kernels/block_vector.h"

enum {
    N_UNITS = 16, /* of queries that pass over a group of keys while it lies in the caches */
    N_QUERIES = N_UNITS * UNIT
};

/* The working memory of one call; every array starts on a vector's boundary. padded is head_dim in whole
 * STEPs. */
struct work {
    float scores[2][BLOCK_KEY_GROUP][LANES];         /* of the unit in hand */
    uint32_t weights[2][BLOCK_KEY_GROUP / 2][LANES]; /* their exponentials, pairs of keys */
    float shrink[UNIT];                              /* what the old state is multiplied by */
    int32_t limits[UNIT]; /* keys of the group in hand that each query sees; ascends */
    float m[N_QUERIES], l[N_QUERIES];
    uint64_t visible[N_QUERIES]; /* keys of the whole block that each query sees; ascends */
    size_t padded;
    float *q; /* [N_QUERIES / LANES][padded / STEP] tiles */
    float *k; /* [BLOCK_KEY_GROUP / 16][padded / STEP] tiles */
    float *v; /* [padded / 16][BLOCK_KEY_GROUP / STEP] tiles */
    float *o; /* [N_QUERIES / LANES][padded][LANES] */
};

static size_t scratch_bytes(size_t head_dim)
{
    return sizeof(struct work) + 64 +
           sizeof(float) * pad(head_dim) * (N_QUERIES / 2 + N_QUERIES + BLOCK_KEY_GROUP);
}

static struct work *lay_out(void *scratch, size_t head_dim)
{
    struct work *work = scratch;
    work->padded = pad(head_dim);
    work->q = (float *)((char *)scratch + (sizeof(*work) + 63) / 64 * 64);
    work->k = work->q + work->padded * N_QUERIES / 2;
    work->v = work->k + work->padded * BLOCK_KEY_GROUP / 2;
    work->o = work->v + work->padded * BLOCK_KEY_GROUP / 2;
    return work;
}

/* Scores of a unit's queries and the group's first n_keys keys, a multiple of STEP. */
static void score(struct work *work, const float *q, size_t n_keys)
{
    size_t n_steps = work->padded / STEP, next = n_steps * TILE_FLOATS;
    for (size_t key = 0; key < n_keys; key += 2 * ROWS_A_TILE)
        product((struct corner){work->scores[0][key], TILE_FLOATS, BLOCK_KEY_GROUP * LANES},
                work->k + key / ROWS_A_TILE * next, next, q, next, n_steps);
}

/* O^T += V^T P^T of a unit. */
static void gather(struct work *work, float *o, size_t n_keys)
{
    size_t v_next = BLOCK_KEY_GROUP / STEP * TILE_FLOATS;
    for (size_t dim = 0; dim < work->padded; dim += 2 * ROWS_A_TILE)
        accumulate((struct corner){o + dim * LANES, TILE_FLOATS, work->padded * LANES},
                   work->v + dim / ROWS_A_TILE * v_next, v_next, (const float *)work->weights[0][0],
                   BLOCK_KEY_GROUP / 2 * LANES, n_keys / STEP);
}

/* Two numbers a lane, rounded to bf16 (halves go up). */
INLINE vec_bits pair(vec low, vec high)
{
    return ((vec_bits)low + 0x8000u) >> 16 | (((vec_bits)high + 0x8000u) & 0xffff0000u);
}

/* Scores of one vector of queries become weights against the new maximum; m and l move on, shrink is what O
 * still has to be scaled by. As soften in block_tile.h, but that the scores still lack their scale. */
INLINE void soften(struct work *work, size_t vector, float *m, float *l, float scale, size_t n_keys)
{
    const vec log2_e = vec_splat(1.44269504f), least = vec_splat(-1e30f), factor = vec_splat(scale) * log2_e;
    float(*scores)[LANES] = work->scores[vector];
    const int32_t *limits = &work->limits[vector * LANES];
    for (size_t key = (size_t)limits[0]; key < n_keys; key++)
        vec_store(scores[key], vec_keep_below(vec_load(scores[key]), (int32_t)key, limits));
    vec old = vec_load(m), top[4];
    for (size_t i = 0; i < 4; i++)
        top[i] = vec_splat(-__builtin_inff());
    for (size_t key = 0; key < n_keys; key += 4)
#pragma GCC unroll 4
        for (size_t i = 0; i < 4; i++)
            top[i] = vec_max(vec_load(scores[key + i]), top[i]);
    top[0] = vec_max(vec_max(vec_max(top[0], top[1]), vec_max(top[2], top[3])) * vec_splat(scale), old);
    vec_store(m, top[0]);
    vec base = vec_max(top[0], least) * log2_e, minus_base = -base;
    vec shrink = vec_exp2(vec_max(old, least) * log2_e - base);
    vec_store(&work->shrink[vector * LANES], shrink);
    vec sum[2] = {vec_splat(0.0f), vec_splat(0.0f)};
    for (size_t key = 0; key < n_keys; key += 4)
#pragma GCC unroll 2
        for (size_t i = 0; i < 4; i += 2) {
            vec low = vec_exp2(vec_fma(vec_load(scores[key + i]), factor, minus_base));
            vec high = vec_exp2(vec_fma(vec_load(scores[key + i + 1]), factor, minus_base));
            *(vec_bits *)work->weights[vector][(key + i) / 2] = pair(low, high);
            sum[0] += low;
            sum[1] += high;
        }
    vec_store(l, vec_fma(vec_load(l), shrink, sum[0] + sum[1]));
}

/* O^T * shrink, of one vector of queries; nothing to do while no maximum moves, as it is for most groups. */
INLINE void rescale(const struct work *work, float *o, size_t vector)
{
    vec shrink = vec_load(&work->shrink[vector * LANES]);
    if (_mm512_cmp_ps_mask(shrink, vec_splat(1.0f), _CMP_NEQ_UQ) == 0)
        return;
    for (size_t dim = 0; dim < work->padded; dim++)
        vec_store(o + dim * LANES, vec_load(o + dim * LANES) * shrink);
}

/* A unit of queries against what it sees of the group that begins at key first. */
static void attend(struct work *work, size_t unit, float scale, size_t first, size_t n_keys)
{
    const uint64_t *visible = work->visible + unit * UNIT;
    if (visible[UNIT - 1] <= first)
        return;
    block_find_limits(work->limits, visible, UNIT, first, n_keys);
    size_t seen = ((size_t)work->limits[UNIT - 1] + STEP - 1) / STEP * STEP;
    float *o = work->o + unit * UNIT * work->padded;
    score(work, work->q + unit * UNIT * work->padded / 2, seen);
    SETTLE();
    for (size_t vector = 0; vector < 2; vector++) {
        size_t at = unit * UNIT + vector * LANES;
        soften(work, vector, work->m + at, work->l + at, scale, seen);
        rescale(work, o + vector * work->padded * LANES, vector);
    }
    SETTLE();
    gather(work, o, seen);
}

/* Brings queries first .. first + n_queries into place: Q, the state, and how many keys each sees. */
static void load_queries(struct work *work, const struct block_forward *block, size_t first, size_t n_queries)
{
    size_t d = block->head_dim, n_used = (n_queries + UNIT - 1) / UNIT * UNIT;
    block_find_visible(work->visible, block, first, n_queries, n_used);
    for (size_t i = 0; i < n_used; i++) {
        bool real = i < n_queries;
        work->m[i] = real ? ((const float *)block->m)[first + i] : -__builtin_inff();
        work->l[i] = real ? ((const float *)block->l)[first + i] : 0.0f;
    }
    struct dense q = {(const uint16_t *)block->q + first * d, n_queries, d};
    pack_cut(work->q, &q, n_used, true);
    for (size_t at = 0; at < n_used; at += LANES)
        load_columns(work->o + at * work->padded, (const float *)block->o + (first + at) * d,
                     at_most(n_queries > at ? n_queries - at : 0, LANES), d);
}

static void store_queries(const struct work *work, const struct block_forward *block, size_t first,
                          size_t n_queries)
{
    memcpy((float *)block->m + first, work->m, n_queries * sizeof(float));
    memcpy((float *)block->l + first, work->l, n_queries * sizeof(float));
    for (size_t at = 0; at < n_queries; at += LANES)
        store_columns((float *)block->o + (first + at) * block->head_dim, work->o + at * work->padded,
                      at_most(n_queries - at, LANES), block->head_dim);
}

static void forward(const struct block_forward *block, void *scratch)
{
    struct work *work = lay_out(scratch, block->head_dim);
    size_t d = block->head_dim;
    unsigned before = vec_begin_flush();
    configure();
    for (size_t q = 0; q < block->q_tokens; q += N_QUERIES) {
        size_t left = block->q_tokens - q, n_queries = left < N_QUERIES ? left : N_QUERIES;
        size_t n_units = (n_queries + UNIT - 1) / UNIT;
        load_queries(work, block, q, n_queries);
        size_t n_seen = work->visible[n_queries - 1];
        for (size_t k = 0; k < n_seen; k += BLOCK_KEY_GROUP) {
            size_t n_keys = at_most(block->k_tokens - k, BLOCK_KEY_GROUP);
            struct dense keys = {(const uint16_t *)block->k + k * d, n_keys, d};
            struct dense values = {(const uint16_t *)block->v + k * d, n_keys, d};
            pack_cut(work->k, &keys, BLOCK_KEY_GROUP, false);
            pack_paired(work->v, &values, BLOCK_KEY_GROUP, BLOCK_KEY_GROUP / STEP, true);
            SETTLE();
            for (size_t unit = 0; unit < n_units; unit++)
                attend(work, unit, (float)block->scale, k, n_keys);
        }
        SETTLE();
        store_queries(work, block, q, n_queries);
    }
    release();
    vec_end_flush(before);
}

const struct block_kernel BLOCK_MATRIX(bf16) = {
    .name = BLOCK_MATRIX_NAME,
    .dtype = RING_BF16,
    .state = RING_FP32,
    .supports = BLOCK_MATRIX(supports),
    .q_tile = N_QUERIES,
    .k_span = 8 * BLOCK_KEY_GROUP,
    .weight_u = 0x1p-8, /* half of a bf16's last place, and the maximum's own rounding */
    .scratch_bytes = scratch_bytes,
    .forward = forward,
};
