/* SPDX-License-Identifier: MIT
 *
 * One block of attention as a real run computes it - the same kernel in the same pieces - but of any shape,
 * to be timed: for calibrate's tables, and for the probe that says how far this minute is from the calibrated
 * one. */
#ifndef EXEC_KERNEL_BENCH_H
#define EXEC_KERNEL_BENCH_H

#include "exec/kernels/gradient.h"

/* Heads whose blocks take turns, where there is room: what a rank usually has. Fewer might stay in the
 * second-level cache, where a run's do not. */
enum { EXEC_BENCH_HEADS = 8 };

struct exec_kernel_bench {
    const struct block_kernel *kernel;
    const struct block_gradient_kernel *gradient; /* NULL: the bench is of forward blocks */
    size_t head_dim, max_tokens, n_heads;
    size_t next_head;   /* heads are used in turn, so that a block is as cold as in a run; shorter ones lie
                           closer, and are more */
    void *q, *k, *v;    /* [n_heads * max_tokens][head_dim] of the kernel's dtype */
    void *m, *l, *o;    /* running state; of a backward block lse, delta and dQ */
    void *d_out, *d_kv; /* of backward blocks: dO as q; dK and dV of a block, as o */
    void *scratch;
    uint64_t *positions; /* [max_tokens] */
};

/* For blocks of one pass, forward or backward. RING_NO_MEMORY; RING_UNSUPPORTED where no kernel serves. */
enum ring_status exec_kernel_bench_open(struct exec_kernel_bench *bench, enum ring_pass pass,
                                        enum ring_dtype dtype, size_t head_dim, size_t max_tokens,
                                        size_t n_heads, struct ring_error *error);
void exec_kernel_bench_close(struct exec_kernel_bench *bench);

/* Has all its memory where it can be reached at once. Some machines take away, within seconds, what nobody
 * touches, and the first block that needs it again pays for that. */
void exec_kernel_bench_wake(struct exec_kernel_bench *bench);

/* What one block took: on the clock, and of the processor. They differ where somebody else had the core. */
struct exec_block_time {
    double wall_s, cpu_s;
};

/* Time of one head's block of so many queries and keys, the mean of n_blocks in a row. causal: the square
 * that the diagonal cuts; q_tokens == k_tokens. */
struct exec_block_time exec_kernel_bench_time(struct exec_kernel_bench *bench, size_t q_tokens,
                                              size_t k_tokens, bool causal, size_t n_blocks);

/* How fast the core is now: the median of a few full squares of one head. A calibration and a run look at the
 * machine in this same way, so that their looks can be compared. */
struct exec_block_time exec_kernel_bench_look(struct exec_kernel_bench *bench, size_t tokens);

/* (query, key) pairs of that block, per head. */
double exec_kernel_bench_pairs(size_t q_tokens, size_t k_tokens, bool causal);

#endif
