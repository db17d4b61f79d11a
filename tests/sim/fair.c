/* SPDX-License-Identifier: MIT
 *
 * See fair.h. Progressive filling: Bertsekas and Gallager, Data Networks, 2nd ed., section 6.5.2. */
#include "tests/sim/fair.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A message or a computation, in an array that only grows. */
struct job {
    bool is_message;
    uint32_t rank, target, tag; /* rank: sender, or who computes */
    const struct model_hop *hop;
    bool sent, received, may_move;
    bool moving, done;
    double left, rate; /* bytes or seconds; a second */
    double done_s;
};

enum phase { POSTING, RECEIVING, COMPUTING, SENDING, ADDING, FINISHED };

struct player {
    enum phase phase;
    uint32_t step, next_wait;
    struct ring_plan_step plan;
    size_t receives[1 + RING_MAX_BUFFERS], sends[1 + RING_MAX_BUFFERS]; /* job by slot */
    size_t computation;
    bool computes;
    double wake_s; /* asleep until then, if later than now */
};

struct game {
    const struct model_ring *ring;
    struct player *players;
    struct job *jobs;
    size_t n_jobs, capacity;
    double now_s;
};

static size_t add_job(struct game *game, struct job job)
{
    if (game->n_jobs == game->capacity) {
        game->capacity = game->capacity ? 2 * game->capacity : 64;
        game->jobs = realloc(game->jobs, game->capacity * sizeof *game->jobs);
        if (!game->jobs)
            abort();
    }
    game->jobs[game->n_jobs] = job;
    return game->n_jobs++;
}

/* A job without an amount, or without a link to cross, is done when it begins. */
static void start(struct game *game, struct job *job)
{
    if (job->is_message && !(job->sent && job->received && job->may_move))
        return;
    job->moving = true;
    if (job->left == 0 || (job->is_message && job->hop->n_links == 0)) {
        job->moving = false;
        job->done = true;
        job->done_s = game->now_s;
    }
}

static size_t post(struct game *game, uint32_t from, uint32_t to, const struct ring_message *message,
                   bool sends)
{
    size_t i = 0;

    for (; i < game->n_jobs; i++) {
        struct job *job = &game->jobs[i];
        if (job->is_message && job->rank == from && job->target == to && job->tag == message->tag &&
            !(sends ? job->sent : job->received))
            break;
    }
    if (i == game->n_jobs)
        add_job(game, (struct job){.is_message = true,
                                   .rank = from,
                                   .target = to,
                                   .tag = message->tag,
                                   .hop = model_ring_hop(game->ring, from, to),
                                   .left = (double)message->bytes});
    struct job *job = &game->jobs[i];
    *(sends ? &job->sent : &job->received) = true;
    if (!sends)
        job->may_move = !job->hop->lazy;
    start(game, job);
    return i;
}

static void post_all(struct game *game, uint32_t rank)
{
    struct player *player = &game->players[rank];
    struct ring_plan_step *plan = &player->plan;

    ring_plan_step(game->ring->plan, rank, player->step, plan);
    for (uint32_t i = 0; i < plan->n_receives; i++) {
        const struct ring_message *message = &plan->receives[i];
        player->receives[message->slot] = post(game, message->peer, rank, message, false);
    }
    for (uint32_t i = 0; i < plan->n_sends; i++) {
        const struct ring_message *message = &plan->sends[i];
        player->sends[message->slot] = post(game, rank, message->peer, message, true);
    }
    player->computes = plan->computes;
    if (plan->computes) {
        player->computation =
            add_job(game, (struct job){.rank = rank, .left = model_ring_step_s(game->ring, rank, plan)});
        start(game, &game->jobs[player->computation]);
    }
}

/* True if the wait for a receive is over; may put the player to sleep for its latency. */
static bool received(struct game *game, struct player *player, struct job *job)
{
    if (!job->may_move) {
        if (player->computes && !game->jobs[player->computation].done)
            return false;
        job->may_move = true;
        start(game, job);
    }
    if (!job->done)
        return false;
    double arrival_s = job->done_s + job->hop->latency_s;
    if (game->now_s < arrival_s)
        player->wake_s = arrival_s;
    return game->now_s >= arrival_s;
}

