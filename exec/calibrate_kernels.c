/* SPDX-License-Identifier: MIT
 *
 * Times of blocks: every shape in turn, round after round, all ranks at once, so that a minute's mood spreads
 * over all shapes alike and medians forget it. And between them reference blocks, by which each sample is
 * divided: what a slow drift adds to some shapes and not to others. */
#include <math.h>
#include <stdlib.h>

#include "exec/calibrate_shapes.h"
#include "exec/kernel_bench.h"

enum {
    MIN_ROUNDS = 3,
    MAX_ROUNDS = 25,
    N_HEADS = 2,
    FIRST_TOKENS = 64,
    MAX_MOODS = 8192,
    FORWARD_REFERENCE = 1024, /* tokens, but no more than the largest side */
    BACKWARD_REFERENCE = 512,
};
#define MIN_SAMPLE_S    1.5e-3
#define MOOD_INTERVAL_S 100e-3

/* What takes longer has its noise averaged out, and is timed every other round. */
#define LARGE_SAMPLE_S 20e-3

struct sample {
    double at_s, cpu_s; /* at: the middle, on the clock; cpu_s 0: none in that round */
};

/* A reference block that was timed. */
struct look {
    size_t bench;
    double at_s, cpu_s;
};

struct survey {
    size_t n_benches;
    struct exec_kernel_bench benches[EXEC_N_BENCHES];
    double expected_s[EXEC_MAX_SHAPES];
    struct sample samples[MAX_ROUNDS][EXEC_MAX_SHAPES];
    size_t n_looks;
    struct look looks[MAX_MOODS];
    struct exec_mood moods[MAX_MOODS];
    struct exec_block_time total;
};

static double shape_flops(const struct exec_block_shape *shape)
{
    return (shape->pass == RING_PASS_FORWARD ? 4.0 : 10.0) * shape->head_dim *
           exec_kernel_bench_pairs(shape->q_tokens, shape->k_tokens, shape->causal);
}

/* The benches of types that have a kernel, those of the tables first; wanted: what each one is. */
static enum ring_status open_benches(struct exec_calibration *c, struct survey *survey,
                                     struct exec_wanted *wanted, struct ring_error *error)
{
    enum ring_status status = RING_OK;

    c->n_tables = survey->n_benches = 0;
    for (size_t i = 0; i < EXEC_N_BENCHES && status == RING_OK; i++) {
        size_t n = survey->n_benches;
        struct exec_kernel_bench *bench = &survey->benches[n];
        wanted[n] = exec_wanted[i];
        status = exec_kernel_bench_open(bench, wanted[n].pass, wanted[n].dtype, wanted[n].head_dim,
                                        (size_t)FIRST_TOKENS << (EXEC_MAX_TOKENS - 1), N_HEADS, error);
        if (status == RING_UNSUPPORTED) {
            status = RING_OK; /* a type without a kernel has no table */
            continue;
        }
        survey->n_benches += status == RING_OK;
        if (status == RING_OK && i < EXEC_N_TABLES)
            c->tables[c->n_tables++] = (struct exec_kernel_table){
                .pass = wanted[n].pass,
                .dtype = wanted[n].dtype,
                .head_dim = wanted[n].head_dim,
                .kernel = bench->gradient ? bench->gradient->name : bench->kernel->name};
    }
    return exec_agree(c->comm, &c->bound, status, error);
}

/* A first look at the rates: the sides are as long as the time allows. */
static enum ring_status choose_sides(struct exec_calibration *c, struct survey *survey, double seconds,
                                     struct ring_error *error)
{
    double round_s = 0; /* of the largest sides: all products of two sides, half squares, what is held out */
    double side = 2.0 * (double)((size_t)FIRST_TOKENS << (EXEC_MAX_TOKENS - 1));

    for (size_t i = 0; i < c->n_tables; i++) {
        exec_kernel_bench_time(&survey->benches[i], 512, 512, false, 2);
        double block_s = exec_kernel_bench_time(&survey->benches[i], 512, 512, false, 4).cpu_s;
        round_s += 1.4 * side * side * block_s / (512.0 * 512.0);
    }
    enum ring_status status =
        exec_maximum(c->comm, &c->bound, &round_s, 1, "a first look at the kernels", error);
    c->n_tokens = EXEC_MAX_TOKENS;
    for (; c->n_tokens > 3 && round_s * (MIN_ROUNDS + 1) > seconds; round_s /= 4)
        c->n_tokens--;
    for (size_t i = 0; i < c->n_tokens; i++)
        c->tokens[i] = (size_t)FIRST_TOKENS << i;
    return status;
}

static size_t reference_tokens(const struct exec_calibration *c, enum ring_pass pass)
{
    size_t largest = c->tokens[c->n_tokens - 1],
           wanted = pass == RING_PASS_FORWARD ? FORWARD_REFERENCE : BACKWARD_REFERENCE;
    return largest < wanted ? largest : wanted;
}

