/* SPDX-License-Identifier: MIT
 *
 * The bf16 kernel on matrix units, backward: the companion of block_amx.c. Products of bf16 numbers, fp32 for
 * everything between them; p and ds are rounded to bf16, to nearest even, where they become operands.
 *
 * Queries are the columns of S, dP and dQ, so that softmax is vertical and takes lse and delta lane by lane:
 *
 *     S^T[key][query]   = K[key][dim] Q^T[dim][query]       A = K as it lies, B = Q as columns
 *     dP^T[key][query]  = V[key][dim] dO^T[dim][query]      A = V as it lies, B = dO as columns
 *     dQ^T[dim][query] += K^T[dim][key] dS^T[key][query]    A = K turned,     B = dS, pairs of keys
 *     dV[key][dim]     += P^T[key][query] dO[query][dim]    A = P as it lies, B = dO in pairs of queries
 *     dK[key][dim]     += dS^T[key][query] Q[query][dim]    A = dS as it lies, B = Q in pairs of queries
 *
 * UNIT queries meet a group of keys at a time, for which the first three products are done; P and dS of
 * several units are kept for the last two, so that the sums are brought into the registers the less often. A
 * span's keys and their sums lie in working memory from call to call. What tiles are is in block_amx_tiles.h,
 * how they are filled in block_amx_pack.h. */
#include "exec/kernels/block_amx_pack.h"
#include "exec/kernels/block_mask.h"
#include "exec/kernels/gradient_objects.h"

enum {
    KEYS = 128,  /* a group that queries meet at a time */
    GROUP = 192, /* queries whose P and dS are kept */
    N_GROUPS = 2,
    QUERIES = N_GROUPS * GROUP, /* that are brought into place at a time */
    SPAN = 1024,
    CHUNK = STEP, /* keys whose scores are between two products */
    N_STEPS = GROUP / STEP
};
_Static_assert(QUERIES % BLOCK_GRADIENT_QUERY_GROUP == 0 && BLOCK_GRADIENT_QUERY_GROUP % STEP == 0 &&
                   BLOCK_GRADIENT_KEY_GROUP % STEP == 0 && SPAN % KEYS == 0,
               "a cut between groups is one between tiles");

/* The working memory; every array starts on a vector's boundary. padded is head_dim in whole STEPs. */
struct work {
    float s[2][CHUNK][LANES], dp[2][CHUNK][LANES]; /* of the unit in hand, a vector after the other */
    uint32_t ds_pairs[2][KEYS / 2][LANES];         /* dS of the unit, pairs of keys */
    float p[KEYS / ROWS_A_TILE][N_STEPS][TILE_FLOATS], ds[KEYS / ROWS_A_TILE][N_STEPS][TILE_FLOATS];
    float minus_lse[QUERIES];   /* times log2 e; -inf where a row sees nothing, so that p is 0 */
    float minus_delta[QUERIES]; /* times scale */
    int32_t limits[GROUP];      /* keys of the group in hand that each query sees; ascends */
    uint64_t visible[QUERIES];  /* keys of the whole span that each query sees; ascends */
    size_t padded, head_dim;
    float scale;
    float *q_columns, *do_columns; /* [QUERIES / LANES][padded / STEP] tiles */
    float *q_pairs, *do_pairs;     /* [N_GROUPS][padded / LANES][N_STEPS] tiles */
    float *dq;                     /* [QUERIES / LANES][padded][LANES] */
    float *k, *v;                  /* [SPAN / 16][padded / STEP] tiles */
    float *k_turned;               /* [SPAN / KEYS][padded / 16][KEYS / STEP] tiles */
    float *dk, *dv;                /* [SPAN / 16][padded / LANES] tiles */
};

static size_t scratch_bytes(size_t head_dim)
{
    return sizeof(struct work) + 64 +
           sizeof(float) * pad(head_dim) * (4 * QUERIES / 2 + QUERIES + 3 * SPAN / 2 + 2 * SPAN);
}