/* One move of a rank; false if it must wait. */
static bool move(struct game *game, uint32_t rank)
{
    struct player *player = &game->players[rank];

    if (player->phase == FINISHED || player->wake_s > game->now_s)
        return false;
    if (player->phase == POSTING && player->step == game->ring->plan->n_steps) {
        player->phase = FINISHED;
        return true;
    }
    if (player->phase == POSTING) {
        post_all(game, rank);
    } else if (player->phase == RECEIVING && player->next_wait < player->plan.n_await_receives) {
        size_t job = player->receives[player->plan.await_receive_slots[player->next_wait]];
        if (!received(game, player, &game->jobs[job]))
            return false;
        player->next_wait++;
        return true;
    } else if (player->phase == COMPUTING && player->computes && !game->jobs[player->computation].done) {
        return false;
    } else if (player->phase == SENDING && player->next_wait < player->plan.n_await_sends) {
        if (!game->jobs[player->sends[player->plan.await_send_slots[player->next_wait]]].done)
            return false;
        player->next_wait++;
        return true;
    } else if (player->phase == SENDING && player->plan.adds) {
        player->computation = add_job(
            game, (struct job){.rank = rank, .left = model_ring_add_s(game->ring, rank, &player->plan)});
        start(game, &game->jobs[player->computation]);
    } else if (player->phase == ADDING && player->plan.adds && !game->jobs[player->computation].done) {
        return false;
    }
    player->next_wait = 0;
    player->step += player->phase == ADDING;
    player->phase = player->phase == ADDING ? POSTING : player->phase + 1;
    return true;
}

/* Raises all rates together until a link is full, freezes the flows on it, and so on. */
static void share_links(struct game *game)
{
    size_t n_links = game->ring->topology->n_links, n_open = 0;
    double *room = malloc((n_links + 1) * sizeof *room), *n_on = calloc(n_links + 1, sizeof *n_on);
    bool *open = calloc(game->n_jobs + 1, sizeof *open);

    for (size_t l = 0; l < n_links; l++)
        room[l] = game->ring->link_bytes_per_s[l];
    for (size_t i = 0; i < game->n_jobs; i++) {
        const struct job *job = &game->jobs[i];
        open[i] = job->is_message && job->moving;
        n_open += open[i];
        for (uint32_t l = 0; open[i] && l < job->hop->n_links; l++)
            n_on[job->hop->links[l]]++;
    }
    while (n_open > 0) {
        size_t full = n_links;
        for (size_t l = 0; l < n_links; l++) {
            if (n_on[l] > 0 && (full == n_links || room[l] / n_on[l] < room[full] / n_on[full]))
                full = l;
        }
        double share = room[full] / n_on[full];
        for (size_t i = 0; i < game->n_jobs; i++) {
            struct job *job = &game->jobs[i];
            bool crosses = false;
            for (uint32_t l = 0; open[i] && l < job->hop->n_links; l++)
                crosses |= job->hop->links[l] == full;
            if (!crosses)
                continue;
            open[i] = false;
            n_open--;
            job->rate = share;
            for (uint32_t l = 0; l < job->hop->n_links; l++) {
                room[job->hop->links[l]] -= share;
                n_on[job->hop->links[l]]--;
            }
        }
    }
    free(room);
    free(n_on);
    free(open);
}

static void share_devices(struct game *game)
{
    const uint32_t *device_of = game->ring->device_of_rank;

    for (size_t i = 0; i < game->n_jobs; i++) {
        struct job *job = &game->jobs[i];
        double n = 0;
        if (job->is_message || !job->moving)
            continue;
        for (size_t j = 0; j < game->n_jobs; j++)
            n += !game->jobs[j].is_message && game->jobs[j].moving &&
                 device_of[game->jobs[j].rank] == device_of[job->rank];
        job->rate = 1 / n;
    }
}

/* Lets time pass until something ends. False if nothing will. */
static bool advance(struct game *game)
{
    double next_s = INFINITY;

    share_links(game);
    share_devices(game);
    for (size_t i = 0; i < game->n_jobs; i++) {
        if (game->jobs[i].moving)
            next_s = fmin(next_s, game->now_s + game->jobs[i].left / game->jobs[i].rate);
    }
    for (uint32_t rank = 0; rank < game->ring->plan->n_ranks; rank++) {
        if (game->players[rank].wake_s > game->now_s)
            next_s = fmin(next_s, game->players[rank].wake_s);
    }
    for (size_t i = 0; i < game->n_jobs; i++) {
        struct job *job = &game->jobs[i];
        if (!job->moving)
            continue;
        if (game->now_s + job->left / job->rate <= next_s) {
            job->moving = false;
            job->done = true;
            job->done_s = next_s;
        } else {
            job->left -= (next_s - game->now_s) * job->rate;
        }
    }
    game->now_s = next_s;
    return isfinite(next_s);
}

void fair_play(const struct model_ring *ring, double *ends_s)
{
    uint32_t n_ranks = ring->plan->n_ranks, n_finished = 0;
    struct game game = {.ring = ring, .players = calloc(n_ranks, sizeof *game.players)};

    if (!game.players)
        abort();
    while (n_finished < n_ranks) {
        bool moved = true;
        while (moved) {
            moved = false;
            for (uint32_t rank = 0; rank < n_ranks; rank++) {
                while (move(&game, rank)) {
                    moved = true;
                    if (game.players[rank].phase != FINISHED)
                        continue;
                    ends_s[rank] = game.now_s;
                    n_finished++;
                }
            }
        }
        if (n_finished < n_ranks && !advance(&game)) {
            fprintf(stderr, "fair_play: nobody can go on\n");
            abort();
        }
    }
    free(game.players);
    free(game.jobs);
}
