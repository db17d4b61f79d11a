/* SPDX-License-Identifier: MIT
 *
 * The forward kernels' exponential by itself, on numbers in the first-level cache: compiled once per
 * instruction set, as the kernels are. costs.c asks for them by name. */
#include "exec/kernels/block_vector.h"
#include "tools/bench/bench.h"

#define BENCH_JOIN(isa)   bench_exp2_##isa
#define BENCH_EXPAND(isa) BENCH_JOIN(isa)

void BENCH_EXPAND(BENCH_ISA)(float *x, size_t n)
{
    unsigned before = vec_begin_flush();
    for (size_t i = 0; i + 4 * LANES <= n; i += 4 * LANES)
#pragma GCC unroll 4
        for (size_t j = 0; j < 4; j++)
            vec_store(x + i + j * LANES, vec_exp2(vec_load(x + i + j * LANES)));
    vec_end_flush(before);
}
