/* SPDX-License-Identifier: MIT
 *
 * bench-cuda: how fast the CUDA kernels are on the device at hand, beside the rate at which it multiplies
 * matrices, measured right before each row, and beside PyTorch's best attention on the same shapes.
 *
 *     bench-cuda [TOKENS HEAD_DIM]
 *
 * Work is counted as everywhere else, 4 * head_dim a visible pair and head forward and 10 backward, however
 * many products the kernels really do. 16 heads, a batch of one. Exit status 3 where there is no device. */
#include "tools/bench/cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/cuda/bench.h"

enum { HEADS = 16, MOST_TOKENS = 16384, N_TRIALS = 9, MATMUL_SIDE = 8192, NO_DEVICE = 3, MOST_PEERS = 256 };
#define TRIAL_S 5e-3

static const struct exec_device_runtime *runtime;
static struct exec_device_facts facts;
static struct exec_gpu_bench bench;
static void *stream;

static void must(enum ring_status status, const struct ring_error *error)
{
    if (status == RING_OK)
        return;
    fprintf(stderr, "bench-cuda: %s\n", error->text);
    exit(NO_DEVICE);
}

/* What is timed: an attention block, a matrix product, or the loop of mma.sync. */
struct work {
    enum { BLOCK, MATMUL, MMA } kind;
    struct exec_gpu_shape shape;
    double flops; /* of one launch */
};

static void enqueue(struct work *work, unsigned n)
{
    struct ring_error error = {""};
    for (unsigned i = 0; i < n; i++)
        switch (work->kind) {
        case BLOCK:
            must(exec_gpu_bench_run(&bench, &work->shape, stream, &error), &error);
            break;
        case MATMUL:
            must(bench_cuda_matmul(work->shape.dtype, MATMUL_SIDE, bench.inputs[0], bench.inputs[1],
                                   bench.sums[0], stream, &error),
                 &error);
            break;
        case MMA:
            must(bench_cuda_mma(facts.n_processors, bench.rows[0], stream, &work->flops, &error), &error);
            break;
        }
}

