/* SPDX-License-Identifier: MIT
 *
 * Between move.c, which keeps messages in order, and the ways they go. Everyone else includes move.h. */
#ifndef EXEC_CUDA_MOVE_PARTS_H
#define EXEC_CUDA_MOVE_PARTS_H

#include "exec/cuda/move.h"
#include "exec/flight.h"

/* Chunks of one message under way at a time: one is copied, one is on the wire, one waits for either. */
enum { EXEC_STAGES = 3 };

struct exec_stage {
    void *memory; /* pinned; NULL: not had yet */
    void *event;
    MPI_Request request;
};

/* A message under way; flight->work. Chunks go through three states in order: begun >= handed >= done. */
struct exec_load {
    struct exec_flight *flight;
    const struct exec_way *way;
    uint64_t n_chunks, n_begun, n_handed, n_done;
    bool posted; /* all that MPI has to hear of it has been said: the next of its peer and tag may follow */
    struct exec_stage stages[EXEC_STAGES];
    uint64_t word[2]; /* of a peer copy: which piece of the sender's memory, and how far in */
    struct exec_load *next;
};

/* step moves a load on as far as it goes without waiting, and sets flight->done in the end. */
struct exec_way {
    enum ring_status (*step)(struct exec_mover *mover, struct exec_load *load, struct ring_error *error);
};
extern const struct exec_way exec_way_staged, exec_way_aware, exec_way_peer;

/* The other ranks' memory, as far as it can be reached. */
struct exec_reach {
    bool *reached; /* [n_ranks], both ways; NULL: nothing was opened */
    void **memory; /* [n_ranks][n_memory], theirs here; NULL: not reached */
    uint32_t n_memory;
    const struct ring_buffer *own; /* [n_memory], borrowed */
};

struct exec_mover {
    struct exec_worker worker;
    MPI_Comm comm;
    MPI_Comm words, thanks; /* "here it is" and "I have it" of peer copies */
    int rank, n_ranks;
    struct exec_lanes *lanes;
    uint64_t stage_bytes;
    const struct exec_way **ways; /* [n_ranks] */
    struct exec_reach reach;
    struct exec_load *first, **end; /* under way, oldest first */
    void **idle_stages;             /* [room], pinned chunks */
    size_t n_idle, n_stages, room;
    bool broken; /* something was dropped: MPI may still write to pinned memory, which is left to it */
};

/* Whether this load may tell MPI of itself: messages of one peer and tag are matched in the order posted. */
bool exec_mover_may_post(const struct exec_mover *mover, const struct exec_load *load);

/* Whether no older one of its direction, peer and tag is under way. */
bool exec_mover_is_oldest(const struct exec_mover *mover, const struct exec_load *load);

enum ring_status exec_mover_take_stage(struct exec_mover *mover, struct exec_stage *stage,
                                       struct ring_error *error);

/* Opens each other's memory between the ranks of a machine. Collective. RING_UNSUPPORTED: some cannot. */
enum ring_status exec_reach_open(struct exec_mover *mover, const struct exec_mover_spec *spec,
                                 struct ring_error *error);
void exec_reach_close(struct exec_mover *mover);

#endif
