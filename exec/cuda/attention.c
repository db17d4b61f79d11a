/* SPDX-License-Identifier: MIT
 *
 * See attention.h. The arithmetic is that of cuda_block.h. */
#include "exec/cuda/attention.h"

#include <math.h>
#include <stdlib.h>

#include "exec/memory.h"

struct exec_attention {
    struct ring_plan plan;
    uint32_t rank;
    struct exec_lanes *lanes;
    struct ring_shard queries;
    uint64_t n_rows, n_q; /* rows of all heads and the batch; their elements */
    void *q, *d_out;
    void *m, *l, *o;
    void *out, *lse, *delta, *d_q;
};

static uint64_t kv_elements(const struct ring_plan *plan, const struct ring_shard *keys)
{
    const struct ring_problem *problem = &plan->problem;

    return (uint64_t)problem->batch * problem->kv_heads * keys->tokens * problem->head_dim;
}

/* The description of own queries against a block in kv, whose gradients would go to contribution. */
static struct cuda_block describe(const struct exec_attention *attention, uint32_t number, const void *kv,
                                  float *contribution)
{
    const struct ring_problem *problem = &attention->plan.problem;
    struct ring_shard keys = ring_layout_shard(&attention->plan.layout, number);
    uint64_t n_kv = kv_elements(&attention->plan, &keys);

    return (struct cuda_block){
        .dtype = problem->dtype,
        .batch = problem->batch,
        .heads = problem->heads,
        .kv_heads = problem->kv_heads,
        .head_dim = problem->head_dim,
        .causal = problem->mask == RING_MASK_CAUSAL,
        .scale = 1.0 / sqrt((double)problem->head_dim),
        .queries = attention->queries,
        .keys = keys,
        .q = attention->q,
        .k = kv,
        .v = kv ? (const char *)kv + n_kv * ring_dtype_bytes(problem->dtype) : NULL,
        .d_out = attention->d_out,
        .m = attention->m,
        .l = attention->l,
        .o = attention->o,
        .lse = attention->lse,
        .delta = attention->delta,
        .d_q = attention->d_q,
        .d_k = contribution,
        .d_v = contribution ? contribution + n_kv : NULL,
    };
}

static enum ring_status launch(void *context, const struct ring_task *task, void *stream,
                               struct ring_error *error)
{
    const struct exec_attention *attention = context;
    const struct exec_device_kernels *kernels = &attention->lanes->runtime->kernels;
    struct cuda_block block = describe(attention, task->block, task->kv.data, task->contribution.data);
    enum ring_status status = RING_OK;

    switch (task->job) {
    case RING_JOB_FORWARD:
        return kernels->forward(&block, task->first, stream, error);
    case RING_JOB_BACKWARD:
        if (task->first)
            status = kernels->prepare(&block, stream, error);
        return status == RING_OK ? kernels->backward(&block, task->first, stream, error) : status;
    case RING_JOB_ADD:
        break;
    }
    return kernels->add(attention->plan.gradient_dtype, task->gradient.data, task->contribution.data,
                        2 * kv_elements(&attention->plan, &block.keys), task->first, stream, error);
}

struct exec_launch exec_attention_launch(struct exec_attention *attention)
{
    return (struct exec_launch){launch, attention};
}

/* A tensor of a shard's tokens, made on the host and brought to the device at to. */
static enum ring_status fill(struct exec_attention *attention, const struct data_spec *data,
                             enum data_tensor tensor, const struct ring_shard *shard, void *to,
                             uint64_t bytes, struct ring_error *error)
{
    const struct exec_device_runtime *runtime = attention->lanes->runtime;
    void *stream = attention->lanes->streams[EXEC_LANE_COMPUTE], *host = exec_memory_alloc(bytes);

    if (!host)
        return ring_fail(error, RING_NO_MEMORY, "rank %u: out of memory for a tensor", attention->rank);
    data_fill(data, &attention->plan.problem, tensor, shard, host);
    enum ring_status status = runtime->copy(to, host, bytes, stream, error);
    if (status == RING_OK)
        status = runtime->settle(stream, error);
    exec_memory_free(host);
    return status;
}

static enum ring_status take_all(struct exec_attention *attention, struct ring_error *error)
{
    bool backward = attention->plan.pass != RING_PASS_FORWARD;
    uint64_t q_bytes = attention->n_q * ring_dtype_bytes(attention->plan.problem.dtype);
    uint64_t rows_bytes = attention->n_rows * sizeof(float), state_bytes = attention->n_q * sizeof(float);
    const struct {
        void **memory;
        uint64_t bytes;
        bool wanted;
    } pieces[] = {
        {&attention->q, q_bytes, true},
        {&attention->m, rows_bytes, true},
        {&attention->l, rows_bytes, true},
        {&attention->o, state_bytes, true},
        {&attention->lse, rows_bytes, true},
        {&attention->d_out, q_bytes, backward},
        {&attention->delta, rows_bytes, backward},
        {&attention->d_q, state_bytes, backward},
    };
    enum ring_status status = RING_OK;

