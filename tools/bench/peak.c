/* SPDX-License-Identifier: MIT
 *
 * Chains of independent multiply-adds, enough to fill two pipes of latency 4 or 5, one loop per instruction
 * set. */
#include "tools/bench/peak.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N_CHAINS = 12, N_TURNS = 20000, N_RUNS = 5 };

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double peak_cpu_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The loop is the same text for each instruction set, and GCC has one target a function. x * a + b stays
 * finite. The compiler may not know where the chains begin: it would find the one that starts at its fixed
 * point and leave it out. */
#define PEAK_LOOP(vector)                                                                                    \
    float hidden = *(volatile float *)&(float){0.25f};                                                       \
    vector chain[N_CHAINS], a = {0}, b = {0};                                                                \
    a += 0.5f;                                                                                               \
    b += 1.0f;                                                                                               \
    for (int i = 0; i < N_CHAINS; i++)                                                                       \
        chain[i] = b * ((float)i + hidden);                                                                  \
    for (int turn = 0; turn < N_TURNS; turn++) {                                                             \
        _Pragma("GCC unroll 12") for (int i = 0; i < N_CHAINS; i++) chain[i] = chain[i] * a + b;             \
    }                                                                                                        \
    vector sum = {0};                                                                                        \
    for (int i = 0; i < N_CHAINS; i++)                                                                       \
        sum += chain[i];                                                                                     \
    return sum[0]

typedef float vector_4 __attribute__((vector_size(16)));
typedef float vector_8 __attribute__((vector_size(32)));
typedef float vector_16 __attribute__((vector_size(64)));

static float loop_baseline(void)
{
    PEAK_LOOP(vector_4);
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static float loop_avx2(void)
{
    PEAK_LOOP(vector_8);
}

__attribute__((target("avx512f,prefer-vector-width=512"))) static float loop_avx512(void)
{
    PEAK_LOOP(vector_16);
}
#endif

double peak_flop_per_s(const char *kernel_name)
{
    float (*loop)(void) = loop_baseline;
    double lanes = 4.0;
#if defined(__x86_64__)
    if (strstr(kernel_name, "avx512") != NULL || strcmp(kernel_name, "amx") == 0) {
        loop = loop_avx512;
        lanes = 16.0;
    } else if (strcmp(kernel_name, "tiled-avx2") == 0) {
        loop = loop_avx2;
        lanes = 8.0;
    }
#else
    (void)kernel_name;
#endif
    double times_s[N_RUNS];
    for (int run = 0; run < N_RUNS; run++) {
        double begin_s = peak_cpu_s();
        volatile float keep = loop();
        (void)keep;
        times_s[run] = peak_cpu_s() - begin_s;
    }
    qsort(times_s, N_RUNS, sizeof(times_s[0]), by_value);
    return 2.0 * lanes * N_CHAINS * N_TURNS / times_s[N_RUNS / 2];
}
