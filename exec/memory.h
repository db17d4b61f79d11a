/* SPDX-License-Identifier: MIT
 *
 * Large memory for blocks: on pages as large as the system gives, because the copy of a block through shared
 * memory costs half as much again on small ones. */
#ifndef EXEC_MEMORY_H
#define EXEC_MEMORY_H

#include <stdint.h>

/* Zeroed (and so already mapped) memory, aligned for any kernel; NULL: none. At least one byte. */
void *exec_memory_alloc(uint64_t bytes);
void exec_memory_free(void *memory);

#endif
