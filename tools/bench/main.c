/* SPDX-License-Identifier: MIT
 *
 * bench-kernels: how fast each block kernel is on one core here, as a share of the peak that is measured
 * beside it; what a step costs beside the products; and how others do.
 *
 *     bench-kernels [KERNEL [TOKENS HEAD_DIM]]
 *     bench-kernels peers
 *
 * KERNEL is how the names of the wanted kernels begin; without it all that this processor has but the
 * portable one, the other tables, and the whole takes about a minute. Without a shape, six usual ones. Shares
 * are of the fp32 peak also for bf16; "of fp32" is against the fp32 kernel of the same row in this run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bench/bench.h"

enum { N_SHAPES = 6, N_MODES = 2 * RING_N_MASKS };
static const uint64_t shape_tokens[N_SHAPES] = {256, 1024, 4096, 256, 1024, 4096};
static const uint32_t shape_head_dims[N_SHAPES] = {64, 64, 64, 128, 128, 128};

/* What the best fp32 kernel did, by shape and mode; 0 until it has run. */
static double fp32_flop_per_s[N_SHAPES][N_MODES];

static void print_row(const struct bench_case *what, double *fp32)
{
    if (what->kernel->dtype == RING_BF16 && *fp32 == 0.0) {
        struct bench_case wide = *what;
        wide.kernel = block_kernel_find(NULL, RING_FP32, what->head_dim);
        *fp32 = bench_run(&wide).flop_per_s;
    }
    struct bench_result result = bench_run(what);
    printf("%-14s %-8s %-5s %-6s %6llu %8u %10.3f %8.1f %7.1f %%", what->kernel->name,
           ring_pass_names[what->pass], ring_dtype_names[what->kernel->dtype], ring_mask_names[what->mask],
           (unsigned long long)what->tokens, what->head_dim, 1e3 * result.s, 1e-9 * result.flop_per_s,
           100.0 * result.share);
    if (what->kernel->dtype == RING_BF16)
        printf(" %7.2f x", result.flop_per_s / *fp32);
    else if (*fp32 == 0.0)
        *fp32 = result.flop_per_s;
    printf("\n");
    fflush(stdout);
}

/* All shapes and modes of one kernel that is wanted. tokens 0: the usual shapes. */
static void print_kernel(const struct block_kernel *kernel, const char *wanted, uint64_t tokens,
                         uint32_t head_dim)
{
    bool named = wanted != NULL && strncmp(kernel->name, wanted, strlen(wanted)) == 0;
    if (!named && (wanted != NULL || strstr(kernel->name, "portable") != NULL ||
                   strstr(kernel->name, "reference") != NULL))
        return;
    for (int shape = 0; shape < (tokens > 0 ? 1 : N_SHAPES); shape++)
        for (int mode = 0; mode < N_MODES; mode++) {
            struct bench_case what = {.kernel = kernel,
                                      .tokens = tokens > 0 ? tokens : shape_tokens[shape],
                                      .head_dim = tokens > 0 ? head_dim : shape_head_dims[shape],
                                      .mask = (enum ring_mask)(mode % RING_N_MASKS),
                                      .pass = mode < RING_N_MASKS ? RING_PASS_FORWARD : RING_PASS_BACKWARD};
            if (kernel->supports(what.head_dim))
                print_row(&what, &fp32_flop_per_s[shape][mode]);
        }
}

int main(int argc, char **argv)
{
    const char *wanted = argc > 1 ? argv[1] : NULL;
    uint64_t tokens = argc > 3 ? strtoull(argv[2], NULL, 10) : 0;
    uint32_t head_dim = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 0;
    bool peers = wanted == NULL || strcmp(wanted, "peers") == 0;
    if (wanted == NULL || !peers)
        printf("%-14s %-8s %-5s %-6s %6s %8s %10s %8s %9s %9s\n", "kernel", "pass", "dtype", "mask", "tokens",
               "head_dim", "ms", "GFLOP/s", "of peak", "of fp32");
    for (size_t i = 0; block_kernels[i] != NULL; i++)
        print_kernel(block_kernels[i], wanted, tokens, head_dim);
    if (wanted == NULL) {
        bench_print_costs(1024, 64);
        bench_print_costs(1024, 128);
    }
    if (peers)
        bench_print_peers();
    return 0;
}
