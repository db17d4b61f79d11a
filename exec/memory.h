/* SPDX-License-Identifier: MIT
 *
 * Large memory for blocks: on pages as large as the system gives, because the copy of a block through shared
 * memory costs half as much again on small ones. And how much of this process lies in memory. */
#ifndef EXEC_MEMORY_H
#define EXEC_MEMORY_H

#include <stdint.h>

/* Zeroed (and so already mapped) memory, aligned for any kernel; NULL: none. At least one byte. */
void *exec_memory_alloc(uint64_t bytes);
void exec_memory_free(void *memory);

/* Bytes of this process that lie in memory now, and the most that did since its start or, where the system
 * lets us, since exec_memory_forget_peak. 0: the system does not say. */
uint64_t exec_memory_resident(void);
uint64_t exec_memory_peak(void);
void exec_memory_forget_peak(void);

#endif
