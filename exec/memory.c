/* SPDX-License-Identifier: MIT
 *
 * Large memory for blocks. See memory.h. */
#include "exec/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE_BYTES (UINT64_C(2) << 20)

void *exec_memory_alloc(uint64_t bytes)
{
    uint64_t page_bytes = bytes >= HUGE_PAGE_BYTES ? HUGE_PAGE_BYTES : 4096;
    void *memory = NULL;

    if (bytes > UINT64_MAX - page_bytes)
        return NULL;
    uint64_t rounded = (bytes + page_bytes - 1) / page_bytes * page_bytes;
    if (posix_memalign(&memory, (size_t)page_bytes, (size_t)(rounded ? rounded : page_bytes)) != 0)
        return NULL;
    if (page_bytes == HUGE_PAGE_BYTES)
        madvise(memory, (size_t)rounded, MADV_HUGEPAGE); /* a wish; small pages do as well */
    memset(memory, 0, (size_t)rounded);
    return memory;
}

void exec_memory_free(void *memory)
{
    free(memory);
}