    for (size_t i = 0; i < sizeof pieces / sizeof *pieces && status == RING_OK; i++)
        if (pieces[i].wanted)
            status = attention->lanes->runtime->take(pieces[i].bytes, pieces[i].memory, error);
    return status;
}

/* The state that a forward pass in the order of the ring would leave, without a ring. */
static enum ring_status prefill(struct exec_attention *attention, const struct data_spec *data,
                                struct ring_error *error)
{
    const struct ring_plan *own = &attention->plan;
    const struct exec_device_runtime *runtime = attention->lanes->runtime;
    void *stream = attention->lanes->streams[EXEC_LANE_COMPUTE], *kv = NULL;
    struct ring_plan_spec spec = {
        .strategy = own->kind->name,
        .problem = own->problem,
        .layout = own->layout.kind,
        .pass = RING_PASS_FORWARD,
        .n_ranks = own->n_ranks,
        .n_buffers = own->n_buffers,
        .gradient_dtype = own->gradient_dtype,
    };
    struct ring_plan plan;
    struct ring_plan_step step;
    enum ring_status status = ring_plan_init(&plan, &spec, error);

    if (status == RING_OK)
        status = runtime->take(ring_problem_kv_bytes(&plan.problem, ring_layout_max_tokens(&plan.layout)),
                               &kv, error);
    for (uint32_t s = 0; status == RING_OK && s < plan.n_steps; s++) {
        ring_plan_step(&plan, attention->rank, s, &step);
        if (!step.computes)
            continue;
        struct ring_shard keys = ring_layout_shard(&plan.layout, step.block);
        uint64_t k_bytes = ring_plan_block_bytes(&plan, step.block) / 2;
        struct cuda_block block = describe(attention, step.block, kv, NULL);
        status = fill(attention, data, DATA_K, &keys, kv, k_bytes, error);
        if (status == RING_OK)
            status = fill(attention, data, DATA_V, &keys, (char *)kv + k_bytes, k_bytes, error);
        if (status == RING_OK)
            status = runtime->kernels.forward(&block, step.first, stream, error);
        if (status == RING_OK)
            status = runtime->settle(stream, error);
    }
    if (kv)
        runtime->give(kv);
    return status;
}

enum ring_status exec_attention_open(struct exec_attention **out, const struct ring_plan *plan, uint32_t rank,
                                     const struct data_spec *data, struct exec_lanes *lanes,
                                     struct ring_error *error)
{
    const struct ring_problem *problem = &plan->problem;
    struct exec_attention *attention = calloc(1, sizeof *attention);

    *out = NULL;
    if (!attention)
        return ring_fail(error, RING_NO_MEMORY, "rank %u: out of memory for its state", rank);
    *attention = (struct exec_attention){.plan = *plan, .rank = rank, .lanes = lanes};
    attention->queries = ring_layout_shard(&plan->layout, rank);
    attention->n_rows = (uint64_t)problem->batch * problem->heads * attention->queries.tokens;
    attention->n_q = attention->n_rows * problem->head_dim;
    uint64_t q_bytes = attention->n_q * ring_dtype_bytes(problem->dtype);
    enum ring_status status = take_all(attention, error);
    if (status == RING_OK)
        status = fill(attention, data, DATA_Q, &attention->queries, attention->q, q_bytes, error);
    if (status == RING_OK && plan->pass != RING_PASS_FORWARD)
        status = fill(attention, data, DATA_DO, &attention->queries, attention->d_out, q_bytes, error);
    if (status == RING_OK && plan->pass == RING_PASS_BACKWARD)
        status = prefill(attention, data, error);
    if (status != RING_OK) {
        exec_attention_close(attention);
        return status;
    }
    *out = attention;
    return RING_OK;
}

void exec_attention_close(struct exec_attention *attention)
{
    if (!attention)
        return;
    void *const pieces[] = {attention->q,   attention->d_out, attention->m,     attention->l,  attention->o,
                            attention->out, attention->lse,   attention->delta, attention->d_q};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        if (pieces[i])
            attention->lanes->runtime->give(pieces[i]);
    free(attention);
}

enum ring_status exec_attention_results(struct exec_attention *attention, float *out, float *lse, float *d_q,
                                        struct ring_error *error)
{
    const struct exec_device_runtime *runtime = attention->lanes->runtime;
    void *stream = attention->lanes->streams[EXEC_LANE_COMPUTE];
    struct cuda_block block = describe(attention, attention->rank, NULL, NULL);
    uint64_t rows_bytes = attention->n_rows * sizeof(float), out_bytes = attention->n_q * sizeof(float);
    enum ring_status status = RING_OK;

    if (!attention->out) /* a run that is only timed does without */
        status = runtime->take(out_bytes, &attention->out, error);
    if (status == RING_OK)
        status = runtime->kernels.finish(&block, attention->out, stream, error);
    if (status == RING_OK)
        status = runtime->copy(out, attention->out, out_bytes, stream, error);
    if (status == RING_OK)
        status = runtime->copy(lse, attention->lse, rows_bytes, stream, error);
    if (status == RING_OK && d_q && attention->d_q)
        status = runtime->copy(d_q, attention->d_q, out_bytes, stream, error);
    return status == RING_OK ? runtime->settle(stream, error) : status;
}
