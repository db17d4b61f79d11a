/* SPDX-License-Identifier: MIT
 *
 * See device_ring.h. */
#include "tests/cuda/device_ring.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "exec/kernels/verify.h"
#include "exec/kernels/verify_gradient.h"
#include "tests/cuda/memory.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/ring_spec.h"

struct ring_plan_spec device_ring_spec(uint32_t n_ranks, uint64_t tokens, uint32_t heads, uint32_t kv_heads,
                                       uint32_t head_dim, enum ring_dtype dtype)
{
    return usual_ring(n_ranks, tokens, heads, kv_heads, head_dim, dtype);
}

static void *take_host(size_t bytes)
{
    void *memory = calloc(1, bytes);
    assert_non_null(memory);
    return memory;
}

static float *take_floats(size_t n)
{
    return memory_take(n * sizeof(float));
}

/* A tensor of a rank's tokens, from data into n elements of the device at to. */
static void fill(const struct data_spec *data, const struct ring_problem *problem, enum data_tensor tensor,
                 const struct ring_shard *shard, void *to, size_t n)
{
    size_t bytes = n * ring_dtype_bytes(problem->dtype);
    void *host = take_host(bytes);
    data_fill(data, problem, tensor, shard, host);
    memory_put(to, host, bytes);
    free(host);
}

static void open_rank(struct device_ring *ring, uint32_t number, const struct data_spec *data)
{
    const struct ring_problem *problem = &ring->plan.problem;
    struct device_rank *rank = &ring->ranks[number];
    size_t element = ring_dtype_bytes(problem->dtype);
    size_t most = ring_layout_max_tokens(&ring->plan.layout), d = problem->head_dim;
    rank->shard = ring_layout_shard(&ring->plan.layout, number);
    rank->n_rows = (size_t)problem->batch * problem->heads * rank->shard.tokens;
    rank->n_q = rank->n_rows * d;
    rank->n_kv = (size_t)problem->batch * problem->kv_heads * rank->shard.tokens * d;
    rank->q = memory_take(rank->n_q * element);
    rank->d_out = memory_take(rank->n_q * element);
    rank->kv = memory_take(2 * rank->n_kv * element);
    rank->m = take_floats(rank->n_rows);
    rank->l = take_floats(rank->n_rows);
    rank->o = take_floats(rank->n_q);
    rank->out = take_floats(rank->n_q);
    rank->lse = take_floats(rank->n_rows);
    rank->delta = take_floats(rank->n_rows);
    rank->d_q = take_floats(rank->n_q);
    rank->contribution = take_floats(2 * problem->batch * problem->kv_heads * most * d);
    size_t gradient_bytes = 2 * rank->n_kv * ring_dtype_bytes(ring->plan.gradient_dtype);
    rank->gradient = memory_take(gradient_bytes);
    rank->host_out = take_host(rank->n_q * sizeof(float));
    rank->host_lse = take_host(rank->n_rows * sizeof(float));
    rank->host_d_q = take_host(rank->n_q * sizeof(float));
    rank->host_gradient = take_host(gradient_bytes);
    fill(data, problem, DATA_Q, &rank->shard, rank->q, rank->n_q);
    fill(data, problem, DATA_DO, &rank->shard, rank->d_out, rank->n_q);
    fill(data, problem, DATA_K, &rank->shard, rank->kv, rank->n_kv);
    fill(data, problem, DATA_V, &rank->shard, (char *)rank->kv + rank->n_kv * element, rank->n_kv);
}

void device_ring_open(struct device_ring *ring, const struct ring_plan_spec *spec,
                      const struct data_spec *data)
{
    struct ring_error error;
    if (ring_plan_init(&ring->plan, spec, &error) != RING_OK)
        fail_msg("%s", error.text);
    ring->ranks = take_host(spec->n_ranks * sizeof(*ring->ranks));
    for (uint32_t rank = 0; rank < spec->n_ranks; rank++)
        open_rank(ring, rank, data);
}

