/* SPDX-License-Identifier: MIT
 *
 * The contract of a backward block kernel: from dO to dQ, dK and dV, some queries of one head against some
 * keys of one block. The probabilities are computed anew from q, k and the forward pass's lse, so nothing of
 * size queries x keys is ever kept. The reference (gradient_reference.c) is complete and slow;
 * gradient_tiled.c and gradient_amx.c cover what they can. Loops over heads, batch and pieces live above, in
 * attention_backward.c. */
#ifndef GRADIENT_H
#define GRADIENT_H

#include "exec/kernels/block.h"

/* Queries and keys are worked through in groups of so many from a call's first one on. dQ gets a key group's
 * sum at a time, dK and dV a query group's: cutting a block at multiples of both does not change a bit. The
 * query group is a multiple of every instruction set's tile. */
enum { BLOCK_GRADIENT_KEY_GROUP = 128, BLOCK_GRADIENT_QUERY_GROUP = 96 };

/* Gradients of attention (FlashAttention-2, Dao 2023, alg. 2). With s = scale * q k^T, p = exp(s - lse),
 * dp = dO v^T and ds = p * (dp - delta), hidden pairs being 0:
 *
 *     dQ += scale * ds k        dK += scale * ds^T q        dV += p^T dO
 *
 * q, d_out [q_tokens][head_dim]          of the kernel's dtype
 * k, v     [k_tokens][head_dim]          of the kernel's dtype
 * lse      [q_tokens]                    real: m + ln l of the whole row, -inf where no key is visible
 * delta    [q_tokens]                    real: sum of dO * out over head_dim
 * q_position, k_position                 as in struct block_forward
 * d_q      [q_tokens][head_dim]          real; added to
 * d_k, d_v [k_tokens][head_dim]          real; the sums, from the call that ends them on
 *
 * real is float, or double for the fp64 reference. Rows are dense. Same input, same bits.
 *
 * dK and dV are sums over all the queries that see a span of keys: those of one head and of the others that
 * share its kv head. They come in as many calls as the caller likes: the first sets begin, the last end, and
 * between them the sums lie in scratch or in d_k and d_v, which must be left alone. k, v, their positions,
 * k_tokens, d_k and d_v are the same in all of them. The order of the calls is the order of the sums. */
struct block_backward {
    const void *q, *k, *v, *d_out;
    const void *lse, *delta;
    const uint64_t *q_position, *k_position;
    size_t q_tokens, k_tokens, head_dim; /* q_tokens may be 0; k_tokens <= k_span */
    bool causal;
    bool begin, end;
    double scale;
    void *d_q, *d_k, *d_v;
};

struct block_gradient_kernel {
    const char *name;      /* as the forward kernel that it goes with */
    enum ring_dtype dtype; /* of q, k, v and d_out */
    enum ring_dtype state; /* of lse, delta and the gradients */
    bool (*supports)(size_t head_dim);
    size_t q_tile;   /* queries and keys that one piece should hold, multiples of the groups */
    size_t k_span;   /* keys that it may hold, likewise */
    double weight_u; /* largest relative rounding of p and ds before their products; 0: as the state's */
    /* scratch is of scratch_bytes(head_dim), 64-byte aligned, the caller's */
    size_t (*scratch_bytes)(size_t head_dim);
    void (*backward)(const struct block_backward *block, void *scratch);
};

/* All of them, best first, ended by NULL: one for each forward kernel, of the same name, types and
 * weight_u. */
extern const struct block_gradient_kernel *const block_gradient_kernels[];

/* The one that goes with a forward kernel, the best of its types where none has its name; never NULL. */
const struct block_gradient_kernel *block_gradient_find(const struct block_kernel *forward);

/* What a backward pass needs of the forward one, for some rows: lse [rows] = m + ln l, and delta [rows] = the
 * sum over head_dim of dO * o / l, both of the state's type. d_out [rows][head_dim] of dtype. A row that saw
 * no key gives -inf and 0. */
void block_gradient_prepare(const struct block_state *from, enum ring_dtype dtype, const void *d_out,
                            void *lse, void *delta);

/* gradient[i] += contribution[i], or = where begin is set, for n elements; the sum is rounded to nearest even
 * in the gradient's dtype. contribution is of real: fp32 or fp64. */
void block_gradient_add(enum ring_dtype dtype, void *gradient, enum ring_dtype real, const void *contribution,
                        size_t n, bool begin);

#endif
