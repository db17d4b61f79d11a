/* SPDX-License-Identifier: MIT
 *
 * The independent check of the backward pass: gradients of single queries and single keys in one shot, in
 * fp64, by the chain rule written out - no blocks, no running state, no layout, no lse from elsewhere,
 * nothing in common with the kernels under test but the input's values. */
#ifndef ORACLE_GRADIENT_H
#define ORACLE_GRADIENT_H

#include "exec/kernels/data.h"

/* Holds Q, K, V and dO of one kv head and its query heads over the whole sequence, in fp64, as the dtype
 * rounded them, and lse and delta of every query that it has met. */
struct oracle_gradient;

/* RING_NO_MEMORY with what was wanted. */
enum ring_status oracle_gradient_open(struct oracle_gradient **out, const struct ring_problem *problem,
                                      const struct data_spec *data, struct ring_error *error);
void oracle_gradient_close(struct oracle_gradient *oracle); /* NULL is fine */

/* How a gradient row came about, for the bounds on its error. */
struct oracle_size {
    double t;     /* the largest scale * sum_d |q_d k_d| over the pairs that it is a sum over */
    double gross; /* Euclidean norm that dQ or dK could have had if nothing in it had cancelled: sum of
                     scale * p * (|dO| |v| + |delta|) * |k| or |q| */
};

/* dQ of one query: [head_dim], the oracle's own and good until the next call. 6 * head_dim FLOPs a visible
 * key. */
const double *oracle_gradient_query(struct oracle_gradient *oracle, uint32_t batch, uint32_t head,
                                    uint64_t position, struct oracle_size *size);

/* dK, then dV, of one key: [2][head_dim], summed over the query heads of its kv head; likewise. The first key
 * of a (batch, kv head) costs that of all its queries' lse and delta: quadratic in the sequence. Ask for the
 * keys of one head before going on to the next. */
const double *oracle_gradient_key(struct oracle_gradient *oracle, uint32_t batch, uint32_t kv_head,
                                  uint64_t position, struct oracle_size *size);

#endif
