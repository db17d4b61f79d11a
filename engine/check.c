/* SPDX-License-Identifier: MIT
 *
 * The proof by exhaustion: the shards are a partition, then every rank's steps are played (check_play.c)
 * until all are through or nobody can go on, then every visible block must have been computed. No data, no
 * time, no world. */
#include "engine/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/check_play.h"

static int compare_runs(const void *a, const void *b)
{
    const struct ring_run *x = a, *y = b;
    uint64_t x_class = x->first % x->stride, y_class = y->first % y->stride;

    if (x_class != y_class)
        return x_class < y_class ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* Every token in exactly one shard: the runs are disjoint, inside the sequence, and as long as it in all. The
 * runs of a layout have one stride, so two can only meet if their positions agree modulo the stride. */
static enum ring_status check_shards(const struct ring_plan *plan, struct ring_error *error)
{
    size_t n_runs = 0;
    uint64_t tokens = 0;
    struct ring_run *runs = malloc(2 * (size_t)plan->n_ranks * sizeof *runs);

    if (!runs)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for the runs of %" PRIu32 " ranks",
                         plan->n_ranks);
    for (uint32_t rank = 0; rank < plan->n_ranks; rank++) {
        struct ring_shard shard = ring_layout_shard(&plan->layout, rank);
        tokens += shard.tokens;
        for (uint32_t i = 0; i < shard.n_runs; i++)
            runs[n_runs++] = shard.runs[i];
    }
    qsort(runs, n_runs, sizeof *runs, compare_runs);
    bool good = tokens == plan->problem.tokens;
    for (size_t i = 0; i < n_runs && good; i++) {
        uint64_t end =
            runs[i].first + runs[i].count * runs[i].stride; /* first position of the class not in it */
        good = runs[i].count > 0 && end - runs[i].stride < plan->problem.tokens;
        if (i + 1 < n_runs && runs[i + 1].first % runs[i + 1].stride == runs[i].first % runs[i].stride)
            good = good && end <= runs[i + 1].first;
    }
    free(runs);
    if (good)
        return RING_OK;
    return ring_fail(error, RING_BAD_INPUT,
                     "layout '%s': the shards of %" PRIu32 " ranks do not partition %" PRIu64 " tokens",
                     ring_layout_names[plan->layout.kind], plan->n_ranks, plan->problem.tokens);
}

static enum ring_status open_check(struct check *check)
{
    size_t n_ranks = check->plan->n_ranks, n_slots = check->plan->n_slots;

    check->ranks = calloc(n_ranks, sizeof *check->ranks);
    check->all_slots = calloc(n_ranks * n_slots, sizeof *check->all_slots);
    check->all_pending = calloc(n_ranks * 2 * n_slots, sizeof *check->all_pending);
    check->all_computed = calloc(n_ranks * n_ranks, 1);
    if (!check->ranks || !check->all_slots || !check->all_pending || !check->all_computed)
        return ring_fail(check->error, RING_NO_MEMORY, "out of memory to check a plan of %zu ranks", n_ranks);
    for (size_t rank = 0; rank < n_ranks; rank++) {
        struct rank_state *state = &check->ranks[rank];
        state->slots = check->all_slots + rank * n_slots;
        state->pending = check->all_pending + rank * 2 * n_slots;
        state->computed = check->all_computed + rank * n_ranks;
        for (size_t slot = 0; slot < n_slots; slot++)
            state->slots[slot].block = slot == RING_HOME_SLOT ? (uint32_t)rank : CHECK_NOTHING;
    }
    return RING_OK;
}

static void close_check(struct check *check)
{
    free(check->ranks);
    free(check->all_slots);
    free(check->all_pending);
    free(check->all_computed);
}

/* The first unmet message of a stuck rank that its step cannot end without, or NULL. */
static const struct ring_message *stuck_on(const struct rank_state *state)
{
    for (size_t i = 0; i < state->n_pending; i++)
        if (state->pending[i].message.step <= state->step)
            return &state->pending[i].message;
    return NULL;
}

static enum ring_status report_deadlock(struct check *check)
{
    enum { MOST_NAMED = 6, ROOM = 80 };
    char text[MOST_NAMED * ROOM + 1] = "";
    uint32_t n_named = 0;

