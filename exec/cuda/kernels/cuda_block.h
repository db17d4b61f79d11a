/* SPDX-License-Identifier: MIT
 *
 * Block attention on a CUDA device, as plain C functions that launch kernels: what exec/kernels/block.h and
 * gradient.h are to the CPU, for a whole block at a time (all heads, the whole batch). Memory, streams,
 * events and the moving of blocks are the host side's business and not here.
 *
 * Pointers are device memory unless said otherwise, 16-byte aligned, dense, row-major. A stream is a
 * cudaStream_t (NULL: the default one); every function only enqueues, in stream order, and returns. No
 * function allocates, waits or copies, so all may be captured in a graph. Same input, same bits: nothing is
 * summed by atomics.
 *
 * Errors, each with its line: RING_UNSUPPORTED (shape or dtype), RING_BAD_INPUT (a pointer that is missing or
 * not aligned), RING_WORLD (the launch was refused: the CUDA runtime's own words). An error of an earlier
 * asynchronous call may be reported here, as CUDA does. */
#ifndef CUDA_BLOCK_H
#define CUDA_BLOCK_H

#ifdef __cplusplus
extern "C" {
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/layout.h"
#include "engine/problem.h"
#include "engine/status.h"

enum { CUDA_BLOCK_MAX_HEAD_DIM = 256, CUDA_BLOCK_HEAD_DIM_STEP = 8, CUDA_BLOCK_ALIGNMENT = 16 };

/* Own queries against one block of keys.
 *
 * q, d_out  [batch][heads][queries.tokens][head_dim]      of dtype
 * k, v      [batch][kv_heads][keys.tokens][head_dim]      of dtype; in a ring's slot V follows K
 * m, l      [batch][heads][queries.tokens]                fp32, the running state, kept on the device
 * o         [batch][heads][queries.tokens][head_dim]      fp32, not normalised
 * lse,delta [batch][heads][queries.tokens]                fp32, from cuda_block_prepare
 * d_q       [batch][heads][queries.tokens][head_dim]      fp32
 * d_k, d_v  [batch][kv_heads][keys.tokens][head_dim]      fp32: a contribution; in a ring's slot dV follows
 * dK
 *
 * m here is the running maximum of q . k BEFORE scale (so that carrying it rounds nothing); l and o are sums
 * of exp(scale * (q . k - m)). Only the functions of this header read the state.
 *
 * queries and keys say which global positions the rows have, for the causal mask: query i sees key j exactly
 * if ring_shard_position(keys, j) <= ring_shard_position(queries, i). Positions and counts stay below 2^31.
 * Tiles of keys that no query of a tile sees are not visited. */
struct cuda_block {
    enum ring_dtype dtype; /* RING_BF16, RING_FP16 or RING_FP32, of q, k, v and d_out */
    uint32_t batch, heads, kv_heads;
    uint32_t head_dim; /* a multiple of 8 up to 256; 64, 128 and 256 waste nothing */
    bool causal;
    double scale; /* applied to q . k; above 0 */
    struct ring_shard queries, keys;
    const void *q, *k, *v, *d_out;
    float *m, *l, *o;
    float *lse, *delta;
    float *d_q, *d_k, *d_v;
};

/* Whether the kernels serve this dtype and head_dim. */
bool cuda_block_supports(enum ring_dtype dtype, uint32_t head_dim);

/* Folds the block into (m, l, o), in place. begin: the state is taken as empty and its memory as undefined,
 * else it goes on from what it holds. Reads q, k, v. */
enum ring_status cuda_block_forward(const struct cuda_block *block, bool begin, void *stream,
                                    struct ring_error *error);

/* Every row of (m, l, o) to the empty state (-inf, 0, 0). */
enum ring_status cuda_block_clear(const struct cuda_block *block, void *stream, struct ring_error *error);

/* out [batch][heads][queries.tokens][head_dim] = o / l and lse, both fp32; a row that saw no key gives 0 and
 * -inf. The state is left as it is. lse (natural logarithm, of scaled logits) goes where block->lse says. */
enum ring_status cuda_block_finish(const struct cuda_block *block, float *out, void *stream,
                                   struct ring_error *error);

/* What the backward pass needs of the forward one: lse, and delta = sum over head_dim of d_out * o / l. A row
 * that saw no key gives -inf and 0. Once a pass, before the first cuda_block_backward. */
enum ring_status cuda_block_prepare(const struct cuda_block *block, void *stream, struct ring_error *error);

/* Gradients of the block (formulas in exec/kernels/gradient.h): d_q is added to, or with begin overwritten;
 * d_k and d_v are overwritten whole, each a sum over the query heads of its kv head, ascending, and over each
 * head's queries, ascending. Two kernels in stream order. Reads q, k, v, d_out, lse, delta. */
enum ring_status cuda_block_backward(const struct cuda_block *block, bool begin, void *stream,
                                     struct ring_error *error);

/* gradient[i] += contribution[i], or = with begin, for n elements; the sum is rounded to nearest even in the
 * gradient's dtype (RING_FP32, RING_BF16 or RING_FP16). n a multiple of 8 or not. */
enum ring_status cuda_block_add(enum ring_dtype dtype, void *gradient, const float *contribution, uint64_t n,
                                bool begin, void *stream, struct ring_error *error);

#ifdef __cplusplus
}
#endif

#endif
