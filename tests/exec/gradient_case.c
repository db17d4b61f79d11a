/* SPDX-License-Identifier: MIT
 *
 * See gradient_case.h. */
#include "tests/exec/gradient_case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exec/kernels/data.h"
#include "tests/support/cmocka_all.h"

static void *take(size_t n, enum ring_dtype dtype)
{
    void *memory = aligned_alloc(64, (n * ring_dtype_bytes(dtype) + 127) / 64 * 64);
    assert_non_null(memory);
    for (size_t i = 0; i < n; i++)
        data_store(dtype, memory, i, 0.0);
    return memory;
}

/* Deterministic noise in (-1.7, 1.7), rounded to bf16 so that all dtypes hold the same numbers. */
static void fill(enum ring_dtype dtype, void *to, size_t n, unsigned seed)
{
    struct data_spec spec = {.kind = DATA_RANDOM, .seed = seed};
    for (size_t i = 0; i < n; i++) {
        uint16_t bits;
        data_store(RING_BF16, &bits, 0, data_value(&spec, DATA_K, 0, 0, i, 0));
        data_store(dtype, to, i, data_load(RING_BF16, &bits, 0));
    }
}

/* lse and delta by a textbook softmax in fp64 of what the kernel will see. */
static void forward(struct gradient_case *call)
{
    const struct block_backward *block = &call->block;
    size_t d = call->head_dim;
    double *s = take(call->k_tokens, RING_FP64);
    for (size_t row = 0; row < call->q_tokens; row++) {
        double sum = 0.0, delta = 0.0;
        for (size_t key = 0; key < call->k_tokens; key++) {
            double dot = 0.0, dp = 0.0;
            for (size_t i = 0; i < d; i++) {
                dot += data_load(call->dtype, block->q, row * d + i) *
                       data_load(call->dtype, block->k, key * d + i);
                dp += data_load(call->dtype, block->d_out, row * d + i) *
                      data_load(call->dtype, block->v, key * d + i);
            }
            bool hidden = block->causal && block->k_position[key] > block->q_position[row];
            double p = hidden ? 0.0 : exp(block->scale * dot);
            sum += p;
            delta += p * dp;
        }
        data_store(call->state, call->memory[CASE_LSE], row, log(sum));
        data_store(call->state, call->memory[CASE_DELTA], row, sum == 0.0 ? 0.0 : delta / sum);
    }
    free(s);
}

void gradient_case_open(struct gradient_case *call, enum ring_dtype dtype, size_t q_tokens, size_t k_tokens,
                        size_t head_dim, bool causal, uint64_t q_first)
{
    enum ring_dtype real = dtype == RING_FP64 ? RING_FP64 : RING_FP32;
    *call = (struct gradient_case){dtype, real, q_tokens, k_tokens, head_dim, {.causal = causal}, {NULL}};
    const size_t sizes[] = {q_tokens * head_dim,
                            k_tokens * head_dim,
                            k_tokens * head_dim,
                            q_tokens * head_dim,
                            q_tokens,
                            q_tokens,
                            q_tokens * head_dim,
                            k_tokens * head_dim,
                            k_tokens * head_dim};
    for (size_t i = 0; i < 9; i++) {
        call->memory[i] = take(sizes[i], i < 4 ? dtype : real);
        if (i < 4)
            fill(dtype, call->memory[i], sizes[i], (unsigned)i + 1);
    }
    uint64_t *q_position = call->memory[9] = take(q_tokens, RING_FP64);
    uint64_t *k_position = call->memory[10] = take(k_tokens, RING_FP64);
    for (size_t i = 0; i < q_tokens; i++)
        q_position[i] = q_first + 2 * i;
    for (size_t i = 0; i < k_tokens; i++)
        k_position[i] = 2 * i + 1;
    struct block_backward *block = &call->block;
    block->q = call->memory[0];
    block->k = call->memory[1];
    block->v = call->memory[2];
    block->d_out = call->memory[3];
    block->lse = call->memory[CASE_LSE];
    block->delta = call->memory[CASE_DELTA];
    block->d_q = call->memory[CASE_D_Q];
    block->d_k = call->memory[CASE_D_K];
    block->d_v = call->memory[CASE_D_V];
    block->q_position = q_position;
    block->k_position = k_position;
    block->q_tokens = q_tokens;
    block->k_tokens = k_tokens;
    block->head_dim = head_dim;
    block->scale = 1.0 / sqrt((double)head_dim);
    forward(call);
}

void gradient_case_close(struct gradient_case *call)
{
    for (size_t i = 0; i < 11; i++)
        free(call->memory[i]);
}

/* From key k_from to k_to of a block. */
static struct block_backward span_of(const struct block_backward *block,
                                     const struct block_gradient_kernel *kernel, size_t k_from, size_t k_to)
{
    struct block_backward span = *block;
    size_t skip = k_from * block->head_dim, element = ring_dtype_bytes(kernel->dtype),
           real = ring_dtype_bytes(kernel->state);
    span.k = (const char *)span.k + skip * element;
    span.v = (const char *)span.v + skip * element;
    span.d_k = (char *)span.d_k + skip * real;
    span.d_v = (char *)span.d_v + skip * real;
    span.k_position += k_from;
    span.k_tokens = k_to - k_from;
    return span;
}

void gradient_case_run(const struct block_gradient_kernel *kernel, const struct block_backward *block,
                       size_t q_cut, size_t k_cut)
{
    size_t bytes = kernel->scratch_bytes(block->head_dim), d = block->head_dim;
    size_t element = ring_dtype_bytes(kernel->dtype), real = ring_dtype_bytes(kernel->state);
    void *scratch = aligned_alloc(64, (bytes + 63) / 64 * 64);
    assert_non_null(scratch);
    memset(scratch, 0xff, bytes);
    k_cut = k_cut < kernel->k_span ? k_cut : kernel->k_span;
    for (size_t key = 0; key < block->k_tokens; key += k_cut) {
        size_t k_to = block->k_tokens - key < k_cut ? block->k_tokens : key + k_cut, query = 0;
        do {
            struct block_backward call = span_of(block, kernel, key, k_to);
            call.q = (const char *)call.q + query * d * element;
            call.d_out = (const char *)call.d_out + query * d * element;
            call.d_q = (char *)call.d_q + query * d * real;
            call.lse = (const char *)call.lse + query * real;
            call.delta = (const char *)call.delta + query * real;
            call.q_position += query;
            call.q_tokens = block->q_tokens - query < q_cut ? block->q_tokens - query : q_cut;
            call.begin = query == 0;
            query += call.q_tokens;
            call.end = query == block->q_tokens;
            kernel->backward(&call, scratch);
        } while (query < block->q_tokens);
    }
    free(scratch);
}
