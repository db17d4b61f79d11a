/* SPDX-License-Identifier: MIT
 *
 * What every transport promises, asked of the one over MPI when a device computes and blocks are moved from
 * and to its memory: at each pace of the test device, staged and handed to MPI. Chunks are short, so that
 * every message of some size has many. */
#include "tests/conformance/suite.h"

#include "exec/cuda/compute.h"
#include "exec/cuda/move.h"
#include "tests/cuda/device_stream.h"
#include "tests/cuda/ranks.h"

/* So that every message has several chunks, and none has thousands. */
static uint64_t chunk_bytes(const struct conformance_case *one)
{
    return one->memory_bytes / 60 + 1000;
}

/* A task that is in a stream. Conformance has one at a time. */
struct pieces {
    struct ring_compute compute;
    struct ring_task task;
};

static void run_pieces(void *context)
{
    struct pieces *pieces = context;
    const struct ring_compute *compute = &pieces->compute;
    uint32_t n = compute->n_pieces(compute->context, &pieces->task);

    for (uint32_t piece = 0; piece < n; piece++)
        compute->run_piece(compute->context, &pieces->task, piece, NULL);
}

static enum ring_status launch(void *context, const struct ring_task *task, void *stream,
                               struct ring_error *error)
{
    struct pieces *pieces = context;

    pieces->task = *task;
    return device_stream_call(stream, run_pieces, pieces, error);
}

static enum ring_status play(const struct conformance_case *one, MPI_Comm comm, enum exec_move move,
                             struct ring_error *error)
{
    struct exec_lanes lanes = {0};
    struct exec_mover *mover = NULL;
    struct exec_transport *transport = NULL;
    struct exec_compute_lane compute;
    int rank = 0;
    enum ring_status status = exec_lanes_open(&lanes, &device_stream_runtime, 0, error);

    MPI_Comm_rank(comm, &rank);
    struct pieces pieces = {.compute = conformance_compute((uint32_t)rank)};
    struct exec_launch hook = {launch, &pieces};
    struct exec_bound bound = {.timeout_s = 20, .crowded = true, .rank = rank};
    struct exec_mover_spec spec = {
        .comm = comm, .bound = bound, .lanes = &lanes, .move = move, .stage_bytes = chunk_bytes(one)};
    exec_compute_lane_init(&compute, &lanes, &hook);
    if (status == RING_OK)
        status = exec_mover_open(&mover, &spec, error);
    if (status == RING_OK) {
        struct exec_transport_spec wanted = {.comm = comm,
                                             .compute = {.worker = &compute.worker},
                                             .mover = exec_mover_worker(mover),
                                             .bound = bound};
        status = exec_transport_open(&transport, &wanted, error);
    }
    if (status == RING_OK)
        status = conformance_play(one, (uint32_t)rank, exec_transport_base(transport), error);
    if (status != RING_OK)
        return status; /* the others may still be sending: the way out is to abort */
    exec_transport_close(transport);
    exec_mover_close(mover);
    exec_lanes_close(&lanes);
    return RING_OK;
}

static enum ring_status play_on_some(const struct conformance_case *one, enum exec_move move,
                                     struct ring_error *error)
{
    struct exec_bound bound = {.timeout_s = 60, .crowded = true};
    enum ring_status status = RING_OK;
    MPI_Comm comm;
    int rank = 0;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    bound.rank = rank;
    bool plays = (uint32_t)rank < one->n_ranks;
    MPI_Comm_split(MPI_COMM_WORLD, plays ? 0 : MPI_UNDEFINED, rank, &comm);
    if (plays)
        status = play(one, comm, move, error);
    status = exec_agree(MPI_COMM_WORLD, &bound, status, error);
    if (plays && status == RING_OK)
        MPI_Comm_free(&comm);
    return status;
}

enum ring_status device_ranks_conformance(struct ring_error *error)
{
    static const enum exec_move moves[] = {EXEC_MOVE_STAGED, EXEC_MOVE_AWARE};
    int n_ranks = 0;

    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    for (uint32_t i = 0; i < conformance_n_cases; i++) {
        const struct conformance_case *one = &conformance_cases[i];
        if (one->n_ranks > (uint32_t)n_ranks)
            continue;
        for (uint32_t run = 0; run < 2 * DEVICE_STREAM_N_PACES; run++) {
            enum device_stream_pace pace = (enum device_stream_pace)(run / 2);
            device_stream_set(pace, i + 1);
            enum ring_status status = play_on_some(one, moves[run % 2], error);
            device_ranks_report("%s: %s (%s, %s)", status == RING_OK ? "ok" : "FAILED", one->name,
                                device_stream_paces[pace], exec_move_names[moves[run % 2]]);
            if (status != RING_OK)
                return status;
        }
    }
    return RING_OK;
}