void device_ring_close(struct device_ring *ring)
{
    for (uint32_t i = 0; i < ring->plan.n_ranks; i++) {
        struct device_rank *rank = &ring->ranks[i];
        void *on_device[] = {rank->q,     rank->d_out, rank->kv,           rank->m,
                             rank->l,     rank->o,     rank->out,          rank->lse,
                             rank->delta, rank->d_q,   rank->contribution, rank->gradient};
        void *on_host[] = {rank->host_out, rank->host_lse, rank->host_d_q, rank->host_gradient};
        for (size_t k = 0; k < sizeof(on_device) / sizeof(on_device[0]); k++)
            memory_give(on_device[k]);
        for (size_t k = 0; k < sizeof(on_host) / sizeof(on_host[0]); k++)
            free(on_host[k]);
    }
    free(ring->ranks);
}

struct cuda_block device_ring_block(const struct device_ring *ring, uint32_t number, uint32_t block)
{
    const struct ring_problem *problem = &ring->plan.problem;
    struct device_rank *rank = &ring->ranks[number], *owner = &ring->ranks[block];
    const char *k = owner->kv;
    return (struct cuda_block){
        .dtype = problem->dtype,
        .batch = problem->batch,
        .heads = problem->heads,
        .kv_heads = problem->kv_heads,
        .head_dim = problem->head_dim,
        .causal = problem->mask == RING_MASK_CAUSAL,
        .scale = 1.0 / sqrt((double)problem->head_dim),
        .queries = rank->shard,
        .keys = owner->shard,
        .q = rank->q,
        .k = k,
        .v = k + owner->n_kv * ring_dtype_bytes(problem->dtype),
        .d_out = rank->d_out,
        .m = rank->m,
        .l = rank->l,
        .o = rank->o,
        .lse = rank->lse,
        .delta = rank->delta,
        .d_q = rank->d_q,
        .d_k = rank->contribution,
        .d_v = rank->contribution + owner->n_kv,
    };
}

static void must(enum ring_status status, const struct ring_error *error)
{
    if (status != RING_OK)
        fail_msg("%s", error->text);
}

static void do_step(struct device_ring *ring, uint32_t rank, const struct ring_plan_step *step)
{
    struct ring_error error = {{0}};
    struct cuda_block block = device_ring_block(ring, rank, step->block);
    if (step->computes && step->job == RING_JOB_FORWARD)
        must(cuda_block_forward(&block, step->first, NULL, &error), &error);
    if (step->computes && step->job == RING_JOB_BACKWARD) {
        if (step->first)
            must(cuda_block_prepare(&block, NULL, &error), &error);
        must(cuda_block_backward(&block, step->first, NULL, &error), &error);
    }
    if (step->adds)
        must(cuda_block_add(ring->plan.gradient_dtype, ring->ranks[step->block].gradient, block.d_k,
                            2 * ring->ranks[step->block].n_kv, step->begins, NULL, &error),
             &error);
}

void device_ring_run(struct device_ring *ring)
{
    struct ring_error error = {{0}};
    struct ring_plan_step step;
    for (uint32_t s = 0; s < ring->plan.n_steps; s++)
        for (uint32_t rank = 0; rank < ring->plan.n_ranks; rank++) {
            ring_plan_step(&ring->plan, rank, s, &step);
            do_step(ring, rank, &step);
        }
    for (uint32_t i = 0; i < ring->plan.n_ranks; i++) {
        struct device_rank *rank = &ring->ranks[i];
        struct cuda_block block = device_ring_block(ring, i, i);
        must(cuda_block_finish(&block, rank->out, NULL, &error), &error);
        memory_get(rank->host_out, rank->out, rank->n_q * sizeof(float));
        memory_get(rank->host_lse, rank->lse, rank->n_rows * sizeof(float));
        if (ring->plan.pass == RING_PASS_FORWARD)
            continue;
        memory_get(rank->host_d_q, rank->d_q, rank->n_q * sizeof(float));
        memory_get(rank->host_gradient, rank->gradient,
                   2 * rank->n_kv * ring_dtype_bytes(ring->plan.gradient_dtype));
    }
}

