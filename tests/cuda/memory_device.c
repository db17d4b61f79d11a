/* SPDX-License-Identifier: MIT
 *
 * See memory.h: a GPU's memory. */
#include <cuda_runtime.h>

#include "tests/cuda/memory.h"
#include "tests/support/cmocka_all.h"

static void must(cudaError_t status)
{
    if (status != cudaSuccess)
        fail_msg("%s", cudaGetErrorString(status));
}

bool memory_ready(const char **why_not)
{
    int n_devices = 0;
    cudaError_t status = cudaGetDeviceCount(&n_devices);
    *why_not = status != cudaSuccess ? cudaGetErrorString(status) : "no device";
    return status == cudaSuccess && n_devices > 0;
}

void *memory_take(size_t bytes)
{
    void *memory = NULL;
    must(cudaMalloc(&memory, bytes));
    must(cudaMemset(memory, 0xff, bytes));
    return memory;
}

void memory_give(void *memory)
{
    must(cudaFree(memory));
}

void memory_put(void *to, const void *from_host, size_t bytes)
{
    must(cudaMemcpy(to, from_host, bytes, cudaMemcpyHostToDevice));
}

void memory_get(void *to_host, const void *from, size_t bytes)
{
    must(cudaDeviceSynchronize());
    must(cudaMemcpy(to_host, from, bytes, cudaMemcpyDeviceToHost));
}

unsigned memory_n_ways(void)
{
    return 1;
}

void memory_way(unsigned way)
{
    (void)way;
}

unsigned long long memory_instructions(void)
{
    return 0;
}
