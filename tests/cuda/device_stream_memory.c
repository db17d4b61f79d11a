/* SPDX-License-Identifier: MIT
 *
 * The test device's memory: files without a name, so that another process can map it as it could another's
 * device memory. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/cuda/device_stream_parts.h"

struct device_stream_counts device_stream_counted;

/* Stands a page before what is handed out. */
struct piece {
    uint64_t bytes, asked_bytes;
    int file;
};
enum { PAGE = 4096 };

static uint64_t taken_bytes, most_taken_bytes; /* of what was asked for */

static void *map(int file, uint64_t bytes)
{
    char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return at == MAP_FAILED ? NULL : at + PAGE;
}

enum ring_status device_stream_take(uint64_t bytes, void **memory, struct ring_error *error)
{
    uint64_t all = PAGE + (bytes + PAGE) / PAGE * PAGE;
    int file = memfd_create("device", MFD_CLOEXEC);

    *memory = file >= 0 && ftruncate(file, (off_t)all) == 0 ? map(file, all) : NULL;
    if (!*memory)
        return ring_fail(error, RING_NO_MEMORY, "test device: out of memory");
    *(struct piece *)((char *)*memory - PAGE) = (struct piece){all, bytes, file};
    device_stream_counted.pieces++;
    taken_bytes += bytes;
    most_taken_bytes = taken_bytes > most_taken_bytes ? taken_bytes : most_taken_bytes;
    return RING_OK;
}

uint64_t device_stream_most_taken(void)
{
    return most_taken_bytes;
}

void device_stream_give(void *memory)
{
    struct piece piece = *(struct piece *)((char *)memory - PAGE);
    taken_bytes -= piece.asked_bytes;
    munmap((char *)memory - PAGE, piece.bytes);
    close(piece.file);
    device_stream_counted.pieces--;
}

enum ring_status device_stream_share(void *memory, struct exec_device_handle *handle,
                                     struct ring_error *error)
{
    (void)error;
    snprintf((char *)handle->bytes, sizeof handle->bytes, "/proc/%d/fd/%d", (int)getpid(),
             ((struct piece *)((char *)memory - PAGE))->file);
    return RING_OK;
}

enum ring_status device_stream_reach(const struct exec_device_handle *handle, void **memory,
                                     struct ring_error *error)
{
    const char *path = (const char *)handle->bytes;
    int file = open(path, O_RDWR | O_CLOEXEC);
    off_t bytes = file >= 0 ? lseek(file, 0, SEEK_END) : 0;

    *memory = bytes > 0 ? map(file, (uint64_t)bytes) : NULL;
    if (file >= 0)
        close(file);
    device_stream_counted.pieces += *memory != NULL;
    return *memory ? RING_OK : ring_fail(error, RING_WORLD, "test device: cannot reach %s", path);
}

void device_stream_leave(void *memory)
{
    munmap((char *)memory - PAGE, ((struct piece *)((char *)memory - PAGE))->bytes);
    device_stream_counted.pieces--;
}

enum ring_status device_stream_take_pinned(uint64_t bytes, void **memory, struct ring_error *error)
{
    *memory = malloc(bytes ? bytes : 1);
    device_stream_counted.pinned += *memory != NULL;
    return *memory ? RING_OK : ring_fail(error, RING_NO_MEMORY, "test device: out of memory");
}

void device_stream_give_pinned(void *memory)
{
    free(memory);
    device_stream_counted.pinned--;
}
