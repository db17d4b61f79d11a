/* SPDX-License-Identifier: MIT
 *
 * How much of a 64 MB hop hides behind 40 ms of computing that leaves the core free, or keeps it busy, with
 * polling, a thread that looks, or neither. The figures are reported and not judged - the machine may be
 * busy; that the data is right and that it ends is. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "exec/clock.h"
#include "exec/memory.h"
#include "tests/mpi/ranks.h"

enum { BYTES = 64000000, N_REPEATS = 5 };
#define BLOCK_S 40e-3

/* Both ranks send to each other and compute meanwhile; returns the time from a common start to this rank's
 * end. */
static enum ring_status exchange(const struct seat *seat, struct exec_transport *transport, char *out,
                                 char *in, double *time_s, struct ring_error *error)
{
    struct ring_transport *t = exec_transport_base(transport);
    struct ring_message message = {.peer = (uint32_t)(1 - seat->rank), .bytes = BYTES};
    struct ring_task task = {.rank = (uint32_t)seat->rank};
    struct ring_request sent, received, computed;

    enum ring_status status = exec_barrier(seat->comm, &seat->bound, "the other rank", error);
    if (status != RING_OK)
        return status;
    double begun_s = exec_clock_s();
    status = t->ops->post_recv(t, &message, (struct ring_buffer){in, BYTES}, &received);
    if (status == RING_OK)
        status = t->ops->post_send(t, &message, (struct ring_buffer){out, BYTES}, &sent);
    if (status == RING_OK)
        status = t->ops->post_compute(t, &task, &computed);
    struct ring_request *order[] = {&received, &computed, &sent};
    for (int i = 0; i < 3 && status == RING_OK; i++)
        status = t->ops->wait(t, order[i]);
    *time_s = exec_clock_s() - begun_s;
    if (status != RING_OK)
        *error = t->error;
    return status;
}

/* The fastest of some repeats of the slower rank. */
static enum ring_status best_of(const struct seat *seat, enum model_progress progress,
                                struct exec_compute compute, char *out, char *in, double *best_s,
                                struct ring_error *error)
{
    struct exec_transport *transport = NULL;
    enum ring_status status = open_transport(seat, progress, &compute, &transport, error);

    *best_s = INFINITY;
    for (int i = 0; i < N_REPEATS && status == RING_OK; i++) {
        double time_s = 0;
        memset(out, i + 1, BYTES);
        status = exchange(seat, transport, out, in, &time_s, error);
        if (status == RING_OK && (in[0] != i + 1 || in[BYTES - 1] != i + 1))
            status =
                ring_fail(error, RING_WORLD, "rank %d: repeat %d brought the wrong bytes", seat->rank, i);
        if (status == RING_OK)
            status = exec_maximum(seat->comm, &seat->bound, &time_s, 1, "the other rank's time", error);
        *best_s = fmin(*best_s, time_s);
    }
    if (transport)
        exec_transport_close(transport);
    return status;
}

enum ring_status test_overlap(const struct seat *seat, struct ring_error *error)
{
    static const struct {
        enum model_progress progress;
        bool core_free;
    } cases[] = {{MODEL_PROGRESS_POLL, true},  {MODEL_PROGRESS_THREAD, true},  {MODEL_PROGRESS_NONE, true},
                 {MODEL_PROGRESS_POLL, false}, {MODEL_PROGRESS_THREAD, false}, {MODEL_PROGRESS_NONE, false}};
    enum ring_status status = RING_OK;
    double hop_s = 0;

    if (seat->n_ranks != 2)
        return RING_OK;
    char *out = exec_memory_alloc(BYTES), *in = exec_memory_alloc(BYTES);
    if (!out || !in)
        status = ring_fail(error, RING_NO_MEMORY, "no memory for two blocks");
    if (status == RING_OK)
        status =
            best_of(seat, MODEL_PROGRESS_POLL, (struct exec_compute){.block_s = 0}, out, in, &hop_s, error);
    report(seat, "a hop of 64 MB both ways alone: %.2f ms (%.1f GB/s each way)", 1e3 * hop_s,
           1e-9 * BYTES / hop_s);
    for (size_t i = 0; i < sizeof cases / sizeof *cases && status == RING_OK; i++) {
        struct exec_compute compute = {.block_s = BLOCK_S, .core_free = cases[i].core_free};
        double both_s = 0;
        status = best_of(seat, cases[i].progress, compute, out, in, &both_s, error);
        report(seat, "with 40 ms on a %s core, progress %s: %.2f ms, %.0f %% of the hop hidden",
               cases[i].core_free ? "free" : "busy", model_progress_names[cases[i].progress], 1e3 * both_s,
               100 * (BLOCK_S + hop_s - both_s) / hop_s);
        if (status == RING_OK && both_s < BLOCK_S)
            status = ring_fail(error, RING_WORLD, "40 ms of computing took %g ms", 1e3 * both_s);
    }
    exec_memory_free(out);
    exec_memory_free(in);
    return status;
}
