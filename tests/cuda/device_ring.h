/* SPDX-License-Identifier: MIT
 *
 * A ring without a world, on the kernels of cuda_block.h: every rank's steps are done one after another on
 * one device, each block read where its owner has it. What is left is the plan's order and the kernels. */
#ifndef TESTS_CUDA_DEVICE_RING_H
#define TESTS_CUDA_DEVICE_RING_H

#include "engine/plan.h"
#include "exec/cuda/kernels/cuda_block.h"
#include "exec/kernels/data.h"

/* One rank's memory. In the device's unless it says host; n of something is elements. */
struct device_rank {
    struct ring_shard shard;
    size_t n_q, n_kv, n_rows; /* elements of q, of k; rows of m */
    void *q, *d_out, *kv;
    float *m, *l, *o, *out, *lse, *delta, *d_q, *contribution;
    void *gradient; /* of this rank's own keys: dK, then dV, of the plan's gradient dtype */
    float *host_out, *host_lse, *host_d_q;
    void *host_gradient;
};

struct device_ring {
    struct ring_plan plan;
    struct device_rank *ranks; /* [n_ranks] */
};

/* A causal zigzag ring of one batch, both passes, gradients in fp32: what tests vary from. */
struct ring_plan_spec device_ring_spec(uint32_t n_ranks, uint64_t tokens, uint32_t heads, uint32_t kv_heads,
                                       uint32_t head_dim, enum ring_dtype dtype);

/* Plans, takes all memory and fills the inputs; results begin as NaN. Fails the test on any error. */
void device_ring_open(struct device_ring *ring, const struct ring_plan_spec *spec,
                      const struct data_spec *data);
void device_ring_close(struct device_ring *ring);

/* All steps of all ranks, and the results to the host. */
void device_ring_run(struct device_ring *ring);

/* Relative Frobenius errors over all ranks against the fp64 oracles, and how many rows or tensors are over
 * verify.h's bounds, which are meant for inputs that no kernel rounds again: for fp32 alone. */
struct device_ring_errors {
    double out, d_q, d_k, d_v;
    uint64_t n_bad;
};
struct device_ring_errors device_ring_verify(const struct device_ring *ring, const struct data_spec *data);

/* The largest of the four errors; fails the test unless it is a number. */
double device_ring_worst(const struct device_ring_errors *errors);

/* FNV-1a of all results of all ranks. */
uint64_t device_ring_checksum(const struct device_ring *ring);

/* The description of rank's queries against a block of the ring, its pointers set. */
struct cuda_block device_ring_block(const struct device_ring *ring, uint32_t rank, uint32_t block);

/* Runs all tests of a program, or says why there is nothing to run them on and returns 77. */
#define device_ring_main(tests) (device_ring_ready() ? cmocka_run_group_tests(tests, NULL, NULL) : 77)
bool device_ring_ready(void);

#endif
