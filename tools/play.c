/* SPDX-License-Identifier: MIT
 *
 * See play.h. */
#include "tools/play.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "models/recurrence.h"
#include "sim/sim.h"

static enum ring_status take_parts(const struct model_ring *ring, const struct ring_trace *traces,
                                   struct ring_parts *steps, struct ring_error *error)
{
    struct ring_trace all;
    enum ring_status status = RING_OK;

    ring_trace_init(&all);
    for (uint32_t rank = 0; rank < ring->plan->n_ranks; rank++)
        for (size_t i = 0; i < traces[rank].n_rows && status == RING_OK; i++)
            status = ring_trace_append(&all, &traces[rank].rows[i]);
    if (status == RING_OK)
        status = ring_parts_from_trace(&all, ring->plan->n_ranks, ring->plan->n_steps, 0, steps, error);
    else
        ring_fail(error, status, "out of memory for the traces of %" PRIu32 " ranks", ring->plan->n_ranks);
    ring_trace_fini(&all);
    return status;
}

static enum ring_status play_simgrid(const struct model_ring *ring, double *ends_s, struct ring_parts *steps,
                                     struct ring_error *error)
{
    const struct sim_spec spec = {.ring = ring};
    uint32_t n = ring->plan->n_ranks;
    struct ring_trace *traces = steps == NULL ? NULL : calloc(n, sizeof *traces);

    if (steps != NULL && traces == NULL)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for %" PRIu32 " ranks", n);
    for (uint32_t rank = 0; traces != NULL && rank < n; rank++)
        ring_trace_init(&traces[rank]);
    enum ring_status status = sim_run(&spec, ends_s, traces, error);
    if (status == RING_OK && traces != NULL)
        status = take_parts(ring, traces, steps, error);
    for (uint32_t rank = 0; traces != NULL && rank < n; rank++)
        ring_trace_fini(&traces[rank]);
    free(traces);
    return status;
}

enum ring_status tool_play(const struct model_ring *ring, bool simgrid, double *time_s,
                           struct ring_parts *steps, struct ring_error *error)
{
    uint32_t n = ring->plan->n_ranks;
    double *ends_s = calloc(n, sizeof *ends_s);
    struct ring_parts *totals = calloc(n, sizeof *totals);
    enum ring_status status;

    *time_s = 0;
    if (ends_s == NULL || totals == NULL)
        status = ring_fail(error, RING_NO_MEMORY, "out of memory for %" PRIu32 " ranks", n);
    else
        status = simgrid ? play_simgrid(ring, ends_s, steps, error)
                         : model_recurrence(ring, ends_s, totals, steps, error);
    for (uint32_t rank = 0; status == RING_OK && rank < n; rank++)
        *time_s = fmax(*time_s, ends_s[rank]);
    free(ends_s);
    free(totals);
    return status;
}
