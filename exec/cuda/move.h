/* SPDX-License-Identifier: MIT
 *
 * Moving blocks between devices, as the MPI transport's worker. Three ways:
 *
 *   staged  through pinned memory of the host, in chunks, so that the copy out, the wire and the copy in of
 *           one message overlap; needs nothing of MPI
 *   aware   MPI is handed device memory and does what it can; needs an MPI that can take it
 *   peer    between ranks of one machine the receiver copies from the sender's memory; MPI carries only the
 *           word that it is there and the word that it was fetched
 *
 * auto: aware where MPI says that it can, else peer between ranks of one machine whose devices can reach one
 * another, else staged. All ranks come to the same choice. */
#ifndef EXEC_CUDA_MOVE_H
#define EXEC_CUDA_MOVE_H

#include "exec/cuda/lanes.h"
#include "exec/transport.h"

#define EXEC_MOVES(X) X(AUTO, "auto") X(AWARE, "aware") X(PEER, "peer") X(STAGED, "staged")

#define EXEC_MOVE_ENUM(name, text) EXEC_MOVE_##name,
enum exec_move { EXEC_MOVES(EXEC_MOVE_ENUM) EXEC_N_MOVES };
#undef EXEC_MOVE_ENUM

extern const char *const exec_move_names[EXEC_N_MOVES];

#define EXEC_STAGE_BYTES (UINT64_C(4) << 20)

struct exec_mover_spec {
    MPI_Comm comm;            /* borrowed, and duplicated */
    struct exec_bound bound;  /* of what the ranks do together while opening */
    struct exec_lanes *lanes; /* borrowed */
    enum exec_move move;
    uint64_t stage_bytes; /* length of a chunk; equal on all ranks */
    /* What may be sent from: whole pieces that the runtime's take gave. Only peer asks. */
    const struct ring_buffer *memory;
    uint32_t n_memory;
};

struct exec_mover;

/* Collective; every rank returns the same. RING_UNSUPPORTED where what was asked for cannot be. */
enum ring_status exec_mover_open(struct exec_mover **out, const struct exec_mover_spec *spec,
                                 struct ring_error *error);
/* After the transport that used it; collective if the run went well. NULL is fine. */
void exec_mover_close(struct exec_mover *mover);

const struct exec_worker *exec_mover_worker(const struct exec_mover *mover);

/* "staged in 4 MiB chunks", "peer copies, staged between machines", "CUDA-aware MPI". */
void exec_mover_describe(const struct exec_mover *mover, char *out, size_t size);

#endif
