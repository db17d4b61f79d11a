/* SPDX-License-Identifier: MIT
 *
 * One block of attention, to be timed. See kernel_bench.h; the cutting is attention.c's, without its plans.
 */
#include "exec/kernel_bench.h"

#include <math.h>
#include <stdlib.h>

#include "exec/clock.h"
#include "exec/kernels/data.h"
#include "exec/memory.h"

/* Numbers between -2 and 2 in no order; which ones makes no difference to the time. */
static void scatter(enum ring_dtype dtype, void *out, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        data_store(dtype, out, i, 4.0 * (double)(seed >> 40) / (double)(1 << 24) - 2.0);
    }
}

/* lse and delta of about the size that such numbers give; dQ from 0. */
static void fill_backward(struct exec_kernel_bench *bench)
{
    size_t rows = bench->n_heads * bench->max_tokens;

    scatter(bench->kernel->dtype, bench->d_out, rows * bench->head_dim, 4);
    for (size_t i = 0; i < rows; i++) {
        data_store(bench->kernel->state, bench->m, i, 9.0);
        data_store(bench->kernel->state, bench->l, i, 0.1);
    }
}

static void fill(struct exec_kernel_bench *bench)
{
    size_t n = bench->n_heads * bench->max_tokens * bench->head_dim;

    scatter(bench->kernel->dtype, bench->q, n, 1);
    scatter(bench->kernel->dtype, bench->k, n, 2);
    scatter(bench->kernel->dtype, bench->v, n, 3);
    for (size_t i = 0; i < bench->max_tokens; i++)
        bench->positions[i] = i;
    if (bench->gradient) {
        fill_backward(bench);
        return;
    }
    struct block_state state = {bench->kernel->state,
                                bench->n_heads * bench->max_tokens,
                                bench->head_dim,
                                bench->m,
                                bench->l,
                                bench->o};
    block_state_clear(&state);
}

enum ring_status exec_kernel_bench_open(struct exec_kernel_bench *bench, enum ring_pass pass,
                                        enum ring_dtype dtype, size_t head_dim, size_t max_tokens,
                                        size_t n_heads, struct ring_error *error)
{
    const struct block_kernel *kernel = block_kernel_find(NULL, dtype, head_dim);

    *bench = (struct exec_kernel_bench){
        .kernel = kernel, .head_dim = head_dim, .max_tokens = max_tokens, .n_heads = n_heads};
    if (!kernel)
        return ring_fail(error, RING_UNSUPPORTED, "no CPU kernel for %s and head_dim %zu",
                         ring_dtype_names[dtype], head_dim);
    if (pass == RING_PASS_BACKWARD)
        bench->gradient = block_gradient_find(kernel);
    size_t rows = n_heads * max_tokens;
    size_t element = ring_dtype_bytes(dtype), real = ring_dtype_bytes(kernel->state);
    bench->q = exec_memory_alloc(rows * head_dim * element);
    bench->k = exec_memory_alloc(rows * head_dim * element);
    bench->v = exec_memory_alloc(rows * head_dim * element);
    bench->m = exec_memory_alloc(rows * real);
    bench->l = exec_memory_alloc(rows * real);
    bench->o = exec_memory_alloc(rows * head_dim * real);
    bench->scratch = exec_memory_alloc(bench->gradient ? bench->gradient->scratch_bytes(head_dim)
                                                       : kernel->scratch_bytes(head_dim));
    bench->positions = exec_memory_alloc(max_tokens * sizeof *bench->positions);
    bench->d_out = bench->gradient ? exec_memory_alloc(rows * head_dim * element) : NULL;
    bench->d_kv = bench->gradient ? exec_memory_alloc(2 * max_tokens * head_dim * real) : NULL;
    bool backward = !bench->gradient || (bench->d_out && bench->d_kv);
    if (bench->q && bench->k && bench->v && bench->m && bench->l && bench->o && bench->scratch &&
        bench->positions && backward) {
        fill(bench);
        return RING_OK;
    }
    exec_kernel_bench_close(bench);
    return ring_fail(error, RING_NO_MEMORY, "out of memory for a block of %zu tokens", max_tokens);
}

void exec_kernel_bench_close(struct exec_kernel_bench *bench)
{
    void *all[] = {bench->q, bench->k,       bench->v,         bench->m,     bench->l,
                   bench->o, bench->scratch, bench->positions, bench->d_out, bench->d_kv};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        exec_memory_free(all[i]);
    *bench = (struct exec_kernel_bench){.kernel = NULL};
}

/* A byte of every page, there and back. */
static void touch(void *memory, size_t bytes)
{
    const size_t page = 4096;
    volatile char *at = memory;

    for (size_t i = 0; memory && i < bytes; i += page)
        at[i] = at[i];
}

void exec_kernel_bench_wake(struct exec_kernel_bench *bench)
{
    size_t rows = bench->n_heads * bench->max_tokens, d = bench->head_dim;
    size_t element = ring_dtype_bytes(bench->kernel->dtype), real = ring_dtype_bytes(bench->kernel->state);

    touch(bench->q, rows * d * element);
    touch(bench->k, rows * d * element);
    touch(bench->v, rows * d * element);
    touch(bench->d_out, rows * d * element);
    touch(bench->m, rows * real);
    touch(bench->l, rows * real);
    touch(bench->o, rows * d * real);
    touch(bench->d_kv, 2 * bench->max_tokens * d * real);
}

