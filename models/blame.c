/* SPDX-License-Identifier: MIT
 *
 * From suspects to culprits: repair the one that saves most, and again, until what is left is not worth a
 * word. Where no single repair saves anything although all together do (two devices equally slow), the one
 * that would cost most in an otherwise whole ring goes first. */
#include "models/blame.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/faulty.h"
#include "models/recurrence.h"
#include "models/suspects.h"

/* Of the step's time: less is nobody's fault. */
static const double worth_blaming = 0.01;

enum { MOST_REMEMBERED = 256 };
_Static_assert(MODEL_MOST_SUSPECTS <= 64, "a bit for each suspect");

struct trial {
    const struct model_ring *ring;
    const struct model_stage *stage;
    struct model_suspect suspects[MODEL_MOST_SUSPECTS];
    size_t n;
    bool repaired[MODEL_MOST_SUSPECTS];
    struct model_fault *items; /* room for the ring's faults and two for each suspect */
    uint32_t n_plays;
    struct {
        uint64_t repaired; /* by bits */
        double time_s;
    } played[MOST_REMEMBERED];
    uint32_t n_played;
    struct ring_error *error;
};

/* The ring's faults but for those of the repaired, and what makes the repaired like their peers. */
static struct model_faults faults_left(const struct trial *trial, struct model_fault *items)
{
    const struct model_faults *own = trial->ring->faulty ? trial->ring->faulty->faults : NULL;
    struct model_faults left = {.items = items, .seed = own ? own->seed : 0};

    for (size_t i = 0; own && i < own->n; i++) {
        bool gone = false;
        for (size_t j = 0; j < trial->n && !gone; j++)
            gone = trial->repaired[j] && model_suspect_has(&trial->suspects[j], &own->items[i]);
        if (!gone)
            items[left.n++] = own->items[i];
    }
    for (size_t j = 0; j < trial->n; j++) {
        const struct model_suspect *suspect = &trial->suspects[j];
        struct model_fault *item = &items[left.n];
        if (!trial->repaired[j] || suspect->listed)
            continue;
        *item = (struct model_fault){
            .kind = suspect->device ? MODEL_FAULT_SLOW : MODEL_FAULT_BANDWIDTH,
            .subject = suspect->name,
            .device = suspect->index,
            .links = &suspect->index,
            .n_links = suspect->device ? 0 : 1,
            .amount = suspect->share,
            .to_s = INFINITY,
        };
        left.n++;
        if (suspect->device)
            continue;
        items[left.n] = *item;
        items[left.n].kind = MODEL_FAULT_LATENCY;
        items[left.n++].amount = suspect->late_s;
    }
    return left;
}

static enum ring_status play_anew(struct trial *trial, double *time_s)
{
    const struct model_faults left = faults_left(trial, trial->items);
    struct model_ring ring;

    trial->n_plays++;
    enum ring_status status = model_ring_with_faults(&ring, trial->ring, &left, trial->error);
    if (status != RING_OK)
        return status;
    status = trial->stage->play(trial->stage->context, &ring, time_s, trial->error);
    model_ring_with_faults_fini(&ring);
    return status;
}

static void remember(struct trial *trial, uint64_t repaired, double time_s)
{
    if (trial->n_played == MOST_REMEMBERED)
        return;
    trial->played[trial->n_played].repaired = repaired;
    trial->played[trial->n_played++].time_s = time_s;
}

static enum ring_status play(struct trial *trial, double *time_s)
{
    uint64_t repaired = 0;

    for (size_t i = 0; i < trial->n; i++)
        repaired |= (uint64_t)trial->repaired[i] << i;
    for (uint32_t i = 0; i < trial->n_played; i++)
        if (trial->played[i].repaired == repaired) {
            *time_s = trial->played[i].time_s;
            return RING_OK;
        }
    enum ring_status status = play_anew(trial, time_s);
    if (status == RING_OK)
        remember(trial, repaired, *time_s);
    return status;
}

/* With one more, or one less, repaired. */
static enum ring_status play_other(struct trial *trial, size_t suspect, double *time_s)
{
    trial->repaired[suspect] = !trial->repaired[suspect];
    enum ring_status status = play(trial, time_s);
    trial->repaired[suspect] = !trial->repaired[suspect];
    return status;
}

static enum ring_status play_whole(struct trial *trial, size_t but, double *time_s)
{
    bool repaired[MODEL_MOST_SUSPECTS];

    memcpy(repaired, trial->repaired, sizeof repaired);
    for (size_t i = 0; i < trial->n; i++)
        trial->repaired[i] = i != but;
    enum ring_status status = play(trial, time_s);
    memcpy(trial->repaired, repaired, sizeof repaired);
    return status;
}

static bool has_time(const struct trial *trial)
{
    return trial->n_plays < trial->stage->most_plays;
}

/* The suspect whose repair saves most now, or n; left_s: the time then. */
static enum ring_status find_next(struct trial *trial, double now_s, size_t *found, double *left_s)
{
    enum ring_status status = RING_OK;

    *found = trial->n;
    *left_s = now_s;
    for (size_t i = 0; i < trial->n && status == RING_OK && has_time(trial); i++) {
        double time_s = now_s;
        if (trial->repaired[i])
            continue;
        status = play_other(trial, i, &time_s);
        /* a whisker is no difference, and the first of equals is the same every time */
        if (status != RING_OK || time_s >= *left_s - 1e-9 * now_s)
            continue;
        *found = i;
        *left_s = time_s;
    }
    return status;
}

