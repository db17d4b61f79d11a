/* SPDX-License-Identifier: MIT
 *
 * See traffic.h. Sends and receives are sorted by the same key and walked side by side. */
#include "tools/traffic.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One message on its way. */
struct trip {
    uint32_t sender, receiver;
    double begin_s, end_s;
};

struct trips {
    struct trip *items;
    size_t n;
};

/* Orders rows by who sends to whom, hop, block, payload, and time of the post. */
static int by_message(const void *left, const void *right)
{
    const struct ring_trace_row *a = *(const struct ring_trace_row *const *)left;
    const struct ring_trace_row *b = *(const struct ring_trace_row *const *)right;
    const uint32_t keys_a[] = {a->kind == RING_TRACE_SEND ? a->rank : a->peer,
                               a->kind == RING_TRACE_SEND ? a->peer : a->rank, a->step, a->block, a->payload};
    const uint32_t keys_b[] = {b->kind == RING_TRACE_SEND ? b->rank : b->peer,
                               b->kind == RING_TRACE_SEND ? b->peer : b->rank, b->step, b->block, b->payload};
    for (size_t i = 0; i < sizeof keys_a / sizeof keys_a[0]; i++)
        if (keys_a[i] != keys_b[i])
            return keys_a[i] < keys_b[i] ? -1 : 1;
    return (a->post_s > b->post_s) - (a->post_s < b->post_s);
}

/* Pointers to the rows of one kind, sorted; ended nowhere, *n of them. NULL without memory. */
static const struct ring_trace_row **sorted_rows(const struct ring_trace *rows, enum ring_trace_kind kind,
                                                 size_t *n)
{
    const struct ring_trace_row **list = malloc((rows->n_rows + 1) * sizeof(struct ring_trace_row *));
    *n = 0;
    if (list == NULL)
        return NULL;
    for (size_t i = 0; i < rows->n_rows; i++)
        if (rows->rows[i].kind == kind)
            list[(*n)++] = &rows->rows[i];
    qsort(list, *n, sizeof(struct ring_trace_row *), by_message);
    return list;
}

static struct trip join(const struct ring_trace_row *send, const struct ring_trace_row *receive)
{
    double posted_s = fmax(send->post_s, receive->post_s);
    double begin_s = fmax(posted_s, fmax(send->begun_s, receive->begun_s));
    return (struct trip){send->rank, receive->rank, begin_s, fmax(begin_s, receive->ended_s)};
}

static bool same_message(const struct ring_trace_row *send, const struct ring_trace_row *receive)
{
    return send->rank == receive->peer && send->peer == receive->rank && send->step == receive->step &&
           send->block == receive->block && send->payload == receive->payload;
}

/* Fills trips, whose items the caller frees. */
static enum ring_status find_trips(const struct ring_trace *rows, struct trips *trips,
                                   struct ring_error *error)
{
    size_t n_sends, n_receives;
    const struct ring_trace_row **sends = sorted_rows(rows, RING_TRACE_SEND, &n_sends);
    const struct ring_trace_row **receives = sorted_rows(rows, RING_TRACE_RECV, &n_receives);
    enum ring_status status = RING_OK;
    trips->n = 0;
    trips->items = malloc((rows->n_rows + 1) * sizeof *trips->items);
    if (sends == NULL || receives == NULL || trips->items == NULL)
        status = ring_fail(error, RING_NO_MEMORY, "out of memory for the messages of a trace");
    else if (n_sends != n_receives)
        status = ring_fail(error, RING_BAD_INPUT, "trace: %zu sends and %zu receives", n_sends, n_receives);
    for (size_t i = 0; status == RING_OK && i < n_receives; i++) {
        if (same_message(sends[i], receives[i]))
            trips->items[trips->n++] = join(sends[i], receives[i]);
        else
            status = ring_fail(error, RING_BAD_INPUT,
                               "trace: rank %" PRIu32 " receives block %" PRIu32 " at step %" PRIu32
                               " and nobody sends it",
                               receives[i]->rank, receives[i]->block, receives[i]->step);
    }
    free(sends);
    free(receives);
    return status;
}

