/* SPDX-License-Identifier: MIT
 *
 * The kernel tables: every shape in turn, round after round, all ranks at once, so that a minute's mood
 * spreads over all shapes alike and medians forget it. */
#include "exec/calibration.h"

#include <math.h>
#include <stdlib.h>

#include "exec/kernel_bench.h"

enum {
    MIN_ROUNDS = 3,
    MAX_ROUNDS = 15,
    N_HEADS = 2,
    FIRST_TOKENS = 64,
    MAX_SHAPES = EXEC_MAX_TOKENS * (EXEC_MAX_TOKENS + 1)
};
#define MIN_SAMPLE_S 0.4e-3

static const struct {
    enum ring_pass pass;
    enum ring_dtype dtype;
    uint32_t head_dim;
} wanted[EXEC_N_TABLES] = {
    {RING_PASS_FORWARD, RING_FP32, 64},  {RING_PASS_FORWARD, RING_FP32, 128},
    {RING_PASS_FORWARD, RING_BF16, 64},  {RING_PASS_FORWARD, RING_BF16, 128},
    {RING_PASS_BACKWARD, RING_FP32, 64}, {RING_PASS_BACKWARD, RING_FP32, 128},
    {RING_PASS_BACKWARD, RING_BF16, 64}, {RING_PASS_BACKWARD, RING_BF16, 128},
};

struct shape {
    size_t q, k; /* indices into tokens */
    bool causal;
};

/* All shapes of a table in a fixed order: full row by row, then the causal squares. Backward takes two and a
 * half times as long and is full squares alone. */
static size_t list_shapes(enum ring_pass pass, size_t n_tokens, struct shape *shapes)
{
    size_t n = 0;

    for (size_t q = 0; q < n_tokens; q++)
        for (size_t k = 0; k < n_tokens; k++)
            if (pass == RING_PASS_FORWARD || q == k)
                shapes[n++] = (struct shape){q, k, false};
    for (size_t q = 0; q < n_tokens; q++)
        shapes[n++] = (struct shape){q, q, true};
    return n;
}

static double shape_flops(const struct exec_calibration *c, const struct exec_kernel_table *table,
                          struct shape shape)
{
    return (table->pass == RING_PASS_FORWARD ? 4.0 : 10.0) * table->head_dim *
           exec_kernel_bench_pairs(c->tokens[shape.q], c->tokens[shape.k], shape.causal);
}

/* Opens the benches, with sides as long as the time allows at the rate of a first look. */
static enum ring_status open_benches(struct exec_calibration *c, double seconds,
                                     struct exec_kernel_bench *benches, struct ring_error *error)
{
    enum ring_status status = RING_OK;

    c->n_tables = 0;
    for (size_t i = 0; i < EXEC_N_TABLES && status == RING_OK; i++) {
        size_t n = c->n_tables;
        status = exec_kernel_bench_open(&benches[n], wanted[i].pass, wanted[i].dtype, wanted[i].head_dim,
                                        (size_t)FIRST_TOKENS << (EXEC_MAX_TOKENS - 1), N_HEADS, error);
        if (status == RING_UNSUPPORTED) {
            status = RING_OK; /* a type without a kernel has no table */
            continue;
        }
        c->tables[n] = (struct exec_kernel_table){.pass = wanted[i].pass,
                                                  .dtype = wanted[i].dtype,
                                                  .head_dim = wanted[i].head_dim,
                                                  .kernel = benches[n].kernel};
        c->n_tables += status == RING_OK;
    }
    double round_s = 0; /* of the largest sides: all products of two sides, or squares and half squares */
    double side = 2.0 * (double)((size_t)FIRST_TOKENS << (EXEC_MAX_TOKENS - 1));
    for (size_t i = 0; i < c->n_tables && status == RING_OK; i++) {
        exec_kernel_bench_time(&benches[i], 512, 512, false, 2);
        double pair_s = exec_kernel_bench_time(&benches[i], 512, 512, false, 4).cpu_s / (512.0 * 512.0);
        round_s += (c->tables[i].pass == RING_PASS_FORWARD ? 1.2 : 0.5) * side * side * pair_s;
    }
    if (status == RING_OK)
        status = exec_agree(c->comm, &c->bound, status, error);
    if (status == RING_OK)
        status = exec_maximum(c->comm, &c->bound, &round_s, 1, "a first look at the kernels", error);
    c->n_tokens = EXEC_MAX_TOKENS;
    for (; c->n_tokens > 3 && round_s * (MIN_ROUNDS + 2) > seconds; round_s /= 4)
        c->n_tokens--;
    for (size_t i = 0; i < c->n_tokens; i++)
        c->tokens[i] = (size_t)FIRST_TOKENS << i;
    return status;
}

/* One round of all shapes of all tables; samples [n_tables][MAX_SHAPES]. Returns what it took in all. */
static struct exec_block_time run_round(const struct exec_calibration *c, struct exec_kernel_bench *benches,
                                        const double *expected_s, double *samples)
{
    struct exec_block_time total = {0, 0};
    struct shape shapes[MAX_SHAPES];

    for (size_t table = 0; table < c->n_tables; table++) {
        size_t n_shapes = list_shapes(c->tables[table].pass, c->n_tokens, shapes);
        for (size_t i = 0; i < n_shapes; i++) {
            double expected = expected_s[table * MAX_SHAPES + i];
            size_t n_blocks =
                expected > 0 && expected < MIN_SAMPLE_S ? (size_t)ceil(MIN_SAMPLE_S / expected) : 1;
            struct exec_block_time took = exec_kernel_bench_time(
                &benches[table], c->tokens[shapes[i].q], c->tokens[shapes[i].k], shapes[i].causal, n_blocks);
            samples[table * MAX_SHAPES + i] = took.cpu_s;
            total.wall_s += took.wall_s * (double)n_blocks;
            total.cpu_s += took.cpu_s * (double)n_blocks;
        }
    }
    return total;
}