static struct work *lay_out(void *scratch, size_t head_dim)
{
    struct work *work = scratch;
    size_t padded = work->padded = pad(head_dim);
    work->head_dim = head_dim;
    work->q_columns = (float *)((char *)scratch + (sizeof(*work) + 63) / 64 * 64);
    work->do_columns = work->q_columns + padded * QUERIES / 2;
    work->q_pairs = work->do_columns + padded * QUERIES / 2;
    work->do_pairs = work->q_pairs + padded * QUERIES / 2;
    work->dq = work->do_pairs + padded * QUERIES / 2;
    work->k = work->dq + padded * QUERIES;
    work->v = work->k + padded * SPAN / 2;
    work->k_turned = work->v + padded * SPAN / 2;
    work->dk = work->k_turned + padded * SPAN / 2;
    work->dv = work->dk + padded * SPAN;
    return work;
}

static size_t whole_steps(size_t n)
{
    return (n + STEP - 1) / STEP * STEP;
}

/* Two vectors as 32 bf16 numbers, low first. */
INLINE vec_bits narrow(vec low, vec high)
{
    return (vec_bits)_mm512_cvtne2ps_pbh(high, low);
}

/* The same with the two vectors' numbers side by side. */
INLINE vec_bits narrow_pairs(vec low, vec high, __m512i order)
{
    return (vec_bits)_mm512_permutexvar_epi16(order, (__m512i)narrow(low, high));
}

/* P and dS of a vector of queries and one key, from its S and dP. */
INLINE void soften(const struct work *work, size_t vector, size_t key, size_t query, vec s, vec *p, vec *ds)
{
    const vec factor = vec_splat(work->scale * 1.44269504f), scale = vec_splat(work->scale);
    *p = vec_exp2(vec_fma(s, factor, vec_load(&work->minus_lse[query])));
    *ds = *p * vec_fma(vec_load(work->dp[vector][key]), scale, vec_load(&work->minus_delta[query]));
}

/* The same for a unit and CHUNK keys from `from` of the group on, to where the three last products find them.
 * unit is its place in the group, first its first query's. */
INLINE void soften_chunk(struct work *work, size_t unit, size_t first, size_t from, bool masked)
{
    const __m512i order =
        (__m512i)_mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                                  21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    for (size_t key = 0; key < CHUNK; key += 2) {
        vec p[2][2], ds[2][2]; /* [vector][key] */
#pragma GCC unroll 2
        for (size_t vector = 0; vector < 2; vector++)
#pragma GCC unroll 2
            for (size_t i = 0; i < 2; i++) {
                vec s = vec_load(work->s[vector][key + i]);
                if (masked)
                    s = vec_keep_below(s, (int32_t)(from + key + i),
                                       &work->limits[unit * UNIT + vector * LANES]);
                soften(work, vector, key + i, first + vector * LANES, s, &p[vector][i], &ds[vector][i]);
            }
#pragma GCC unroll 2
        for (size_t i = 0; i < 2; i++) {
            size_t row = from + key + i, tile = row / ROWS_A_TILE, at = row % ROWS_A_TILE * LANES;
            *(vec_bits *)&work->p[tile][unit][at] = narrow(p[0][i], p[1][i]);
            *(vec_bits *)&work->ds[tile][unit][at] = narrow(ds[0][i], ds[1][i]);
            *(vec_bits *)work->ds_pairs[i][(from + key) / 2] = narrow_pairs(ds[i][0], ds[i][1], order);
        }
    }
}

