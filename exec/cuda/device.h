/* SPDX-License-Identifier: MIT
 *
 * What the host needs of a device runtime, as a table of functions: memory, streams, events, copies, and the
 * block kernels. CUDA's is device_cuda.c; device_none.c stands in where the CUDA toolkit was not there to
 * build with; tests bring one whose streams are queues of this process. Everything above (lanes, move,
 * compute, attention) knows this table and no runtime.
 *
 * Streams and events are the runtime's own pointers. Work in a stream is done in order; between streams
 * nothing is, unless one follows an event of the other. Calls only enqueue, but for those that say they wait.
 * One device a process, one thread that calls. Failures are RING_WORLD with the runtime's own words, or
 * RING_NO_MEMORY. */
#ifndef EXEC_CUDA_DEVICE_H
#define EXEC_CUDA_DEVICE_H

#include "exec/cuda/kernels/cuda_block.h"

enum { EXEC_DEVICE_NAME_BYTES = 128, EXEC_DEVICE_HANDLE_BYTES = 64 };

/* A piece of device memory, as another process of this machine can open it. */
struct exec_device_handle {
    unsigned char bytes[EXEC_DEVICE_HANDLE_BYTES];
};

/* What is worth writing down beside a figure measured on a device; 0: unknown. */
struct exec_device_facts {
    char name[EXEC_DEVICE_NAME_BYTES];
    uint64_t memory_bytes;
    int driver, runtime; /* versions of CUDA, as it counts them: 13000 is 13.0 */
    int n_processors;    /* multiprocessors */
    double clock_hz, memory_clock_hz;
};

/* The functions of cuda_block.h. */
struct exec_device_kernels {
    bool (*supports)(enum ring_dtype dtype, uint32_t head_dim);
    enum ring_status (*forward)(const struct cuda_block *block, bool begin, void *stream,
                                struct ring_error *error);
    enum ring_status (*finish)(const struct cuda_block *block, float *out, void *stream,
                               struct ring_error *error);
    enum ring_status (*prepare)(const struct cuda_block *block, void *stream, struct ring_error *error);
    enum ring_status (*backward)(const struct cuda_block *block, bool begin, void *stream,
                                 struct ring_error *error);
    enum ring_status (*add)(enum ring_dtype dtype, void *gradient, const float *contribution, uint64_t n,
                            bool begin, void *stream, struct ring_error *error);
};

struct exec_device_runtime {
    /* How many devices can be used, 1 or more; RING_UNSUPPORTED and why there is none. */
    enum ring_status (*count)(int *n_devices, struct ring_error *error);
    /* Takes device number for this process; name has room for EXEC_DEVICE_NAME_BYTES. */
    enum ring_status (*open)(int number, char *name, struct ring_error *error);

    /* Of the device that is open. */
    enum ring_status (*facts)(struct exec_device_facts *facts, struct ring_error *error);

    /* Device memory, zeroed, aligned for any kernel; waits. */
    enum ring_status (*take)(uint64_t bytes, void **memory, struct ring_error *error);
    void (*give)(void *memory);
    /* The most bytes of it that this process had at a time, as the device counts them: whole pages. */
    uint64_t (*most_taken)(void);
    /* Host memory that copies may reach while the host does something else. */
    enum ring_status (*take_pinned)(uint64_t bytes, void **memory, struct ring_error *error);
    void (*give_pinned)(void *memory);

    enum ring_status (*open_stream)(void **stream, struct ring_error *error);
    void (*close_stream)(void *stream);
    /* Waits until all of a stream is done. Never in a step loop. */
    enum ring_status (*settle)(void *stream, struct ring_error *error);

    enum ring_status (*open_event)(void **event, struct ring_error *error);
    void (*close_event)(void *event);
    enum ring_status (*record)(void *event, void *stream, struct ring_error *error);
    enum ring_status (*follow)(void *stream, void *event, struct ring_error *error);
    /* Whether what was last recorded is done; an event that was never recorded has passed. */
    enum ring_status (*passed)(void *event, bool *passed, struct ring_error *error);
    /* Seconds on the device's clock from one event that has passed to another. */
    enum ring_status (*between)(void *from, void *to, double *seconds, struct ring_error *error);

    /* Either end may be device or pinned memory; plain host memory too, but then it may wait. */
    enum ring_status (*copy)(void *to, const void *from, uint64_t bytes, void *stream,
                             struct ring_error *error);

    /* Sharing memory between processes of one machine. share takes what take returned; reach gives another
     * process's memory, readable by copies, until leave. NULL: this runtime cannot. */
    enum ring_status (*share)(void *memory, struct exec_device_handle *handle, struct ring_error *error);
    enum ring_status (*reach)(const struct exec_device_handle *handle, void **memory,
                              struct ring_error *error);
    void (*leave)(void *memory);

    struct exec_device_kernels kernels;
};

/* That of this build: CUDA's, or one that only says why there is none. Of the library ring_device. */
const struct exec_device_runtime *exec_device_runtime(void);

#endif
