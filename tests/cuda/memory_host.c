/* SPDX-License-Identifier: MIT
 *
 * See memory.h: the host's memory, for the kernels under the shim. Each piece ends where the allocation ends,
 * so that a sanitizer sees what is read or written past it. */
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/fibers.h"
#include "tests/cuda/memory.h"
#include "tests/support/cmocka_all.h"

bool memory_ready(const char **why_not)
{
    *why_not = "";
    return true;
}

void *memory_take(size_t bytes)
{
    void *memory = NULL;
    assert_int_equal(posix_memalign(&memory, 256, bytes), 0);
    memset(memory, 0xff, bytes);
    return memory;
}

void memory_give(void *memory)
{
    free(memory);
}

void memory_put(void *to, const void *from_host, size_t bytes)
{
    memcpy(to, from_host, bytes);
}

void memory_get(void *to_host, const void *from, size_t bytes)
{
    memcpy(to_host, from, bytes);
}

unsigned memory_n_ways(void)
{
    return 4;
}

void memory_way(unsigned way)
{
    fiber_order = (struct fiber_order){.late_copies = (way & 1) == 0, .last_warp_first = (way & 2) != 0};
}

unsigned long long memory_instructions(void)
{
    return fiber_counts.instructions;
}
