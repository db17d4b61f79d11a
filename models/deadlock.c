/* SPDX-License-Identifier: MIT
 *
 * See deadlock.h. What died is fault.c's to know. */
#include "models/deadlock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int by_hop(const void *left, const void *right)
{
    const struct model_wait *a = left, *b = right;

    if (a->hop != b->hop)
        return a->hop < b->hop ? -1 : 1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* As snprintf. */
static int describe(const struct model_wait *wait, char *text, size_t size)
{
    switch (wait->kind) {
    case MODEL_WAIT_RECEIVE:
        return snprintf(text, size,
                        "rank %" PRIu32 " waits for block %" PRIu32 " from rank %" PRIu32 " at hop %" PRIu32,
                        wait->rank, wait->block, wait->peer, wait->hop);
    case MODEL_WAIT_SEND:
        return snprintf(text, size,
                        "rank %" PRIu32 " waits for rank %" PRIu32 " to take block %" PRIu32
                        " at hop %" PRIu32,
                        wait->rank, wait->peer, wait->block, wait->hop);
    default:
        return snprintf(text, size, "rank %" PRIu32 " waits for its computation at hop %" PRIu32, wait->rank,
                        wait->hop);
    }
}

void model_deadlock_line(const struct model_ring *ring, struct model_wait *waits, size_t n_waits, char *line,
                         size_t size)
{
    const size_t reserve = 32; /* for "; and 4294967295 more" */
    char causes[160];
    size_t n_described = 0;

    model_fault_causes(ring, causes, sizeof causes);
    qsort(waits, n_waits, sizeof *waits, by_hop);
    size_t length = (size_t)snprintf(line, size, "%snobody can go on: ", causes);
    for (; n_described < n_waits; n_described++) {
        char wait[160];
        size_t wait_length = (size_t)describe(&waits[n_described], wait, sizeof wait);
        if (length + wait_length + reserve > size)
            break;
        length += (size_t)snprintf(line + length, size - length, "%s%s", n_described ? "; " : "", wait);
    }
    if (n_described < n_waits)
        snprintf(line + length, size - length, "; and %zu more", n_waits - n_described);
}
