/* SPDX-License-Identifier: MIT
 *
 * The independent check: attention of single rows in one shot, in fp64, with the textbook two-pass softmax -
 * no blocks, no running state, no layout, nothing in common with the kernels under test but the input's
 * values. */
#ifndef ORACLE_H
#define ORACLE_H

#include "exec/kernels/data.h"

struct oracle; /* holds K and V of the whole sequence, in fp64, as the dtype rounded them */

enum ring_status oracle_open(struct oracle **out, const struct ring_problem *problem,
                             const struct data_spec *data, struct ring_error *error);
void oracle_close(struct oracle *oracle);

/* One output row: returns out [head_dim], the oracle's own and good until the next call; *lse; and *t, the
 * largest scale * sum_d |q_d k_d| over the row's visible keys (T of the error bounds). Not for two threads at
 * once on one oracle: it has one set of working memory. */
const double *oracle_row(const struct oracle *oracle, uint32_t batch, uint32_t head, uint64_t position,
                         double *lse, double *t);

/* The problem it was opened for. */
const struct ring_problem *oracle_problem(const struct oracle *oracle);

/* max |v| over all of V. */
double oracle_max_v(const struct oracle *oracle);

#endif