/* A span of keys after the other, and for each all tiles of queries that see it. */
static void run_backward(const struct exec_kernel_bench *bench, size_t first, size_t q_tokens,
                         size_t k_tokens, bool causal)
{
    const struct block_gradient_kernel *kernel = bench->gradient;
    size_t d = bench->head_dim, element = ring_dtype_bytes(kernel->dtype),
           real = ring_dtype_bytes(kernel->state);

    for (size_t k = 0; k < k_tokens; k += kernel->k_span) {
        size_t begin = causal ? k / kernel->q_tile * kernel->q_tile : 0;
        char *d_k = (char *)bench->d_kv + k * d * real;
        for (size_t q = begin; q < q_tokens; q += kernel->q_tile) {
            struct block_backward block = {
                .q = (char *)bench->q + (first + q) * d * element,
                .k = (char *)bench->k + (first + k) * d * element,
                .v = (char *)bench->v + (first + k) * d * element,
                .d_out = (char *)bench->d_out + (first + q) * d * element,
                .lse = (char *)bench->m + (first + q) * real,
                .delta = (char *)bench->l + (first + q) * real,
                .q_position = bench->positions + q,
                .k_position = bench->positions + k,
                .q_tokens = q_tokens - q < kernel->q_tile ? q_tokens - q : kernel->q_tile,
                .k_tokens = k_tokens - k < kernel->k_span ? k_tokens - k : kernel->k_span,
                .head_dim = d,
                .causal = causal,
                .begin = q == begin,
                .end = q + kernel->q_tile >= q_tokens,
                .scale = 1 / sqrt((double)d),
                .d_q = (char *)bench->o + (first + q) * d * real,
                .d_k = d_k,
                .d_v = d_k + bench->max_tokens * d * real,
            };
            kernel->backward(&block, bench->scratch);
        }
    }
}

/* Rows that have seen nothing yet, as in a run's first block: kernels may do less for rows whose maximum
 * does not rise, and on the same keys again it never would. Their old output counts for nothing. */
static void forget(const struct exec_kernel_bench *bench, size_t first, size_t n)
{
    for (size_t i = first; i < first + n; i++) {
        data_store(bench->kernel->state, bench->m, i, -INFINITY);
        data_store(bench->kernel->state, bench->l, i, 0);
    }
}

static void run_forward(const struct exec_kernel_bench *bench, size_t first, size_t q_tokens, size_t k_tokens,
                        bool causal)
{
    const struct block_kernel *kernel = bench->kernel;
    size_t d = bench->head_dim, element = ring_dtype_bytes(kernel->dtype),
           real = ring_dtype_bytes(kernel->state);

    forget(bench, first, q_tokens);
    for (size_t q = 0; q < q_tokens; q += kernel->q_tile) {
        size_t n_q = q_tokens - q < kernel->q_tile ? q_tokens - q : kernel->q_tile;
        size_t visible = causal ? q + n_q : k_tokens;
        for (size_t k = 0; k < visible; k += kernel->k_span) {
            struct block_forward block = {
                .q = (char *)bench->q + (first + q) * d * element,
                .k = (char *)bench->k + (first + k) * d * element,
                .v = (char *)bench->v + (first + k) * d * element,
                .q_position = bench->positions + q,
                .k_position = bench->positions + k,
                .q_tokens = n_q,
                .k_tokens = visible - k < kernel->k_span ? visible - k : kernel->k_span,
                .head_dim = d,
                .causal = causal,
                .scale = 1 / sqrt((double)d),
                .m = (char *)bench->m + (first + q) * real,
                .l = (char *)bench->l + (first + q) * real,
                .o = (char *)bench->o + (first + q) * d * real,
            };
            kernel->forward(&block, bench->scratch);
        }
    }
}

struct exec_block_time exec_kernel_bench_time(struct exec_kernel_bench *bench, size_t q_tokens,
                                              size_t k_tokens, bool causal, size_t n_blocks)
{
    size_t rows = bench->n_heads * bench->max_tokens, longest = q_tokens > k_tokens ? q_tokens : k_tokens;
    size_t n_heads = rows / longest < EXEC_BENCH_HEADS ? rows / longest : EXEC_BENCH_HEADS;
    double begun_s = exec_clock_s(), cpu_s = exec_clock_cpu_s();

    for (size_t i = 0; i < n_blocks; i++) {
        size_t first = bench->next_head++ % n_heads * (rows / n_heads);
        (bench->gradient ? run_backward : run_forward)(bench, first, q_tokens, k_tokens, causal);
    }
    double n = (double)n_blocks;
    return (struct exec_block_time){.wall_s = (exec_clock_s() - begun_s) / n,
                                    .cpu_s = (exec_clock_cpu_s() - cpu_s) / n};
}

static int by_time(const void *a, const void *b)
{
    double x = ((const struct exec_block_time *)a)->cpu_s, y = ((const struct exec_block_time *)b)->cpu_s;
    return (x > y) - (x < y);
}

struct exec_block_time exec_kernel_bench_look(struct exec_kernel_bench *bench, size_t tokens)
{
    enum { N_BLOCKS = 5 };
    struct exec_block_time took[N_BLOCKS];

    for (size_t i = 0; i < N_BLOCKS; i++)
        took[i] = exec_kernel_bench_time(bench, tokens, tokens, false, 1);
    qsort(took, N_BLOCKS, sizeof took[0], by_time);
    return took[N_BLOCKS / 2];
}

double exec_kernel_bench_pairs(size_t q_tokens, size_t k_tokens, bool causal)
{
    double q = (double)q_tokens, k = (double)k_tokens;
    return causal ? q * (q + 1) / 2 : q * k;
}
