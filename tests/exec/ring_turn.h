/* SPDX-License-Identifier: MIT
 *
 * A whole pass in one process, with every rank's slots in real memory: all ranks take step s of the plan
 * together, messages are copied from the slot they leave to the slot they are awaited in, attention computes.
 * What is left of a world is nothing but the data's path, so a gradient that goes astray in it is seen. */
#ifndef TESTS_EXEC_RING_TURN_H
#define TESTS_EXEC_RING_TURN_H

#include "engine/plan.h"
#include "exec/kernels/attention.h"
#include "exec/kernels/data.h"

struct ring_turn {
    struct ring_plan plan;
    const struct block_kernel *kernel;
    enum ring_dtype gradient; /* in which dK and dV come home */
    void **q, **d_out;        /* [n_ranks], of the problem's dtype */
    void ***slots;            /* [n_ranks][n_slots]; slot 0 has K, then V */
    struct attention **attention;
};

/* A zigzag ring under a causal mask, both passes, two buffers, gradients in fp32: what tests vary from. */
struct ring_plan_spec ring_turn_spec(uint32_t n_ranks, uint64_t tokens, uint32_t heads, uint32_t kv_heads,
                                     uint32_t head_dim, enum ring_dtype dtype);

/* Plans, takes all memory and fills q, K, V and dO from data; contributions and gradients begin as NaN. Fails
 * the test on any error. */
void ring_turn_open(struct ring_turn *turn, const struct ring_plan_spec *spec, const char *kernel,
                    const struct data_spec *data);
void ring_turn_close(struct ring_turn *turn);

/* All ranks, all steps. */
void ring_turn_run(struct ring_turn *turn);

enum ring_turn_tensor { TURN_Q, TURN_K, TURN_V, TURN_D_OUT, TURN_D_Q, TURN_D_K, TURN_D_V, TURN_N_TENSORS };

/* One tensor of all ranks in global order, [batch][heads or kv_heads][tokens][head_dim]; the caller frees it.
 */
double *ring_turn_gather(const struct ring_turn *turn, enum ring_turn_tensor tensor);

/* One element of a rank's own Q, K, V or dO, times factor. */
void ring_turn_scale(struct ring_turn *turn, enum ring_turn_tensor tensor, uint32_t rank, size_t index,
                     double factor);

/* Elements of a rank's part of a tensor. */
size_t ring_turn_size(const struct ring_turn *turn, enum ring_turn_tensor tensor, uint32_t rank);

/* sqrt(sum |a - b|^2 / sum |b|^2) of one rank's part of a tensor, against its global reference. */
double ring_turn_error(const struct ring_turn *turn, enum ring_turn_tensor tensor, uint32_t rank,
                       const double *reference);

/* Gradients by plain loops in fp64 over q, k, v and d_out in global order: [n] each, the caller frees them.
 */
struct plain_gradients {
    double *d_q, *d_k, *d_v;
    double t; /* the largest scale * sum |q k| */
};
struct plain_gradients plain_gradients_of(const struct ring_turn *turn);
void plain_gradients_free(struct plain_gradients *plain);

/* sum of dO * out over everything, in long double, by plain loops: what the gradients are the gradients of.
 */
long double plain_loss(const struct ring_problem *problem, const double *q, const double *k, const double *v,
                       const double *d_out);

#endif
