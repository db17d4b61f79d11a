/* SPDX-License-Identifier: MIT
 *
 * What one rank of a run owns: the scenario and its plan, the memory and the data, the kernel and the
 * transport. Opened once; measure.c and verify.c then run it as often as they like. */
#ifndef EXEC_SESSION_H
#define EXEC_SESSION_H

#include "config/config.h"
#include "engine/run.h"
#include "engine/trace.h"
#include "exec/clock.h"
#include "exec/cuda/move.h"
#include "exec/kernels/attention.h"
#include "exec/kernels/data.h"
#include "exec/transport.h"

struct exec_device_runtime;

/* What a run may be asked to compute with. auto: a CUDA device where every rank has one, else the CPU. */
#define EXEC_DEVICES(X) X(CPU, "cpu") X(CUDA, "cuda") X(AUTO, "auto")

#define EXEC_DEVICE_ENUM(name, text) EXEC_DEVICE_##name,
enum exec_device { EXEC_DEVICES(EXEC_DEVICE_ENUM) EXEC_N_DEVICES };
#undef EXEC_DEVICE_ENUM

extern const char *const exec_device_names[EXEC_N_DEVICES];

struct exec_session_spec {
    MPI_Comm comm;
    const char *scenario_path;
    struct config_overrides overrides;
    bool needs_data;                   /* computes for real even if the scenario gives blocks a fixed time */
    const volatile sig_atomic_t *stop; /* set by a signal handler; NULL: none */
    struct exec_fault fault;
    enum exec_device device;
    enum exec_move move;                       /* how blocks move between devices */
    const struct exec_device_runtime *runtime; /* of the devices; NULL: the CPU is all there is */
    FILE *progress;                            /* rank 0's lines for an onlooker; NULL: none */
};

struct exec_session {
    MPI_Comm comm;
    int rank, n_ranks;
    struct exec_bound bound;             /* of a hop */
    struct exec_bound pass_bound;        /* of waiting for ranks that are not done with their pass */
    double last_start_s, longest_pass_s; /* on the common clock; 0: there was none yet */
    struct exec_clock clock;
    struct config_scenario *scenario;
    struct ring_plan plan;
    struct data_spec data;
    struct ring_shard shard; /* the rank's own tokens */

    const struct exec_processor *processor;
    const struct exec_device_runtime *runtime;
    void *device; /* the processor's own */
    enum exec_move move;
    bool no_device; /* of a session that was not opened: a device was asked for, and there is none */

    const struct block_kernel *kernel; /* NULL where blocks are timed and no data is needed */
    struct attention *attention;
    struct ring_compute work;    /* of attention, on a CPU */
    void *q, *d_out;             /* d_out: of a backward pass; both of a CPU */
    struct exec_compute compute; /* what a computation is */
    const struct exec_worker *mover;
    struct ring_memory memory;
    uint64_t baseline_bytes; /* that the process had in memory before any of this */

    struct exec_hardship hardship;
    struct exec_transport *transport;
    bool failed_alone; /* this rank's pass failed, and the others do not know: the way out is to abort */
    FILE *progress;
};

/* Collective. Every rank returns the same status and line: that of the lowest rank that failed.
 * RING_BAD_INPUT for a bad scenario or another number of ranks than it wants. On failure nothing is left
 * open. */
enum ring_status exec_session_open(struct exec_session *session, const struct exec_session_spec *spec,
                                   struct ring_error *error);
void exec_session_close(struct exec_session *session);

/* "repeat 3 of 7" and the like for whoever watches (progress.h). Rank 0 only. */
void exec_progress(const struct exec_session *session, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* All ranks leave together: agrees on a time a little ahead on the common clock, waits for it and returns it.
 */
enum ring_status exec_start_together(struct exec_session *session, double *start_s, struct ring_error *error);

/* Every block goes its way once and nothing is computed: first contact between two ranks costs milliseconds
 * that no repeat should pay. */
enum ring_status exec_dry_run(struct exec_session *session, struct ring_error *error);

/* When a pass of this rank began and ended, on the common clock, and how much of a core it had meanwhile
 * (less than 1: it slept, or somebody else ran); of its threads beside the first, while they worked. */
struct exec_pass_time {
    double start_s, end_s, core_share;
};

/* One pass from the empty state; out and lse are left in session->attention. trace and time may be NULL. */
enum ring_status exec_pass(struct exec_session *session, struct ring_trace *trace,
                           struct exec_pass_time *time, struct ring_error *error);

#endif
