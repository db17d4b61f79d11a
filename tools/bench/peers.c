/* SPDX-License-Identifier: MIT
 *
 * Other projects' attention beside ours, in the same run: peers.py measures them, and after each of its lines
 * the same case is run here. */
#include <stdio.h>
#include <string.h>

#include "tools/bench/bench.h"

void bench_print_peers(void)
{
    FILE *lines = popen("\"${PYTHON:-python3}\" " BENCH_PEERS " 2>/dev/null", "r");
    char name[64], mask[16];
    unsigned long long tokens;
    unsigned head_dim, n = 0;
    double s;
    while (lines != NULL && fscanf(lines, "%63s %15s %llu %u %lf", name, mask, &tokens, &head_dim, &s) == 5) {
        struct bench_case what = {
            .kernel = block_kernel_find(NULL, RING_FP32, head_dim), .tokens = tokens, .head_dim = head_dim};
        what.mask = strcmp(mask, "causal") == 0 ? RING_MASK_CAUSAL : RING_MASK_FULL;
        if (n++ == 0)
            printf("\n%-24s %-6s %6s %8s %10s %10s %8s\n", "others, fp32 forward", "mask", "tokens",
                   "head_dim", "ms", "ours, ms", "ours is");
        double ours_s = bench_run(&what).s;
        printf("%-24s %-6s %6llu %8u %10.3f %10.3f %6.2f x\n", name, mask, tokens, head_dim, 1e3 * s,
               1e3 * ours_s, s / ours_s);
        fflush(stdout);
    }
    if (lines != NULL)
        pclose(lines);
    if (n == 0)
        printf("\nothers: python3 finds no PyTorch to compare with (PYTHON=... chooses another python3)\n");
}
