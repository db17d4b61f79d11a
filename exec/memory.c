/* SPDX-License-Identifier: MIT
 *
 * Large memory for blocks. See memory.h. */
#include "exec/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/kernels/pages.h"

void *exec_memory_alloc(uint64_t bytes)
{
    void *memory = block_take_pages(bytes > 0 ? bytes : 1);
    if (memory)
        memset(memory, 0, (size_t)bytes);
    return memory;
}

void exec_memory_free(void *memory)
{
    free(memory);
}

/* A line of /proc/self/status, in bytes. */
static uint64_t status_bytes(const char *key)
{
    FILE *file = fopen("/proc/self/status", "re");
    size_t length = strlen(key);
    char line[256];
    uint64_t kib = 0;

    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, key, length) == 0 && sscanf(line + length, ": %" SCNu64 " kB", &kib) == 1)
            break;
    if (file)
        fclose(file);
    return kib * 1024;
}

uint64_t exec_memory_resident(void)
{
    return status_bytes("VmRSS");
}

uint64_t exec_memory_peak(void)
{
    return status_bytes("VmHWM");
}

void exec_memory_forget_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "we");

    if (!file)
        return;
    fputs("5\n", file); /* proc(5): resets the peak and nothing else */
    fclose(file);
}
