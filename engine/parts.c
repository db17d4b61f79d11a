/* SPDX-License-Identifier: MIT
 *
 * From rows to reasons. The k-th send of a payload from a to b meets the k-th receive of b from a; a message
 * could move from the later of the two posts on (or later, where the world says so). Then each step's time
 * outside computation is what its waits covered: before the message could move it is wait, after it transfer.
 */
#include "engine/parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* One end of a message, to be sorted so that both ends of a message come to stand at the same index. */
struct end {
    uint32_t from, to;
    enum ring_payload payload;
    size_t row; /* also the order of posting */
};

struct interval {
    double begin_s, end_s;
};

struct work_area {
    struct end *sends, *receives;
    size_t n_sends, n_receives;
    double *movable_s;         /* [n_rows]: since when a message could move */
    struct interval *computed; /* [n_ranks][n_steps], beside the messages; an add comes after them */
};

static int compare_ends(const void *a, const void *b)
{
    const struct end *x = a, *y = b;

    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    if (x->payload != y->payload)
        return x->payload < y->payload ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static enum ring_status allocate(struct work_area *area, size_t n_rows, size_t n_cells,
                                 struct ring_error *error)
{
    area->sends = malloc((n_rows + 1) * sizeof *area->sends);
    area->receives = malloc((n_rows + 1) * sizeof *area->receives);
    area->movable_s = calloc(n_rows + 1, sizeof *area->movable_s);
    area->computed = calloc(n_cells + 1, sizeof *area->computed);
    if (!area->sends || !area->receives || !area->movable_s || !area->computed)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for the parts of %zu steps", n_cells);
    return RING_OK;
}

static void release(struct work_area *area)
{
    free(area->sends);
    free(area->receives);
    free(area->movable_s);
    free(area->computed);
}

static enum ring_status match_messages(const struct ring_trace *rows, struct work_area *area,
                                       struct ring_error *error)
{
    for (size_t i = 0; i < rows->n_rows; i++) {
        const struct ring_trace_row *row = &rows->rows[i];
        if (row->kind == RING_TRACE_SEND)
            area->sends[area->n_sends++] = (struct end){row->rank, row->peer, row->payload, i};
        else if (row->kind == RING_TRACE_RECV)
            area->receives[area->n_receives++] = (struct end){row->peer, row->rank, row->payload, i};
    }
    if (area->n_sends != area->n_receives)
        return ring_fail(error, RING_BAD_INPUT, "trace: %zu sends but %zu receives", area->n_sends,
                         area->n_receives);
    qsort(area->sends, area->n_sends, sizeof *area->sends, compare_ends);
    qsort(area->receives, area->n_receives, sizeof *area->receives, compare_ends);
    for (size_t i = 0; i < area->n_sends; i++) {
        const struct end *send = &area->sends[i], *receive = &area->receives[i];
        const struct ring_trace_row *out = &rows->rows[send->row], *in = &rows->rows[receive->row];
        if (send->from != receive->from || send->to != receive->to || send->payload != receive->payload)
            return ring_fail(error, RING_BAD_INPUT,
                             "trace: the send of rank %" PRIu32 " to rank %" PRIu32 " at hop %" PRIu32
                             " has no receive",
                             send->from, send->to, out->step);
        double posted_s = fmax(out->post_s, in->post_s), moved_s = fmax(out->begun_s, in->begun_s);
        area->movable_s[send->row] = area->movable_s[receive->row] = fmax(posted_s, moved_s);
    }
    return RING_OK;
}

/* Ends of steps are the latest waits in them; a step without rows takes no time. */
static enum ring_status find_steps(const struct ring_trace *rows, uint32_t n_ranks, uint32_t n_steps,
                                   double first_s, struct ring_parts *parts, struct work_area *area,
                                   struct ring_error *error)
{
    for (size_t i = 0; i < (size_t)n_ranks * n_steps; i++)
        parts[i] = (struct ring_parts){.end_s = first_s};
    for (size_t i = 0; i < rows->n_rows; i++) {
        const struct ring_trace_row *row = &rows->rows[i];
        if (row->rank >= n_ranks || row->peer >= n_ranks || row->step >= n_steps)
            return ring_fail(error, RING_BAD_INPUT,
                             "trace: row %zu is of rank %" PRIu32 ", step %" PRIu32 ", wanted below %" PRIu32
                             " and %" PRIu32,
                             i + 1, row->rank, row->step, n_ranks, n_steps);
        size_t cell = (size_t)row->rank * n_steps + row->step;
        parts[cell].end_s = fmax(parts[cell].end_s, row->wait_end_s);
        if (row->kind == RING_TRACE_COMPUTE && row->job != RING_JOB_ADD)
            area->computed[cell] = (struct interval){row->begun_s, row->ended_s};
    }
    for (uint32_t rank = 0; rank < n_ranks; rank++) {
        double begin_s = first_s;
        for (uint32_t s = 0; s < n_steps; s++) {
            struct ring_parts *step = &parts[(size_t)rank * n_steps + s];
            step->begin_s = begin_s;
            step->end_s = begin_s = fmax(begin_s, step->end_s);
        }
    }
    return RING_OK;
}

static double overlap_s(double begin_s, double end_s, struct interval with)
{
    return fmax(0, fmin(end_s, with.end_s) - fmax(begin_s, with.begin_s));
}

static void account(const struct ring_trace_row *row, double movable_s, struct interval computed,
                    struct ring_parts *step)
{
    double begin_s = fmax(step->begin_s, row->wait_begin_s), end_s = fmin(step->end_s, row->wait_end_s);

    if (row->kind == RING_TRACE_COMPUTE) {
        step->compute_s +=
            overlap_s(step->begin_s, step->end_s, (struct interval){row->begun_s, row->ended_s});
        return;
    }
    double split_s = fmin(fmax(movable_s, begin_s), end_s);
    step->wait_s += split_s - begin_s - overlap_s(begin_s, split_s, computed);
    step->transfer_s += end_s - split_s - overlap_s(split_s, end_s, computed);
}

enum ring_status ring_parts_from_trace(const struct ring_trace *rows, uint32_t n_ranks, uint32_t n_steps,
                                       double first_s, struct ring_parts *parts, struct ring_error *error)
{
    struct work_area area = {.sends = NULL};
    size_t n_cells = (size_t)n_ranks * n_steps;

    enum ring_status status = allocate(&area, rows->n_rows, n_cells, error);
    if (status == RING_OK)
        status = find_steps(rows, n_ranks, n_steps, first_s, parts, &area, error);
    if (status == RING_OK)
        status = match_messages(rows, &area, error);
    if (status == RING_OK) {
        for (size_t i = 0; i < rows->n_rows; i++) {
            const struct ring_trace_row *row = &rows->rows[i];
            size_t cell = (size_t)row->rank * n_steps + row->step;
            account(row, area.movable_s[i], area.computed[cell], &parts[cell]);
        }
        for (size_t i = 0; i < n_cells; i++)
            parts[i].overhead_s = fmax(0, parts[i].end_s - parts[i].begin_s - parts[i].compute_s -
                                              parts[i].transfer_s - parts[i].wait_s);
    }
    release(&area);
    return status;
}
