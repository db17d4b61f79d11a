/* SPDX-License-Identifier: MIT
 *
 * The recurrence for regular schedules: one sweep over all ranks for each step. At every step each rank sends
 * at most one block and awaits the oldest that it expects, so a step needs only what ranks knew when it
 * began, and the memory is a few numbers a rank. Which of the steps move blocks, and how far ahead their
 * receives were posted, is read off rank 0's steps, since all ranks do alike. */
#include <inttypes.h>
#include <stdlib.h>

#include "models/play.h"

/* What every rank does at one step. */
struct pattern {
    bool moves;   /* sends the block in hand, awaits the next and the send */
    uint32_t lag; /* how many steps ago the receive of the awaited block was posted */
};

struct sweep {
    struct pattern *patterns;  /* [n_steps] */
    uint32_t *targets;         /* [n_ranks] */
    uint32_t *sources;         /* [n_ranks] */
    double *latency_in_s;      /* [n_ranks] of the hop that ends here */
    double *block_bytes;       /* [n_blocks] */
    double *compute_s;         /* [n_ranks] of this step */
    double *movable_s;         /* [n_ranks] this step's message of each sender: since when it could move */
    double *moved_s;           /* [n_ranks] and when it had moved */
    double *begins_s;          /* [n_buffers][n_ranks] when the last steps began, a ring of them */
    double (*side_s)[3];       /* [n_ranks] even shards: price of a block before, at, after the rank */
    struct ring_shard *shards; /* [n_ranks] uneven shards */
};

static void release(struct sweep *sweep)
{
    free(sweep->patterns);
    free(sweep->targets);
    free(sweep->sources);
    free(sweep->latency_in_s);
    free(sweep->block_bytes);
    free(sweep->compute_s);
    free(sweep->movable_s);
    free(sweep->moved_s);
    free(sweep->begins_s);
    free(sweep->side_s);
    free(sweep->shards);
}

static enum ring_status allocate(struct sweep *sweep, const struct ring_plan *plan, struct ring_error *error)
{
    size_t n = plan->n_ranks;

    *sweep = (struct sweep){
        .patterns = calloc(plan->n_steps, sizeof *sweep->patterns),
        .targets = calloc(n, sizeof *sweep->targets),
        .sources = calloc(n, sizeof *sweep->sources),
        .latency_in_s = calloc(n, sizeof *sweep->latency_in_s),
        .block_bytes = calloc(n, sizeof *sweep->block_bytes),
        .compute_s = calloc(n, sizeof *sweep->compute_s),
        .movable_s = calloc(n, sizeof *sweep->movable_s),
        .moved_s = calloc(n, sizeof *sweep->moved_s),
        .begins_s = calloc(n * plan->n_buffers, sizeof *sweep->begins_s),
        .side_s = calloc(n, sizeof *sweep->side_s),
        .shards = calloc(n, sizeof *sweep->shards),
    };
    if (sweep->patterns && sweep->targets && sweep->sources && sweep->latency_in_s && sweep->block_bytes &&
        sweep->compute_s && sweep->movable_s && sweep->moved_s && sweep->begins_s && sweep->side_s &&
        sweep->shards)
        return RING_OK;
    return ring_fail(error, RING_NO_MEMORY, "out of memory for %" PRIu32 " ranks", plan->n_ranks);
}

/* Receives are awaited in the order in which they were posted, one a step, and not too long after. */
static bool read_patterns(const struct ring_plan *plan, struct pattern *patterns)
{
    uint32_t slots[RING_MAX_POSTS], posted[RING_MAX_POSTS]; /* a ring of the receives outstanding */
    uint32_t n_posted = 0, n_awaited = 0;
    struct ring_plan_step step;

    for (uint32_t s = 0; s < plan->n_steps; s++) {
        ring_plan_step(plan, 0, s, &step);
        if (n_posted + step.n_receives - n_awaited > RING_MAX_POSTS)
            return false;
        for (uint32_t i = 0; i < step.n_receives; i++, n_posted++) {
            slots[n_posted % RING_MAX_POSTS] = step.receives[i].slot;
            posted[n_posted % RING_MAX_POSTS] = s;
        }
        if (step.n_sends > 1 || step.n_await_receives != step.n_sends || step.n_await_sends != step.n_sends)
            return false;
        patterns[s].moves = step.n_sends == 1;
        if (!patterns[s].moves)
            continue;
        if (n_awaited == n_posted || step.await_receive_slots[0] != slots[n_awaited % RING_MAX_POSTS] ||
            step.await_send_slots[0] != step.sends[0].slot)
            return false;
        patterns[s].lag = s - posted[n_awaited++ % RING_MAX_POSTS];
        if (patterns[s].lag + 1 > plan->n_buffers)
            return false;
    }
    return n_awaited == n_posted;
}

static bool read_neighbours(const struct model_ring *ring, struct sweep *sweep)
{
    uint32_t n = ring->plan->n_ranks;

    if (n == 1)
        return ring->hop_first[1] == 0;
    for (uint32_t rank = 0; rank < n; rank++)
        sweep->sources[rank] = UINT32_MAX;
    for (uint32_t rank = 0; rank < n; rank++) {
        if (ring->hop_first[rank + 1] - ring->hop_first[rank] != 1)
            return false;
        const struct model_hop *hop = &ring->hops[ring->hop_first[rank]];
        if (sweep->sources[hop->target] != UINT32_MAX)
            return false;
        sweep->targets[rank] = hop->target;
        sweep->sources[hop->target] = rank;
        sweep->latency_in_s[hop->target] = hop->latency_s;
    }
    return true;
}

