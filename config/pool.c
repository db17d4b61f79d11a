/* SPDX-License-Identifier: MIT
 *
 * An arena of doubling chunks. Nothing is ever given back singly. */
#include "config/pool.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CHUNK = 4096, LARGEST_CHUNK = 1 << 20, ALIGNMENT = _Alignof(max_align_t) };

struct chunk {
    struct chunk *next;
    size_t used, size;
    _Alignas(max_align_t) unsigned char bytes[];
};

struct closer {
    struct closer *next;
    void (*close)(void *item);
    void *item;
};

struct config_pool {
    struct chunk *chunks;
    struct closer *closers; /* last registered first; they live in the chunks */
    size_t next_size;
};

struct config_pool *config_pool_open(void)
{
    struct config_pool *pool = calloc(1, sizeof *pool);

    if (pool)
        pool->next_size = FIRST_CHUNK;
    return pool;
}

void config_pool_close(struct config_pool *pool)
{
    if (!pool)
        return;
    for (struct closer *closer = pool->closers; closer; closer = closer->next)
        closer->close(closer->item);
    for (struct chunk *chunk = pool->chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    free(pool);
}

static struct chunk *add_chunk(struct config_pool *pool, size_t bytes)
{
    size_t size = bytes > pool->next_size ? bytes : pool->next_size;
    struct chunk *chunk = calloc(1, sizeof *chunk + size);

    if (!chunk)
        return NULL;
    chunk->size = size;
    chunk->next = pool->chunks;
    pool->chunks = chunk;
    if (pool->next_size < LARGEST_CHUNK)
        pool->next_size *= 2;
    return chunk;
}

void *config_pool_alloc(struct config_pool *pool, size_t n, size_t size)
{
    if (size != 0 && n > (SIZE_MAX / 2) / size)
        return NULL;
    size_t bytes = (n * size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    struct chunk *chunk = pool->chunks;

    if (!chunk || chunk->size - chunk->used < bytes)
        chunk = add_chunk(pool, bytes);
    if (!chunk)
        return NULL;
    void *start = chunk->bytes + chunk->used;
    chunk->used += bytes;
    return start;
}

char *config_pool_text(struct config_pool *pool, const char *text, size_t length)
{
    char *copy = config_pool_alloc(pool, length + 1, 1);

    if (copy)
        memcpy(copy, text, length);
    return copy;
}

bool config_pool_on_close(struct config_pool *pool, void (*close)(void *item), void *item)
{
    struct closer *closer = config_pool_alloc(pool, 1, sizeof *closer);

    if (!closer)
        return false;
    *closer = (struct closer){.next = pool->closers, .close = close, .item = item};
    pool->closers = closer;
    return true;
}