/* The one that costs most in a whole ring, or n. */
static enum ring_status find_hidden(struct trial *trial, double whole_s, size_t *found)
{
    enum ring_status status = RING_OK;
    double most_s = whole_s * (1 + 1e-9);

    *found = trial->n;
    for (size_t i = 0; i < trial->n && status == RING_OK && has_time(trial); i++) {
        double time_s = whole_s;
        if (trial->repaired[i])
            continue;
        status = play_whole(trial, i, &time_s);
        if (status != RING_OK || time_s <= most_s * (1 + 1e-9))
            continue;
        *found = i;
        most_s = time_s;
    }
    return status;
}

static enum ring_status convict(struct trial *trial, struct model_blame *blame)
{
    double least_s = worth_blaming * blame->time_s;
    enum ring_status status = RING_OK;

    blame->healed_s = blame->time_s;
    while (blame->healed_s - blame->whole_s >= least_s && blame->n_culprits < MODEL_MOST_CULPRITS &&
           has_time(trial)) {
        size_t found;
        double left_s, alone_s;
        status = find_next(trial, blame->healed_s, &found, &left_s);
        if (status == RING_OK && blame->healed_s - left_s < least_s) {
            status = find_hidden(trial, blame->whole_s, &found);
            if (status == RING_OK && found < trial->n)
                status = play_other(trial, found, &left_s);
        }
        if (status == RING_OK && found < trial->n)
            status = play_whole(trial, found, &alone_s);
        if (status != RING_OK || found == trial->n)
            return status;
        const struct model_suspect *suspect = &trial->suspects[found];
        trial->repaired[found] = true;
        blame->culprits[blame->n_culprits++] = (struct model_culprit){
            .device = suspect->device,
            .name = suspect->name,
            .index = suspect->index,
            .saves_s = blame->healed_s - left_s,
            .alone_s = alone_s - blame->whole_s,
        };
        blame->healed_s = left_s;
    }
    return status;
}

static enum ring_status judge(struct trial *trial, struct model_blame *blame)
{
    if (trial->n == 0)
        return RING_OK;
    if (trial->stage->time_s > 0)
        remember(trial, 0, trial->stage->time_s);
    enum ring_status status = play(trial, &blame->time_s);
    blame->whole_s = blame->healed_s = blame->time_s;
    if (status == RING_OK)
        status = play_whole(trial, trial->n, &blame->whole_s);
    if (status == RING_OK)
        status = convict(trial, blame);
    return status;
}

/* Repairs of links outlive their suspects: they point to the culprits' links from now on. */
static void keep_links(const struct trial *trial, struct model_blame *blame)
{
    const struct model_faults *own = trial->ring->faulty ? trial->ring->faulty->faults : NULL;

    for (size_t i = 0; i < blame->healed.n; i++) {
        struct model_fault *item = &trial->items[i];
        bool listed = false;
        for (size_t j = 0; own && j < own->n && !listed; j++)
            listed = item->links == own->items[j].links;
        for (size_t j = 0; j < blame->n_culprits && !listed && item->n_links > 0; j++)
            if (!blame->culprits[j].device && blame->culprits[j].index == *item->links)
                item->links = &blame->culprits[j].index;
    }
}

enum ring_status model_blame_find(const struct model_ring *ring, const struct model_stage *stage,
                                  struct model_blame *blame, struct ring_error *error)
{
    struct trial *trial = calloc(1, sizeof *trial);
    size_t n_items = 2 * MODEL_MOST_SUSPECTS + (ring->faulty ? ring->faulty->faults->n : 0);
    enum ring_status status = RING_OK;

    *blame = (struct model_blame){.n_culprits = 0};
    if (trial) {
        *trial = (struct trial){.ring = ring, .stage = stage, .error = error};
        trial->items = calloc(n_items, sizeof *trial->items);
        trial->n = model_suspects_find(ring, trial->suspects);
    }
    if (!trial || !trial->items || trial->n == SIZE_MAX)
        status = ring_fail(error, RING_NO_MEMORY, "out of memory for the suspects of %" PRIu32 " ranks",
                           ring->plan->n_ranks);
    else
        status = judge(trial, blame);
    if (status == RING_OK) {
        blame->healed = faults_left(trial, trial->items);
        keep_links(trial, blame);
        blame->items = trial->items;
        trial->items = NULL;
    }
    if (trial)
        free(trial->items);
    free(trial);
    return status;
}

void model_blame_fini(struct model_blame *blame)
{
    free(blame->items);
    *blame = (struct model_blame){.n_culprits = 0};
}

static enum ring_status time_by_recurrence(void *context, const struct model_ring *ring, double *time_s,
                                           struct ring_error *error)
{
    uint32_t n = ring->plan->n_ranks;
    double *ends_s = malloc(n * sizeof *ends_s);
    struct ring_parts *totals = malloc(n * sizeof *totals);
    enum ring_status status;

    (void)context;
    if (ends_s && totals)
        status = model_recurrence(ring, ends_s, totals, NULL, error);
    else
        status = ring_fail(error, RING_NO_MEMORY, "out of memory for %" PRIu32 " ranks", n);
    *time_s = 0;
    for (uint32_t rank = 0; rank < n && status == RING_OK; rank++)
        *time_s = fmax(*time_s, ends_s[rank]);
    free(ends_s);
    free(totals);
    return status;
}

struct model_stage model_stage_recurrence(void)
{
    return (struct model_stage){.play = time_by_recurrence, .most_plays = 1000};
}