static double trial_s(struct work *work, unsigned n)
{
    struct ring_error error = {""};
    void *events[2] = {NULL, NULL};
    double seconds = 0;
    for (int i = 0; i < 2; i++)
        must(runtime->open_event(&events[i], &error), &error);
    must(runtime->record(events[0], stream, &error), &error);
    enqueue(work, n);
    must(runtime->record(events[1], stream, &error), &error);
    must(runtime->settle(stream, &error), &error);
    must(runtime->between(events[0], events[1], &seconds, &error), &error);
    for (int i = 0; i < 2; i++)
        runtime->close_event(events[i]);
    return seconds / n;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median over trials, FLOP/s. */
static double rate(struct work *work)
{
    double trials_s[N_TRIALS];
    trial_s(work, 1);
    double once_s = trial_s(work, 1);
    unsigned n = once_s < TRIAL_S ? (unsigned)(TRIAL_S / once_s) + 1 : 1;
    for (int i = 0; i < N_TRIALS; i++)
        trials_s[i] = trial_s(work, n);
    qsort(trials_s, N_TRIALS, sizeof trials_s[0], by_value);
    return work->flops / trials_s[N_TRIALS / 2];
}

static double block_rate(enum ring_pass pass, enum ring_dtype dtype, size_t tokens, uint32_t head_dim,
                         bool causal)
{
    struct work work = {.kind = BLOCK,
                        .shape = {pass, dtype, head_dim, tokens, tokens, causal, pass == RING_PASS_FORWARD}};
    work.flops = exec_gpu_shape_flops(&bench, &work.shape);
    return rate(&work);
}

/* What the device multiplies at in this type: cuBLAS, else the loop of mma.sync; 0: unknown. */
static double matmul_rate(enum ring_dtype dtype)
{
    struct work matmul = {
        .kind = MATMUL, .shape = {.dtype = dtype}, .flops = 2.0 * MATMUL_SIDE * MATMUL_SIDE * MATMUL_SIDE};
    struct work mma = {.kind = MMA};
    return bench_cuda_matmul_name != NULL ? rate(&matmul) : dtype != RING_FP32 ? rate(&mma) : 0;
}

static void print_share(double flop_per_s, double of)
{
    if (of > 0)
        printf(" %9.1f %8.1f %%", 1e-12 * flop_per_s, 100 * flop_per_s / of);
    else
        printf(" %9.1f %10s", 1e-12 * flop_per_s, "-");
}

static void print_row(enum ring_dtype dtype, size_t tokens, uint32_t head_dim, bool causal)
{
    double matmul = matmul_rate(dtype);
    printf("%-5s %-6s %6zu %8u %9.1f", ring_dtype_names[dtype], causal ? "causal" : "full", tokens, head_dim,
           1e-12 * matmul);
    print_share(block_rate(RING_PASS_FORWARD, dtype, tokens, head_dim, causal), matmul);
    print_share(block_rate(RING_PASS_BACKWARD, dtype, tokens, head_dim, causal), matmul);
    printf("\n");
    fflush(stdout);
}

static void print_rows(size_t tokens, uint32_t head_dim)
{
    static const uint32_t head_dims[] = {64, 128, 256};
    struct work mma = {.kind = MMA};
    printf("%s, %d multiprocessors at up to %.0f MHz, driver for CUDA %d.%d; %d heads\n", facts.name,
           facts.n_processors, 1e-6 * facts.clock_hz, facts.driver / 1000, facts.driver % 1000 / 10, HEADS);
    printf("mma.sync alone reaches %.1f TFLOP/s; matmul is %s\n\n", 1e-12 * rate(&mma),
           bench_cuda_matmul_name != NULL ? bench_cuda_matmul_name : "that (built without cuBLAS)");
    printf("%-5s %-6s %6s %8s %9s %9s %10s %9s %10s\n", "dtype", "mask", "tokens", "head_dim", "matmul",
           "forward", "of matmul", "backward", "of matmul");
    printf("%-5s %-6s %6s %8s %9s %9s %10s %9s\n", "", "", "", "", "TFLOP/s", "TFLOP/s", "", "TFLOP/s");
    for (int causal = 0; causal < 2; causal++)
        for (size_t d = 0; tokens == 0 && d < 3; d++) {
            for (size_t n = 2048; n <= MOST_TOKENS; n *= 2)
                print_row(RING_BF16, n, head_dims[d], causal == 1);
            print_row(RING_FP16, 8192, head_dims[d], causal == 1);
            print_row(RING_FP32, 4096, head_dims[d], causal == 1);
        }
    for (int i = 0; tokens > 0 && i < 6; i++)
        print_row((const enum ring_dtype[]){RING_BF16, RING_FP16, RING_FP32}[i / 2], tokens, head_dim,
                  i % 2 == 1);
}

static double median_of(double *values, size_t n)
{
    qsort(values, n, sizeof values[0], by_value);
    return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* cuda_peers.py measures others; after each of its lines the same case is run here. */
static void print_peers(void)
{
    FILE *lines = popen("\"${PYTHON:-python3}\" " BENCH_CUDA_PEERS, "r");
    char name[64], pass_name[16], mask[16];
    double shares[2][MOST_PEERS], seconds;
    size_t n_shares[2] = {0, 0}, tokens;
    unsigned head_dim;
    while (lines != NULL && fscanf(lines, "%63s %15s %15s %zu %u %lf", name, pass_name, mask, &tokens,
                                   &head_dim, &seconds) == 6) {
        int backward = strcmp(pass_name, "backward") == 0;
        bool causal = strcmp(mask, "causal") == 0;
        if (tokens > MOST_TOKENS || n_shares[backward] == MOST_PEERS)
            continue;
        if (n_shares[0] + n_shares[1] == 0)
            printf("\n%-32s %-8s %-6s %6s %8s %9s %9s %9s\n", "PyTorch's best, bf16", "pass", "mask",
                   "tokens", "head_dim", "TFLOP/s", "ours", "of it");
        struct exec_gpu_shape shape = {backward ? RING_PASS_BACKWARD : RING_PASS_FORWARD,
                                       RING_BF16,
                                       head_dim,
                                       tokens,
                                       tokens,
                                       causal,
                                       true};
        double theirs = exec_gpu_shape_flops(&bench, &shape) / seconds,
               ours = block_rate(shape.pass, RING_BF16, tokens, head_dim, causal);
        shares[backward][n_shares[backward]++] = ours / theirs;
        printf("%-32s %-8s %-6s %6zu %8u %9.1f %9.1f %7.1f %%\n", name, pass_name, mask, tokens, head_dim,
               1e-12 * theirs, 1e-12 * ours, 100 * ours / theirs);
        fflush(stdout);
    }
    if (lines != NULL)
        pclose(lines);
    if (n_shares[0] + n_shares[1] == 0)
        printf("\nothers: python3 finds no PyTorch with CUDA to compare with (PYTHON=... chooses another)\n");
    for (int backward = 0; backward < 2; backward++)
        if (n_shares[backward] > 0) {
            double middle = median_of(shares[backward], n_shares[backward]);
            printf("%s: median %.1f %% of PyTorch's best, least %.1f %%\n", backward ? "backward" : "forward",
                   100 * middle, 100 * shares[backward][0]);
        }
}

int main(int argc, char **argv)
{
    struct ring_error error = {""};
    char name[EXEC_DEVICE_NAME_BYTES];
    size_t tokens = argc > 2 ? strtoull(argv[1], NULL, 10) : 0;
    uint32_t head_dim = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
    int n_devices = 0;
    runtime = exec_device_runtime();
    if (tokens > MOST_TOKENS || head_dim > CUDA_BLOCK_MAX_HEAD_DIM ||
        head_dim % CUDA_BLOCK_HEAD_DIM_STEP != 0) {
        fprintf(stderr, "bench-cuda: up to %d tokens, and a head_dim that is a multiple of %d up to %d\n",
                MOST_TOKENS, CUDA_BLOCK_HEAD_DIM_STEP, CUDA_BLOCK_MAX_HEAD_DIM);
        return 2;
    }
    if (runtime->count(&n_devices, &error) != RING_OK) {
        fprintf(stderr, "bench-cuda: no usable CUDA device is there: %s\n", error.text);
        return NO_DEVICE;
    }
    must(runtime->open(0, name, &error), &error);
    must(runtime->facts(&facts, &error), &error);
    must(runtime->open_stream(&stream, &error), &error);
    must(exec_gpu_bench_open(&bench, runtime, HEADS, MOST_TOKENS, stream, &error), &error);
    print_rows(tokens, head_dim);
    if (tokens == 0)
        print_peers();
    exec_gpu_bench_close(&bench);
    runtime->close_stream(stream);
    return 0;
}