/* Even shards have three shapes of work at most, so each rank's prices are known beforehand. */
static void prepare_prices(struct model_play *play, struct sweep *sweep)
{
    const struct ring_plan *plan = play->ring->plan;

    for (uint32_t rank = 0; rank < plan->n_ranks; rank++) {
        sweep->block_bytes[rank] = (double)ring_plan_block_bytes(plan, rank);
        sweep->shards[rank] = ring_layout_shard(&plan->layout, rank);
        for (int side = 0; side < 3 && plan->even; side++)
            sweep->side_s[rank][side] = model_prices_block_s(&play->prices, rank, &plan->by_side[side]);
    }
}

static void price_step(struct model_play *play, struct sweep *sweep, uint32_t step)
{
    const struct ring_plan *plan = play->ring->plan;

    for (uint32_t rank = 0; rank < plan->n_ranks; rank++) {
        uint32_t block = plan->kind->block(plan, rank, step);
        if (plan->even) {
            sweep->compute_s[rank] = sweep->side_s[rank][(block >= rank) + (block > rank)];
        } else {
            struct ring_work work =
                ring_work_count(plan->problem.mask, &sweep->shards[rank], &sweep->shards[block]);
            sweep->compute_s[rank] = model_prices_block_s(&play->prices, rank, &work);
        }
    }
}

static void move_messages(const struct model_ring *ring, struct sweep *sweep, uint32_t step,
                          const double *begin_s, const double *posted_s)
{
    const struct ring_plan *plan = ring->plan;

    for (uint32_t rank = 0; rank < plan->n_ranks; rank++) {
        const struct model_hop *hop = &ring->hops[rank];
        uint32_t target = sweep->targets[rank];
        double bytes = sweep->block_bytes[plan->even ? 0 : plan->kind->block(plan, rank, step)];
        double ready_s = hop->lazy ? begin_s[target] + sweep->compute_s[target] : posted_s[target];
        double movable_s = begin_s[rank] > ready_s ? begin_s[rank] : ready_s;
        sweep->movable_s[rank] = movable_s;
        sweep->moved_s[rank] = movable_s + bytes / hop->bytes_per_s;
    }
}

/* The waits of one rank's step, in the order in which the engine waits; returns when the step ends. */
static inline double wait_all(const struct sweep *sweep, uint32_t rank, double begin_s, bool moves,
                              struct ring_parts *parts)
{
    double computed_s = begin_s + sweep->compute_s[rank];

    *parts = (struct ring_parts){.begin_s = begin_s, .compute_s = computed_s - begin_s};
    if (!moves)
        return parts->end_s = computed_s;
    uint32_t source = sweep->sources[rank];
    double arrived_s = sweep->moved_s[source] + sweep->latency_in_s[rank];
    double received_s = arrived_s > computed_s ? arrived_s : computed_s;
    double sent_s = sweep->moved_s[rank] > received_s ? sweep->moved_s[rank] : received_s;
    model_account_wait(begin_s, arrived_s, sweep->movable_s[source], computed_s, &parts->wait_s,
                       &parts->transfer_s);
    model_account_wait(received_s, sent_s, sweep->movable_s[rank], computed_s, &parts->wait_s,
                       &parts->transfer_s);
    return parts->end_s = sent_s;
}

static void sweep_step(struct model_play *play, struct sweep *sweep, uint32_t step)
{
    const struct ring_plan *plan = play->ring->plan;
    const struct pattern *pattern = &sweep->patterns[step];
    uint32_t n = plan->n_ranks, window = plan->n_buffers;
    const double *begin_s = sweep->begins_s + (size_t)(step % window) * n;
    double *end_s = sweep->begins_s + (size_t)((step + 1) % window) * n;

    price_step(play, sweep, step);
    if (pattern->moves)
        move_messages(play->ring, sweep, step, begin_s,
                      sweep->begins_s + (size_t)((step - pattern->lag) % window) * n);
    for (uint32_t rank = 0; rank < n; rank++) {
        struct ring_parts parts, *total = &play->totals[rank];
        end_s[rank] = wait_all(sweep, rank, begin_s[rank], pattern->moves, &parts);
        total->compute_s += parts.compute_s;
        total->transfer_s += parts.transfer_s;
        total->wait_s += parts.wait_s;
        if (play->steps)
            play->steps[(size_t)rank * plan->n_steps + step] = parts;
    }
}

enum ring_status model_play_regular(struct model_play *play, struct ring_error *error)
{
    const struct ring_plan *plan = play->ring->plan;
    struct sweep sweep;

    if (!model_is_regular(plan))
        return RING_UNSUPPORTED;
    enum ring_status status = allocate(&sweep, plan, error);
    if (status == RING_OK && !(read_patterns(plan, sweep.patterns) && read_neighbours(play->ring, &sweep)))
        status = RING_UNSUPPORTED;
    if (status == RING_OK) {
        prepare_prices(play, &sweep);
        for (uint32_t s = 0; s < plan->n_steps; s++)
            sweep_step(play, &sweep, s);
        for (uint32_t rank = 0; rank < plan->n_ranks; rank++)
            play->ends_s[rank] =
                sweep.begins_s[(size_t)(plan->n_steps % plan->n_buffers) * plan->n_ranks + rank];
    }
    release(&sweep);
    return status;
}