static void look_at_reference(const struct exec_calibration *c, struct survey *survey, size_t bench)
{
    struct exec_kernel_bench *at = &survey->benches[bench];
    size_t side = reference_tokens(c, at->gradient ? RING_PASS_BACKWARD : RING_PASS_FORWARD);
    struct exec_block_time took = exec_kernel_bench_look(at, side);

    if (survey->n_looks < MAX_MOODS)
        survey->looks[survey->n_looks++] = (struct look){bench, exec_clock_s(), took.cpu_s};
    survey->total.wall_s += took.wall_s;
    survey->total.cpu_s += took.cpu_s;
}

static size_t blocks_of(double expected_s)
{
    return expected_s > 0 && expected_s < MIN_SAMPLE_S ? (size_t)ceil(MIN_SAMPLE_S / expected_s) : 1;
}

/* All shapes once, into samples[n_shapes]. Round 0 has all; after it the large ones take turns. */
static void run_round(const struct exec_calibration *c, struct survey *survey, uint32_t round,
                      struct sample *samples)
{
    double looked_s = 0;

    for (size_t i = 0; i < c->n_shapes; i++) {
        const struct exec_block_shape *shape = &c->shapes[i];
        if (round > 0 && survey->expected_s[i] > LARGE_SAMPLE_S && (round + i) % 2 == 0)
            continue;
        bool other = i == 0 || c->shapes[i - 1].table != shape->table;
        if (other)
            exec_kernel_bench_wake(&survey->benches[shape->table]);
        if (other || exec_clock_s() - looked_s > MOOD_INTERVAL_S) {
            look_at_reference(c, survey, shape->table);
            looked_s = exec_clock_s();
        }
        size_t n_blocks = blocks_of(survey->expected_s[i]);
        if (n_blocks > 1) /* what is not there yet would weigh on a small one */
            exec_kernel_bench_time(&survey->benches[shape->table], shape->q_tokens, shape->k_tokens,
                                   shape->causal, 1);
        double begun_s = exec_clock_s();
        struct exec_block_time took = exec_kernel_bench_time(&survey->benches[shape->table], shape->q_tokens,
                                                             shape->k_tokens, shape->causal, n_blocks);
        samples[i] = (struct sample){(begun_s + exec_clock_s()) / 2, took.cpu_s};
        if (!(survey->expected_s[i] > 0 && survey->expected_s[i] < took.cpu_s))
            survey->expected_s[i] = took.cpu_s; /* the first may have been many times too long */
        survey->total.wall_s += took.wall_s * (double)n_blocks;
        survey->total.cpu_s += took.cpu_s * (double)n_blocks;
    }
}

/* Rounds until the time is over on some rank. The first one, which is not kept, says how often a small block
 * must be repeated to be timed. */
static enum ring_status run_rounds(struct exec_calibration *c, struct survey *survey, double seconds,
                                   struct ring_error *error)
{
    double begun_s = exec_clock_s();
    enum ring_status status = RING_OK;

    exec_calibrate_progress(c, "a first look at %zu blocks", c->n_shapes);
    run_round(c, survey, 0, survey->samples[0]);
    survey->n_looks = 0;
    survey->total = (struct exec_block_time){0, 0};
    double rounds_s = exec_clock_s();
    for (c->n_rounds = 0; c->n_rounds < MAX_ROUNDS && status == RING_OK; c->n_rounds++) {
        double now_s = exec_clock_s(), next_s = c->n_rounds ? (now_s - rounds_s) / c->n_rounds : 0;
        double spent[] = {(now_s - begun_s) / seconds, (now_s - begun_s + 0.7 * next_s) / seconds};
        status = exec_maximum(c->comm, &c->bound, spent, 2, "all ranks to end a round", error);
        if (status != RING_OK || (spent[1] > 1 && c->n_rounds >= MIN_ROUNDS) ||
            (spent[0] > 1 && c->n_rounds > 0))
            break;
        exec_calibrate_progress(c, "blocks, round %u", c->n_rounds + 1);
        run_round(c, survey, c->n_rounds, survey->samples[c->n_rounds]);
    }
    c->core_share = survey->total.wall_s > 0 ? survey->total.cpu_s / survey->total.wall_s : 1;
    return status;
}

static double reference_median(const struct survey *survey, size_t bench, double *scratch)
{
    size_t n = 0;

    for (size_t i = 0; i < survey->n_looks; i++)
        if (survey->looks[i].bench == bench)
            scratch[n++] = survey->looks[i].cpu_s;
    return exec_median(scratch, n);
}

