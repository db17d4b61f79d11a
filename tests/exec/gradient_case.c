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
    *call = (struct gradient_case){
        dtype, real, q_tokens, k_tokens, head_dim, {.causal = causal, .begin = true}, {NULL}};
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

void gradient_case_run(const struct block_gradient_kernel *kernel, const struct block_backward *block)
{
    void *scratch = aligned_alloc(64, (kernel->scratch_bytes(block->head_dim) + 63) / 64 * 64);
    assert_non_null(scratch);
    memset(scratch, 0xff, kernel->scratch_bytes(block->head_dim));
    kernel->backward(block, scratch);
    free(scratch);
}

struct block_backward gradient_case_part(const struct gradient_case *call, size_t q_from, size_t q_to,
                                         size_t k_from, size_t k_to)
{
    struct block_backward block = call->block;
    size_t d = call->head_dim, element = ring_dtype_bytes(call->dtype), real = ring_dtype_bytes(call->state);
    block.q = (const char *)block.q + q_from * d * element;
    block.d_out = (const char *)block.d_out + q_from * d * element;
    block.lse = (const char *)block.lse + q_from * real;
    block.delta = (const char *)block.delta + q_from * real;
    block.d_q = (char *)block.d_q + q_from * d * real;
    block.q_position += q_from;
    block.q_tokens = q_to - q_from;
    block.k = (const char *)block.k + k_from * d * element;
    block.v = (const char *)block.v + k_from * d * element;
    block.d_k = (char *)block.d_k + k_from * d * real;
    block.d_v = (char *)block.d_v + k_from * d * real;
    block.k_position += k_from;
    block.k_tokens = k_to - k_from;
    return block;
}
