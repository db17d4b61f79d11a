/* SPDX-License-Identifier: MIT
 *
 * Counting visible pairs in closed form: for two runs of equal stride, the keys that query i sees grow by one
 * with i, from a start that depends only on where the runs begin - a clipped arithmetic series. */
#include "engine/work.h"

/* Floor of (a - b) / stride, for unsigned positions. */
static int64_t floor_offset(uint64_t a, uint64_t b, uint64_t stride)
{
    int64_t difference = (int64_t)a - (int64_t)b, divisor = (int64_t)stride;
    int64_t quotient = difference / divisor;

    return difference % divisor < 0 ? quotient - 1 : quotient;
}

static int64_t clip(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* Queries and keys of one pair of runs that see or are seen, and the pairs between them. Query i sees the
 * keys with index <= i + offset, so clip(i + offset + 1, 0, keys.count) of them. Queries that see something
 * are the last ones; keys that are seen are the first ones. */
static struct ring_work count_runs(const struct ring_run *queries, const struct ring_run *keys)
{
    int64_t n_queries = (int64_t)queries->count, n_keys = (int64_t)keys->count;
    int64_t offset = floor_offset(queries->first, keys->first, queries->stride);

    int64_t first_seeing = clip(-offset, 0, n_queries);
    int64_t first_seeing_all = clip(n_keys - 1 - offset, first_seeing, n_queries);
    int64_t n_partial = first_seeing_all - first_seeing;
    /* the partial queries see first_seeing + offset + 1, then one more each */
    int64_t pairs = n_partial * (first_seeing + offset + 1) + n_partial * (n_partial - 1) / 2 +
                    (n_queries - first_seeing_all) * n_keys;

    return (struct ring_work){
        .q_tokens = (uint64_t)(n_queries - first_seeing),
        .k_tokens = first_seeing < n_queries ? (uint64_t)clip(n_queries + offset, 0, n_keys) : 0,
        .visible_pairs = first_seeing < n_queries ? (uint64_t)pairs : 0,
    };
}

struct ring_work ring_work_count(enum ring_mask mask, const struct ring_shard *queries,
                                 const struct ring_shard *keys)
{
    struct ring_work total = {.q_tokens = 0};

    if (mask == RING_MASK_FULL)
        return (struct ring_work){queries->tokens, keys->tokens, queries->tokens * keys->tokens};

    /* Runs ascend. A query of run q that sees any key sees keys of the earliest runs first, so the queries
     * that see something at all are counted against the first key run, and the keys that are seen against the
     * last query run. Both runs of a shard have one stride, and so have the two shards of a layout. */
    for (uint32_t q = 0; q < queries->n_runs; q++)
        total.q_tokens += count_runs(&queries->runs[q], &keys->runs[0]).q_tokens;
    for (uint32_t k = 0; k < keys->n_runs; k++)
        total.k_tokens += count_runs(&queries->runs[queries->n_runs - 1], &keys->runs[k]).k_tokens;
    for (uint32_t q = 0; q < queries->n_runs; q++)
        for (uint32_t k = 0; k < keys->n_runs; k++)
            total.visible_pairs += count_runs(&queries->runs[q], &keys->runs[k]).visible_pairs;
    return total;
}