/* Hop by hop, and of each hop in the order in which they begin. */
static int by_hop(const void *left, const void *right)
{
    const struct trip *a = left, *b = right;
    if (a->receiver != b->receiver)
        return a->receiver < b->receiver ? -1 : 1;
    if (a->sender != b->sender)
        return a->sender < b->sender ? -1 : 1;
    return (a->begin_s > b->begin_s) - (a->begin_s < b->begin_s);
}

enum ring_status tool_traffic_moving(const struct ring_trace *rows, double *moving_s,
                                     struct ring_error *error)
{
    struct trips trips;
    enum ring_status status = find_trips(rows, &trips, error);
    double until_s = 0;
    *moving_s = 0;
    if (status == RING_OK)
        qsort(trips.items, trips.n, sizeof *trips.items, by_hop);
    for (size_t i = 0; status == RING_OK && i < trips.n; i++) {
        const struct trip *trip = &trips.items[i], *last = i > 0 ? trip - 1 : NULL;
        bool same_hop = last != NULL && last->sender == trip->sender && last->receiver == trip->receiver;
        double from_s = same_hop ? fmax(trip->begin_s, until_s) : trip->begin_s;
        until_s = same_hop ? fmax(until_s, trip->end_s) : trip->end_s;
        *moving_s += fmax(trip->end_s - from_s, 0);
    }
    free(trips.items);
    return status;
}

static int by_begin(const void *left, const void *right)
{
    const struct trip *a = left, *b = right;
    return (a->begin_s > b->begin_s) - (a->begin_s < b->begin_s);
}

/* Trips are in order of their begin: adds each to the links of its way, counting no moment twice. until_s
 * [n_links] is how far a link's busy time is counted already. */
static void add_busy(const struct trips *trips, const struct model_ring *ring, double *busy_s,
                     double *until_s)
{
    for (size_t i = 0; i < trips->n; i++) {
        const struct trip *trip = &trips->items[i];
        const struct model_hop *hop = model_ring_hop(ring, trip->sender, trip->receiver);
        for (uint32_t j = 0; hop != NULL && j < hop->n_links; j++) {
            uint32_t link = hop->links[j];
            double from_s = fmax(trip->begin_s, until_s[link]);
            if (trip->end_s > from_s) {
                busy_s[link] += trip->end_s - from_s;
                until_s[link] = trip->end_s;
            }
        }
    }
}

enum ring_status tool_traffic_links(const struct ring_trace *rows, const struct model_ring *ring,
                                    struct tool_result *result, struct ring_error *error)
{
    struct trips trips;
    size_t n_links = ring->topology->n_links, next = 0;
    double *busy_s = calloc(n_links + 1, sizeof *busy_s), *until_s = malloc((n_links + 1) * sizeof *until_s);
    enum ring_status status = find_trips(rows, &trips, error);
    if (status == RING_OK && (busy_s == NULL || until_s == NULL))
        status = ring_fail(error, RING_NO_MEMORY, "out of memory for the links");
    if (status == RING_OK) {
        for (size_t i = 0; i < n_links; i++)
            until_s[i] = -(double)INFINITY;
        qsort(trips.items, trips.n, sizeof *trips.items, by_begin);
        add_busy(&trips, ring, busy_s, until_s);
        for (size_t i = 0; i < n_links && next < result->n_links; i++) {
            struct tool_link *link = &result->links[next];
            if (strcmp(link->name, ring->topology->links[i].name) != 0)
                continue;
            link->busy_s = busy_s[i];
            link->bytes_per_s = busy_s[i] > 0 ? link->bytes / busy_s[i] : 0;
            next++;
        }
    }
    free(trips.items);
    free(busy_s);
    free(until_s);
    return status;
}
