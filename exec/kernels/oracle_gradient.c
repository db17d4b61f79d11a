/* SPDX-License-Identifier: MIT
 *
 * Gradients as the chain rule has them. Of L = sum(dO * out), with out = p v and p = softmax(scale q k):
 * dp_ij = dO_i v_j, delta_i = sum_j p_ij dp_ij, ds_ij = p_ij (dp_ij - delta_i); dQ_i = scale sum_j ds_ij k_j,
 * dK_j = scale sum_i ds_ij q_i, dV_j = sum_i p_ij dO_i. All in fp64 over whole rows. Dot products run in
 * eight lanes, and long sums in runs of 256 that are then added up, so that their own rounding stays well
 * below the bounds that an fp64 kernel is held to. */
#include "exec/kernels/oracle_gradient.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 8, RUN = 256 };

struct oracle_gradient {
    struct ring_problem problem;
    struct data_spec data;
    double scale;
    uint32_t group; /* query heads of a kv head */
    size_t padded;  /* head_dim rounded up to LANES, with zeros behind */

    bool loaded;
    uint32_t batch, kv_head;     /* whose numbers these are: */
    double *k, *v;               /* [tokens][padded] */
    double *q, *d_out;           /* [group][tokens][padded] */
    double *norm_k, *norm_v;     /* [tokens], Euclidean */
    double *norm_q, *norm_d_out; /* [group][tokens] */
    double *lse, *delta;         /* [group][tokens], where known */
    bool *known;                 /* [group][tokens] */
    double *p, *dp;              /* [tokens], of the row in hand */
    double *run, *sum;           /* [2][padded] */
};

static double *take(size_t n, size_t each)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, each, &n) || __builtin_mul_overflow(n, sizeof(double), &bytes) ||
        bytes > SIZE_MAX - 63)
        return NULL;
    double *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (memory != NULL)
        memset(memory, 0, bytes);
    return memory;
}

enum ring_status oracle_gradient_open(struct oracle_gradient **out, const struct ring_problem *problem,
                                      const struct data_spec *data, struct ring_error *error)
{
    struct oracle_gradient *oracle = calloc(1, sizeof(*oracle));
    if (oracle == NULL)
        return ring_fail(error, RING_NO_MEMORY, "verification of gradients");
    oracle->problem = *problem;
    oracle->data = *data;
    oracle->scale = 1.0 / sqrt((double)problem->head_dim);
    oracle->group = problem->heads / problem->kv_heads;
    oracle->padded = (problem->head_dim + (size_t)LANES - 1) / LANES * LANES;
    size_t tokens = problem->tokens, rows;
    if (__builtin_mul_overflow(tokens, oracle->group, &rows))
        rows = SIZE_MAX;
    double **const all[] = {&oracle->k,      &oracle->v,         &oracle->q,   &oracle->d_out,
                            &oracle->norm_k, &oracle->norm_v,    &oracle->lse, &oracle->delta,
                            &oracle->p,      &oracle->dp,        &oracle->run, &oracle->sum,
                            &oracle->norm_q, &oracle->norm_d_out};
    const size_t sizes[][2] = {{tokens, oracle->padded},
                               {tokens, oracle->padded},
                               {rows, oracle->padded},
                               {rows, oracle->padded},
                               {tokens, 1},
                               {tokens, 1},
                               {rows, 1},
                               {rows, 1},
                               {tokens, 1},
                               {tokens, 1},
                               {2, oracle->padded},
                               {2, oracle->padded},
                               {rows, 1},
                               {rows, 1}};
    oracle->known = calloc(rows, sizeof(bool));
    bool complete = oracle->known != NULL;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        *all[i] = take(sizes[i][0], sizes[i][1]);
        complete = complete && *all[i] != NULL;
    }
    if (!complete) {
        oracle_gradient_close(oracle);
        return ring_fail(error, RING_NO_MEMORY,
                         "verification of gradients: Q, K, V and dO of %llu tokens and one kv head in fp64, "
                         "%u * %zu numbers a token",
                         (unsigned long long)tokens, 2 + 2 * (problem->heads / problem->kv_heads),
                         (size_t)problem->head_dim);
    }
    *out = oracle;
    return RING_OK;
}

