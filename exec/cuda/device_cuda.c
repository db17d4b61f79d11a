/* SPDX-License-Identifier: MIT
 *
 * device.h over the CUDA runtime: one call each, and the runtime's own words where one fails. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/cuda/device.h"

_Static_assert(sizeof(cudaIpcMemHandle_t) <= EXEC_DEVICE_HANDLE_BYTES, "a handle has room");

static enum ring_status check(cudaError_t code, const char *what, struct ring_error *error)
{
    if (code == cudaSuccess)
        return RING_OK;
    cudaGetLastError(); /* or the next call reports it again */
    return ring_fail(error, code == cudaErrorMemoryAllocation ? RING_NO_MEMORY : RING_WORLD, "CUDA: %s: %s",
                     what, cudaGetErrorString(code));
}

/* Without a driver the runtime says that the driver is too old: version 0. */
static enum ring_status count(int *n_devices, struct ring_error *error)
{
    int driver = 0, runtime = 0;
    cudaError_t code = cudaGetDeviceCount(n_devices);

    if (code == cudaSuccess && *n_devices > 0)
        return RING_OK;
    cudaGetLastError();
    *n_devices = 0;
    if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0)
        return ring_fail(error, RING_UNSUPPORTED, "no driver is installed");
    cudaRuntimeGetVersion(&runtime);
    if (code == cudaErrorInsufficientDriver)
        return ring_fail(error, RING_UNSUPPORTED, "the driver is for CUDA %d.%d and this build needs %d.%d",
                         driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    if (code == cudaSuccess || code == cudaErrorNoDevice)
        return ring_fail(error, RING_UNSUPPORTED, "none found");
    return ring_fail(error, RING_UNSUPPORTED, "%s", cudaGetErrorString(code));
}

static enum ring_status open_device(int number, char *name, struct ring_error *error)
{
    struct cudaDeviceProp properties;
    enum ring_status status = check(cudaSetDevice(number), "taking the device", error);

    if (status == RING_OK)
        status = check(cudaGetDeviceProperties(&properties, number), "asking for its name", error);
    if (status == RING_OK && properties.major < 8)
        return ring_fail(error, RING_UNSUPPORTED, "%s: compute capability %d.%d, the kernels need 8.0",
                         properties.name, properties.major, properties.minor);
    if (status == RING_OK)
        snprintf(name, EXEC_DEVICE_NAME_BYTES, "%.*s", EXEC_DEVICE_NAME_BYTES - 1, properties.name);
    return status;
}

static enum ring_status facts(struct exec_device_facts *found, struct ring_error *error)
{
    struct cudaDeviceProp properties;
    int number = 0, clock_khz = 0, memory_clock_khz = 0;
    enum ring_status status = check(cudaGetDevice(&number), "asking for the device", error);

    *found = (struct exec_device_facts){.memory_bytes = 0};
    if (status == RING_OK)
        status = check(cudaGetDeviceProperties(&properties, number), "asking what the device is", error);
    if (status != RING_OK)
        return status;
    snprintf(found->name, sizeof found->name, "%.*s", EXEC_DEVICE_NAME_BYTES - 1, properties.name);
    found->memory_bytes = properties.totalGlobalMem;
    found->n_processors = properties.multiProcessorCount;
    cudaDriverGetVersion(&found->driver); /* what is not said stays 0 */
    cudaRuntimeGetVersion(&found->runtime);
    cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, number);
    cudaDeviceGetAttribute(&memory_clock_khz, cudaDevAttrMemoryClockRate, number);
    cudaGetLastError();
    found->clock_hz = 1e3 * clock_khz;
    found->memory_clock_hz = 1e3 * memory_clock_khz;
    return RING_OK;
}

/* Pieces that were taken, for the sum. */
static struct piece {
    void *memory;
    uint64_t bytes;
    struct piece *next;
} * pieces;
static uint64_t taken_bytes, most_taken_bytes;

static void note_taken(void *memory, uint64_t bytes)
{
    struct piece *piece = malloc(sizeof *piece);

    if (!piece)
        return; /* a figure is missing then, and nothing else */
    *piece = (struct piece){memory, bytes, pieces};
    pieces = piece;
    taken_bytes += bytes;
    if (taken_bytes > most_taken_bytes)
        most_taken_bytes = taken_bytes;
}

static void note_given(void *memory)
{
    for (struct piece **link = &pieces; *link; link = &(*link)->next)
        if ((*link)->memory == memory) {
            struct piece *piece = *link;
            *link = piece->next;
            taken_bytes -= piece->bytes;
            free(piece);
            return;
        }
}

static uint64_t most_taken(void)
{
    return most_taken_bytes;
}

