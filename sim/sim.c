/* SPDX-License-Identifier: MIT
 *
 * The door: plays the engine's loop on every rank of a simulated world in a child process, and brings home
 * when each rank ended and what it did. */
#include "sim/sim.h"

#include <errno.h>
#include <inttypes.h>
#include <simgrid/forward.h> /* version.h needs it */
#include <simgrid/version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim/child.h"
#include "sim/world.h"

/* A run, as the child sees it. What the parent wants back is in ends_s and n_rows, which both share, and in
 * the file of rows, rank after rank. */
struct run {
    const struct sim_spec *spec;
    double *ends_s;             /* [n_ranks], shared */
    uint64_t *n_rows;           /* [n_ranks], shared */
    int rows;                   /* file descriptor, -1: no traces wanted */
    struct ring_trace *traces;  /* [n_ranks], the child's, NULL: none wanted */
    struct ring_memory *memory; /* [n_ranks], the child's or the caller's */
};

static enum ring_status play_rank(void *context, uint32_t rank, struct ring_transport *transport,
                                  struct ring_error *error)
{
    const struct run *run = context;
    struct ring_tracing tracing;

    if (run->traces) {
        ring_tracing_init(&tracing, rank, transport, &run->traces[rank]);
        transport = &tracing.base;
    }
    enum ring_status status = ring_run(run->spec->ring->plan, rank, &run->memory[rank], transport);
    if (status != RING_OK)
        *error = transport->error;
    return status;
}

/* Buffers that hold nothing but their size. One block for all ranks; freed with the child. */
static struct ring_memory *memory_without_data(const struct ring_plan *plan)
{
    struct ring_memory *memory = malloc(plan->n_ranks * sizeof *memory);
    struct ring_buffer *slots = malloc((size_t)plan->n_ranks * plan->n_slots * sizeof *slots);

    if (!memory || !slots) {
        free(memory);
        free(slots);
        return NULL;
    }
    for (uint32_t rank = 0; rank < plan->n_ranks; rank++) {
        memory[rank] = (struct ring_memory){slots + (size_t)rank * plan->n_slots, plan->n_slots};
        for (uint32_t slot = 0; slot < plan->n_slots; slot++)
            memory[rank].slots[slot] = (struct ring_buffer){NULL, ring_plan_slot_bytes(plan, rank, slot)};
    }
    return memory;
}

static enum ring_status write_all(int fd, const void *data, size_t bytes, struct ring_error *error)
{
    const char *next = data;

    while (bytes > 0) {
        ssize_t n_written = write(fd, next, bytes);
        if (n_written < 0 && errno == EINTR)
            continue;
        if (n_written <= 0)
            return ring_fail(error, RING_NO_MEMORY, "no memory for the simulated traces: %s",
                             strerror(errno));
        next += n_written;
        bytes -= (size_t)n_written;
    }
    return RING_OK;
}

/* In the child, which ends after it: what is not freed here goes with it. */
static enum ring_status play_all(void *context, struct ring_error *error)
{
    struct run *run = context;
    const struct sim_spec *spec = run->spec;
    uint32_t n_ranks = spec->ring->plan->n_ranks;
    struct sim_play play = {.ring = spec->ring, .compute = spec->compute, .body = play_rank, .context = run};

    run->memory = spec->memory ? (struct ring_memory *)spec->memory : memory_without_data(spec->ring->plan);
    run->traces = run->rows < 0 ? NULL : calloc(n_ranks, sizeof *run->traces);
    if (!run->memory || (run->rows >= 0 && !run->traces))
        return ring_fail(error, RING_NO_MEMORY, "out of memory for %" PRIu32 " simulated ranks", n_ranks);
    enum ring_status status = sim_world_play(&play, run->ends_s, error);
    for (uint32_t rank = 0; rank < n_ranks && run->traces && status == RING_OK; rank++) {
        run->n_rows[rank] = run->traces[rank].n_rows;
        status = write_all(run->rows, run->traces[rank].rows,
                           run->n_rows[rank] * sizeof(struct ring_trace_row), error);
    }
    return status;
}

/* Appends each rank's rows to its trace. */
static enum ring_status fetch_traces(const struct run *run, uint32_t n_ranks, struct ring_trace *traces,
                                     struct ring_error *error)
{
    uint64_t n_rows = 0;

    for (uint32_t rank = 0; rank < n_ranks; rank++)
        n_rows += run->n_rows[rank];
    if (n_rows == 0)
        return RING_OK;
    struct ring_trace_row *rows = mmap(NULL, n_rows * sizeof *rows, PROT_READ, MAP_SHARED, run->rows, 0);
    if (rows == MAP_FAILED)
        return ring_fail(error, RING_NO_MEMORY, "no memory for the simulated traces: %s", strerror(errno));
    const struct ring_trace_row *next = rows;
    enum ring_status status = RING_OK;
    for (uint32_t rank = 0; rank < n_ranks; rank++) {
        for (uint64_t i = 0; i < run->n_rows[rank] && status == RING_OK; i++)
            status = ring_trace_append(&traces[rank], next++);
    }
    munmap(rows, n_rows * sizeof *rows);
    return status == RING_OK ? RING_OK : ring_fail(error, status, "out of memory for the simulated traces");
}

enum ring_status sim_run(const struct sim_spec *spec, double *ends_s, struct ring_trace *traces,
                         struct ring_error *error)
{
    uint32_t n_ranks = spec->ring->plan->n_ranks;
    size_t shared_bytes = n_ranks * (sizeof(double) + sizeof(uint64_t));
    double *shared = sim_shared_alloc(shared_bytes);
    struct run run = {
        .spec = spec,
        .ends_s = shared,
        .n_rows = (uint64_t *)(shared + n_ranks),
        .rows = traces ? memfd_create("ringlab-sim-rows", MFD_CLOEXEC) : -1,
    };
    enum ring_status status;

    if (!shared || (traces && run.rows < 0))
        status = ring_fail(error, RING_NO_MEMORY, "no memory for %" PRIu32 " simulated ranks: %s", n_ranks,
                           strerror(errno));
    else
        status = sim_in_child(play_all, &run, error);
    if (status == RING_OK && traces)
        status = fetch_traces(&run, n_ranks, traces, error);
    if (status == RING_OK)
        memcpy(ends_s, shared, n_ranks * sizeof *ends_s);
    if (run.rows >= 0)
        close(run.rows);
    sim_shared_free(shared, shared_bytes);
    return status;
}

const char *sim_description(void)
{
    static char text[96];
    int major = 0, minor = 0, patch = 0;

    sg_version_get(&major, &minor, &patch);
    snprintf(text, sizeof text, "SimGrid %d.%d, CM02, latency beside the links, precision 1e-12 s", major,
             minor);
    return text;
}
