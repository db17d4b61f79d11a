/* SPDX-License-Identifier: MIT
 *
 * Attention and its gradients by plain loops over whole matrices: the chain rule one line at a time. */
#include <math.h>
#include <stdlib.h>

#include "tests/exec/ring_turn.h"
#include "tests/support/cmocka_all.h"

static double *zeros(size_t n)
{
    double *memory = calloc(n, sizeof(double));
    assert_non_null(memory);
    return memory;
}

/* One query row: its softmax over all keys it sees, into p. Returns how many those are. */
static size_t soften(const struct ring_problem *problem, const double *q, const double *k, size_t position,
                     long double *p)
{
    size_t n = problem->mask == RING_MASK_CAUSAL ? position + 1 : problem->tokens, d = problem->head_dim;
    long double top = -INFINITY, sum = 0.0L, scale = 1.0L / sqrtl((long double)d);
    for (size_t key = 0; key < n; key++) {
        p[key] = 0.0L;
        for (size_t i = 0; i < d; i++)
            p[key] += scale * (long double)q[i] * (long double)k[key * d + i];
        top = fmaxl(top, p[key]);
    }
    for (size_t key = 0; key < n; key++)
        sum += p[key] = expl(p[key] - top);
    for (size_t key = 0; key < n; key++)
        p[key] /= sum;
    return n;
}

static double largest_sum(const double *q, const double *k, size_t n, size_t d)
{
    double t = 0.0;
    for (size_t key = 0; key < n; key++) {
        double size = 0.0;
        for (size_t i = 0; i < d; i++)
            size += fabs(q[i] * k[key * d + i]);
        t = fmax(t, size / sqrt((double)d));
    }
    return t;
}

/* dO_i v_j for all j, into dp; returns delta_i = sum_j p_ij dp_ij, that is dO_i out_i. */
static long double weigh(const long double *p, const double *v, const double *d_out, size_t n, size_t d,
                         long double *dp)
{
    long double delta = 0.0L;
    for (size_t key = 0; key < n; key++) {
        dp[key] = 0.0L;
        for (size_t i = 0; i < d; i++)
            dp[key] += (long double)d_out[i] * (long double)v[key * d + i];
        delta += p[key] * dp[key];
    }
    return delta;
}

long double plain_loss(const struct ring_problem *problem, const double *q, const double *k, const double *v,
                       const double *d_out)
{
    size_t d = problem->head_dim, size = problem->tokens * d, group = problem->heads / problem->kv_heads;
    long double *p = malloc(2 * problem->tokens * sizeof(long double)), loss = 0.0L;
    assert_non_null(p);
    for (size_t head = 0; head < (size_t)problem->batch * problem->heads; head++)
        for (size_t row = 0; row < problem->tokens; row++) {
            size_t at = head * size + row * d, kv = head / group * size;
            size_t n = soften(problem, q + at, k + kv, row, p);
            loss += weigh(p, v + kv, d_out + at, n, d, p + problem->tokens);
        }
    free(p);
    return loss;
}

struct plain_gradients plain_gradients_of(const struct ring_turn *turn)
{
    const struct ring_problem *problem = &turn->plan.problem;
    size_t d = problem->head_dim, size = problem->tokens * d, group = problem->heads / problem->kv_heads;
    size_t heads = (size_t)problem->batch * problem->heads;
    double *q = ring_turn_gather(turn, TURN_Q), *d_out = ring_turn_gather(turn, TURN_D_OUT);
    double *all_k = ring_turn_gather(turn, TURN_K), *all_v = ring_turn_gather(turn, TURN_V);
    struct plain_gradients plain = {zeros(heads * size), zeros(heads / group * size),
                                    zeros(heads / group * size), 0.0};
    long double *p = malloc(2 * problem->tokens * sizeof(long double)), *dp = p + problem->tokens;
    assert_non_null(p);
    for (size_t head = 0; head < heads; head++)
        for (size_t row = 0; row < problem->tokens; row++) {
            size_t at = head * size + row * d, kv = head / group * size;
            size_t n = soften(problem, q + at, all_k + kv, row, p);
            long double delta = weigh(p, all_v + kv, d_out + at, n, d, dp);
            plain.t = fmax(plain.t, largest_sum(q + at, all_k + kv, n, d));
            for (size_t key = 0; key < n; key++) {
                double ds = (double)(p[key] * (dp[key] - delta) / sqrtl((long double)d));
                for (size_t i = 0; i < d; i++) {
                    plain.d_q[at + i] += ds * all_k[kv + key * d + i];
                    plain.d_k[kv + key * d + i] += ds * q[at + i];
                    plain.d_v[kv + key * d + i] += (double)p[key] * d_out[at + i];
                }
            }
        }
    free(q);
    free(d_out);
    free(all_k);
    free(all_v);
    free(p);
    return plain;
}

void plain_gradients_free(struct plain_gradients *plain)
{
    free(plain->d_q);
    free(plain->d_k);
    free(plain->d_v);
}
