/* SPDX-License-Identifier: MIT
 *
 * Attention of one row as the textbook has it: all logits, their maximum, all exponentials, their sum, the
 * weighted mean of V. In fp64, over K and V of the whole sequence. Sums run in eight lanes, and over keys in
 * runs of 256 that are then added up, so that their own rounding stays well below the bounds that an fp64
 * kernel is held to. */
#include "exec/kernels/oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 8, RUN = 256 };

struct oracle {
    struct ring_problem problem;
    struct data_spec data;
    size_t padded;     /* head_dim rounded up to LANES, with zeros behind */
    double *k, *v;     /* [batch][kv_heads][tokens][padded] */
    double *weights;   /* [tokens], of the row in hand */
    double *q;         /* [padded], of the row in hand */
    double *run, *sum; /* [padded] */
    double max_v;
};

/* Fills one tensor from the generator and returns the largest magnitude. Values pass through the problem's
 * dtype. */
static double fill(const struct oracle *oracle, enum data_tensor tensor, double *to)
{
    const struct ring_problem *problem = &oracle->problem;
    double largest = 0.0;
    for (uint32_t batch = 0; batch < problem->batch; batch++)
        for (uint32_t head = 0; head < problem->kv_heads; head++)
            for (uint64_t position = 0; position < problem->tokens; position++, to += oracle->padded)
                for (uint32_t dim = 0; dim < problem->head_dim; dim++) {
                    double rounded;
                    data_store(problem->dtype, &rounded, 0,
                               data_value(&oracle->data, tensor, batch, head, position, dim));
                    to[dim] = data_load(problem->dtype, &rounded, 0);
                    if (fabs(to[dim]) > largest)
                        largest = fabs(to[dim]);
                }
    return largest;
}

static double *take(size_t n)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, sizeof(double), &bytes) || bytes > SIZE_MAX - 63)
        return NULL;
    double *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (memory != NULL)
        memset(memory, 0, bytes);
    return memory;
}

enum ring_status oracle_open(struct oracle **out, const struct ring_problem *problem,
                             const struct data_spec *data, struct ring_error *error)
{
    struct oracle *oracle = calloc(1, sizeof(*oracle));
    if (oracle == NULL)
        return ring_fail(error, RING_NO_MEMORY, "verification");
    oracle->problem = *problem;
    oracle->data = *data;
    oracle->padded = (problem->head_dim + (size_t)LANES - 1) / LANES * LANES;
    size_t rows = (size_t)problem->batch * problem->kv_heads, n;
    if (__builtin_mul_overflow(rows, problem->tokens, &rows) ||
        __builtin_mul_overflow(rows, oracle->padded, &n))
        n = SIZE_MAX;
    oracle->k = take(n);
    oracle->v = take(n);
    oracle->weights = take(problem->tokens);
    oracle->q = take(oracle->padded);
    oracle->run = take(oracle->padded);
    oracle->sum = take(oracle->padded);
    if (oracle->k == NULL || oracle->v == NULL || oracle->weights == NULL || oracle->q == NULL ||
        oracle->run == NULL || oracle->sum == NULL) {
        oracle_close(oracle);
        return ring_fail(error, RING_NO_MEMORY,
                         "verification: K and V of %llu tokens in fp64, 2 * %zu numbers",
                         (unsigned long long)problem->tokens, n);
    }
    fill(oracle, DATA_K, oracle->k);
    oracle->max_v = fill(oracle, DATA_V, oracle->v);
    *out = oracle;
    return RING_OK;
}

void oracle_close(struct oracle *oracle)
{
    if (oracle == NULL)
        return;
    free(oracle->k);
    free(oracle->v);
    free(oracle->weights);
    free(oracle->q);
    free(oracle->run);
    free(oracle->sum);
    free(oracle);
}

const struct ring_problem *oracle_problem(const struct oracle *oracle)
{
    return &oracle->problem;
}

double oracle_max_v(const struct oracle *oracle)
{
    return oracle->max_v;
}

static double add_lanes(const double x[LANES])
{
    return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
}

/* The row's logits into weights; returns the largest, and the largest scale * sum |q k| through t. */
static double fill_logits(const struct oracle *oracle, const double *k, uint64_t n_keys, double scale,
                          double *t)
{
    double top = -INFINITY;
    *t = 0.0;
    for (uint64_t key = 0; key < n_keys; key++, k += oracle->padded) {
        double dot[LANES] = {0}, size[LANES] = {0};
        for (size_t dim = 0; dim < oracle->padded; dim += LANES)
            for (size_t i = 0; i < LANES; i++) {
                double product = oracle->q[dim + i] * k[dim + i];
                dot[i] += product;
                size[i] += fabs(product);
            }
        oracle->weights[key] = scale * add_lanes(dot);
        top = fmax(top, oracle->weights[key]);
        *t = fmax(*t, scale * add_lanes(size));
    }
    return top;
}

/* sum = sum over keys of weight * V; returns the sum of the weights. */
static double weigh(const struct oracle *oracle, const double *v, uint64_t n_keys)
{
    double all = 0.0;
    memset(oracle->sum, 0, oracle->padded * sizeof(double));
    for (uint64_t first = 0; first < n_keys; first += RUN) {
        uint64_t end = n_keys - first < RUN ? n_keys : first + RUN;
        double part = 0.0;
        memset(oracle->run, 0, oracle->padded * sizeof(double));
        for (uint64_t key = first; key < end; key++, v += oracle->padded) {
            part += oracle->weights[key];
            double weight = oracle->weights[key], *restrict run = oracle->run;
            for (size_t dim = 0; dim < oracle->padded; dim++)
                run[dim] += weight * v[dim];
        }
        all += part;
        for (size_t dim = 0; dim < oracle->padded; dim++)
            oracle->sum[dim] += oracle->run[dim];
    }
    return all;
}

const double *oracle_row(const struct oracle *oracle, uint32_t batch, uint32_t head, uint64_t position,
                         double *lse, double *t)
{
    const struct ring_problem *problem = &oracle->problem;
    uint64_t n_keys = problem->mask == RING_MASK_CAUSAL ? position + 1 : problem->tokens;
    size_t kv_head = head / (problem->heads / problem->kv_heads);
    size_t at = ((size_t)batch * problem->kv_heads + kv_head) * problem->tokens * oracle->padded;
    for (uint32_t dim = 0; dim < problem->head_dim; dim++) {
        double rounded;
        data_store(problem->dtype, &rounded, 0,
                   data_value(&oracle->data, DATA_Q, batch, head, position, dim));
        oracle->q[dim] = data_load(problem->dtype, &rounded, 0);
    }
    double top = fill_logits(oracle, oracle->k + at, n_keys, 1.0 / sqrt((double)problem->head_dim), t);
    for (uint64_t key = 0; key < n_keys; key++)
        oracle->weights[key] = exp(oracle->weights[key] - top);
    double sum = weigh(oracle, oracle->v + at, n_keys);
    for (uint32_t dim = 0; dim < problem->head_dim; dim++)
        oracle->sum[dim] /= sum;
    *lse = top + log(sum);
    return oracle->sum;
}
