/* SPDX-License-Identifier: MIT
 *
 * One call of a backward kernel on random numbers, with lse and delta from a textbook softmax in fp64. */
#ifndef TESTS_EXEC_GRADIENT_CASE_H
#define TESTS_EXEC_GRADIENT_CASE_H

#include "exec/kernels/gradient.h"

enum { CASE_D_OUT = 3, CASE_LSE, CASE_DELTA, CASE_D_Q, CASE_D_K, CASE_D_V, CASE_N_ARRAYS = 11 };

/* The inputs of one call in global arrays of a dtype, and its results. */
struct gradient_case {
    enum ring_dtype dtype, state;
    size_t q_tokens, k_tokens, head_dim;
    struct block_backward block;
    void *memory[CASE_N_ARRAYS];
};

/* Query i is at position q_first + 2 i, key j at 2 j + 1. All dtypes hold the same numbers. Gradients begin
 * as 0. Fails the test where memory is missing. */
void gradient_case_open(struct gradient_case *call, enum ring_dtype dtype, size_t q_tokens, size_t k_tokens,
                        size_t head_dim, bool causal, uint64_t q_first);
void gradient_case_close(struct gradient_case *call);

/* Runs a kernel, with scratch full of NaN at first, in calls of at most q_cut queries and k_cut keys. */
void gradient_case_run(const struct block_gradient_kernel *kernel, const struct block_backward *block,
                       size_t q_cut, size_t k_cut);

#endif
