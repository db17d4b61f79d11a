/* SPDX-License-Identifier: MIT
 *
 * A ring without a world: every rank's steps run one after another in this process, each block read where its
 * owner has it. What is left of ring attention is the plan's order and the kernels. */
#ifndef TESTS_EXEC_RING_BY_HAND_H
#define TESTS_EXEC_RING_BY_HAND_H

#include "engine/plan.h"
#include "exec/kernels/block.h"
#include "exec/kernels/data.h"

struct ring_by_hand {
    struct ring_plan plan;
    const struct block_kernel *kernel;
    void **q, **kv;    /* [n_ranks], of the problem's dtype */
    void **out, **lse; /* [n_ranks], of the kernel's state type */
};

/* Plans the ring and fills q and kv. kernel as block_kernel_find takes it. Fails the test on any error. */
void ring_by_hand_open(struct ring_by_hand *ring, const struct ring_plan_spec *spec, const char *kernel,
                       const struct data_spec *data);
void ring_by_hand_close(struct ring_by_hand *ring);

/* Attention of all ranks into out and lse. ascending: blocks in the order of their owners instead of the
 * plan's. */
void ring_by_hand_run(struct ring_by_hand *ring, bool ascending);

/* Checks all ranks with verify_rank, up to max_rows rows a head, and fails the test if a row is over its
 * bound. Returns the relative Frobenius error of out over all ranks. */
double ring_by_hand_verify(const struct ring_by_hand *ring, const struct data_spec *data, uint64_t max_rows);

/* The element of out (lse, with dim 0) of a global position. */
double ring_by_hand_out(const struct ring_by_hand *ring, uint32_t batch, uint32_t head, uint64_t position,
                        uint32_t dim);
double ring_by_hand_lse(const struct ring_by_hand *ring, uint32_t batch, uint32_t head, uint64_t position);

#endif
