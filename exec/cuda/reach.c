/* SPDX-License-Identifier: MIT
 *
 * Who can reach whose device memory: the ranks of a machine show each other theirs, and keep to it where both
 * can. */
#include <stdlib.h>
#include <string.h>

#include "exec/cuda/move_parts.h"

static enum ring_status no_memory(const struct exec_mover *mover, struct ring_error *error)
{
    return ring_fail(error, RING_NO_MEMORY, "rank %d: out of memory for moving blocks", mover->rank);
}

/* Everybody's bytes to everybody. */
static enum ring_status share_all(const struct exec_mover *mover, const struct exec_bound *bound,
                                  const void *mine, size_t bytes, void *all, struct ring_error *error)
{
    MPI_Request request;
    enum ring_status status =
        exec_mpi(MPI_Iallgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, mover->comm, &request),
                 mover->rank, "showing each other memory", error);

    return status == RING_OK ? exec_await(bound, &request, 1, "all ranks to show their memory", error)
                             : status;
}

/* Marks the ranks of this machine. */
static enum ring_status find_here(const struct exec_mover *mover, bool *here, struct ring_error *error)
{
    MPI_Comm machine;
    MPI_Group all, some;
    int n = 0;
    enum ring_status status =
        exec_mpi(MPI_Comm_split_type(mover->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine),
                 mover->rank, "finding the ranks of this machine", error);

    if (status != RING_OK)
        return status;
    MPI_Comm_group(mover->comm, &all);
    MPI_Comm_group(machine, &some);
    MPI_Comm_size(machine, &n);
    for (int i = 0; i < n; i++) {
        int rank = MPI_UNDEFINED;
        MPI_Group_translate_ranks(some, 1, &i, all, &rank);
        if (rank >= 0 && rank < mover->n_ranks)
            here[rank] = true;
    }
    MPI_Group_free(&all);
    MPI_Group_free(&some);
    MPI_Comm_free(&machine);
    return RING_OK;
}

/* All of one rank's pieces; false if one cannot be had. */
static bool reach_rank(struct exec_mover *mover, int rank, const struct exec_device_handle *handles)
{
    struct exec_reach *reach = &mover->reach;
    void **memory = reach->memory + (size_t)rank * reach->n_memory;

    for (uint32_t i = 0; i < reach->n_memory; i++) {
        if (rank == mover->rank)
            memory[i] = reach->own[i].data;
        else if (mover->lanes->runtime->reach(&handles[i], &memory[i], NULL) != RING_OK)
            return false;
    }
    return true;
}

/* Keeps of what this rank reached those that reached it too. false: with somebody here it did not work. */
static enum ring_status agree(struct exec_mover *mover, const struct exec_bound *bound, const bool *here,
                              bool *complete, struct ring_error *error)
{
    size_t n = (size_t)mover->n_ranks;
    bool *reached = mover->reach.reached, *all = calloc(n * n, sizeof *all);
    enum ring_status status = exec_agree(mover->comm, bound, all ? RING_OK : no_memory(mover, error), error);

    if (status == RING_OK)
        status = share_all(mover, bound, reached, n * sizeof *reached, all, error);
    for (size_t rank = 0; status == RING_OK && rank < n; rank++) {
        reached[rank] = reached[rank] && all[rank * n + (size_t)mover->rank];
        *complete &= reached[rank] || !here[rank];
    }
    free(all);
    return status;
}

static enum ring_status show_and_reach(struct exec_mover *mover, const struct exec_mover_spec *spec,
                                       struct exec_device_handle *mine, struct exec_device_handle *all,
                                       bool *here, struct ring_error *error)
{
    const struct exec_device_runtime *runtime = mover->lanes->runtime;
    uint32_t n = spec->n_memory;
    bool shown = runtime->share && runtime->reach, complete = true;
    enum ring_status status = find_here(mover, here, error);

    for (uint32_t i = 0; shown && i < n; i++)
        shown = runtime->share(spec->memory[i].data, &mine[i], NULL) == RING_OK;
    double missing = !shown;
    if (status == RING_OK)
        status = exec_maximum(mover->comm, &spec->bound, &missing, 1, "all ranks to share memory", error);
    if (status == RING_OK && missing > 0)
        return ring_fail(error, RING_UNSUPPORTED,
                         "--move peer: a device's memory cannot be shared between processes here");
    if (status == RING_OK)
        status = share_all(mover, &spec->bound, mine, n * sizeof *mine, all, error);
    for (int rank = 0; status == RING_OK && rank < mover->n_ranks; rank++)
        mover->reach.reached[rank] = here[rank] && reach_rank(mover, rank, all + (size_t)rank * n);
    if (status == RING_OK)
        status = agree(mover, &spec->bound, here, &complete, error);
    missing = !complete;
    if (status == RING_OK)
        status = exec_maximum(mover->comm, &spec->bound, &missing, 1, "all ranks to reach memory", error);
    if (status == RING_OK && missing > 0 && spec->move == EXEC_MOVE_PEER)
        return ring_fail(error, RING_UNSUPPORTED,
                         "--move peer: two ranks of one machine cannot reach each other's memory");
    return status;
}

enum ring_status exec_reach_open(struct exec_mover *mover, const struct exec_mover_spec *spec,
                                 struct ring_error *error)
{
    size_t n_ranks = (size_t)mover->n_ranks, n = spec->n_memory;
    struct exec_device_handle *mine = calloc(n + 1, sizeof *mine),
                              *all = calloc(n_ranks * n + 1, sizeof *all);
    bool *here = calloc(n_ranks, sizeof *here);

    mover->reach = (struct exec_reach){.reached = calloc(n_ranks, sizeof *mover->reach.reached),
                                       .memory = calloc(n_ranks * n + 1, sizeof *mover->reach.memory),
                                       .n_memory = spec->n_memory,
                                       .own = spec->memory};
    bool good = mine && all && here && mover->reach.reached && mover->reach.memory;
    enum ring_status status =
        exec_agree(mover->comm, &spec->bound, good ? RING_OK : no_memory(mover, error), error);
    if (status == RING_OK)
        status = exec_mpi(MPI_Comm_dup(mover->comm, &mover->words), mover->rank, "opening the mover", error);
    if (status == RING_OK)
        status = exec_mpi(MPI_Comm_dup(mover->comm, &mover->thanks), mover->rank, "opening the mover", error);
    if (status == RING_OK)
        status = show_and_reach(mover, spec, mine, all, here, error);
    if (status != RING_OK)
        exec_reach_close(mover);
    free(mine);
    free(all);
    free(here);
    return status;
}

void exec_reach_close(struct exec_mover *mover)
{
    struct exec_reach *reach = &mover->reach;

    for (int rank = 0; reach->memory && rank < mover->n_ranks; rank++)
        for (uint32_t i = 0; rank != mover->rank && i < reach->n_memory; i++)
            if (reach->memory[(size_t)rank * reach->n_memory + i])
                mover->lanes->runtime->leave(reach->memory[(size_t)rank * reach->n_memory + i]);
    free(reach->memory);
    free(reach->reached);
    *reach = (struct exec_reach){.reached = NULL};
    if (mover->words != MPI_COMM_NULL && !mover->broken)
        MPI_Comm_free(&mover->words);
    if (mover->thanks != MPI_COMM_NULL && !mover->broken)
        MPI_Comm_free(&mover->thanks);
}