/* A unit against the first n_keys keys, a multiple of CHUNK, of the group that begins at key k. */
static void meet_unit(struct work *work, size_t group, size_t unit, size_t k, size_t n_keys)
{
    size_t padded = work->padded, n_steps = padded / STEP, next = n_steps * TILE_FLOATS;
    size_t first = group * GROUP + unit * UNIT;
    const float *q = work->q_columns + first * padded / 2, *d_out = work->do_columns + first * padded / 2;
    const struct corner s = {work->s[0][0], TILE_FLOATS, CHUNK * LANES};
    const struct corner dp = {work->dp[0][0], TILE_FLOATS, CHUNK * LANES};
    for (size_t from = 0; from < n_keys; from += CHUNK) {
        size_t at = (k + from) * padded / 2;
        product(s, work->k + at, next, q, next, n_steps);
        product(dp, work->v + at, next, d_out, next, n_steps);
        SETTLE();
        if (work->limits[unit * UNIT] < (int32_t)(from + CHUNK))
            soften_chunk(work, unit, first, from, true);
        else
            soften_chunk(work, unit, first, from, false);
        SETTLE();
    }
    size_t k_next = KEYS / STEP * TILE_FLOATS;
    for (size_t dim = 0; dim < padded; dim += 2 * LANES)
        accumulate((struct corner){work->dq + first * padded + dim * LANES, TILE_FLOATS, padded * LANES},
                   work->k_turned + k * padded / 2 + dim / LANES * k_next, k_next,
                   (const float *)work->ds_pairs[0][0], KEYS / 2 * LANES, n_keys / STEP);
}

/* dV and dK of CHUNK keys, `from` of the group that begins at key k, and the group's units from begin on. */
static void sum_up(struct work *work, size_t group, size_t begin, size_t n_units, size_t k, size_t from)
{
    size_t padded = work->padded, next = N_STEPS * TILE_FLOATS;
    size_t at = group * GROUP * padded / 2 + begin * TILE_FLOATS, row = from / ROWS_A_TILE;
    for (size_t dim = 0; dim < padded; dim += 2 * LANES) {
        size_t to = (k + from) * padded + dim * LANES, b = at + dim / LANES * next;
        accumulate((struct corner){work->dv + to, padded * LANES, TILE_FLOATS}, work->p[row][begin], next,
                   work->do_pairs + b, next, n_units - begin);
        accumulate((struct corner){work->dk + to, padded * LANES, TILE_FLOATS}, work->ds[row][begin], next,
                   work->q_pairs + b, next, n_units - begin);
    }
}

/* A group of queries, n_queries of them, against the n_keys keys from k on. Units ascend, and so do the keys
 * that they see: each CHUNK keys begin with the first unit that sees one of them. */
static void meet(struct work *work, size_t group, size_t n_queries, size_t k, size_t n_keys)
{
    size_t n_units = (n_queries + UNIT - 1) / UNIT, seen[N_STEPS];
    block_find_limits(work->limits, work->visible + group * GROUP, n_units * UNIT, k, n_keys);
    for (size_t unit = 0; unit < n_units; unit++) {
        seen[unit] = whole_steps((size_t)work->limits[unit * UNIT + UNIT - 1]);
        if (seen[unit] > 0)
            meet_unit(work, group, unit, k, seen[unit]);
    }
    SETTLE();
    for (size_t from = 0, begin = 0; from < seen[n_units - 1]; from += CHUNK) {
        while (seen[begin] <= from)
            begin++;
        sum_up(work, group, begin, n_units, k, from);
    }
}

/* Brings queries first .. first + n_queries into place. */
static void load_queries(struct work *work, const struct block_backward *block, size_t first,
                         size_t n_queries)
{
    size_t d = work->head_dim, n_places = whole_steps(n_queries);
    struct dense q = {(const uint16_t *)block->q + first * d, n_queries, d};
    struct dense d_out = {(const uint16_t *)block->d_out + first * d, n_queries, d};
    pack_cut(work->q_columns, &q, n_places, true);
    pack_cut(work->do_columns, &d_out, n_places, true);
    for (size_t at = 0; at < n_places; at += GROUP) {
        size_t n = at_most(n_places - at, GROUP), left = n_queries - at;
        struct dense q_group = {q.from + at * d, left, d}, do_group = {d_out.from + at * d, left, d};
        pack_paired(work->q_pairs + at * work->padded / 2, &q_group, n, N_STEPS, false);
        pack_paired(work->do_pairs + at * work->padded / 2, &do_group, n, N_STEPS, false);
    }
    for (size_t at = 0; at < n_places; at += LANES)
        load_columns(work->dq + at * work->padded, (const float *)block->d_q + (first + at) * d,
                     at_most(n_queries > at ? n_queries - at : 0, LANES), d);
    for (size_t i = 0; i < n_places; i++) {
        float lse = i < n_queries ? ((const float *)block->lse)[first + i] : -__builtin_inff();
        work->minus_lse[i] = lse == -__builtin_inff() ? lse : -1.44269504f * lse;
        work->minus_delta[i] = i < n_queries ? -work->scale * ((const float *)block->delta)[first + i] : 0.0f;
    }
}