/* Rounds until the time is over on some rank; samples [round][table][shape]. The first round only says how
 * often a small block must be repeated to be timed. */
static enum ring_status run_rounds(struct exec_calibration *c, struct exec_kernel_bench *benches,
                                   double seconds, double *samples, struct ring_error *error)
{
    size_t per_round = c->n_tables * MAX_SHAPES;
    double *expected_s = calloc(per_round, sizeof *expected_s);
    enum ring_status status =
        expected_s ? RING_OK : ring_fail(error, RING_NO_MEMORY, "out of memory for a round");
    double begun_s = exec_clock_s();
    struct exec_block_time total = {0, 0};

    status = exec_agree(c->comm, &c->bound, status, error);
    if (status == RING_OK)
        run_round(c, benches, expected_s, expected_s);
    for (c->n_rounds = 0; c->n_rounds < MAX_ROUNDS && status == RING_OK;) {
        double spent = (exec_clock_s() - begun_s) / seconds;
        status = exec_maximum(c->comm, &c->bound, &spent, 1, "all ranks to end a round", error);
        bool over = spent > 1 - 0.7 / (c->n_rounds + 1.0);
        if (status != RING_OK || (over && c->n_rounds >= MIN_ROUNDS) || (spent > 1 && c->n_rounds > 0))
            break;
        exec_calibrate_progress(c, "kernels, round %u", c->n_rounds + 1);
        struct exec_block_time round = run_round(c, benches, expected_s, samples + c->n_rounds * per_round);
        total.wall_s += round.wall_s;
        total.cpu_s += round.cpu_s;
        c->n_rounds++;
    }
    c->core_share = total.wall_s > 0 ? total.cpu_s / total.wall_s : 1;
    free(expected_s);
    return status;
}

/* Rates on rank 0: of each rank's median over the rounds, the mean over the ranks. A quieter part of the
 * rounds would promise a machine that runs do not meet: side by side, predictions by the lower quartile were
 * 4 % faster. */
static enum ring_status gather_rates(struct exec_calibration *c, const double *samples,
                                     struct ring_error *error)
{
    struct shape shapes[MAX_SHAPES];
    size_t per_round = c->n_tables * MAX_SHAPES;
    double *mine = calloc(2 * per_round, sizeof *mine),
           *all = calloc(2 * per_round * (size_t)c->n_ranks, sizeof *all);
    enum ring_status status =
        mine && all ? RING_OK : ring_fail(error, RING_NO_MEMORY, "out of memory for rates");
    double *spreads = mine ? mine + per_round : NULL;
    size_t n_spreads = 0;

    status = exec_agree(c->comm, &c->bound, status, error);
    for (size_t table = 0; table < c->n_tables && status == RING_OK; table++) {
        size_t n_shapes = list_shapes(c->tables[table].pass, c->n_tokens, shapes);
        for (size_t i = 0; i < n_shapes; i++) {
            double rounds[MAX_ROUNDS];
            for (uint32_t round = 0; round < c->n_rounds; round++)
                rounds[round] = samples[round * per_round + table * MAX_SHAPES + i];
            mine[table * MAX_SHAPES + i] = exec_median(rounds, c->n_rounds);
            spreads[n_spreads++] = exec_spread(rounds, c->n_rounds);
        }
    }
    if (status == RING_OK)
        status = exec_gather(c->comm, &c->bound, mine, (int)(per_round * sizeof *mine), all, "kernel times",
                             error);
    for (size_t table = 0; table < c->n_tables && status == RING_OK && c->rank == 0; table++) {
        struct exec_kernel_table *to = &c->tables[table];
        size_t n_shapes = list_shapes(to->pass, c->n_tokens, shapes);
        for (size_t i = 0; i < n_shapes; i++) {
            double sum_s = 0;
            for (int rank = 0; rank < c->n_ranks; rank++)
                sum_s += all[(size_t)rank * per_round + table * MAX_SHAPES + i];
            double rate = shape_flops(c, to, shapes[i]) * c->n_ranks / sum_s;
            *(shapes[i].causal ? &to->causal[shapes[i].q] : &to->full[shapes[i].q][shapes[i].k]) = rate;
        }
    }
    if (status == RING_OK)
        c->kernel_spread = exec_median(spreads, n_spreads);
    free(mine);
    free(all);
    return status;
}

enum ring_status exec_calibrate_kernels(struct exec_calibration *c, double seconds, struct ring_error *error)
{
    struct exec_kernel_bench benches[EXEC_N_TABLES] = {{.kernel = NULL}};
    double *samples = calloc((size_t)MAX_ROUNDS * EXEC_N_TABLES * MAX_SHAPES, sizeof *samples);
    enum ring_status status =
        samples ? RING_OK : ring_fail(error, RING_NO_MEMORY, "out of memory for samples");

    status = exec_agree(c->comm, &c->bound, status, error);
    if (status == RING_OK)
        status = open_benches(c, seconds, benches, error);
    if (status == RING_OK)
        status = run_rounds(c, benches, seconds, samples, error);
    if (status == RING_OK)
        status = gather_rates(c, samples, error);
    for (size_t i = 0; i < EXEC_N_TABLES; i++)
        exec_kernel_bench_close(&benches[i]);
    free(samples);
    return status;
}
