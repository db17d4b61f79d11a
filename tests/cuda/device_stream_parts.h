/* SPDX-License-Identifier: MIT
 *
 * Between device_stream.c and device_stream_memory.c. */
#ifndef TESTS_CUDA_DEVICE_STREAM_PARTS_H
#define TESTS_CUDA_DEVICE_STREAM_PARTS_H

#include "tests/cuda/device_stream.h"

extern struct device_stream_counts device_stream_counted;

enum ring_status device_stream_take(uint64_t bytes, void **memory, struct ring_error *error);
void device_stream_give(void *memory);
uint64_t device_stream_most_taken(void);
enum ring_status device_stream_take_pinned(uint64_t bytes, void **memory, struct ring_error *error);
void device_stream_give_pinned(void *memory);
enum ring_status device_stream_share(void *memory, struct exec_device_handle *handle,
                                     struct ring_error *error);
enum ring_status device_stream_reach(const struct exec_device_handle *handle, void **memory,
                                     struct ring_error *error);
void device_stream_leave(void *memory);

#endif
