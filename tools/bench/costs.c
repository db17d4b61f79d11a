/* SPDX-License-Identifier: MIT
 *
 * What a step costs beside the products, each measured by itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bench/bench.h"
#include "tools/bench/peak.h"

enum { N_REPEATS = 15, N_EXP2 = 4096 };

/* Seconds of processor time of `times` rounds of work, the median of some repeats, for one round. */
static double round_s(void (*work)(void *), void *with, int times)
{
    double s[N_REPEATS];
    work(with);
    for (int repeat = 0; repeat < N_REPEATS; repeat++) {
        double begin_s = peak_cpu_s();
        for (int i = 0; i < times; i++)
            work(with);
        s[repeat] = (peak_cpu_s() - begin_s) / times;
    }
    return bench_median(s, N_REPEATS);
}

struct exponentials {
    void (*exp2)(float *x, size_t n);
    float *x;
};

static void take_exponentials(void *with)
{
    struct exponentials *e = with;
    e->exp2(e->x,
            N_EXP2); /* 2^x of 2^x ... settles between 1 and 2 or grows to infinity: either costs the same */
}

struct states {
    struct block_state into, other;
};

static void merge(void *with)
{
    struct states *states = with;
    block_state_merge(&states->into, &states->other);
}

struct buffers {
    char *to, *from;
    size_t bytes;
};

static void copy(void *with)
{
    struct buffers *b = with;
    memcpy(b->to, b->from, b->bytes);
    __asm__ volatile("" ::"r"(b->to) : "memory");
}

static struct block_state state_of(float *memory, uint64_t tokens, uint32_t head_dim)
{
    struct block_state state = {.state = RING_FP32, .rows = tokens, .head_dim = head_dim, .m = memory};
    state.l = memory + tokens;
    state.o = memory + 2 * tokens;
    for (uint64_t i = 0; i < tokens * (head_dim + 2); i++)
        memory[i] = 1.0f + (float)(i % 7);
    return state;
}

static void print_row(const char *what, const char *each, double each_value, double s, double block_s)
{
    printf("%-34s %10.3f %-12s %10.4f %8.2f %%\n", what, each_value, each, 1e3 * s, 100.0 * s / block_s);
    fflush(stdout);
}

void bench_print_costs(uint64_t tokens, uint32_t head_dim)
{
    const struct block_kernel *kernel = block_kernel_find(NULL, RING_FP32, head_dim);
    struct bench_case block = {.kernel = kernel, .tokens = tokens, .head_dim = head_dim};
    double block_s = bench_run(&block).s, pairs = (double)tokens * (double)tokens;
    size_t n = tokens * (head_dim + 2), bytes = 2 * tokens * head_dim * sizeof(float);
    float *a = malloc(n * sizeof(float)), *b = malloc(n * sizeof(float));
    char *from = calloc(1, bytes), *to = calloc(1, bytes);
    float *x = aligned_alloc(64, N_EXP2 * sizeof(float));
    if (a != NULL && b != NULL && from != NULL && to != NULL && x != NULL) {
        printf("\n%-34s %10s %-12s %10s %8s\n", "beside the products", "", "", "ms", "of block");
        printf("%-34s %10s %-12s %10.4f\n", kernel->name, "", "", 1e3 * block_s);
        struct exponentials e = {.exp2 = bench_exp2_portable, .x = x};
#if defined(__x86_64__)
        if (strcmp(kernel->name, "tiled-avx512") == 0)
            e.exp2 = bench_exp2_avx512;
        else if (strcmp(kernel->name, "tiled-avx2") == 0)
            e.exp2 = bench_exp2_avx2;
#endif
        for (size_t i = 0; i < N_EXP2; i++)
            x[i] = -1.0f - (float)(i % 20);
        double s = round_s(take_exponentials, &e, 50) / N_EXP2;
        print_row("exponential, a weight", "ns", 1e9 * s, s * pairs, block_s);
        struct states states = {state_of(a, tokens, head_dim), state_of(b, tokens, head_dim)};
        s = round_s(merge, &states, 1);
        print_row("merge of a state, a number", "ns", 1e9 * s / (double)n, s, block_s);
        struct buffers buffers = {.to = to, .from = from, .bytes = bytes};
        s = round_s(copy, &buffers, 10);
        print_row("copy of K and V", "GB/s", 1e-9 * (double)bytes / s, s, block_s);
    }
    free(a);
    free(b);
    free(from);
    free(to);
    free(x);
}
