/* SPDX-License-Identifier: MIT
 *
 * What a rank computes with, and where its blocks lie: the CPU and the host's memory (processor_cpu.c), or a
 * device and its own (cuda/processor.c). One table of functions, chosen once when a session is opened;
 * nothing else in exec/ asks which it is. Each call gets the session and keeps what it needs in
 * session->device. */
#ifndef EXEC_PROCESSOR_H
#define EXEC_PROCESSOR_H

#include "exec/session.h"
#include "exec/verify.h"

struct exec_processor {
    const char *name;
    /* Whether it has a kernel for the session's problem. */
    bool (*serves)(const struct exec_session *session);
    /* Takes a device for this rank, by its number on the machine. RING_UNSUPPORTED and why there is none; the
     * ranks then agree. */
    enum ring_status (*open)(struct exec_session *session, struct ring_error *error);
    void (*close)(struct exec_session *session); /* after the transport; safe if open failed */

    /* Zeroed memory for blocks. */
    enum ring_status (*take)(struct exec_session *session, uint64_t bytes, void **memory,
                             struct ring_error *error);
    void (*give)(struct exec_session *session, void *memory);

    /* The rank's own tensors, and the kernel that will work on them: sets session->kernel and compute. */
    enum ring_status (*open_data)(struct exec_session *session, struct ring_error *error);
    /* How blocks move, once there is memory for them: sets session->mover. Collective. */
    enum ring_status (*open_mover)(struct exec_session *session, struct ring_error *error);
    void (*close_mover)(struct exec_session *session); /* after the transport, before memory is given back */

    /* Back to the empty state, before a pass. */
    enum ring_status (*reset)(struct exec_session *session, struct ring_error *error);
    /* After one: out and lse into the caller's memory, of the kernel's state type; d_q and gradient of
     * results, if there was a backward pass, are this processor's own. */
    enum ring_status (*results)(struct exec_session *session, void *out, void *lse,
                                struct exec_results *results, struct ring_error *error);

    /* The most bytes of its device's memory that this process had taken at a time. NULL: it has none. */
    uint64_t (*device_bytes)(const struct exec_session *session);
    /* For whoever reads how a run was made: "NVIDIA H200, staged in 4096 KiB chunks"; "": nothing to say. */
    void (*describe)(const struct exec_session *session, char *out, size_t size);
};

extern const struct exec_processor exec_processor_cpu, exec_processor_cuda;

#endif