void oracle_gradient_close(struct oracle_gradient *oracle)
{
    if (oracle == NULL)
        return;
    double *const all[] = {oracle->k,      oracle->v,   oracle->q,      oracle->d_out,     oracle->norm_k,
                           oracle->norm_v, oracle->lse, oracle->delta,  oracle->p,         oracle->dp,
                           oracle->run,    oracle->sum, oracle->norm_q, oracle->norm_d_out};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        free(all[i]);
    free(oracle->known);
    free(oracle);
}

/* One tensor of one head, as the problem's dtype has it. */
static void fill(const struct oracle_gradient *oracle, enum data_tensor tensor, uint32_t head, double *to)
{
    const struct ring_problem *problem = &oracle->problem;
    for (uint64_t position = 0; position < problem->tokens; position++, to += oracle->padded)
        for (uint32_t dim = 0; dim < problem->head_dim; dim++) {
            double rounded;
            data_store(problem->dtype, &rounded, 0,
                       data_value(&oracle->data, tensor, oracle->batch, head, position, dim));
            to[dim] = data_load(problem->dtype, &rounded, 0);
        }
}

static double add_lanes(const double x[LANES])
{
    return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
}

static double dot(const struct oracle_gradient *oracle, const double *a, const double *b)
{
    double sum[LANES] = {0};
    for (size_t dim = 0; dim < oracle->padded; dim += LANES)
        for (size_t i = 0; i < LANES; i++)
            sum[i] += a[dim + i] * b[dim + i];
    return add_lanes(sum);
}

static double dot_of_sizes(const struct oracle_gradient *oracle, const double *a, const double *b)
{
    double sum[LANES] = {0};
    for (size_t dim = 0; dim < oracle->padded; dim += LANES)
        for (size_t i = 0; i < LANES; i++)
            sum[i] += fabs(a[dim + i] * b[dim + i]);
    return add_lanes(sum);
}

static void measure(const struct oracle_gradient *oracle, double *norms, const double *rows, size_t n)
{
    for (size_t row = 0; row < n; row++, rows += oracle->padded)
        norms[row] = sqrt(dot(oracle, rows, rows));
}

/* Makes a kv head the one in hand. */
static void load(struct oracle_gradient *oracle, uint32_t batch, uint32_t kv_head)
{
    if (oracle->loaded && oracle->batch == batch && oracle->kv_head == kv_head)
        return;
    size_t tokens = oracle->problem.tokens, head_size = tokens * oracle->padded;
    oracle->batch = batch;
    oracle->kv_head = kv_head;
    fill(oracle, DATA_K, kv_head, oracle->k);
    fill(oracle, DATA_V, kv_head, oracle->v);
    for (uint32_t i = 0; i < oracle->group; i++) {
        fill(oracle, DATA_Q, kv_head * oracle->group + i, oracle->q + i * head_size);
        fill(oracle, DATA_DO, kv_head * oracle->group + i, oracle->d_out + i * head_size);
    }
    measure(oracle, oracle->norm_k, oracle->k, tokens);
    measure(oracle, oracle->norm_v, oracle->v, tokens);
    measure(oracle, oracle->norm_q, oracle->q, oracle->group * tokens);
    measure(oracle, oracle->norm_d_out, oracle->d_out, oracle->group * tokens);
    memset(oracle->known, 0, oracle->group * tokens * sizeof(bool));
    oracle->loaded = true;
}

static uint64_t n_visible(const struct oracle_gradient *oracle, uint64_t position)
{
    return oracle->problem.mask == RING_MASK_CAUSAL ? position + 1 : oracle->problem.tokens;
}

/* Sum of x[i] * y[i], or of x[i] where y is NULL, in runs. */
static double add_up(const double *x, const double *y, size_t n)
{
    double sum = 0.0;
    for (size_t first = 0; first < n; first += RUN) {
        double part = 0.0;
        for (size_t i = first; i < n && i < first + RUN; i++)
            part += y == NULL ? x[i] : x[i] * y[i];
        sum += part;
    }
    return sum;
}

/* The whole row of a query (its place among the group's): p, dp, lse and delta. */
static void meet_row(struct oracle_gradient *oracle, size_t row)
{
    size_t n = n_visible(oracle, row % oracle->problem.tokens);
    const double *q = oracle->q + row * oracle->padded, *d_out = oracle->d_out + row * oracle->padded;
    double top = -INFINITY;
    for (size_t key = 0; key < n; key++) {
        oracle->p[key] = oracle->scale * dot(oracle, q, oracle->k + key * oracle->padded);
        oracle->dp[key] = dot(oracle, d_out, oracle->v + key * oracle->padded);
        top = fmax(top, oracle->p[key]);
    }
    for (size_t key = 0; key < n; key++)
        oracle->p[key] = exp(oracle->p[key] - top);
    double sum = add_up(oracle->p, NULL, n);
    for (size_t key = 0; key < n; key++)
        oracle->p[key] /= sum;
    oracle->lse[row] = top + log(sum);
    oracle->delta[row] = add_up(oracle->p, oracle->dp, n);
    oracle->known[row] = true;
}