/* Whole pages of the device, so that to share a piece with another process shows it nothing else. */
static enum ring_status take(uint64_t bytes, void **memory, struct ring_error *error)
{
    const uint64_t page_bytes = UINT64_C(2) << 20;
    uint64_t rounded = bytes / page_bytes * page_bytes + page_bytes;
    enum ring_status status = check(cudaMalloc(memory, (size_t)rounded), "taking device memory", error);

    if (status == RING_OK)
        note_taken(*memory, rounded);
    if (status == RING_OK)
        status = check(cudaMemset(*memory, 0, (size_t)bytes), "clearing device memory", error);
    if (status == RING_OK)
        status = check(cudaDeviceSynchronize(), "clearing device memory", error);
    return status;
}

static void give(void *memory)
{
    note_given(memory);
    cudaFree(memory);
}

static enum ring_status take_pinned(uint64_t bytes, void **memory, struct ring_error *error)
{
    return check(cudaMallocHost(memory, (size_t)(bytes ? bytes : 1)), "taking pinned memory", error);
}

static void give_pinned(void *memory)
{
    cudaFreeHost(memory);
}

static enum ring_status open_stream(void **stream, struct ring_error *error)
{
    cudaStream_t opened = NULL;
    enum ring_status status =
        check(cudaStreamCreateWithFlags(&opened, cudaStreamNonBlocking), "opening a stream", error);

    *stream = opened;
    return status;
}

static void close_stream(void *stream)
{
    cudaStreamDestroy(stream);
}

static enum ring_status settle(void *stream, struct ring_error *error)
{
    return check(cudaStreamSynchronize(stream), "waiting for a stream", error);
}

static enum ring_status open_event(void **event, struct ring_error *error)
{
    cudaEvent_t opened = NULL;
    enum ring_status status = check(cudaEventCreate(&opened), "opening an event", error);

    *event = opened;
    return status;
}

static void close_event(void *event)
{
    cudaEventDestroy(event);
}

static enum ring_status record(void *event, void *stream, struct ring_error *error)
{
    return check(cudaEventRecord(event, stream), "recording an event", error);
}

static enum ring_status follow(void *stream, void *event, struct ring_error *error)
{
    return check(cudaStreamWaitEvent(stream, event, 0), "following an event", error);
}

static enum ring_status passed(void *event, bool *has_passed, struct ring_error *error)
{
    cudaError_t code = cudaEventQuery(event);

    *has_passed = code == cudaSuccess;
    if (code == cudaErrorNotReady) {
        cudaGetLastError();
        return RING_OK;
    }
    return check(code, "work on the device", error);
}

static enum ring_status between(void *from, void *to, double *seconds, struct ring_error *error)
{
    float ms = 0;
    enum ring_status status = check(cudaEventElapsedTime(&ms, from, to), "timing", error);

    *seconds = 1e-3 * (double)ms;
    return status;
}

static enum ring_status copy(void *to, const void *from, uint64_t bytes, void *stream,
                             struct ring_error *error)
{
    return check(cudaMemcpyAsync(to, from, (size_t)bytes, cudaMemcpyDefault, stream), "a copy", error);
}

static enum ring_status share(void *memory, struct exec_device_handle *handle, struct ring_error *error)
{
    cudaIpcMemHandle_t own;
    enum ring_status status = check(cudaIpcGetMemHandle(&own, memory), "sharing device memory", error);

    if (status == RING_OK)
        memcpy(handle->bytes, &own, sizeof own);
    return status;
}

static enum ring_status reach(const struct exec_device_handle *handle, void **memory,
                              struct ring_error *error)
{
    cudaIpcMemHandle_t theirs;

    memcpy(&theirs, handle->bytes, sizeof theirs);
    return check(cudaIpcOpenMemHandle(memory, theirs, cudaIpcMemLazyEnablePeerAccess),
                 "reaching another process's device memory", error);
}

static void leave(void *memory)
{
    cudaIpcCloseMemHandle(memory);
}

const struct exec_device_runtime *exec_device_runtime(void)
{
    static const struct exec_device_runtime cuda = {
        .count = count,
        .open = open_device,
        .facts = facts,
        .take = take,
        .give = give,
        .most_taken = most_taken,
        .take_pinned = take_pinned,
        .give_pinned = give_pinned,
        .open_stream = open_stream,
        .close_stream = close_stream,
        .settle = settle,
        .open_event = open_event,
        .close_event = close_event,
        .record = record,
        .follow = follow,
        .passed = passed,
        .between = between,
        .copy = copy,
        .share = share,
        .reach = reach,
        .leave = leave,
        .kernels = {cuda_block_supports, cuda_block_forward, cuda_block_finish, cuda_block_prepare,
                    cuda_block_backward, cuda_block_add},
    };

    return &cuda;
}
