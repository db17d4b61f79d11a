/* SPDX-License-Identifier: MIT
 *
 * See play.h. */
#include "tools/play.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/recurrence.h"

/* Hands the rows of each rank over to one trace. */
static enum ring_status join_traces(struct ring_trace *traces, uint32_t n, struct ring_trace *all,
                                    struct ring_error *error)
{
    size_t n_rows = 0;
    for (uint32_t i = 0; i < n; i++)
        n_rows += traces[i].n_rows;
    all->rows = malloc((n_rows + 1) * sizeof *all->rows);
    if (all->rows == NULL)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for a trace of %zu rows", n_rows);
    all->capacity = n_rows + 1;
    for (uint32_t i = 0; i < n; i++) {
        if (traces[i].n_rows > 0)
            memcpy(all->rows + all->n_rows, traces[i].rows, traces[i].n_rows * sizeof *all->rows);
        all->n_rows += traces[i].n_rows;
        ring_trace_fini(&traces[i]);
        ring_trace_init(&traces[i]);
    }
    return RING_OK;
}

enum ring_status tool_play_traced(const struct sim_spec *spec, double *ends_s, struct ring_trace *all,
                                  struct ring_error *error)
{
    uint32_t n = spec->ring->plan->n_ranks;
    struct ring_trace *traces = calloc(n, sizeof *traces);

    ring_trace_init(all);
    if (traces == NULL)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for %" PRIu32 " ranks", n);
    for (uint32_t i = 0; i < n; i++)
        ring_trace_init(&traces[i]);
    enum ring_status status = sim_run(spec, ends_s, traces, error);
    if (status == RING_OK)
        status = join_traces(traces, n, all, error);
    for (uint32_t i = 0; i < n; i++)
        ring_trace_fini(&traces[i]);
    free(traces);
    return status;
}

static enum ring_status play_simgrid(const struct model_ring *ring, double *ends_s, struct ring_parts *steps,
                                     struct ring_error *error)
{
    const struct sim_spec spec = {.ring = ring};
    struct ring_trace all;

    if (steps == NULL)
        return sim_run(&spec, ends_s, NULL, error);
    enum ring_status status = tool_play_traced(&spec, ends_s, &all, error);
    if (status == RING_OK)
        status = ring_parts_from_trace(&all, ring->plan->n_ranks, ring->plan->n_steps, 0, steps, error);
    ring_trace_fini(&all);
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
