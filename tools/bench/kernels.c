/* SPDX-License-Identifier: MIT
 *
 * bench-kernels: how fast each block kernel is on one core here, as a share of the peak that is measured
 * before and after it. One head, S queries against S keys through attention.c, as a rank of one would run it.
 *
 *     bench-kernels [KERNEL [TOKENS HEAD_DIM]]
 *
 * KERNEL is how the names of the wanted kernels begin (default: tiled); without a shape, six usual ones.
 * FLOPs are 4 * head_dim a visible pair forward and 10 backward (FlashAttention-2, Dao 2023, section 4.1),
 * which computes the logits anew. A backward row includes lse and delta, as a first step's task does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/kernels/attention.h"
#include "exec/kernels/data.h"
#include "tools/bench/peak.h"

enum { N_REPEATS = 7, MAX_REPEATS_S = 1 };

struct row {
    uint64_t tokens;
    uint32_t head_dim;
    enum ring_mask mask;
    enum ring_pass pass; /* forward or backward */
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* One pass over all pieces; returns its seconds. */
static double pass_s(struct attention *attention, const struct ring_task *task)
{
    struct ring_compute compute = attention_compute(attention);
    struct ring_error error;
    attention_reset(attention); /* leaves the state alone in a backward plan */
    double begin_s = peak_cpu_s();
    uint32_t n_pieces = compute.n_pieces(compute.context, task);
    for (uint32_t piece = 0; piece < n_pieces; piece++)
        if (compute.run_piece(compute.context, task, piece, &error) != RING_OK) {
            fprintf(stderr, "bench-kernels: %s\n", error.text);
            exit(1);
        }
    return peak_cpu_s() - begin_s;
}

static void *take(size_t bytes)
{
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (memory == NULL) {
        fprintf(stderr, "bench-kernels: out of memory\n");
        exit(1);
    }
    return memory;
}

static void bench(const struct block_kernel *kernel, const struct row *row)
{
    struct ring_plan_spec spec = {
        .strategy = "ring",
        .problem = {.tokens = row->tokens,
                    .batch = 1,
                    .heads = 1,
                    .kv_heads = 1,
                    .head_dim = row->head_dim,
                    .dtype = kernel->dtype,
                    .mask = row->mask},
        .pass = row->pass,
        .n_ranks = 1,
        .n_buffers = RING_MIN_BUFFERS,
    };
    struct ring_plan plan;
    struct ring_error error;
    struct attention *attention;
    size_t bytes = row->tokens * row->head_dim * ring_dtype_bytes(kernel->dtype);
    bool backward = row->pass == RING_PASS_BACKWARD;
    char *q = take(bytes), *kv = take(2 * bytes), *d_out = take(bytes),
         *contribution = take(4 * bytes); /* fp32 of bf16 at most */
    if (ring_plan_init(&plan, &spec, &error) != RING_OK ||
        attention_open(&attention, &plan, 0, kernel, q, false, &error) != RING_OK ||
        (backward && attention_open_backward(attention, d_out, &error) != RING_OK)) {
        fprintf(stderr, "bench-kernels: %s\n", error.text);
        exit(1);
    }
    struct ring_shard shard = ring_layout_shard(&plan.layout, 0);
    struct data_spec data = {.kind = DATA_RANDOM, .seed = 1};
    data_fill(&data, &plan.problem, DATA_Q, &shard, q);
    data_fill(&data, &plan.problem, DATA_K, &shard, kv);
    data_fill(&data, &plan.problem, DATA_V, &shard, kv + bytes);
    data_fill(&data, &plan.problem, DATA_DO, &shard, d_out);

    struct ring_task task = {.kv = {.data = kv, .bytes = 2 * bytes}, .work = ring_plan_work(&plan, 0, 0)};
    pass_s(attention, &task); /* a warm-up, and the state that a backward pass reads */
    if (backward) {
        task.job = RING_JOB_BACKWARD;
        task.first = true;
        task.contribution.data = contribution;
        task.contribution.bytes = ring_plan_payload_bytes(&plan, RING_CONTRIBUTION, 0);
        pass_s(attention, &task);
    }
    double times_s[N_REPEATS], begin_s = peak_cpu_s();
    double peak = peak_flop_per_s(kernel->name);
    size_t n = 0;
    while (n < N_REPEATS && (n == 0 || peak_cpu_s() - begin_s < MAX_REPEATS_S))
        times_s[n++] = pass_s(attention, &task);
    peak = (peak + peak_flop_per_s(kernel->name)) / 2.0;
    qsort(times_s, n, sizeof(times_s[0]), by_value);
    double s = times_s[n / 2],
           rate = (backward ? 10.0 : 4.0) * row->head_dim * (double)task.work.visible_pairs / s;
    printf("%-16s %-8s %-5s %-6s %6llu %8u %10.3f %8.2f %8.2f %6.1f %%\n", kernel->name,
           ring_pass_names[row->pass], ring_dtype_names[kernel->dtype], ring_mask_names[row->mask],
           (unsigned long long)row->tokens, row->head_dim, 1e3 * s, 1e-9 * rate, 1e-9 * peak,
           100.0 * rate / peak);
    fflush(stdout);
    attention_close(attention);
    free(q);
    free(kv);
    free(d_out);
    free(contribution);
}

int main(int argc, char **argv)
{
    static const uint64_t tokens[] = {256, 1024, 4096};
    static const uint32_t head_dims[] = {64, 128};
    const char *name = argc > 1 ? argv[1] : "tiled";
    bool one_shape = argc > 3;
    printf("%-16s %-8s %-5s %-6s %6s %8s %10s %8s %8s %8s\n", "kernel", "pass", "dtype", "mask", "tokens",
           "head_dim", "ms", "GFLOP/s", "peak", "share");
    for (size_t i = 0; block_kernels[i] != NULL; i++) {
        const struct block_kernel *kernel = block_kernels[i];
        for (size_t shape = 0; shape < (one_shape ? 1 : 6); shape++)
            for (int mask = 0; mask < 2 * RING_N_MASKS; mask++) {
                struct row row = {.tokens = one_shape ? strtoull(argv[2], NULL, 10) : tokens[shape % 3],
                                  .head_dim =
                                      one_shape ? (uint32_t)strtoul(argv[3], NULL, 10) : head_dims[shape / 3],
                                  .mask = (enum ring_mask)(mask % RING_N_MASKS),
                                  .pass = mask < RING_N_MASKS ? RING_PASS_FORWARD : RING_PASS_BACKWARD};
                if (!kernel->supports(row.head_dim) || strncmp(kernel->name, name, strlen(name)) != 0)
                    continue;
                bench(kernel, &row);
            }
    }
    return 0;
}
