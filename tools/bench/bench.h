/* SPDX-License-Identifier: MIT
 *
 * What the parts of bench-kernels share: one case of attention that can be run over and over, what it came
 * to, and the tables that main.c prints one after the other. */
#ifndef BENCH_H
#define BENCH_H

#include "exec/kernels/attention.h"

enum { BENCH_MAX_REPEATS = 41 };

struct bench_case {
    const struct block_kernel *kernel;
    uint64_t tokens; /* queries, and keys */
    uint32_t head_dim;
    enum ring_mask mask;
    enum ring_pass pass; /* forward or backward */
};

/* Medians over the repeats; the share is of ratios to the peak measured right before and after each. */
struct bench_result {
    double s, flop_per_s, share;
};

/* FLOPs are 4 * head_dim a visible pair forward and 10 backward (FlashAttention-2, Dao 2023, section 4.1),
 * which computes the logits anew. A backward run includes lse and delta, as a first step's task does. Ends
 * the program where memory is missing. */
struct bench_result bench_run(const struct bench_case *what);

/* The same case held open, warm, for runs in turn with somebody else's; bench_pass_s is the processor time of
 * one run. Close it. */
struct bench_open;
struct bench_open *bench_open(const struct bench_case *what);
double bench_pass_s(const struct bench_open *open);
void bench_close(struct bench_open *open);

/* Median of n > 0 numbers, which are put in order. */
double bench_median(double *numbers, size_t n);

/* What a step costs beside its products, for a block of so many tokens: exponentials, merging a state,
 * copying K and V, each also as a share of the block's forward time. */
void bench_print_costs(uint64_t tokens, uint32_t head_dim);

/* Other people's attention on one thread, where it is installed, and how many times as fast ours is. */
void bench_print_peers(void);

/* 2^x of n numbers in place, n a multiple of 64; one per instruction set. */
void bench_exp2_portable(float *x, size_t n);
void bench_exp2_avx2(float *x, size_t n);
void bench_exp2_avx512(float *x, size_t n);

#endif
