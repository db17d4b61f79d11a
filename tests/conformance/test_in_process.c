/* SPDX-License-Identifier: MIT
 *
 * The suite over threads of this process, bare and watched by the tracing transport: a wrapper must keep
 * every promise of what it wraps. */
#include "engine/trace.h"
#include "tests/conformance/in_process.h"
#include "tests/conformance/suite.h"

static enum ring_status play_bare(void *context, uint32_t rank, struct ring_transport *transport,
                                  struct ring_error *error)
{
    return conformance_play(context, rank, transport, error);
}

static enum ring_status play_traced(void *context, uint32_t rank, struct ring_transport *transport,
                                    struct ring_error *error)
{
    struct ring_trace trace;
    struct ring_tracing tracing;

    ring_trace_init(&trace);
    ring_tracing_init(&tracing, rank, transport, &trace);
    enum ring_status status = conformance_play(context, rank, &tracing.base, error);
    ring_trace_fini(&trace);
    return status;
}

static enum ring_status run(void *context, const struct conformance_case *one, struct ring_error *error)
{
    struct ring_compute compute[CONFORMANCE_MAX_RANKS];
    const bool *traced = context;

    for (uint32_t rank = 0; rank < one->n_ranks; rank++)
        compute[rank] = conformance_compute(rank);
    return in_process_run(one->n_ranks, compute, *traced ? play_traced : play_bare, (void *)one, error);
}

int main(void)
{
    static bool bare = false, traced = true;
    const struct conformance_world worlds[] = {{"threads", run, &bare}, {"threads, traced", run, &traced}};

    return conformance_run_all(&worlds[0]) + conformance_run_all(&worlds[1]);
}