/* Sums of squares of one tensor over ranks. */
struct squares {
    double error2, norm2;
};

static void add_up(struct squares *sum, const struct verify_frobenius *part)
{
    sum->error2 += part->error2;
    sum->norm2 += part->norm2;
}

struct device_ring_errors device_ring_verify(const struct device_ring *ring, const struct data_spec *data)
{
    struct ring_error error = {{0}};
    struct oracle *oracle = NULL;
    struct oracle_gradient *gradient = NULL;
    struct device_ring_errors errors = {0};
    struct squares out = {0}, d_q = {0}, d_k = {0}, d_v = {0};
    must(oracle_open(&oracle, &ring->plan.problem, data, &error), &error);
    must(oracle_gradient_open(&gradient, &ring->plan.problem, data, &error), &error);
    for (uint32_t i = 0; i < ring->plan.n_ranks; i++) {
        const struct device_rank *rank = &ring->ranks[i];
        struct verify_report report;
        struct verify_gradient_report back;
        verify_rank(&ring->plan, i, oracle, RING_FP32, rank->host_out, rank->host_lse, 0, &report);
        out.error2 += report.out_error2;
        out.norm2 += report.out_norm2;
        errors.n_bad += report.n_bad;
        if (ring->plan.pass == RING_PASS_FORWARD)
            continue;
        verify_gradient(&ring->plan, i, gradient, RING_FP32, rank->host_d_q, rank->host_gradient, 0, &back);
        add_up(&d_q, &back.d_q);
        add_up(&d_k, &back.d_k);
        add_up(&d_v, &back.d_v);
        errors.n_bad += back.n_bad;
    }
    oracle_close(oracle);
    oracle_gradient_close(gradient);
    errors.out = sqrt(out.error2 / out.norm2);
    errors.d_q = d_q.norm2 > 0.0 ? sqrt(d_q.error2 / d_q.norm2) : 0.0;
    errors.d_k = d_k.norm2 > 0.0 ? sqrt(d_k.error2 / d_k.norm2) : 0.0;
    errors.d_v = d_v.norm2 > 0.0 ? sqrt(d_v.error2 / d_v.norm2) : 0.0;
    return errors;
}

double device_ring_worst(const struct device_ring_errors *errors)
{
    double worst = fmax(fmax(errors->out, errors->d_q), fmax(errors->d_k, errors->d_v));
    assert_true(isfinite(errors->out + errors->d_q + errors->d_k + errors->d_v));
    return worst;
}

static uint64_t fold(uint64_t sum, const void *array, size_t bytes)
{
    const unsigned char *at = array;
    for (size_t i = 0; i < bytes; i++)
        sum = (sum ^ at[i]) * 0x100000001b3u;
    return sum;
}

uint64_t device_ring_checksum(const struct device_ring *ring)
{
    uint64_t sum = 0xcbf29ce484222325u;
    for (uint32_t i = 0; i < ring->plan.n_ranks; i++) {
        const struct device_rank *rank = &ring->ranks[i];
        sum = fold(sum, rank->host_out, rank->n_q * sizeof(float));
        sum = fold(sum, rank->host_lse, rank->n_rows * sizeof(float));
        sum = fold(sum, rank->host_d_q, rank->n_q * sizeof(float));
        sum = fold(sum, rank->host_gradient, 2 * rank->n_kv * ring_dtype_bytes(ring->plan.gradient_dtype));
    }
    return sum;
}

bool device_ring_ready(void)
{
    const char *why_not;
    if (memory_ready(&why_not))
        return true;
    printf("skipped: no usable CUDA device (%s)\n", why_not);
    return false;
}
