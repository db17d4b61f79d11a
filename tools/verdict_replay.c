/* SPDX-License-Identifier: MIT
 *
 * A slow device and a slow link at once hide behind one another, and a measured step has lost time to both.
 * Who is to blame is then whoever's repair would save more: the step is played again from what was measured
 * of each rank's computing and each hop, once with either repaired. For forward rings whose messages move
 * while ranks compute. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/sort.h"
#include "tools/verdict.h"

static const double suspicious = 1.2; /* a hop that takes so many times the median one is not like it */

/* When a rank's step is over: computed, the next block here, and the last one taken. before: when each rank
 * began. */
static double step_end_s(const struct tool_replay *replay, const double *begin_s, uint32_t rank,
                         uint32_t step)
{
    uint32_t n = replay->n_ranks, from = (rank + n - 1) % n, to = (rank + 1) % n;
    double end_s = begin_s[rank] + replay->compute_s[(size_t)rank * replay->n_steps + step];
    if (step + 1 == replay->n_steps)
        return end_s;
    double arrived_s = fmax(begin_s[rank], begin_s[from]) + replay->hop_s[from];
    double taken_s = fmax(begin_s[rank], begin_s[to]) + replay->hop_s[rank];
    return fmax(end_s, fmax(arrived_s, taken_s));
}

double tool_replay_s(const struct tool_replay *replay)
{
    uint32_t n = replay->n_ranks;
    double *begin_s = calloc(2 * (size_t)n, sizeof *begin_s), *end_s = begin_s + n, last_s = 0;
    if (begin_s == NULL)
        return (double)NAN;
    for (uint32_t step = 0; step < replay->n_steps; step++) {
        for (uint32_t rank = 0; rank < n; rank++)
            end_s[rank] = step_end_s(replay, begin_s, rank, step);
        memcpy(begin_s, end_s, n * sizeof *begin_s);
    }
    for (uint32_t rank = 0; rank < n; rank++)
        last_s = fmax(last_s, begin_s[rank]);
    free(begin_s);
    return last_s;
}

/* How long one message over the hop took, by the busiest link of its way; NaN if a link carried other hops
 * too. */
static double hop_time_s(const struct tool_result *result, const struct model_ring *ring,
                         const struct model_hop *hop)
{
    double longest_s = 0;
    for (uint32_t i = 0; i < hop->n_links; i++) {
        const char *name = ring->topology->links[hop->links[i]].name;
        if (ring->link_bytes[hop->links[i]] > hop->bytes)
            return (double)NAN;
        for (size_t j = 0; j < result->n_links; j++)
            if (strcmp(result->links[j].name, name) == 0)
                longest_s = fmax(longest_s, result->links[j].busy_s);
    }
    return longest_s / (result->n_steps - 1);
}

static bool fill(struct tool_replay *replay, const struct tool_result *result, const struct model_ring *ring)
{
    for (uint32_t rank = 0; rank < replay->n_ranks; rank++) {
        const struct model_hop *hop = &ring->hops[ring->hop_first[rank]];
        if (ring->hop_first[rank + 1] - ring->hop_first[rank] != 1 || hop->lazy)
            return false;
        replay->hop_s[rank] = hop_time_s(result, ring, hop);
        if (isnan(replay->hop_s[rank]))
            return false;
        for (uint32_t step = 0; step < replay->n_steps; step++) {
            size_t at = (size_t)rank * replay->n_steps + step;
            replay->compute_s[at] = result->steps[at].compute_s;
        }
    }
    return true;
}

/* The slowest hop, and how long the others take; false where it is like them. */
static bool find_slow_hop(const struct tool_replay *replay, uint32_t *slow, double *like_s)
{
    double *sorted = malloc(replay->n_ranks * sizeof *sorted);
    if (sorted == NULL)
        return false;
    *slow = 0;
    for (uint32_t rank = 0; rank < replay->n_ranks; rank++) {
        sorted[rank] = replay->hop_s[rank];
        if (replay->hop_s[rank] > replay->hop_s[*slow])
            *slow = rank;
    }
    tool_sort(sorted, replay->n_ranks);
    *like_s = sorted[(replay->n_ranks - 1) / 2];
    free(sorted);
    return replay->hop_s[*slow] > suspicious * *like_s;
}

/* Plays it with either repaired; leaves replay with the hop repaired and the rank not. */
static bool hop_saves_more(struct tool_replay *replay, uint32_t slow, double like_s, uint32_t rank,
                           double health)
{
    double *compute_s = &replay->compute_s[(size_t)rank * replay->n_steps];
    for (uint32_t step = 0; step < replay->n_steps; step++)
        compute_s[step] *= health;
    double with_rank_s = tool_replay_s(replay);
    for (uint32_t step = 0; step < replay->n_steps; step++)
        compute_s[step] /= health;
    replay->hop_s[slow] = like_s;
    return tool_replay_s(replay) < with_rank_s;
}

bool tool_replay_blames_hop(const struct tool_result *result, const struct model_ring *ring,
                            const struct tool_losses *losses)
{
    const struct ring_plan *plan = ring->plan;
    double busiest_s = result->ranks[losses->busiest].compute_s;
    if (result->steps == NULL || plan->pass != RING_PASS_FORWARD || plan->n_ranks < 3 ||
        !(busiest_s > losses->straggler_s))
        return false;
    struct tool_replay replay = {.n_ranks = plan->n_ranks, .n_steps = plan->n_steps};
    replay.compute_s = calloc((size_t)plan->n_ranks * plan->n_steps, sizeof *replay.compute_s);
    replay.hop_s = calloc(plan->n_ranks, sizeof *replay.hop_s);
    uint32_t slow = 0;
    double like_s = 0;
    bool blamed = replay.compute_s != NULL && replay.hop_s != NULL && fill(&replay, result, ring) &&
                  find_slow_hop(&replay, &slow, &like_s) &&
                  hop_saves_more(&replay, slow, like_s, losses->busiest, 1 - losses->straggler_s / busiest_s);
    free(replay.compute_s);
    free(replay.hop_s);
    return blamed;
}
