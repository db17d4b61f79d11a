/* SPDX-License-Identifier: MIT
 *
 * One rank's rows against the oracle's. The bounds are worst cases of rounding, not of luck: a logit of T =
 * scale * sum |q k| carries an error of about sqrt(d) u T / 2 when its d products are summed in the state's
 * precision (rounding as a random walk, with room), an exponential and the sums around it a few u more, and
 * an output row is a mean of V rows, so that it can be wrong by its weights' relative error times max |v|. A
 * NaN is equal to a NaN alone. */
#include "exec/kernels/verify.h"

#include <math.h>

#include "exec/kernels/verify_parts.h"

/* Keeps the pair whose ratio is largest. */
static void keep_worst(double *worst, double *worst_bound, double apart, double bound)
{
    if (*worst_bound == 0.0 || apart * *worst_bound > *worst * bound) {
        *worst = apart;
        *worst_bound = bound;
    }
}

/* One row of out and lse, `row` rows from their start, against the oracle's. */
static void check_row(const struct oracle *oracle, enum ring_dtype state, double weight_u, const void *out,
                      const void *lse, size_t row, uint64_t position, struct verify_report *report)
{
    const struct ring_problem *problem = oracle_problem(oracle);
    uint64_t tokens = report->rows_total / ((uint64_t)problem->batch * problem->heads);
    uint32_t sequence_head = (uint32_t)(row / tokens);
    double lse_wanted, t;
    const double *wanted = oracle_row(oracle, sequence_head / problem->heads, sequence_head % problem->heads,
                                      position, &lse_wanted, &t);

    double u = state == RING_FP64 ? 0x1p-53 : 0x1p-24, root = sqrt((double)problem->head_dim);
    double out_bound = (u * (16.0 + root * t / 2.0) + weight_u) * oracle_max_v(oracle);
    double lse_bound = u * (16.0 + 2.0 * root * t);
    double out_apart = 0.0, lse_apart = verify_distance(data_load(state, lse, row), lse_wanted);
    for (size_t dim = 0; dim < problem->head_dim; dim++) {
        double apart = verify_distance(data_load(state, out, row * problem->head_dim + dim), wanted[dim]);
        out_apart = fmax(out_apart, apart);
        report->out_error2 += apart * apart;
        report->out_norm2 += wanted[dim] * wanted[dim];
    }
    keep_worst(&report->out_worst, &report->out_bound, out_apart, out_bound);
    keep_worst(&report->lse_worst, &report->lse_bound, lse_apart, lse_bound);
    report->n_bad += out_apart > out_bound || lse_apart > lse_bound;
    report->rows_checked++;
}

void verify_rank_rough(const struct ring_plan *plan, uint32_t rank, const struct oracle *oracle,
                       enum ring_dtype state, const void *out, const void *lse, double weight_u,
                       uint64_t max_rows, struct verify_report *report)
{
    struct ring_shard shard = ring_layout_shard(&plan->layout, rank);
    uint64_t n_sequences = (uint64_t)plan->problem.batch * plan->problem.heads;
    *report = (struct verify_report){.rank = rank, .rows_total = n_sequences * shard.tokens};

    uint64_t n_checked = verify_n_checked(max_rows, shard.tokens);
    for (uint64_t sequence = 0; sequence < n_sequences; sequence++)
        for (uint64_t i = 0; i < n_checked; i++) {
            uint64_t token = verify_token(i, n_checked, shard.tokens);
            check_row(oracle, state, weight_u, out, lse, sequence * shard.tokens + token,
                      ring_shard_position(&shard, token), report);
        }
    size_t real = ring_dtype_bytes(state);
    report->checksum =
        verify_fnv1a(VERIFY_FNV_BEGIN, out, report->rows_total * plan->problem.head_dim * real);
    report->checksum = verify_fnv1a(report->checksum, lse, report->rows_total * real);
}

void verify_rank(const struct ring_plan *plan, uint32_t rank, const struct oracle *oracle,
                 enum ring_dtype state, const void *out, const void *lse, uint64_t max_rows,
                 struct verify_report *report)
{
    verify_rank_rough(plan, rank, oracle, state, out, lse, 0.0, max_rows, report);
}
