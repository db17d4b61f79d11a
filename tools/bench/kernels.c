/* SPDX-License-Identifier: MIT
 *
 * One case of bench-kernels: one head, S queries against S keys through attention.c, as a rank of one would
 * run it, and the peak measured in between the repeats, because a core's clock drifts within milliseconds. */
#include <stdio.h>
#include <stdlib.h>

#include "exec/kernels/data.h"
#include "tools/bench/bench.h"
#include "tools/bench/peak.h"

enum { MIN_REPEATS = 3 };
static const double max_repeats_s = 0.25;

/* Memory of one case. */
struct arrays {
    struct ring_plan plan;
    struct attention *attention;
    struct ring_task task;
    char *q, *kv, *d_out, *contribution;
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *numbers, size_t n)
{
    qsort(numbers, n, sizeof(numbers[0]), by_value);
    return numbers[n / 2];
}

static void stop(const char *text)
{
    fprintf(stderr, "bench-kernels: %s\n", text);
    exit(1);
}

static void *take(size_t bytes)
{
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (memory == NULL)
        stop("out of memory");
    return memory;
}

/* One pass over all pieces; returns its seconds. */
static double pass_s(const struct arrays *arrays)
{
    struct ring_compute compute = attention_compute(arrays->attention);
    struct ring_error error;
    attention_reset(arrays->attention); /* leaves the state alone in a backward plan */
    double begin_s = peak_cpu_s();
    uint32_t n_pieces = compute.n_pieces(compute.context, &arrays->task);
    for (uint32_t piece = 0; piece < n_pieces; piece++)
        if (compute.run_piece(compute.context, &arrays->task, piece, &error) != RING_OK)
            stop(error.text);
    return peak_cpu_s() - begin_s;
}

static void open_case(struct arrays *arrays, const struct bench_case *what)
{
    struct ring_plan_spec spec = {
        .strategy = "ring",
        .problem = {.tokens = what->tokens,
                    .batch = 1,
                    .heads = 1,
                    .kv_heads = 1,
                    .head_dim = what->head_dim,
                    .dtype = what->kernel->dtype,
                    .mask = what->mask},
        .pass = what->pass,
        .n_ranks = 1,
        .n_buffers = RING_MIN_BUFFERS,
    };
    struct ring_error error;
    size_t bytes = what->tokens * what->head_dim * ring_dtype_bytes(what->kernel->dtype);
    arrays->q = take(bytes);
    arrays->kv = take(2 * bytes);
    arrays->d_out = take(bytes);
    arrays->contribution = take(4 * bytes); /* fp32 of bf16 at most */
    if (ring_plan_init(&arrays->plan, &spec, &error) != RING_OK ||
        attention_open(&arrays->attention, &arrays->plan, 0, what->kernel, arrays->q, false, &error) !=
            RING_OK ||
        (what->pass == RING_PASS_BACKWARD &&
         attention_open_backward(arrays->attention, arrays->d_out, &error) != RING_OK))
        stop(error.text);
    struct ring_shard shard = ring_layout_shard(&arrays->plan.layout, 0);
    struct data_spec data = {.kind = DATA_RANDOM, .seed = 1};
    data_fill(&data, &arrays->plan.problem, DATA_Q, &shard, arrays->q);
    data_fill(&data, &arrays->plan.problem, DATA_K, &shard, arrays->kv);
    data_fill(&data, &arrays->plan.problem, DATA_V, &shard, arrays->kv + bytes);
    data_fill(&data, &arrays->plan.problem, DATA_DO, &shard, arrays->d_out);
    arrays->task = (struct ring_task){.kv = {.data = arrays->kv, .bytes = 2 * bytes},
                                      .work = ring_plan_work(&arrays->plan, 0, 0)};
}

static void close_case(struct arrays *arrays)
{
    attention_close(arrays->attention);
    free(arrays->q);
    free(arrays->kv);
    free(arrays->d_out);
    free(arrays->contribution);
}

struct bench_result bench_run(const struct bench_case *what)
{
    struct arrays arrays;
    open_case(&arrays, what);
    pass_s(&arrays); /* a warm-up, and the state that a backward pass reads */
    if (what->pass == RING_PASS_BACKWARD) {
        arrays.task.job = RING_JOB_BACKWARD;
        arrays.task.first = true;
        arrays.task.contribution.data = arrays.contribution;
        arrays.task.contribution.bytes = ring_plan_payload_bytes(&arrays.plan, RING_CONTRIBUTION, 0);
        pass_s(&arrays);
    }
    double flops = (what->pass == RING_PASS_BACKWARD ? 10.0 : 4.0) * what->head_dim *
                   (double)arrays.task.work.visible_pairs;
    double times_s[BENCH_MAX_REPEATS], shares[BENCH_MAX_REPEATS], begin_s = peak_cpu_s();
    double before = peak_flop_per_s(what->kernel->name);
    size_t n = 0;
    for (; n < BENCH_MAX_REPEATS && (n < MIN_REPEATS || peak_cpu_s() - begin_s < max_repeats_s); n++) {
        times_s[n] = pass_s(&arrays);
        double after = peak_flop_per_s(what->kernel->name);
        shares[n] = flops / times_s[n] / ((before + after) / 2.0);
        before = after;
    }
    close_case(&arrays);
    double s = bench_median(times_s, n);
    return (struct bench_result){.s = s, .flop_per_s = flops / s, .share = bench_median(shares, n)};
}
