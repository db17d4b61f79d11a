/* SPDX-License-Identifier: MIT
 *
 * Memory that the kernels under test can reach: a GPU's (memory_device.c), or under the shim the host's own
 * (memory_host.c), so that the same tests serve both. */
#ifndef TESTS_CUDA_MEMORY_H
#define TESTS_CUDA_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* True if there is something to run on; else why not, in one line. */
bool memory_ready(const char **why_not);

/* 256-byte aligned, full of NaN bytes. Fails the test where there is none. */
void *memory_take(size_t bytes);
void memory_give(void *memory);

/* Copies to and from the host; wait for everything enqueued before. */
void memory_put(void *to, const void *from_host, size_t bytes);
void memory_get(void *to_host, const void *from, size_t bytes);

/* So many ways to run the same kernels that must not make a difference; memory_way(i) is in force from then
 * on. A GPU has one, the shim those of struct fiber_order. */
unsigned memory_n_ways(void);
void memory_way(unsigned way);

/* Instructions of whole warps so far; 0 on a GPU, which does not say. */
unsigned long long memory_instructions(void);

#endif
