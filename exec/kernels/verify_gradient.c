/* SPDX-License-Identifier: MIT
 *
 * One rank's gradients against the oracle's. Gradients are held to a bound on the Frobenius norm and not
 * element by element: an element of dQ or dK is a sum of terms of both signs whose rounding is that of the
 * terms. A NaN is equal to a NaN alone.
 *
 * A kernel that rounds p and ds before their products (weight_u) adds an error of its own to every term. A
 * row of dQ is sum ds k; it is off by sum r ds k, where no two r are related and |r| <= weight_u. The mean
 * square of that is r2 * sum ds^2 |k|^2, and so is that of the row itself without r2, where keys point in all
 * directions: the relative error is the root mean square of r, for nearest rounding weight_u / sqrt 6 (half a
 * last place is uniform, and so is the mantissa in [1, 2): 1/3 of it squared, times the mean of 1/m^2, 1/2),
 * for bf16 1.6e-3. delta, from an output whose weights were rounded, is off by r2 * sum p^2 dp^2, once a row:
 * sum p^2 times as much. The same holds for dK, and with p and dO for dV. So weight_u itself is a bound with
 * a factor of two in hand, and as each pair is rounded once, whoever computes it, it does not grow with the
 * number of ranks. Where terms cancel, keys being alike, the bound on the share of gross holds (is_bad). */
#include "exec/kernels/verify_gradient.h"

#include <math.h>

#include "exec/kernels/verify_parts.h"

/* One row of a tensor, `row` rows from its start. */
static void compare(struct verify_frobenius *sum, enum ring_dtype dtype, const void *tensor, size_t row,
                    size_t head_dim, const double *wanted, double gross)
{
    for (size_t dim = 0; dim < head_dim; dim++) {
        double apart = verify_distance(data_load(dtype, tensor, row * head_dim + dim), wanted[dim]);
        sum->error2 += apart * apart;
        sum->norm2 += wanted[dim] * wanted[dim];
    }
    sum->gross2 += gross * gross;
}

static double unit(enum ring_dtype dtype)
{
    switch (dtype) {
    case RING_FP32:
        return 0x1p-24;
    case RING_BF16:
        return 0x1p-8;
    case RING_FP16:
        return 0x1p-11;
    case RING_FP64:
    case RING_N_DTYPES:
        break;
    }
    return 0x1p-53;
}

static uint64_t is_bad(const struct verify_frobenius *sum)
{
    double norm2 = fmax(sum->norm2, sum->gross2 / (64.0 * 64.0));
    return !(sum->error2 <= sum->bound * sum->bound * norm2);
}

/* What is being verified: the arguments, in one place. */
struct rank_results {
    const struct ring_plan *plan;
    struct ring_shard shard;
    uint64_t n; /* tokens checked of each head */
    enum ring_dtype state, dtype;
    const char *d_q, *d_k, *d_v;
    double weight_u;
};

/* The checked queries of one head of the batch; returns T. */
static double check_queries(const struct rank_results *rank, uint32_t batch, uint32_t head,
                            struct oracle_gradient *oracle, struct verify_gradient_report *report)
{
    const struct ring_problem *problem = &rank->plan->problem;
    double t = 0.0;
    for (uint64_t i = 0; i < rank->n; i++, report->rows_checked++) {
        struct oracle_size size;
        uint64_t token = verify_token(i, rank->n, rank->shard.tokens);
        const double *wanted =
            oracle_gradient_query(oracle, batch, head, ring_shard_position(&rank->shard, token), &size);
        size_t row = ((size_t)batch * problem->heads + head) * rank->shard.tokens + token;
        compare(&report->d_q, rank->state, rank->d_q, row, problem->head_dim, wanted, size.gross);
        t = fmax(t, size.t);
    }
    return t;
}

