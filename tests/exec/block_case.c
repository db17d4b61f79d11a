/* SPDX-License-Identifier: MIT
 *
 * See block_case.h. Random numbers are the C library's of a fixed seed: any will do. */
#include "tests/exec/block_case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exec/kernels/data.h"
#include "tests/support/cmocka_all.h"

static void *take(size_t bytes)
{
    void *memory = aligned_alloc(64, (bytes + 64) / 64 * 64);
    assert_non_null(memory);
    return memory;
}

/* n numbers of about unit variance: uniform in (-sqrt 3, sqrt 3). */
static void *random_numbers(size_t n, enum ring_dtype dtype, double size, unsigned *seed)
{
    void *numbers = take(n * ring_dtype_bytes(dtype));
    for (size_t i = 0; i < n; i++)
        data_store(dtype, numbers, i, size * sqrt(3.0) * (2.0 * rand_r(seed) / RAND_MAX - 1.0));
    return numbers;
}

static uint64_t *positions(size_t n, uint64_t first, uint64_t stride)
{
    uint64_t *ascending = take(n * sizeof(uint64_t));
    for (size_t i = 0; i < n; i++)
        ascending[i] = first + i * stride;
    return ascending;
}

void block_case_open(struct block_arrays *arrays, const struct block_case *given, enum ring_dtype dtype,
                     enum ring_dtype state)
{
    size_t nq = given->q_tokens, nk = given->k_tokens, d = given->head_dim, real = ring_dtype_bytes(state);
    unsigned seed = given->seed + 1;
    arrays->dtype = dtype;
    arrays->state = (struct block_state){.state = state, .rows = nq, .head_dim = d};
    arrays->state.m = take(nq * real);
    arrays->state.l = take(nq * real);
    arrays->state.o = take(nq * d * real);
    arrays->out = take(nq * d * real);
    arrays->lse = take(nq * real);
    block_state_clear(&arrays->state);
    arrays->call = (struct block_forward){
        .q = random_numbers(nq * d, dtype, given->q_size > 0.0 ? given->q_size : 1.0, &seed),
        .k = random_numbers(nk * d, dtype, 1.0, &seed),
        .v = random_numbers(nk * d, dtype, 1.0, &seed),
        .q_position = positions(nq, given->q_first, given->q_stride > 0 ? given->q_stride : 1),
        .k_position = positions(nk, given->k_first, given->k_stride > 0 ? given->k_stride : 1),
        .q_tokens = nq,
        .k_tokens = nk,
        .head_dim = d,
        .causal = given->causal,
        .scale = 1.0 / sqrt((double)d),
        .m = arrays->state.m,
        .l = arrays->state.l,
        .o = arrays->state.o,
    };
}

void block_case_close(struct block_arrays *arrays)
{
    free((void *)arrays->call.q);
    free((void *)arrays->call.k);
    free((void *)arrays->call.v);
    free((void *)arrays->call.q_position);
    free((void *)arrays->call.k_position);
    free(arrays->state.m);
    free(arrays->state.l);
    free(arrays->state.o);
    free(arrays->out);
    free(arrays->lse);
}

void block_case_run_part(struct block_arrays *arrays, const struct block_kernel *kernel, size_t q_from,
                         size_t q_to, size_t k_from, size_t k_to)
{
    struct block_forward part = arrays->call;
    size_t d = part.head_dim, in = ring_dtype_bytes(arrays->dtype),
           real = ring_dtype_bytes(arrays->state.state);
    part.q = (const char *)part.q + q_from * d * in;
    part.k = (const char *)part.k + k_from * d * in;
    part.v = (const char *)part.v + k_from * d * in;
    part.q_position += q_from;
    part.k_position += k_from;
    part.q_tokens = q_to - q_from;
    part.k_tokens = k_to - k_from;
    part.m = (char *)part.m + q_from * real;
    part.l = (char *)part.l + q_from * real;
    part.o = (char *)part.o + q_from * d * real;
    void *scratch = take(kernel->scratch_bytes(d));
    memset(scratch, 0xff, kernel->scratch_bytes(d)); /* NaN: what a kernel does not set it may not use */
    kernel->forward(&part, scratch);
    free(scratch);
}