/* From looks to this rank's moods, and the medians of its reference blocks into medians[n_benches]. */
static void find_moods(struct survey *survey, double *medians, double *scratch)
{
    for (size_t bench = 0; bench < survey->n_benches; bench++)
        medians[bench] = reference_median(survey, bench, scratch);
    for (size_t i = 0; i < survey->n_looks; i++)
        survey->moods[i] = (struct exec_mood){survey->looks[i].at_s,
                                              survey->looks[i].cpu_s / medians[survey->looks[i].bench]};
    exec_mood_smooth(survey->moods, survey->n_looks);
}

/* What this rank found: mine[n_shapes] of blocks, then of n_benches reference blocks. */
static void summarise(struct exec_calibration *c, struct survey *survey, double *mine, double *scratch)
{
    size_t n_spreads = 0;

    find_moods(survey, mine + c->n_shapes, scratch);
    for (size_t i = 0; i < c->n_shapes; i++) {
        double rounds_s[MAX_ROUNDS];
        size_t n = 0;
        for (uint32_t round = 0; round < c->n_rounds; round++) {
            struct sample sample = survey->samples[round][i];
            if (sample.cpu_s > 0)
                rounds_s[n++] = sample.cpu_s / exec_mood_at(survey->moods, survey->n_looks, sample.at_s);
        }
        mine[i] = exec_median(rounds_s, n);
        scratch[n_spreads++] = exec_spread(rounds_s, n);
    }
    c->kernel_spread = exec_median(scratch, n_spreads);
    for (size_t i = 0; i < survey->n_looks; i++)
        scratch[i] = survey->moods[i].ratio;
    exec_median(scratch, survey->n_looks);
    c->drift = exec_spread(scratch, survey->n_looks);
}

static double mean_over_ranks(const struct exec_calibration *c, const double *all, size_t n_each, size_t i)
{
    double sum = 0;

    for (int rank = 0; rank < c->n_ranks; rank++)
        sum += all[(size_t)rank * n_each + i];
    return sum / c->n_ranks;
}

/* Times and rates on rank 0: of each rank's median over the rounds, the mean over the ranks. A quieter part
 * of the rounds would promise a machine that runs do not meet: side by side, predictions by the lower
 * quartile were 4 % faster. */
static enum ring_status gather_rates(struct exec_calibration *c, struct survey *survey,
                                     struct ring_error *error)
{
    size_t n = c->n_shapes + survey->n_benches;
    double *mine = calloc(n, sizeof *mine), *scratch = calloc(MAX_MOODS, sizeof *scratch),
           *all = calloc(n * (size_t)c->n_ranks, sizeof *all);
    enum ring_status status =
        mine && all && scratch ? RING_OK : ring_fail(error, RING_NO_MEMORY, "out of memory for rates");

    status = exec_agree(c->comm, &c->bound, status, error);
    if (status == RING_OK) {
        summarise(c, survey, mine, scratch);
        status = exec_gather(c->comm, &c->bound, mine, (int)(n * sizeof *mine), all, "kernel times", error);
    }
    for (size_t i = 0; i < c->n_shapes && status == RING_OK && c->rank == 0; i++) {
        struct exec_block_shape *shape = &c->shapes[i];
        shape->time_s = mean_over_ranks(c, all, n, i);
        if (shape->held_out)
            continue;
        struct exec_kernel_table *table = &c->tables[shape->table];
        *(shape->causal ? &table->causal[shape->q] : &table->full[shape->q][shape->k]) =
            shape_flops(shape) / shape->time_s;
    }
    for (size_t i = 0; i < c->n_tables && status == RING_OK && c->rank == 0; i++) {
        c->tables[i].reference_tokens = reference_tokens(c, c->tables[i].pass);
        c->tables[i].reference_s = mean_over_ranks(c, all, n, c->n_shapes + i);
    }
    free(mine);
    free(scratch);
    free(all);
    return status;
}

enum ring_status exec_calibrate_kernels(struct exec_calibration *c, double seconds, struct ring_error *error)
{
    struct exec_wanted wanted[EXEC_N_BENCHES];
    struct survey *survey = calloc(1, sizeof *survey);
    enum ring_status status =
        survey ? RING_OK : ring_fail(error, RING_NO_MEMORY, "out of memory for samples");

    status = exec_agree(c->comm, &c->bound, status, error);
    if (status == RING_OK)
        status = open_benches(c, survey, wanted, error);
    if (status == RING_OK)
        status = choose_sides(c, survey, seconds, error);
    for (size_t i = 0; status == RING_OK && i < survey->n_benches; i++)
        exec_list_shapes(c, i, &wanted[i]);
    if (status == RING_OK)
        status = run_rounds(c, survey, seconds, error);
    if (status == RING_OK)
        status = gather_rates(c, survey, error);
    for (size_t i = 0; survey && i < EXEC_N_BENCHES; i++)
        exec_kernel_bench_close(&survey->benches[i]);
    free(survey);
    return status;
}