/* The checked keys of one kv head of the batch; returns T. */
static double check_keys(const struct rank_results *rank, uint32_t batch, uint32_t kv_head,
                         struct oracle_gradient *oracle, struct verify_gradient_report *report)
{
    const struct ring_problem *problem = &rank->plan->problem;
    size_t d = problem->head_dim;
    double t = 0.0;
    for (uint64_t i = 0; i < rank->n; i++, report->keys_checked++) {
        struct oracle_size size;
        uint64_t token = verify_token(i, rank->n, rank->shard.tokens);
        const double *wanted =
            oracle_gradient_key(oracle, batch, kv_head, ring_shard_position(&rank->shard, token), &size);
        size_t row = ((size_t)batch * problem->kv_heads + kv_head) * rank->shard.tokens + token;
        compare(&report->d_k, rank->dtype, rank->d_k, row, d, wanted, size.gross);
        compare(&report->d_v, rank->dtype, rank->d_v, row, d, wanted + d, 0.0);
        t = fmax(t, size.t);
    }
    return t;
}

/* Everything, head by head as the oracle likes it, and the bounds. A sample looks at the keys of every n-th
 * kv head alone: which, depends on the rank. */
static void check(const struct rank_results *rank, uint32_t number, bool sample,
                  struct oracle_gradient *oracle, struct verify_gradient_report *report)
{
    const struct ring_problem *problem = &rank->plan->problem;
    uint32_t group = problem->heads / problem->kv_heads, n_kv = problem->batch * problem->kv_heads;
    uint32_t stride = !sample ? 1 : n_kv < rank->plan->n_ranks ? n_kv : rank->plan->n_ranks;
    double t_query = 0.0, t_key = 0.0;
    for (uint32_t kv = 0; kv < n_kv; kv++) {
        uint32_t batch = kv / problem->kv_heads, kv_head = kv % problem->kv_heads;
        for (uint32_t i = 0; i < group; i++)
            t_query = fmax(t_query, check_queries(rank, batch, kv_head * group + i, oracle, report));
        if (kv % stride == number % stride)
            t_key = fmax(t_key, check_keys(rank, batch, kv_head, oracle, report));
    }
    bool narrow = rank->dtype == RING_BF16 || rank->dtype == RING_FP16;
    double hops = narrow ? unit(rank->dtype) * rank->plan->n_ranks : 0.0;
    report->d_q.bound = unit(rank->state) * (32.0 + 2.0 * t_query) + rank->weight_u;
    report->d_k.bound = report->d_v.bound = unit(rank->state) * (32.0 + 2.0 * t_key) + hops + rank->weight_u;
}

void verify_gradient_rough(const struct ring_plan *plan, uint32_t rank, struct oracle_gradient *oracle,
                           enum ring_dtype state, const void *d_q, const void *gradient, double weight_u,
                           uint64_t max_rows, struct verify_gradient_report *report)
{
    const struct ring_problem *problem = &plan->problem;
    struct ring_shard shard = ring_layout_shard(&plan->layout, rank);
    enum ring_dtype dtype = problem->dtype == RING_FP64 ? RING_FP64 : plan->gradient_dtype;
    *report = (struct verify_gradient_report){
        .rank = rank,
        .rows_total = (uint64_t)problem->batch * problem->heads * shard.tokens,
        .keys_total = (uint64_t)problem->batch * problem->kv_heads * shard.tokens,
    };
    size_t d = problem->head_dim;
    struct rank_results results = {plan,
                                   shard,
                                   verify_n_checked(max_rows, shard.tokens),
                                   state,
                                   dtype,
                                   d_q,
                                   gradient,
                                   (const char *)gradient + report->keys_total * d * ring_dtype_bytes(dtype),
                                   weight_u};
    check(&results, rank, results.n < shard.tokens, oracle, report);
    report->n_bad = is_bad(&report->d_q) + is_bad(&report->d_k) + is_bad(&report->d_v);
    report->checksum = verify_fnv1a(VERIFY_FNV_BEGIN, d_q, report->rows_total * d * ring_dtype_bytes(state));
    report->checksum =
        verify_fnv1a(report->checksum, gradient, 2 * report->keys_total * d * ring_dtype_bytes(dtype));
}

void verify_gradient(const struct ring_plan *plan, uint32_t rank, struct oracle_gradient *oracle,
                     enum ring_dtype state, const void *d_q, const void *gradient, uint64_t max_rows,
                     struct verify_gradient_report *report)
{
    verify_gradient_rough(plan, rank, oracle, state, d_q, gradient, 0.0, max_rows, report);
}
