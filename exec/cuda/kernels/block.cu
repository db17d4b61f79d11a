/* SPDX-License-Identifier: MIT
 *
 * The functions of cuda_block.h: they refuse what the kernels do not serve, lay the arguments out for them,
 * and choose the family. */
#include "exec/cuda/kernels/host.cuh"
#include "exec/cuda/kernels/rows.cuh"

bool cuda_block_supports(enum ring_dtype dtype, uint32_t head_dim)
{
    return (dtype == RING_BF16 || dtype == RING_FP16 || dtype == RING_FP32) && head_dim > 0 &&
           head_dim <= CUDA_BLOCK_MAX_HEAD_DIM && head_dim % CUDA_BLOCK_HEAD_DIM_STEP == 0;
}

/* A shard as the kernels know it; false where a number does not fit. */
static bool lay_out(struct places &at, const struct ring_shard &shard)
{
    uint64_t total = 0, end = 0;
    for (int run = 0; run < 2; run++) {
        bool there = run < (int)shard.n_runs && shard.runs[run].count > 0;
        struct ring_run r = there ? shard.runs[run] : ring_run{0, 0, 1};
        if (r.first > INT32_MAX || r.count > INT32_MAX || r.stride == 0 || r.stride > INT32_MAX)
            return false;
        if (there)
            end = r.first + (r.count - 1) * r.stride;
        total += r.count;
        at.first[run] = (int)r.first;
        at.count[run] = (int)r.count;
        at.stride[run] = (int)r.stride;
        /* Half of what an int holds, so that index + tile never overflows. */
        if (end > INT32_MAX / 2 || total > INT32_MAX / 2)
            return false;
    }
    at.tokens = (int)total;
    return total == shard.tokens;
}

static enum ring_status view_of(const struct cuda_block *block, bool begin, struct block_view &view,
                                struct ring_error *error)
{
    if (!cuda_block_supports(block->dtype, block->head_dim))
        return ring_fail(error, RING_UNSUPPORTED,
                         "CUDA kernels: %s with head_dim %u; they serve bf16, fp16 and fp32 with a multiple "
                         "of %d up to %d",
                         (unsigned)block->dtype < RING_N_DTYPES ? ring_dtype_names[block->dtype] : "?",
                         block->head_dim, CUDA_BLOCK_HEAD_DIM_STEP, CUDA_BLOCK_MAX_HEAD_DIM);
    if (block->kv_heads == 0 || block->heads == 0 || block->heads % block->kv_heads != 0 ||
        block->batch == 0 || block->batch > 65535 || block->heads > 65535)
        return ring_fail(
            error, RING_UNSUPPORTED,
            "CUDA kernels: batch %u, %u heads, %u kv heads; wanted 1 to 65535 each, and kv heads "
            "that divide the heads",
            block->batch, block->heads, block->kv_heads);
    if (!(block->scale > 0.0))
        return ring_fail(error, RING_BAD_INPUT, "CUDA kernels: a scale of %g; wanted one above 0",
                         block->scale);
    if (!lay_out(view.q_at, block->queries) || !lay_out(view.k_at, block->keys) || view.q_at.tokens == 0 ||
        view.k_at.tokens == 0)
        return ring_fail(error, RING_UNSUPPORTED,
                         "CUDA kernels: %llu queries and %llu keys; wanted 1 or more of each, at positions "
                         "below 2^30",
                         (unsigned long long)block->queries.tokens, (unsigned long long)block->keys.tokens);
    view.q = block->q, view.k = block->k, view.v = block->v, view.d_out = block->d_out;
    view.m = block->m, view.l = block->l, view.o = block->o, view.out = NULL;
    view.lse = block->lse, view.delta = block->delta;
    view.d_q = block->d_q, view.d_k = block->d_k, view.d_v = block->d_v;
    view.heads = (int)block->heads, view.kv_heads = (int)block->kv_heads;
    view.head_dim = (int)block->head_dim;
    view.causal = block->causal, view.begin = begin;
    view.scale = (float)block->scale;
    return RING_OK;
}

struct named_pointer {
    const char *name;
    const void *at;
};

/* Refuses pointers that are missing or not aligned. */
template <int N>
static enum ring_status check(const char *who, const struct named_pointer (&pointers)[N],
                              struct ring_error *error)
{
    for (int i = 0; i < N; i++)
        if (pointers[i].at == NULL || (uintptr_t)pointers[i].at % CUDA_BLOCK_ALIGNMENT != 0)
            return ring_fail(error, RING_BAD_INPUT, "%s: %s is %p; wanted device memory on a multiple of %d",
                             who, pointers[i].name, pointers[i].at, CUDA_BLOCK_ALIGNMENT);
    return RING_OK;
}

enum ring_status cuda_block_forward(const struct cuda_block *block, bool begin, void *stream,
                                    struct ring_error *error)
{
    struct block_view view;
    const struct named_pointer pointers[] = {{"q", block->q}, {"k", block->k}, {"v", block->v},
                                             {"m", block->m}, {"l", block->l}, {"o", block->o}};
    enum ring_status status = view_of(block, begin, view, error);
    if (status == RING_OK)
        status = check("forward block", pointers, error);
    if (status != RING_OK)
        return status;
    return block->dtype == RING_FP32 ? cuda_launch_plain_forward(block->batch, view, stream, error)
                                     : cuda_launch_forward(block->dtype, block->batch, view, stream, error);
}

