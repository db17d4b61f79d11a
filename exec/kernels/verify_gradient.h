/* SPDX-License-Identifier: MIT
 *
 * Compares one rank's gradients with the oracle's and states the bounds they are held to: verify.h's
 * companion for a plan with a backward pass. */
#ifndef VERIFY_GRADIENT_H
#define VERIFY_GRADIENT_H

#include "engine/plan.h"
#include "exec/kernels/oracle_gradient.h"

/* One tensor's checked rows. Squares, so that ranks can be added up. */
struct verify_frobenius {
    double error2; /* sum of |found - ref|^2; infinite where exactly one is NaN */
    double norm2;  /* of |ref|^2 */
    double gross2; /* of what the rows could be had nothing in them cancelled (struct oracle_size) */
    double bound;  /* on sqrt(error2 / norm2), for this rank's rows */
};

struct verify_gradient_report {
    uint32_t rank;
    uint64_t rows_checked, rows_total; /* query rows: of dQ */
    uint64_t keys_checked, keys_total; /* key rows: of dK and dV */
    struct verify_frobenius d_q, d_k, d_v;
    uint64_t n_bad;    /* of the three tensors, those over their bound */
    uint64_t checksum; /* FNV-1a of the rank's dQ, then dK and dV bytes: all rows, not the checked alone */
};

/* Checks up to max_rows query rows of each (batch, head), and as many keys of each (batch, kv head), evenly
 * spread and always with the first and last (0: all). Keys cost the oracle time that is quadratic in the
 * sequence, once a kv head: so where only some are looked at, a rank takes the kv heads whose number is its
 * own modulo the number of ranks (or of heads, if those are fewer), and all ranks together see every head.
 * d_q as attention_d_q gives it, of type state; gradient is the slot ring_plan_own_gradient_slot after the
 * run: dK then dV, in the type in which they travel.
 *
 * Bound on the relative Frobenius error of each tensor: u (32 + 2 T), T the largest scale * sum |q k| of the
 * pairs met, u = 2^-24 for fp32 state and 2^-53 for fp64; and for dK and dV in 16 bits the roundings of their
 * N hops more, each of 2^-8 (bf16) or 2^-11 (fp16). A tensor that cancels to under 1/64 of gross is measured
 * against that 1/64: rounding is as large as what cancelled, and dQ of a row with a single key is 0. */
void verify_gradient(const struct ring_plan *plan, uint32_t rank, struct oracle_gradient *oracle,
                     enum ring_dtype state, const void *d_q, const void *gradient, uint64_t max_rows,
                     struct verify_gradient_report *report);

/* Likewise for kernels that round weights, p and ds (struct block_kernel, struct block_gradient_kernel): each
 * bound is weight_u more. */
void verify_gradient_rough(const struct ring_plan *plan, uint32_t rank, struct oracle_gradient *oracle,
                           enum ring_dtype state, const void *d_q, const void *gradient, double weight_u,
                           uint64_t max_rows, struct verify_gradient_report *report);

#endif
