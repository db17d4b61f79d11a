/* SPDX-License-Identifier: MIT
 *
 * Messages under way, their order, and which way each goes. See move.h; the ways are move_staged.c,
 * move_aware.c and move_peer.c. */
#include "exec/cuda/move_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

#define EXEC_MOVE_NAME(name, text) text,
const char *const exec_move_names[EXEC_N_MOVES] = {EXEC_MOVES(EXEC_MOVE_NAME)};
#undef EXEC_MOVE_NAME

static bool mpi_takes_device_memory(void)
{
#if defined(MPIX_CUDA_AWARE_SUPPORT)
    return MPIX_Query_cuda_support() == 1;
#else
    return false;
#endif
}

static bool same_queue(const struct exec_flight *a, const struct exec_flight *b)
{
    return a->kind == b->kind && a->message.peer == b->message.peer && a->message.tag == b->message.tag;
}

bool exec_mover_may_post(const struct exec_mover *mover, const struct exec_load *load)
{
    for (const struct exec_load *older = mover->first; older != load; older = older->next)
        if (!older->posted && same_queue(older->flight, load->flight))
            return false;
    return true;
}

bool exec_mover_is_oldest(const struct exec_mover *mover, const struct exec_load *load)
{
    for (const struct exec_load *older = mover->first; older != load; older = older->next)
        if (same_queue(older->flight, load->flight))
            return false;
    return true;
}

enum ring_status exec_mover_take_stage(struct exec_mover *mover, struct exec_stage *stage,
                                       struct ring_error *error)
{
    if (stage->memory)
        return RING_OK;
    enum ring_status status =
        stage->event ? RING_OK : exec_lanes_take_event(mover->lanes, &stage->event, error);
    if (status != RING_OK)
        return status;
    if (mover->n_idle > 0) {
        stage->memory = mover->idle_stages[--mover->n_idle];
        return RING_OK;
    }
    if (mover->n_stages == mover->room) { /* there is always room to give all of them back */
        size_t room = mover->room ? 2 * mover->room : 16;
        void **stages = realloc(mover->idle_stages, room * sizeof *stages);
        if (!stages)
            return ring_fail(error, RING_NO_MEMORY, "rank %d: out of memory for a message", mover->rank);
        mover->idle_stages = stages;
        mover->room = room;
    }
    status = mover->lanes->runtime->take_pinned(mover->stage_bytes, &stage->memory, error);
    mover->n_stages += status == RING_OK;
    return status;
}

static void remove_load(struct exec_mover *mover, struct exec_load *load)
{
    struct exec_load **link = &mover->first;

    while (*link != load)
        link = &(*link)->next;
    *link = load->next;
    if (!load->next)
        mover->end = link;
    for (int i = 0; i < EXEC_STAGES; i++) {
        if (load->stages[i].memory && !mover->broken)
            mover->idle_stages[mover->n_idle++] = load->stages[i].memory;
        if (load->stages[i].event)
            exec_lanes_give_event(mover->lanes, load->stages[i].event);
    }
    load->flight->work = NULL;
    free(load);
}

static enum ring_status test(void *context, struct exec_flight *flight, struct ring_error *error)
{
    struct exec_mover *mover = context;
    struct exec_load *load = flight->work;
    enum ring_status status = load->way->step(mover, load, error);

    if (status == RING_OK && flight->done)
        remove_load(mover, load);
    return status;
}

static enum ring_status start(void *context, struct exec_flight *flight, struct ring_error *error)
{
    struct exec_mover *mover = context;
    struct exec_load *load = calloc(1, sizeof *load);
    uint64_t bytes = flight->buffer.bytes;

    if (!load)
        return ring_fail(error, RING_NO_MEMORY, "rank %d: out of memory for a message", mover->rank);
    load->flight = flight;
    load->way = mover->ways[flight->message.peer];
    load->n_chunks = bytes == 0 ? 1 : (bytes - 1) / mover->stage_bytes + 1;
    *mover->end = load;
    mover->end = &load->next;
    flight->work = load;
    enum ring_status status = load->way->step(mover, load, error);
    flight->done = false; /* test says so */
    return status;
}

