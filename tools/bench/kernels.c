/* SPDX-License-Identifier: MIT
 *
 * One case of bench-kernels: one head, S queries against S keys through attention.c, as a rank of one would
 * run it, and the peak measured in between the repeats, because a core's clock drifts within milliseconds. */
#include <stdio.h>
#include <stdlib.h>

#include "exec/kernels/data.h"
#include "exec/kernels/pages.h"
#include "tools/bench/bench.h"
#include "tools/bench/peak.h"

enum { MIN_REPEATS = 3 };
static const double max_repeats_s = 0.25;

/* One case and its memory. */
struct bench_open {
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
    void *memory = block_take_pages(bytes);
    if (memory == NULL)
        stop("out of memory");
    return memory;
}

double bench_pass_s(const struct bench_open *open)
{
    struct ring_compute compute = attention_compute(open->attention);
    struct ring_error error;
    attention_reset(open->attention); /* leaves the state alone in a backward plan */
    double begin_s = peak_cpu_s();
    uint32_t n_pieces = compute.n_pieces(compute.context, &open->task);
    for (uint32_t piece = 0; piece < n_pieces; piece++)
        if (compute.run_piece(compute.context, &open->task, piece, &error) != RING_OK)
            stop(error.text);
    return peak_cpu_s() - begin_s;
}

struct bench_open *bench_open(const struct bench_case *what)
{
    struct bench_open *open = take(sizeof *open);
    *open = (struct bench_open){0};
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
    open->q = take(bytes);
    open->kv = take(2 * bytes);
    open->d_out = take(bytes);
    open->contribution = take(4 * bytes); /* fp32 of bf16 at most */
    if (ring_plan_init(&open->plan, &spec, &error) != RING_OK ||
        attention_open(&open->attention, &open->plan, 0, what->kernel, open->q, false, &error) != RING_OK ||
        (what->pass == RING_PASS_BACKWARD &&
         attention_open_backward(open->attention, open->d_out, &error) != RING_OK))
        stop(error.text);
    struct ring_shard shard = ring_layout_shard(&open->plan.layout, 0);
    struct data_spec data = {.kind = DATA_RANDOM, .seed = 1};
    data_fill(&data, &open->plan.problem, DATA_Q, &shard, open->q);
    data_fill(&data, &open->plan.problem, DATA_K, &shard, open->kv);
    data_fill(&data, &open->plan.problem, DATA_V, &shard, open->kv + bytes);
    data_fill(&data, &open->plan.problem, DATA_DO, &shard, open->d_out);
    open->task = (struct ring_task){.kv = {.data = open->kv, .bytes = 2 * bytes},
                                    .work = ring_plan_work(&open->plan, 0, 0)};
    bench_pass_s(open); /* a warm-up, and the state that a backward pass reads */
    if (what->pass == RING_PASS_BACKWARD) {
        open->task.job = RING_JOB_BACKWARD;
        open->task.first = true;
        open->task.contribution.data = open->contribution;
        open->task.contribution.bytes = ring_plan_payload_bytes(&open->plan, RING_CONTRIBUTION, 0);
        bench_pass_s(open);
    }
    return open;
}

void bench_close(struct bench_open *open)
{
    attention_close(open->attention);
    free(open->q);
    free(open->kv);
    free(open->d_out);
    free(open->contribution);
    free(open);
}

struct bench_result bench_run(const struct bench_case *what)
{
    struct bench_open *open = bench_open(what);
    double flops = (what->pass == RING_PASS_BACKWARD ? 10.0 : 4.0) * what->head_dim *
                   (double)open->task.work.visible_pairs;
    double times_s[BENCH_MAX_REPEATS], shares[BENCH_MAX_REPEATS], begin_s = peak_cpu_s();
    double before = peak_flop_per_s(what->kernel->name);
    size_t n = 0;
    for (; n < BENCH_MAX_REPEATS && (n < MIN_REPEATS || peak_cpu_s() - begin_s < max_repeats_s); n++) {
        times_s[n] = bench_pass_s(open);
        double after = peak_flop_per_s(what->kernel->name);
        shares[n] = flops / times_s[n] / ((before + after) / 2.0);
        before = after;
    }
    bench_close(open);
    double s = bench_median(times_s, n);
    return (struct bench_result){.s = s, .flop_per_s = flops / s, .share = bench_median(shares, n)};
}
