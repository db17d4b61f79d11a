/* SPDX-License-Identifier: MIT
 *
 * See sides.h. */
#include "models/sides.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum side { BEFORE, AT, AFTER, N_SIDES };

static double *row_of(const struct model_sides *sides, double *table, size_t i, uint32_t kind)
{
    return table + (i * sides->n_kinds + kind) * sides->n_ranks;
}

/* A rank's price of blocks of that kind on each of its sides; where there are none, 0. */
static void price_kind(struct model_sides *sides, uint32_t rank, uint32_t kind)
{
    const struct ring_plan *plan = sides->prices->ring->plan;
    const uint32_t blocks[N_SIDES] = {sides->first[kind], rank, sides->last[kind]};
    const bool there[N_SIDES] = {blocks[BEFORE]<rank, true, blocks[AFTER]> rank};

    for (int side = 0; side < N_SIDES; side++) {
        double seconds = 0;
        if (there[side]) {
            struct ring_work work = ring_plan_work(plan, rank, blocks[side]);
            seconds = model_prices_block_s(sides->prices, rank, sides->job, &work);
        }
        row_of(sides, sides->block_s, (size_t)side, kind)[rank] = seconds;
    }
}

static void turn(struct model_sides *sides, enum ring_job job)
{
    const struct model_ring *ring = sides->prices->ring;

    sides->job = job;
    for (uint32_t kind = 0; kind < sides->n_kinds; kind++)
        for (uint32_t rank = 0; rank < sides->n_ranks; rank++)
            price_kind(sides, rank, kind);
    if (job != RING_JOB_BACKWARD)
        return;
    for (uint32_t rank = 0; rank < sides->n_ranks; rank++)
        sides->prepare_s[rank] = model_prices_prepare_s(sides->prices, rank);
    for (size_t begins = 0; begins < 2; begins++)
        for (uint32_t kind = 0; kind < sides->n_kinds; kind++) {
            double bytes = model_add_bytes(ring->plan, sides->first[kind], begins);
            for (uint32_t rank = 0; rank < sides->n_ranks; rank++)
                row_of(sides, sides->add_s, begins, kind)[rank] = model_adding_s(ring, rank, bytes);
        }
}

/* False if there are more kinds than expected. */
static bool classify(struct model_sides *sides, const struct ring_plan *plan, uint8_t *kind_of)
{
    uint64_t counts[MODEL_MAX_KINDS][2];

    for (uint32_t block = 0; block < plan->n_ranks; block++) {
        struct ring_shard shard = ring_layout_shard(&plan->layout, block);
        uint64_t second = shard.n_runs == 2 ? shard.runs[1].count : 0;
        uint32_t i = 0;
        while (i < sides->n_kinds && (counts[i][0] != shard.runs[0].count || counts[i][1] != second))
            i++;
        if (i == MODEL_MAX_KINDS)
            return false;
        if (i == sides->n_kinds) {
            counts[i][0] = shard.runs[0].count;
            counts[i][1] = second;
            sides->first[i] = block;
            sides->n_kinds++;
        }
        sides->last[i] = block;
        kind_of[block] = (uint8_t)i;
    }
    return true;
}

static void read_blocks(struct model_sides *sides, const struct ring_plan *plan, const uint8_t *kind_of)
{
    for (uint32_t i = 0; i < 2 * sides->n_ranks; i++) {
        sides->blocks[i] = plan->kind->block(plan, i % sides->n_ranks, 0);
        sides->kinds[i] = kind_of[sides->blocks[i]];
    }
}

enum ring_status model_sides_init(struct model_sides *sides, struct model_prices *prices,
                                  struct ring_error *error)
{
    const struct ring_plan *plan = prices->ring->plan;
    size_t n = plan->n_ranks;
    uint8_t *kind_of = malloc(n);

    *sides = (struct model_sides){
        .prices = prices,
        .n_ranks = plan->n_ranks,
        .blocks = malloc(2 * n * sizeof *sides->blocks),
        .kinds = malloc(2 * n),
        .prepare_s = malloc(n * sizeof *sides->prepare_s),
    };
    bool known = kind_of && classify(sides, plan, kind_of);
    sides->block_s = malloc(N_SIDES * sides->n_kinds * n * sizeof *sides->block_s);
    sides->add_s = malloc(2 * sides->n_kinds * n * sizeof *sides->add_s);
    enum ring_status status = RING_OK;
    if (!kind_of || !sides->blocks || !sides->kinds || !sides->prepare_s || !sides->block_s || !sides->add_s)
        status = ring_fail(error, RING_NO_MEMORY, "out of memory for the prices of %zu ranks", n);
    else if (!known)
        status = RING_UNSUPPORTED;
    if (status == RING_OK) {
        read_blocks(sides, plan, kind_of);
        turn(sides, RING_JOB_FORWARD);
    } else {
        model_sides_fini(sides);
    }
    free(kind_of);
    return status;
}

void model_sides_fini(struct model_sides *sides)
{
    free(sides->blocks);
    free(sides->kinds);
    free(sides->block_s);
    free(sides->add_s);
    free(sides->prepare_s);
    *sides = (struct model_sides){.n_kinds = 0};
}

void model_sides_pick(const struct model_sides *sides, const double *table, const uint8_t *kinds, double *out)
{
    for (uint32_t rank = 0; rank < sides->n_ranks; rank++)
        out[rank] = table[(size_t)kinds[rank] * sides->n_ranks + rank];
}

/* Each rank's price of its block in hand. */
static void pick_blocks(const struct model_sides *sides, uint32_t s, double *compute_s)
{
    uint32_t n = sides->n_ranks;
    const uint32_t *blocks = sides->blocks + (n - s);
    const uint8_t *kinds = model_sides_kinds(sides, s);
    const double *before_s = sides->block_s;
    const double *at_s = before_s + (size_t)sides->n_kinds * n;
    const double *after_s = at_s + (size_t)sides->n_kinds * n;

    for (uint32_t rank = 0; rank < n; rank++) {
        const double *side_s = blocks[rank] < rank ? before_s : blocks[rank] == rank ? at_s : after_s;
        compute_s[rank] = side_s[(size_t)kinds[rank] * n + rank];
    }
}

void model_sides_price(struct model_sides *sides, const struct model_pattern *pattern, double *compute_s,
                       double *add_s)
{
    uint32_t n = sides->n_ranks;

    if (pattern->job != sides->job)
        turn(sides, pattern->job);
    if (pattern->works)
        pick_blocks(sides, pattern->s, compute_s);
    else
        memset(compute_s, 0, n * sizeof *compute_s);
    if (pattern->job != RING_JOB_BACKWARD || !pattern->works) {
        memset(add_s, 0, n * sizeof *add_s);
        return;
    }
    model_sides_pick(sides, sides->add_s + (size_t)pattern->first * sides->n_kinds * n,
                     model_sides_kinds(sides, pattern->s), add_s);
    for (uint32_t rank = 0; rank < n; rank++) /* no time: nothing to see, nothing to add */
        add_s[rank] = compute_s[rank] > 0 ? add_s[rank] : 0;
    for (uint32_t rank = 0; rank < n && pattern->first; rank++)
        compute_s[rank] += compute_s[rank] > 0 ? sides->prepare_s[rank] : 0;
}