static void drop(void *context, struct exec_flight *flight)
{
    struct exec_mover *mover = context;

    if (!flight->work)
        return;
    mover->broken = true;
    remove_load(mover, flight->work);
}

/* Which way to each rank; all come to the same. */
static enum ring_status choose(struct exec_mover *mover, const struct exec_mover_spec *spec,
                               struct ring_error *error)
{
    enum exec_move move = spec->move;
    double unaware = !mpi_takes_device_memory();
    enum ring_status status =
        exec_maximum(mover->comm, &spec->bound, &unaware, 1, "whether MPI takes device memory", error);

    if (status != RING_OK)
        return status;
    if (move == EXEC_MOVE_AUTO && unaware == 0)
        move = EXEC_MOVE_AWARE;
    for (int rank = 0; rank < mover->n_ranks; rank++)
        mover->ways[rank] = move == EXEC_MOVE_AWARE ? &exec_way_aware : &exec_way_staged;
    if (move == EXEC_MOVE_AUTO || move == EXEC_MOVE_PEER) {
        status = exec_reach_open(mover, spec, error);
        if (status == RING_UNSUPPORTED && move == EXEC_MOVE_AUTO)
            status = RING_OK;
    }
    for (int rank = 0; mover->reach.reached && rank < mover->n_ranks; rank++)
        if (mover->reach.reached[rank])
            mover->ways[rank] = &exec_way_peer;
    return status;
}

enum ring_status exec_mover_open(struct exec_mover **out, const struct exec_mover_spec *spec,
                                 struct ring_error *error)
{
    struct exec_mover *mover = calloc(1, sizeof *mover);

    *out = NULL;
    if (!mover)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for moving blocks");
    *mover = (struct exec_mover){.comm = MPI_COMM_NULL,
                                 .words = MPI_COMM_NULL,
                                 .thanks = MPI_COMM_NULL,
                                 .lanes = spec->lanes,
                                 .stage_bytes = spec->stage_bytes};
    mover->worker = (struct exec_worker){start, test, drop, mover};
    mover->end = &mover->first;
    MPI_Comm_rank(spec->comm, &mover->rank);
    MPI_Comm_size(spec->comm, &mover->n_ranks);
    mover->ways = calloc((size_t)mover->n_ranks, sizeof *mover->ways);
    enum ring_status status =
        mover->ways
            ? exec_mpi(MPI_Comm_dup(spec->comm, &mover->comm), mover->rank, "opening the mover", error)
            : ring_fail(error, RING_NO_MEMORY, "out of memory for moving blocks");
    if (status == RING_OK)
        status = choose(mover, spec, error);
    if (status != RING_OK) {
        exec_mover_close(mover);
        return status;
    }
    *out = mover;
    return RING_OK;
}

void exec_mover_close(struct exec_mover *mover)
{
    if (!mover)
        return;
    exec_reach_close(mover);
    for (size_t i = 0; i < mover->n_idle; i++)
        mover->lanes->runtime->give_pinned(mover->idle_stages[i]);
    if (mover->comm != MPI_COMM_NULL && !mover->broken)
        MPI_Comm_free(&mover->comm);
    free(mover->idle_stages);
    free(mover->ways);
    free(mover);
}

const struct exec_worker *exec_mover_worker(const struct exec_mover *mover)
{
    return &mover->worker;
}

void exec_mover_describe(const struct exec_mover *mover, char *out, size_t size)
{
    bool peer = false, staged = false;

    for (int rank = 0; rank < mover->n_ranks; rank++) {
        peer |= mover->ways[rank] == &exec_way_peer;
        staged |= mover->ways[rank] == &exec_way_staged;
    }
    if (peer && staged)
        snprintf(out, size, "peer copies, staged elsewhere in %" PRIu64 " KiB chunks",
                 mover->stage_bytes >> 10);
    else if (staged)
        snprintf(out, size, "staged in %" PRIu64 " KiB chunks", mover->stage_bytes >> 10);
    else
        snprintf(out, size, "%s", peer ? "peer copies" : "CUDA-aware MPI");
}
