/* SPDX-License-Identifier: MIT
 *
 * MPI counts are int, blocks are not: a message longer than 1 GiB goes out in chunks. Both ends cut alike,
 * and MPI keeps messages of one tag in order, so the chunks need no numbers. No MPI in here: a block of 2 GiB
 * can be cut in a test without having it. */
#ifndef EXEC_CHUNK_H
#define EXEC_CHUNK_H

#include <stdint.h>

/* A power of two well under INT_MAX, so that chunks of a large block start on a page. */
#define EXEC_CHUNK_BYTES (UINT64_C(1) << 30)

/* How many chunks a message of so many bytes has: at least 1, an empty message being a message too. */
uint64_t exec_chunk_count(uint64_t bytes);

/* Where chunk index < exec_chunk_count(bytes) begins, in bytes from the start of the message. */
uint64_t exec_chunk_offset(uint64_t bytes, uint64_t index);

/* Its length, as MPI wants it. The lengths of all chunks add up to bytes. */
int exec_chunk_length(uint64_t bytes, uint64_t index);

#endif