void block_case_run(struct block_arrays *arrays, const struct block_kernel *kernel)
{
    block_case_run_part(arrays, kernel, 0, arrays->call.q_tokens, 0, arrays->call.k_tokens);
    block_case_finish(arrays);
}

void block_case_finish(struct block_arrays *arrays)
{
    block_state_finish(&arrays->state, arrays->out, arrays->lse);
}

/* Textbook attention of one row: out [head_dim], lse, and T (verify.h); out NULL-safe for no visible key. */
static size_t textbook_row(const struct block_arrays *arrays, size_t row, double *out, double *lse, double *t)
{
    const struct block_forward *call = &arrays->call;
    size_t d = call->head_dim, n = 0;
    double *logits = take(call->k_tokens * sizeof(double)), top = -INFINITY, sum = 0.0;
    memset(out, 0, d * sizeof(double));
    *lse = -INFINITY;
    *t = 0.0;
    for (; n < call->k_tokens && (!call->causal || call->k_position[n] <= call->q_position[row]); n++) {
        double dot = 0.0, size = 0.0;
        for (size_t i = 0; i < d; i++) {
            double term =
                data_load(arrays->dtype, call->q, row * d + i) * data_load(arrays->dtype, call->k, n * d + i);
            dot += term;
            size += fabs(term);
        }
        logits[n] = dot * call->scale;
        top = fmax(top, logits[n]);
        *t = fmax(*t, size * call->scale);
    }
    for (size_t key = 0; key < n; key++) {
        double weight = exp(logits[key] - top);
        sum += weight;
        for (size_t i = 0; i < d; i++)
            out[i] += weight * data_load(arrays->dtype, call->v, key * d + i);
    }
    for (size_t i = 0; i < d && n > 0; i++)
        out[i] /= sum;
    if (n > 0)
        *lse = top + log(sum);
    free(logits);
    return n;
}

/* |found - wanted| / bound, infinite where only one of them is finite. */
static double share(double found, double wanted, double bound)
{
    if (found == wanted)
        return 0.0;
    double apart = fabs(found - wanted) / bound;
    return isnan(apart) ? INFINITY : apart;
}

struct block_errors block_case_errors(const struct block_arrays *arrays, const struct block_kernel *kernel)
{
    const struct block_forward *call = &arrays->call;
    enum ring_dtype state = arrays->state.state;
    double u = state == RING_FP64 ? 0x1p-53 : 0x1p-24, root = sqrt((double)call->head_dim), max_v = 0.0;
    for (size_t i = 0; i < call->k_tokens * call->head_dim; i++)
        max_v = fmax(max_v, fabs(data_load(arrays->dtype, call->v, i)));
    struct block_errors errors = {0.0, 0.0, 0.0};
    double error2 = 0.0, norm2 = 0.0;
    double *wanted = take(call->head_dim * sizeof(double)), lse, t;
    for (size_t row = 0; row < call->q_tokens; row++) {
        size_t n_keys = textbook_row(arrays, row, wanted, &lse, &t);
        double out_bound = n_keys > 0 ? (u * (16.0 + root * t / 2.0) + kernel->weight_u) * max_v : 0.0;
        double lse_bound = n_keys > 0 ? u * (16.0 + 2.0 * root * t) : 0.0;
        errors.lse = fmax(errors.lse, share(data_load(state, arrays->lse, row), lse, lse_bound));
        for (size_t i = 0; i < call->head_dim; i++) {
            double found = data_load(state, arrays->out, row * call->head_dim + i);
            errors.out = fmax(errors.out, share(found, wanted[i], out_bound));
            error2 += (found - wanted[i]) * (found - wanted[i]);
            norm2 += wanted[i] * wanted[i];
        }
    }
    free(wanted);
    errors.relative = norm2 > 0.0 ? sqrt(error2 / norm2) : 0.0;
    return errors;
}

void block_case_assert_same_bits(const struct block_arrays *a, const struct block_arrays *b)
{
    size_t real = ring_dtype_bytes(a->state.state), rows = a->state.rows;
    assert_int_equal(a->state.state, b->state.state);
    assert_int_equal(rows, b->state.rows);
    assert_memory_equal(a->state.m, b->state.m, rows * real);
    assert_memory_equal(a->state.l, b->state.l, rows * real);
    assert_memory_equal(a->state.o, b->state.o, rows * a->state.head_dim * real);
}
