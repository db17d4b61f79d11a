/* SPDX-License-Identifier: MIT
 *
 * One call of a block kernel on random numbers, and what a textbook softmax in fp64 says that it should give.
 * The expectation shares nothing with the kernels: no groups, no running state. */
#ifndef TESTS_EXEC_BLOCK_CASE_H
#define TESTS_EXEC_BLOCK_CASE_H

#include "exec/kernels/block.h"

/* Query i is at q_first + i * q_stride of the sequence, key j at k_first + j * k_stride. */
struct block_case {
    size_t q_tokens, k_tokens, head_dim;
    bool causal;
    uint64_t q_first, q_stride, k_first, k_stride;
    double q_size; /* queries are this times unit variance; 0 counts as 1 */
    unsigned seed;
};

/* Inputs of a case, rounded to a dtype, and a state to fold them into. Owned. */
struct block_arrays {
    struct block_forward call;
    enum ring_dtype dtype;
    struct block_state state;
    void *out, *lse; /* of the state's type */
};

/* Takes memory and fills the inputs; the state is empty. Fails the test where memory is missing. */
void block_case_open(struct block_arrays *arrays, const struct block_case *given, enum ring_dtype dtype,
                     enum ring_dtype state);
void block_case_close(struct block_arrays *arrays);

/* Runs the kernel on rows q_from .. q_to of the case against keys k_from .. k_to, into the state. */
void block_case_run_part(struct block_arrays *arrays, const struct block_kernel *kernel, size_t q_from,
                         size_t q_to, size_t k_from, size_t k_to);

/* The whole case at once, and out and lse from it. */
void block_case_run(struct block_arrays *arrays, const struct block_kernel *kernel);
void block_case_finish(struct block_arrays *arrays);

/* Largest |out - textbook| and |lse - textbook|, each as a share of the bound it is held to (verify.h; for
 * out the kernel's weight_u times the largest value more). A row without a visible key counts as wrong
 * (infinite) unless it is exactly 0 and -inf. */
struct block_errors {
    double out, lse;
    double relative; /* Frobenius norm of out - textbook, relative to the textbook's */
};
struct block_errors block_case_errors(const struct block_arrays *arrays, const struct block_kernel *kernel);

/* Fails the test unless both states have the same bits in every row. */
void block_case_assert_same_bits(const struct block_arrays *a, const struct block_arrays *b);

#endif
