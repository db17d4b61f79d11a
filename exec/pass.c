/* SPDX-License-Identifier: MIT
 *
 * One pass of the engine over an open session, and how all ranks come to leave at the same time. */
#include "exec/processor.h"

#include <math.h>

#include "exec/progress.h"

void exec_progress(const struct exec_session *session, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    exec_progress_line(session->rank == 0 ? session->progress : NULL, "", format, arguments);
    va_end(arguments);
}

/* All are done with the last pass. Whoever waits for the others to end one need not be more patient than the
 * longest took, twice, beside the time-out of a hop; before any pass that is not known. */
static void learn_patience(struct exec_session *session)
{
    struct exec_bound *bound = &session->pass_bound;
    double most_s = session->bound.timeout_s * (session->plan.n_steps + 1.0);

    if (!(session->last_start_s > 0))
        return;
    double took_s = exec_clock_s() - session->clock.offset_s - session->last_start_s;
    session->longest_pass_s = fmax(session->longest_pass_s, took_s);
    bound->timeout_s = fmin(most_s, session->bound.timeout_s + 2 * session->longest_pass_s);
}

enum ring_status exec_start_together(struct exec_session *session, double *start_s, struct ring_error *error)
{
    const double spin_s = 200e-6, longest_lead_s = 0.2;
    enum ring_status status = exec_barrier(session->comm, &session->pass_bound, "all ranks to start", error);

    if (status == RING_OK)
        learn_patience(session);
    /* The lead must outlast the news of it; where it did not, everyone hears of it and a longer one is tried.
     */
    for (double lead_s = 1e-3; status == RING_OK; lead_s *= 2) {
        *start_s = exec_clock_s() - session->clock.offset_s + lead_s;
        status = exec_broadcast(session->comm, &session->bound, 0, start_s, sizeof *start_s,
                                "the time to start", error);
        double late = exec_clock_s() - session->clock.offset_s > *start_s - 2 * spin_s;
        if (status == RING_OK)
            status =
                exec_maximum(session->comm, &session->bound, &late, 1, "all ranks to know the start", error);
        late = late > 0 || exec_clock_s() - session->clock.offset_s > *start_s;
        if (status == RING_OK)
            status =
                exec_maximum(session->comm, &session->bound, &late, 1, "all ranks to know the start", error);
        if (late == 0 || lead_s > longest_lead_s)
            break;
    }
    /* Whoever has a core to itself keeps it awake: a woken one is slow at first. */
    double left_s;
    while (status == RING_OK && (left_s = *start_s - (exec_clock_s() - session->clock.offset_s)) > 0)
        if (session->bound.crowded)
            exec_nap(left_s - spin_s);
    return status;
}

static enum ring_status run(struct exec_session *session, struct ring_transport *transport,
                            struct ring_error *error)
{
    enum ring_status status = ring_run(&session->plan, (uint32_t)session->rank, &session->memory, transport);

    session->failed_alone = status != RING_OK;
    if (status != RING_OK && error)
        *error = transport->error;
    return status;
}

enum ring_status exec_dry_run(struct exec_session *session, struct ring_error *error)
{
    struct exec_compute none = {.kernel = NULL};

    enum ring_status status =
        exec_barrier(session->comm, &session->bound, "all ranks to exchange blocks", error);
    exec_transport_set_compute(session->transport, &none);
    if (status == RING_OK)
        status = run(session, exec_transport_base(session->transport), error);
    exec_transport_set_compute(session->transport, &session->compute);
    return status;
}

enum ring_status exec_pass(struct exec_session *session, struct ring_trace *trace,
                           struct exec_pass_time *time, struct ring_error *error)
{
    struct ring_transport *inner = exec_transport_base(session->transport), *transport = inner;
    struct ring_tracing tracing;
    double start_s = 0;

    if (trace) {
        ring_tracing_init(&tracing, (uint32_t)session->rank, inner, trace);
        transport = &tracing.base;
    }
    enum ring_status status = session->processor->reset(session, error);
    session->failed_alone = status != RING_OK;
    if (status == RING_OK)
        status = exec_start_together(session, &start_s, error);
    struct exec_crew_time before = exec_transport_crew_time(session->transport);
    double cpu_s = exec_clock_cpu_s();
    session->hardship.start_s = session->last_start_s = start_s;
    if (status == RING_OK)
        status = run(session, transport, error);
    session->hardship.start_s = (double)NAN;
    cpu_s = exec_clock_cpu_s() - cpu_s;
    double end_s = inner->ops->now(inner);
    struct exec_crew_time crew = exec_transport_crew_time(session->transport);
    double share = (cpu_s + crew.cpu_s - before.cpu_s) / (end_s - start_s + crew.wall_s - before.wall_s);
    if (time)
        *time = (struct exec_pass_time){start_s, end_s, share};
    return status;
}
