/* SPDX-License-Identifier: MIT
 *
 * Where a long message is cut. See chunk.h. */
#include "exec/chunk.h"

uint64_t exec_chunk_count(uint64_t bytes)
{
    return bytes == 0 ? 1 : (bytes - 1) / EXEC_CHUNK_BYTES + 1;
}

uint64_t exec_chunk_offset(uint64_t bytes, uint64_t index)
{
    (void)bytes;
    return index * EXEC_CHUNK_BYTES;
}

int exec_chunk_length(uint64_t bytes, uint64_t index)
{
    uint64_t left = bytes - exec_chunk_offset(bytes, index);
    return (int)(left < EXEC_CHUNK_BYTES ? left : EXEC_CHUNK_BYTES);
}
