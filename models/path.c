/* SPDX-License-Identifier: MIT
 *
 * Walking back through a run. What ended a step is told by its parts: a step as long as its computing was
 * held up by nothing; any other by the message, of those that it awaited, whose alone time ends last. */
#include "models/path.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct walk {
    const struct model_ring *ring;
    const struct ring_parts *steps;
    struct model_path *path;
    size_t capacity;
    struct ring_error *error;
};

/* A message that a step awaited: since when it could move, and who had let it: one of its ends, by posting at
 * the beginning of a step, or (lazy) by having computed in it. */
struct cause {
    const struct model_hop *hop;
    uint32_t source;
    double movable_s, done_s;
    uint32_t rank, step;
    bool computed;
};

static const struct ring_parts *parts_of(const struct walk *walk, uint32_t rank, uint32_t step)
{
    return &walk->steps[(size_t)rank * walk->ring->plan->n_steps + step];
}

static bool is_like(const struct model_path_part *a, const struct model_path_part *b)
{
    return a->kind == b->kind && a->rank == b->rank && a->peer == b->peer;
}

/* Puts a part before the ones that are there (they are turned round in the end). */
static bool push(struct walk *walk, const struct model_path_part *part)
{
    struct model_path *path = walk->path;
    struct model_path_part *last = path->n_parts > 0 ? &path->parts[path->n_parts - 1] : NULL;

    if (last && is_like(last, part)) {
        last->begin_s = part->begin_s;
        last->first_step = part->first_step;
        return true;
    }
    if (path->n_parts == walk->capacity) {
        size_t capacity = 2 * walk->capacity + 16;
        struct model_path_part *more = realloc(path->parts, capacity * sizeof *more);
        if (!more)
            return false;
        path->parts = more;
        walk->capacity = capacity;
    }
    path->parts[path->n_parts++] = *part;
    return true;
}

/* The step in which rank posted the receive of what it awaits in slot at step. */
static bool find_receive(const struct walk *walk, uint32_t rank, uint32_t step, uint32_t slot,
                         struct ring_message *message, uint32_t *posted)
{
    struct ring_plan_step plan_step;

    for (uint32_t back = 0; back <= RING_MAX_BUFFERS && back <= step; back++) {
        ring_plan_step(walk->ring->plan, rank, step - back, &plan_step);
        for (uint32_t i = 0; i < plan_step.n_receives; i++) {
            if (plan_step.receives[i].slot != slot)
                continue;
            *message = plan_step.receives[i];
            *posted = step - back;
            return true;
        }
    }
    return false;
}

/* The step near a hop's in which the receiver posted its receive of that tag. */
static bool find_peer_receive(const struct walk *walk, uint32_t rank, uint32_t source, uint32_t step,
                              uint32_t tag, uint32_t *posted)
{
    struct ring_plan_step plan_step;

    for (uint32_t back = 0; back <= RING_MAX_BUFFERS && back <= step; back++) {
        ring_plan_step(walk->ring->plan, rank, step - back, &plan_step);
        for (uint32_t i = 0; i < plan_step.n_receives; i++) {
            if (plan_step.receives[i].peer != source || plan_step.receives[i].tag != tag)
                continue;
            *posted = step - back;
            return true;
        }
    }
    return false;
}

/* Fills a cause from both ends' posts; at: the step in which the receiver awaits. */
static bool explain(const struct walk *walk, uint32_t source, uint32_t target, uint32_t sent, uint32_t posted,
                    uint32_t awaited, uint64_t bytes, struct cause *cause)
{
    const struct model_hop *hop = model_ring_hop(walk->ring, source, target);

    if (!hop || sent >= walk->ring->plan->n_steps)
        return false;
    double sent_s = parts_of(walk, source, sent)->begin_s;
    double posted_s = parts_of(walk, target, posted)->begin_s;
    *cause = (struct cause){.hop = hop, .source = source, .rank = source, .step = sent, .movable_s = sent_s};
    if (hop->lazy) {
        const struct ring_parts *parts = parts_of(walk, target, awaited);
        posted = awaited;
        posted_s = parts->begin_s + parts->compute_s;
        cause->computed = posted_s > sent_s;
    }
    if (posted_s > sent_s) {
        cause->rank = target;
        cause->step = posted;
        cause->movable_s = posted_s;
    }
    cause->done_s = model_fault_moved_s(walk->ring, hop, cause->movable_s, (double)bytes);
    return true;
}