    for (uint32_t rank = 0; rank < check->plan->n_ranks && n_named < MOST_NAMED; rank++) {
        const struct rank_state *state = &check->ranks[rank];
        const struct ring_message *message = stuck_on(state);
        if (state->step == check->plan->n_steps)
            continue;
        char one[ROOM];
        snprintf(one, sizeof one, "%s rank %" PRIu32 " waits for rank %" PRIu32 " at hop %" PRIu32,
                 n_named ? "," : "", rank, message ? message->peer : rank,
                 message ? message->step : state->step);
        strcat(text, one);
        n_named++;
    }
    return ring_fail(check->error, RING_DEADLOCK, "plan '%s':%s%s", check->plan->kind->name, text,
                     n_named == MOST_NAMED ? " and so on" : "");
}

/* Plays all ranks to their ends, each as far as it gets in turn. */
static enum ring_status play(struct check *check)
{
    bool moved = true;

    while (moved) {
        moved = false;
        for (uint32_t rank = 0; rank < check->plan->n_ranks; rank++) {
            struct rank_state *state = &check->ranks[rank];
            bool ended = true;
            while (ended && state->step < check->plan->n_steps) {
                bool posts = !state->posted;
                enum ring_status status = posts ? ring_check_post_step(check, rank) : RING_OK;
                if (status == RING_OK)
                    status = ring_check_end_step(check, rank, &ended);
                if (status != RING_OK)
                    return status;
                moved = moved || posts || ended;
            }
        }
    }
    return RING_OK;
}

static uint64_t visible_pairs(const struct ring_plan *plan, uint32_t rank, uint32_t block)
{
    struct ring_shard queries = ring_layout_shard(&plan->layout, rank);
    struct ring_shard keys = ring_layout_shard(&plan->layout, block);

    return ring_work_count(plan->problem.mask, &queries, &keys).visible_pairs;
}

/* Each job of the pass was done on every block that the rank's queries see. */
static enum ring_status check_coverage(struct check *check, uint32_t rank)
{
    const struct ring_plan *plan = check->plan;
    unsigned jobs = (plan->pass != RING_PASS_BACKWARD ? CHECK_FORWARD : 0u) |
                    (plan->pass != RING_PASS_FORWARD ? CHECK_BACKWARD : 0u);

    for (uint32_t block = 0; block < plan->n_ranks; block++) {
        uint64_t pairs = visible_pairs(plan, rank, block);
        if (pairs > 0 && check->ranks[rank].computed[block] != jobs)
            return ring_check_fault(check, rank,
                                    "block %" PRIu32 " is never computed: %" PRIu64 " visible pairs missing",
                                    block, pairs);
    }
    return RING_OK;
}

/* The own gradient is home, and every rank that sees the block has added to it. */
static enum ring_status check_gradient(struct check *check, uint32_t rank)
{
    const struct ring_plan *plan = check->plan;
    const struct slot_state *own = &check->ranks[rank].slots[plan->own_gradient_slot];
    uint32_t n_seeing = 0;

    for (uint32_t other = 0; other < plan->n_ranks; other++)
        n_seeing += visible_pairs(plan, other, rank) > 0;
    if (own->block != rank)
        return ring_check_fault(check, rank, "the rank's own gradient never came home");
    if (own->n_ranks != n_seeing)
        return ring_check_fault(check, rank,
                                "%" PRIu32 " ranks added to the gradient, %" PRIu32 " see the block",
                                own->n_ranks, n_seeing);
    return RING_OK;
}

/* What must hold when nobody moves any more: all are through, nothing is left in flight, nothing visible is
 * left uncomputed. */
static enum ring_status check_end(struct check *check)
{
    const struct ring_plan *plan = check->plan;
    enum ring_status status = RING_OK;

    for (uint32_t rank = 0; rank < plan->n_ranks; rank++)
        if (check->ranks[rank].step < plan->n_steps)
            return report_deadlock(check);
    for (uint32_t rank = 0; rank < plan->n_ranks && status == RING_OK; rank++) {
        const struct rank_state *state = &check->ranks[rank];
        for (uint32_t slot = 0; slot < plan->n_slots; slot++)
            if (state->slots[slot].receiving || state->slots[slot].sending)
                return ring_check_fault(check, rank, "the message in slot %" PRIu32 " is never waited for",
                                        slot);
        status = check_coverage(check, rank);
        if (status == RING_OK && plan->pass != RING_PASS_FORWARD)
            status = check_gradient(check, rank);
    }
    return status;
}

enum ring_status ring_plan_check(const struct ring_plan *plan, struct ring_error *error)
{
    struct check check = {.plan = plan, .error = error};

    enum ring_status status = check_shards(plan, error);
    if (status == RING_OK)
        status = open_check(&check);
    if (status == RING_OK)
        status = play(&check);
    if (status == RING_OK)
        status = check_end(&check);
    close_check(&check);
    return status;
}