/* K and V of the span, and no sums yet. */
static void begin_span(struct work *work, const struct block_backward *block)
{
    size_t d = work->head_dim, n_places = whole_steps(block->k_tokens);
    struct dense k = {block->k, block->k_tokens, d}, v = {block->v, block->k_tokens, d};
    pack_cut(work->k, &k, n_places, false);
    pack_cut(work->v, &v, n_places, false);
    for (size_t at = 0; at < n_places; at += KEYS) {
        struct dense group = {k.from + at * d, block->k_tokens - at, d};
        pack_paired(work->k_turned + at * work->padded / 2, &group, at_most(n_places - at, KEYS), KEYS / STEP,
                    true);
    }
    memset(work->dk, 0, n_places * work->padded * sizeof(float));
    memset(work->dv, 0, n_places * work->padded * sizeof(float));
}

/* Sums of keys back to dense rows. */
static void store_sums(const struct work *work, float *to, const float *from, size_t n_keys)
{
    size_t d = work->head_dim;
    for (size_t key = 0; key < n_keys; key++)
        for (size_t dim = 0; dim < d; dim += LANES)
            memcpy(to + key * d + dim,
                   from + (key / ROWS_A_TILE * work->padded + dim) * LANES + key % ROWS_A_TILE * LANES,
                   at_most(d - dim, LANES) * sizeof(float));
}

static void backward(const struct block_backward *block, void *scratch)
{
    struct work *work = lay_out(scratch, block->head_dim);
    size_t d = work->head_dim, n_keys = block->k_tokens;
    struct block_forward seen = {.q_position = block->q_position,
                                 .k_position = block->k_position,
                                 .k_tokens = n_keys,
                                 .causal = block->causal};
    unsigned before = vec_begin_flush();
    configure();
    work->scale = (float)block->scale;
    if (block->begin)
        begin_span(work, block);
    for (size_t query = 0; query < block->q_tokens; query += QUERIES) {
        size_t n_queries = at_most(block->q_tokens - query, QUERIES);
        block_find_visible(work->visible, &seen, query, n_queries, whole_steps(n_queries));
        size_t n_seen = work->visible[n_queries - 1];
        if (n_seen == 0)
            continue;
        load_queries(work, block, query, n_queries);
        SETTLE();
        for (size_t k = 0; k < n_seen; k += KEYS)
            for (size_t at = 0; at < n_queries; at += GROUP)
                meet(work, at / GROUP, at_most(n_queries - at, GROUP), k, at_most(n_keys - k, KEYS));
        SETTLE();
        for (size_t at = 0; at < n_queries; at += LANES)
            store_columns((float *)block->d_q + (query + at) * d, work->dq + at * work->padded,
                          at_most(n_queries - at, LANES), d);
    }
    if (block->end) {
        store_sums(work, block->d_k, work->dk, n_keys);
        store_sums(work, block->d_v, work->dv, n_keys);
    }
    release();
    vec_end_flush(before);
}

const struct block_gradient_kernel BLOCK_GRADIENT_MATRIX(bf16) = {
    .name = BLOCK_MATRIX_NAME,
    .dtype = RING_BF16,
    .state = RING_FP32,
    .supports = BLOCK_MATRIX(supports),
    .q_tile = QUERIES,
    .k_span = SPAN,
    .weight_u = 0x1p-8, /* half of a bf16's last place */
    .scratch_bytes = scratch_bytes,
    .backward = backward,
};
