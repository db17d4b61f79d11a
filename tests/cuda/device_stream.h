/* SPDX-License-Identifier: MIT
 *
 * A device on the CPU for tests of orchestration: streams are queues, and what is in them is done as late, as
 * early or in as odd an order as a device may, when somebody asks for an event. Copies read and write when
 * they are done, not when they are asked for, so that whoever forgets to follow or to wait gets wrong bytes.
 * Kernels are those of cuda_block.h compiled for this machine. */
#ifndef TESTS_CUDA_DEVICE_STREAM_H
#define TESTS_CUDA_DEVICE_STREAM_H

#include "exec/cuda/device.h"

enum device_stream_pace {
    DEVICE_STREAM_EAGER,  /* done when enqueued, as far as order allows */
    DEVICE_STREAM_LATE,   /* nothing is done before an event is asked for that needs it, and then only that */
    DEVICE_STREAM_RANDOM, /* each question lets some items of random streams be done */
    DEVICE_STREAM_N_PACES
};

extern const char *const device_stream_paces[DEVICE_STREAM_N_PACES];

/* From here on; nothing may be under way. seed: of the random pace. */
void device_stream_set(enum device_stream_pace pace, uint32_t seed);

/* Devices that count() says there are (1 to begin with); 0: none, and why. */
void device_stream_set_count(int n_devices);

/* Runs call(context) in stream order. */
enum ring_status device_stream_call(void *stream, void (*call)(void *context), void *context,
                                    struct ring_error *error);

/* Items done so far, of them copies that were not yet done when their call returned; memory and events that
 * were taken and not given back. */
struct device_stream_counts {
    uint64_t done, late_copies;
    int64_t pieces, pinned, streams, events;
};
struct device_stream_counts device_stream_counts(void);

extern const struct exec_device_runtime device_stream_runtime;

#endif