/* What held a step up; false if only its computing did. */
static bool find_cause(const struct walk *walk, uint32_t rank, uint32_t step, struct cause *last)
{
    struct ring_plan_step plan_step;
    struct ring_message message;
    struct cause cause;
    uint32_t posted;
    bool found = false;

    ring_plan_step(walk->ring->plan, rank, step, &plan_step);
    for (uint32_t i = 0; i < plan_step.n_await_receives; i++) {
        if (!find_receive(walk, rank, step, plan_step.await_receive_slots[i], &message, &posted) ||
            !explain(walk, message.peer, rank, message.step, posted, step, message.bytes, &cause))
            continue;
        cause.done_s += model_fault_latency_s(walk->ring, cause.hop, cause.done_s);
        if (!found || cause.done_s > last->done_s)
            *last = cause;
        found = true;
    }
    for (uint32_t i = 0; i < plan_step.n_sends; i++) {
        message = plan_step.sends[i];
        if (!find_peer_receive(walk, message.peer, rank, message.step, message.tag, &posted) ||
            !explain(walk, rank, message.peer, step, posted, message.step, message.bytes, &cause))
            continue;
        if (!found || cause.done_s > last->done_s)
            *last = cause;
        found = true;
    }
    return found;
}

/* From the end of a rank's step back to the beginning of time. */
static bool walk_back(struct walk *walk, uint32_t rank, int64_t step)
{
    double whisker_s = 1e-9 * parts_of(walk, rank, (uint32_t)step)->end_s;
    struct cause cause;

    while (step >= 0) {
        const struct ring_parts *parts = parts_of(walk, rank, (uint32_t)step);
        bool held_up = parts->end_s - parts->begin_s - parts->compute_s > whisker_s &&
                       find_cause(walk, rank, (uint32_t)step, &cause) &&
                       cause.movable_s < parts->end_s - whisker_s && cause.step <= step;
        struct model_path_part part = {.kind = MODEL_PATH_COMPUTE,
                                       .rank = rank,
                                       .peer = rank,
                                       .first_step = (uint32_t)step,
                                       .last_step = (uint32_t)step,
                                       .begin_s = parts->begin_s,
                                       .end_s = parts->end_s};
        if (held_up) {
            part.kind = MODEL_PATH_MESSAGE;
            part.rank = cause.source;
            part.peer = cause.hop->target;
            part.begin_s = cause.movable_s;
        }
        if (!push(walk, &part))
            return false;
        if (!held_up) {
            step--;
            continue;
        }
        rank = cause.rank;
        step = cause.step;
        if (!cause.computed) {
            step--; /* posted at the beginning: what counts is the step before */
            continue;
        }
        parts = parts_of(walk, rank, (uint32_t)step);
        part = (struct model_path_part){MODEL_PATH_COMPUTE, rank,           rank,           cause.step,
                                        cause.step,         parts->begin_s, cause.movable_s};
        if (!push(walk, &part))
            return false;
        step--;
    }
    return true;
}

static void turn_round(struct model_path *path)
{
    for (size_t i = 0, j = path->n_parts; i + 1 < j; i++) {
        struct model_path_part part = path->parts[i];
        path->parts[i] = path->parts[--j];
        path->parts[j] = part;
    }
}

enum ring_status model_path_find(const struct model_ring *ring, const struct ring_parts *steps,
                                 struct model_path *path, struct ring_error *error)
{
    struct walk walk = {.ring = ring, .steps = steps, .path = path, .error = error};
    uint32_t n_steps = ring->plan->n_steps, last = 0;

    *path = (struct model_path){.n_parts = 0};
    if (n_steps == 0)
        return RING_OK;
    for (uint32_t rank = 1; rank < ring->plan->n_ranks; rank++)
        if (parts_of(&walk, rank, n_steps - 1)->end_s > parts_of(&walk, last, n_steps - 1)->end_s)
            last = rank;
    if (!walk_back(&walk, last, n_steps - 1)) {
        model_path_fini(path);
        return ring_fail(error, RING_NO_MEMORY, "out of memory for the critical path");
    }
    turn_round(path);
    return RING_OK;
}

void model_path_fini(struct model_path *path)
{
    free(path->parts);
    *path = (struct model_path){.n_parts = 0};
}

void model_wave_find(uint32_t n_ranks, uint32_t n_steps, const struct ring_parts *steps,
                     const struct ring_parts *healthy, uint32_t *first_steps)
{
    double noticed_s = 0;

    for (uint32_t rank = 0; rank < n_ranks && n_steps > 0; rank++)
        noticed_s = fmax(noticed_s, healthy[(size_t)(rank + 1) * n_steps - 1].end_s / n_steps / 100);
    for (uint32_t rank = 0; rank < n_ranks; rank++) {
        uint32_t step = 0;
        while (step < n_steps && steps[(size_t)rank * n_steps + step].end_s <=
                                     healthy[(size_t)rank * n_steps + step].end_s + noticed_s)
            step++;
        first_steps[rank] = step;
    }
}
