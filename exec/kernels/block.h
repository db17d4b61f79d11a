/* SPDX-License-Identifier: MIT
 *
 * The contract of a block kernel: attention of some queries of one head against one block of keys, folded
 * into the queries' running state. The reference (block_reference.c) is complete and slow; a fast kernel
 * covers what it can and is chosen by block_kernel_find. Loops over heads, batch and pieces live above, in
 * attention.c. */
#ifndef BLOCK_H
#define BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/problem.h"

/* Keys are visited in ascending order, in groups of so many from the block's first key on. Within a group the
 * partial sums start from nothing, and the group is then folded into the state. A block may therefore be cut
 * at multiples of it, or glued, without changing a bit of the result. */
enum { BLOCK_KEY_GROUP = 128 };

/* Online softmax (Milakov & Gimelshein 2018; FlashAttention-2, Dao 2023, alg. 1). Per query row: running
 * maximum m of the scaled logits, sum l of exp(logit - m), and unnormalised output o. A row that has seen no
 * key is (-inf, 0, 0). Base e.
 *
 * q        [q_tokens][head_dim]          of the kernel's dtype
 * k, v     [k_tokens][head_dim]          of the kernel's dtype
 * m, l     [q_tokens]                    real: float, or double for the fp64 reference
 * o        [q_tokens][head_dim]          real
 * scale    1 / sqrt(head_dim), applied to the logits
 * q_position [q_tokens], k_position [k_tokens]: global positions, ascending. Only a causal mask reads them:
 *          query i sees key j exactly if k_position[j] <= q_position[i].
 *
 * Rows are row-major and dense. The result does not depend on anything but these values and the sizes: same
 * input, same bits. A row's result does not depend on which other rows are in the call. */
struct block_forward {
    const void *q, *k, *v;
    const uint64_t *q_position, *k_position;
    size_t q_tokens, k_tokens, head_dim;
    bool causal;
    double scale;
    void *m, *l, *o;
};

struct block_kernel {
    const char *name;                  /* "reference-fp64", "tiled-avx2" ... */
    enum ring_dtype dtype;             /* of q, k and v */
    enum ring_dtype state;             /* of m, l and o: RING_FP32 or RING_FP64 */
    bool (*supports)(size_t head_dim); /* on this processor */
    size_t q_tile;                     /* queries that one piece should hold for best speed */
    size_t k_span;                     /* keys that one piece should hold, a multiple of BLOCK_KEY_GROUP */
    double weight_u; /* largest relative rounding of a weight before it meets its value; 0: as the state's */
    /* scratch is this kernel's working memory, of scratch_bytes(head_dim), 64-byte aligned, the caller's */
    size_t (*scratch_bytes)(size_t head_dim);
    void (*forward)(const struct block_forward *block, void *scratch);
};

/* All of them, best first, ended by NULL. For bf16 that is "amx" where the processor has matrix units and the
 * process may use them. It and "bf16-avx512", which stands behind the tiled ones and so is only had by name,
 * round weights (weight_u): the relative Frobenius error of the output stays under 2e-3. All others keep the
 * precision of their state. */
extern const struct block_kernel *const block_kernels[];

/* The first kernel that serves dtype and head_dim here, of those with that name: a whole name ("tiled-avx2"),
 * the part before a dash ("tiled", "reference": the best of them), or "auto" or NULL for any. NULL if there
 * is none. fp16 inputs have no CPU kernel. */
const struct block_kernel *block_kernel_find(const char *name, enum ring_dtype dtype, size_t head_dim);

/* The same, or RING_UNSUPPORTED with what there is: place, and which kernels or types would do. dtype_place
 * and kernel_place: where the two stand in the scenario. */
enum ring_status block_kernel_choose(const char *name, enum ring_dtype dtype, size_t head_dim,
                                     const char *dtype_place, const char *kernel_place,
                                     const struct block_kernel **kernel, struct ring_error *error);

/* Running state of some rows, of type state (RING_FP32 or RING_FP64): m, l [rows], o [rows][head_dim]. */
struct block_state {
    enum ring_dtype state;
    size_t rows, head_dim;
    void *m, *l, *o;
};

/* Every row to the empty state (-inf, 0, 0). */
void block_state_clear(const struct block_state *into);

/* Folds other's rows into into's: two partial results over disjoint keys become one. Sizes and types are
 * equal. Merging with an empty side keeps the other's bits; two empty sides stay empty. */
void block_state_merge(const struct block_state *into, const struct block_state *other);

/* out [rows][head_dim] = o / l and lse [rows] = m + ln l, of type state; a row that saw no key gives 0 and
 * -inf. */
void block_state_finish(const struct block_state *from, void *out, void *lse);

#endif