enum ring_status cuda_block_backward(const struct cuda_block *block, bool begin, void *stream,
                                     struct ring_error *error)
{
    struct block_view view;
    const struct named_pointer pointers[] = {
        {"q", block->q},         {"k", block->k},     {"v", block->v},
        {"d_out", block->d_out}, {"lse", block->lse}, {"delta", block->delta},
        {"d_q", block->d_q},     {"d_k", block->d_k}, {"d_v", block->d_v}};
    enum ring_status status = view_of(block, begin, view, error);
    if (status == RING_OK)
        status = check("backward block", pointers, error);
    if (status != RING_OK)
        return status;
    if (block->dtype == RING_FP32)
        return cuda_launch_plain_backward(block->batch, view, stream, error);
    status = cuda_launch_backward_keys(block->dtype, block->batch, view, stream, error);
    return status != RING_OK ? status
                             : cuda_launch_backward_queries(block->dtype, block->batch, view, stream, error);
}

/* Enough blocks of threads to fill any device; they stride over the rest. */
static dim3 stream_grid(uint64_t n_threads)
{
    const uint64_t most = 4096;
    uint64_t n = (n_threads + ROW_THREADS - 1) / ROW_THREADS;
    return dim3((unsigned)(n < most ? n : most), 1, 1);
}

/* Runs one of the kernels that stride over rows. */
static enum ring_status run_rows(void (*kernel)(struct rows_view), const char *who,
                                 const struct block_view &view, uint32_t batch, void *stream,
                                 struct ring_error *error)
{
    struct rows_view rows = {view.d_out, view.m,     view.l, view.o,        view.out,
                             view.lse,   view.delta, 0,      view.head_dim, view.scale};
    rows.n_rows = (size_t)batch * (size_t)view.heads * (size_t)view.q_at.tokens;
    return launch(kernel, who, stream_grid(rows.n_rows * 32), ROW_THREADS, 0, stream, error, rows);
}

enum ring_status cuda_block_clear(const struct cuda_block *block, void *stream, struct ring_error *error)
{
    struct block_view view;
    const struct named_pointer pointers[] = {{"m", block->m}, {"l", block->l}, {"o", block->o}};
    enum ring_status status = view_of(block, false, view, error);
    if (status == RING_OK)
        status = check("clearing a state", pointers, error);
    return status != RING_OK ? status
                             : run_rows(clear_kernel, "clearing a state", view, block->batch, stream, error);
}

enum ring_status cuda_block_finish(const struct cuda_block *block, float *out, void *stream,
                                   struct ring_error *error)
{
    struct block_view view;
    const struct named_pointer pointers[] = {
        {"m", block->m}, {"l", block->l}, {"o", block->o}, {"lse", block->lse}, {"out", out}};
    enum ring_status status = view_of(block, false, view, error);
    if (status == RING_OK)
        status = check("finishing a state", pointers, error);
    if (status != RING_OK)
        return status;
    view.out = out;
    return run_rows(finish_kernel, "finishing a state", view, block->batch, stream, error);
}

enum ring_status cuda_block_prepare(const struct cuda_block *block, void *stream, struct ring_error *error)
{
    static const char *const who = "preparing a backward pass";
    struct block_view view;
    const struct named_pointer pointers[] = {{"d_out", block->d_out}, {"m", block->m},
                                             {"l", block->l},         {"o", block->o},
                                             {"lse", block->lse},     {"delta", block->delta}};
    enum ring_status status = view_of(block, false, view, error);
    if (status == RING_OK)
        status = check(who, pointers, error);
    if (status != RING_OK)
        return status;
    void (*kernel)(struct rows_view) = block->dtype == RING_FP32   ? prepare_kernel<float>
                                       : block->dtype == RING_BF16 ? prepare_kernel<bf16>
                                                                   : prepare_kernel<fp16>;
    return run_rows(kernel, who, view, block->batch, stream, error);
}

enum ring_status cuda_block_add(enum ring_dtype dtype, void *gradient, const float *contribution, uint64_t n,
                                bool begin, void *stream, struct ring_error *error)
{
    static const char *const who = "adding a contribution";
    const struct named_pointer pointers[] = {{"gradient", gradient}, {"contribution", contribution}};
    if (dtype != RING_FP32 && dtype != RING_BF16 && dtype != RING_FP16)
        return ring_fail(error, RING_UNSUPPORTED, "%s: a gradient in %s; wanted fp32, bf16 or fp16", who,
                         (unsigned)dtype < RING_N_DTYPES ? ring_dtype_names[dtype] : "?");
    enum ring_status status = check(who, pointers, error);
    if (status != RING_OK || n == 0)
        return status;
    void (*kernel)(struct add_view) = dtype == RING_FP32   ? add_kernel<float>
                                      : dtype == RING_BF16 ? add_kernel<bf16>
                                                           : add_kernel<fp16>;
    struct add_view view = {gradient, contribution, (size_t)n, begin};
    return launch(kernel, who, stream_grid(n), ROW_THREADS, 0, stream, error, view);
}
