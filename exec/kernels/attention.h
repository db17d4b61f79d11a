/* SPDX-License-Identifier: MIT
 *
 * One rank's share of a real attention pass: its queries, its running state, and the struct ring_compute
 * through which any world gets a block worked on. Loops over batch, heads, query tiles and spans of keys, and
 * leaves out what the mask hides; the arithmetic is block.h's. */
#ifndef ATTENTION_H
#define ATTENTION_H

#include "engine/transport.h"
#include "exec/kernels/block.h"
#include "exec/kernels/data.h"

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

/* Makes ready for a plan with a backward pass: to be called once, before it is run. d_out is the rank's own
 * dO [batch][heads][tokens][head_dim] of the problem's dtype, borrowed. Takes memory for dQ, lse and delta
 * (shared as the state is). Without it a backward task fails. RING_NO_MEMORY; RING_UNSUPPORTED as for
 * attention_open. */
enum ring_status attention_open_backward(struct attention *attention, const void *d_out,
                                         struct ring_error *error);

/* The forward pass that a plan of the backward pass alone comes after: this rank's queries against every
 * block, made anew from data in the order of the ring, bit for bit the state that a forward pass would leave.
 * Here and now, without a world: outside the run and its time. Needs one block of memory for the while. */
enum ring_status attention_prefill(struct attention *attention, uint32_t rank, const struct data_spec *data,
                                   struct ring_error *error);

/* Back to the empty state, for another repeat: dQ to 0, and (m, l, o) too unless the plan is of the backward
 * pass alone, which reads them. */
void attention_reset(struct attention *attention);

/* The hook to hand to a world; it does all three jobs. Borrows attention. A piece is one query tile of one
 * head against at most a span of keys, about a millisecond of work for a fast kernel, or some rows of delta,
 * or some numbers of an addition; pieces that would see no key do not exist, unless their part of a
 * contribution has to be cleared. Pieces of a task are run in order; each folds into a state, so none may be
 * run twice.
 *
 * Order of the sums: dQ over keys as blocks come; a contribution's dK and dV over the query heads of their kv
 * head ascending, and over each head's queries. */
struct ring_compute attention_compute(struct attention *attention);

/* Lets n_hands threads share this rank's tasks (ring_compute's share and lend, from the next
 * attention_compute on): working memory for each. After attention_open_backward, if that is called at all.
 * RING_NO_MEMORY. */
enum ring_status attention_open_hands(struct attention *attention, uint32_t n_hands,
                                      struct ring_error *error);

/* Normalises: out [batch][heads][tokens][head_dim] and lse [batch][heads][tokens], both of the kernel's state
 * type. A row that saw no key gives 0 and -inf. The state itself is left as it is. */
void attention_finish(const struct attention *attention, void *out, void *lse);

/* dQ [batch][heads][tokens][head_dim] of the kernel's state type, after a backward pass; the attention's own
 * and good until reset. NULL before attention_open_backward. */
const void *attention_d_q(const struct attention *attention);

/* Bytes this rank allocates for state (m, l, o), for the memory table. */
uint64_t attention_state_bytes(const struct ring_plan *plan, uint32_t rank, enum ring_dtype state);

/* Bytes that a backward pass adds: dQ, lse and delta. */
uint64_t attention_backward_bytes(const struct ring_plan *plan, uint32_t rank, enum ring_dtype state);

#endif
