/* SPDX-License-Identifier: MIT
 *
 * See pages.h. */
#include "exec/kernels/pages.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

#define LARGE_PAGE_BYTES (UINT64_C(2) << 20)

void *block_take_pages(uint64_t bytes)
{
    bool large = bytes >= LARGE_PAGE_BYTES / 4;
    uint64_t unit = large ? LARGE_PAGE_BYTES : 64;
    if (bytes > SIZE_MAX - unit)
        return NULL;
    size_t rounded = (size_t)((bytes + unit - 1) / unit * unit);
    void *memory = aligned_alloc((size_t)unit, rounded > 0 ? rounded : (size_t)unit);
#ifdef MADV_HUGEPAGE
    if (memory != NULL && large)
        madvise(memory, rounded, MADV_HUGEPAGE); /* a wish; small pages do as well */
#endif
    return memory;
}
