/* SPDX-License-Identifier: MIT
 *
 * One rank's share of a real attention pass: its queries, its running state, and the struct ring_compute
 * through which any world gets a block worked on. Loops over batch, heads, query tiles and spans of keys, and
 * leaves out what the mask hides; the arithmetic is block.h's. */
#ifndef ATTENTION_H
#define ATTENTION_H

#include "engine/transport.h"
#include "exec/kernels/block.h"

struct attention;

/* Everything rank needs to compute its part of plan with real data. plan is copied. q is the rank's own
 * queries [batch][heads][tokens][head_dim] of the problem's dtype, borrowed. kernel from block_kernel_find.
 * shared: the state lies in a mapping that a forked child shares with its parent, so that what the child
 * computes the parent can read. All memory is taken here. RING_NO_MEMORY; RING_UNSUPPORTED if the kernel does
 * not serve the problem. */
enum ring_status attention_open(struct attention **out, const struct ring_plan *plan, uint32_t rank,
                                const struct block_kernel *kernel, const void *q, bool shared,
                                struct ring_error *error);
void attention_close(struct attention *attention); /* NULL is fine */

/* Back to the empty state, for another repeat. */
void attention_reset(struct attention *attention);

/* The hook to hand to a world. Borrows attention. A piece is one query tile of one head against at most a
 * span of keys, about a millisecond of work for a fast kernel; pieces that would see no key do not exist.
 * Pieces of a task are run in order; each folds into the state, so none may be run twice. */
struct ring_compute attention_compute(struct attention *attention);

/* Normalises: out [batch][heads][tokens][head_dim] and lse [batch][heads][tokens], both of the kernel's state
 * type. A row that saw no key gives 0 and -inf. The state itself is left as it is. */
void attention_finish(const struct attention *attention, void *out, void *lse);

/* Bytes this rank allocates for state (m, l, o), for the memory table. */
uint64_t attention_state_bytes(const struct ring_plan *plan, uint32_t rank, enum ring_dtype state);

#endif
