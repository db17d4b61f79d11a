/* SPDX-License-Identifier: MIT
 *
 * Compares one rank's output with the oracle and states the bounds it is held to. Serves every world. */
#ifndef VERIFY_H
#define VERIFY_H

#include "engine/plan.h"
#include "exec/kernels/oracle.h"

/* What one rank's rows came to. Frobenius norms are kept squared so that ranks can be added up. */
struct verify_report {
    uint32_t rank;
    uint64_t rows_checked, rows_total;
    double out_error2, out_norm2; /* sum of |out - ref|^2, of |ref|^2, over the checked rows */
    double out_worst, out_bound;  /* |out - ref| and its bound where their ratio is largest */
    double lse_worst, lse_bound;  /* likewise for lse */
    uint64_t n_bad;               /* rows over a bound, or NaN on one side only */
    uint64_t checksum; /* FNV-1a of the rank's out bytes, then lse bytes: all rows, not the checked alone */
};

/* Checks up to max_rows query rows of each (batch, head), evenly spread and always with the first and last
 * (0: all). out and lse as attention_finish gives them, of type state.
 * Bounds (T the row's largest scale * sum |q k|): |out - ref| <= u (16 + sqrt(d) T / 2) max|v| and
 * |lse - ref| <= u (16 + 2 sqrt(d) T); u = 2^-24 for fp32 state, 2^-53 for fp64. */
void verify_rank(const struct ring_plan *plan, uint32_t rank, const struct oracle *oracle,
                 enum ring_dtype state, const void *out, const void *lse, uint64_t max_rows,
                 struct verify_report *report);

/* Likewise for a kernel that rounds weights (struct block_kernel): the bound of out is weight_u max|v| more.
 */
void verify_rank_rough(const struct ring_plan *plan, uint32_t rank, const struct oracle *oracle,
                       enum ring_dtype state, const void *out, const void *lse, double weight_u,
                       uint64_t max_rows, struct verify_report *report);

#endif
