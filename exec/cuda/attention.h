/* SPDX-License-Identifier: MIT
 *
 * One rank's share of a real attention pass on a device: what exec/kernels/attention.h is on the CPU. Its
 * queries, dO and all running state stay in device memory; a task becomes one or two launches. */
#ifndef EXEC_CUDA_ATTENTION_H
#define EXEC_CUDA_ATTENTION_H

#include "engine/plan.h"
#include "exec/cuda/compute.h"
#include "exec/kernels/data.h"

struct exec_attention;

/* Memory for rank's part of plan, with its queries (and dO of a backward pass) made from data. Where the plan
 * is of the backward pass alone, the forward pass before it is done here. Waits. RING_UNSUPPORTED if the
 * kernels do not serve the problem. */
enum ring_status exec_attention_open(struct exec_attention **out, const struct ring_plan *plan, uint32_t rank,
                                     const struct data_spec *data, struct exec_lanes *lanes,
                                     struct ring_error *error);
void exec_attention_close(struct exec_attention *attention); /* NULL is fine */

struct exec_launch exec_attention_launch(struct exec_attention *attention);

/* Normalises and brings home: out [batch][heads][tokens][head_dim], lse [batch][heads][tokens], and after a
 * backward pass d_q like out; all fp32. d_q may be NULL. Waits. */
enum ring_status exec_attention_results(struct exec_attention *attention, float *out, float *lse, float *d_q,
                                        struct ring_error *error);

#endif
