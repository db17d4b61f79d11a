/* SPDX-License-Identifier: MIT
 *
 * One rank's share of a real attention pass: its queries, its running state, and the struct ring_compute through
 * which any world gets a block worked on. Loops over batch, heads and query tiles; the arithmetic is block.h's. */
#ifndef ATTENTION_H
#define ATTENTION_H

#include "engine/transport.h"
#include "exec/kernels/block.h"

struct attention;

/* Everything rank needs to compute its part of plan with real data. q is the rank's own queries
 * [batch][heads][tokens][head_dim] of the problem's dtype, borrowed. kernel from block_kernel_find.
 * RING_NO_MEMORY, RING_UNSUPPORTED. */
enum ring_status attention_open(struct attention **out, const struct ring_plan *plan, uint32_t rank,
                                const struct block_kernel *kernel, const void *q, struct ring_error *error);
void attention_close(struct attention *attention);

/* Back to the empty state, for another repeat. */
void attention_reset(struct attention *attention);

/* The hook to hand to a world. Borrows attention. */
struct ring_compute attention_compute(struct attention *attention);

/* Normalises: out [batch][heads][tokens][head_dim] and lse [batch][heads][tokens], both fp32 (fp64 if the kernel's
 * state is). A row that saw no key gives 0 and -inf. The state itself is left as it is. */
void attention_finish(const struct attention *attention, void *out, void *lse);

/* The state is in plain memory that a forked child may share with its parent: pass shared = true before open to
 * place it in a shared mapping. */
void attention_use_shared_memory(bool shared);

/* Bytes this rank allocates for state (m, l, o), for the memory table. */
uint64_t attention_state_bytes(const struct ring_plan *plan, uint32_t rank, enum ring_dtype state);

#endif