/* run += weight * x; when a run is full, or at the end, it joins the sum. */
static void weigh(double *run, double weight, const double *x, size_t n)
{
    for (size_t dim = 0; dim < n; dim++)
        run[dim] += weight * x[dim];
}

static void join(struct oracle_gradient *oracle)
{
    for (size_t i = 0; i < 2 * oracle->padded; i++) {
        oracle->sum[i] += oracle->run[i];
        oracle->run[i] = 0.0;
    }
}

const double *oracle_gradient_query(struct oracle_gradient *oracle, uint32_t batch, uint32_t head,
                                    uint64_t position, struct oracle_size *size)
{
    load(oracle, batch, head / oracle->group);
    size_t row = (head % oracle->group) * oracle->problem.tokens + position, n = n_visible(oracle, position);
    const double *q = oracle->q + row * oracle->padded;
    double gross = 0.0, t = 0.0;
    meet_row(oracle, row);
    memset(oracle->sum, 0, 2 * oracle->padded * sizeof(double));
    for (size_t key = 0; key < n; key++) {
        double ds = oracle->p[key] * (oracle->dp[key] - oracle->delta[row]);
        weigh(oracle->run, oracle->scale * ds, oracle->k + key * oracle->padded, oracle->padded);
        gross += oracle->p[key] * (oracle->norm_d_out[row] * oracle->norm_v[key] + fabs(oracle->delta[row])) *
                 oracle->norm_k[key];
        t = fmax(t, dot_of_sizes(oracle, q, oracle->k + key * oracle->padded));
        if (key % RUN == RUN - 1 || key + 1 == n)
            join(oracle);
    }
    *size = (struct oracle_size){.t = oracle->scale * t, .gross = oracle->scale * gross};
    return oracle->sum;
}

/* What one query gives to dK and dV of one key, and to size. */
static void meet_pair(struct oracle_gradient *oracle, size_t row, uint64_t key, struct oracle_size *size)
{
    const double *k = oracle->k + key * oracle->padded;
    const double *q = oracle->q + row * oracle->padded, *d_out = oracle->d_out + row * oracle->padded;
    double p = exp(oracle->scale * dot(oracle, q, k) - oracle->lse[row]);
    double dp = dot(oracle, d_out, oracle->v + key * oracle->padded), delta = oracle->delta[row];
    weigh(oracle->run, oracle->scale * p * (dp - delta), q, oracle->padded);
    weigh(oracle->run + oracle->padded, p, d_out, oracle->padded);
    size->gross += oracle->scale * p * (oracle->norm_d_out[row] * oracle->norm_v[key] + fabs(delta)) *
                   oracle->norm_q[row];
    size->t = fmax(size->t, oracle->scale * dot_of_sizes(oracle, q, k));
}

const double *oracle_gradient_key(struct oracle_gradient *oracle, uint32_t batch, uint32_t kv_head,
                                  uint64_t position, struct oracle_size *size)
{
    load(oracle, batch, kv_head);
    size_t tokens = oracle->problem.tokens, n_met = 0;
    uint64_t first = oracle->problem.mask == RING_MASK_CAUSAL ? position : 0;
    *size = (struct oracle_size){.gross = 0.0};
    memset(oracle->sum, 0, 2 * oracle->padded * sizeof(double));
    for (uint32_t i = 0; i < oracle->group; i++)
        for (uint64_t query = first; query < tokens; query++) {
            size_t row = i * tokens + query;
            if (!oracle->known[row])
                meet_row(oracle, row);
            meet_pair(oracle, row, position, size);
            if (++n_met % RUN == 0)
                join(oracle);
        }
    join(oracle);
    /* dV behind dK, without the padding between */
    memmove(oracle->sum + oracle->problem.head_dim, oracle->sum + oracle->padded,
            oracle->problem.head_dim * sizeof(double));
    return oracle->sum;
}
