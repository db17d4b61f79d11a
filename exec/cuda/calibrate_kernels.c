/* SPDX-License-Identifier: MIT
 *
 * The kernel tables of a device: every shape in turn, round after round, all ranks at once, between events of
 * the compute lane. */
#include "exec/cuda/calibration.h"

#include <math.h>
#include <stdlib.h>

#include "exec/calibration.h"
#include "exec/cuda/bench.h"

enum {
    MIN_ROUNDS = 3,
    MAX_ROUNDS = 15,
    MIN_SIDES = 3,
    MAX_SHAPES = EXEC_GPU_TABLES * EXEC_GPU_SIDES * (EXEC_GPU_SIDES + 1),
    LOOK_SIDE = 1024, /* of the first look at a kernel */
    LOOKS = 4
};
/* A sample is as many launches as last so long; what takes longer in one launch is no shape. Ranks that share
 * a device get it by turns of a millisecond or two, of which a sample must see several. */
#define SAMPLE_S         1e-3
#define SHARING_SAMPLE_S 4e-3
#define LONGEST_S        100e-3
#define HOST_SHARE       1.2 /* of a sample's time that a round takes for it */

/* One entry of a table. */
struct cell {
    size_t table, q, k; /* sides, by number */
    struct exec_gpu_shape shape;
    double expected_s;
};

struct survey {
    struct exec_gpu_bench bench;
    size_t n_cells;
    struct cell cells[MAX_SHAPES];
    double samples_s[MAX_ROUNDS][MAX_SHAPES];
};

static size_t side_tokens(size_t side)
{
    return (size_t)EXEC_GPU_FIRST_SIDE << side;
}

/* The longest sides for which all ranks have memory. */
static enum ring_status open_bench(struct exec_gpu_calibration *c, struct exec_gpu_bench *bench,
                                   size_t *n_sides, struct ring_error *error)
{
    enum ring_status status = RING_NO_MEMORY;

    for (*n_sides = EXEC_GPU_SIDES; status == RING_NO_MEMORY && *n_sides >= MIN_SIDES; --*n_sides) {
        status = exec_gpu_bench_open(bench, c->lanes.runtime, EXEC_GPU_HEADS, side_tokens(*n_sides - 1),
                                     c->lanes.streams[EXEC_LANE_COMPUTE], error);
        enum ring_status own = status;
        status = exec_agree(c->comm, &c->bound, status, error);
        if (own == RING_OK && status != RING_OK)
            exec_gpu_bench_close(bench);
    }
    *n_sides += 1;
    return status;
}

struct launch {
    const struct exec_gpu_bench *bench;
    const struct exec_gpu_shape *shape;
};

static enum ring_status enqueue(void *context, void *stream, struct ring_error *error)
{
    const struct launch *launch = context;
    return exec_gpu_bench_run(launch->bench, launch->shape, stream, error);
}

/* Seconds of one launch, the mean of n. */
static enum ring_status time_shape(const struct exec_gpu_calibration *c, const struct exec_gpu_bench *bench,
                                   const struct exec_gpu_shape *shape, size_t n, double *seconds,
                                   struct ring_error *error)
{
    struct launch launch = {bench, shape};
    struct exec_gpu_work work = {enqueue, &launch};

    return exec_gpu_time(c, EXEC_LANE_COMPUTE, &work, n, seconds, error);
}

/* A first look at each table says how long its sides may be. */
static enum ring_status open_tables(struct exec_gpu_calibration *c, struct survey *survey, size_t n_sides,
                                    double *pair_s, struct ring_error *error)
{
    static const enum ring_dtype dtypes[] = {RING_BF16, RING_FP16, RING_FP32};
    static const uint32_t head_dims[] = {64, 128, 256};
    enum ring_status status = RING_OK;

    c->n_tables = 0;
    for (int pass = RING_PASS_FORWARD; pass <= RING_PASS_BACKWARD; pass++)
        for (size_t t = 0; t < 3; t++)
            for (size_t d = 0; d < 3 && status == RING_OK; d++) {
                if (!c->lanes.runtime->kernels.supports(dtypes[t], head_dims[d]))
                    continue;
                struct exec_gpu_shape look = {
                    (enum ring_pass)pass, dtypes[t], head_dims[d], LOOK_SIDE, LOOK_SIDE, false, false};
                double seconds = 0;
                status = time_shape(c, &survey->bench, &look, 1, &seconds, error); /* loads the kernel */
                if (status == RING_OK)
                    status = time_shape(c, &survey->bench, &look, LOOKS, &seconds, error);
                pair_s[c->n_tables] = seconds / exec_gpu_shape_pairs(&look);
                c->tables[c->n_tables++] =
                    (struct exec_gpu_table){.pass = look.pass, .dtype = dtypes[t], .head_dim = head_dims[d]};
            }
    status = exec_agree(c->comm, &c->bound, status, error);
    if (status == RING_OK)
        status =
            exec_maximum(c->comm, &c->bound, pair_s, (int)c->n_tables, "a first look at the kernels", error);
    for (size_t i = 0; i < c->n_tables; i++) {
        size_t n = n_sides;
        while (n > MIN_SIDES && pair_s[i] * (double)(side_tokens(n - 1) * side_tokens(n - 1)) > LONGEST_S)
            n--;
        c->tables[i].n_sides = n;
    }
    return status;
}

/* All shapes of a table: of the forward pass every rectangle, of the backward pass squares; and the causal
 * squares of both. */
static void add_cells(struct survey *survey, const struct exec_gpu_table *table, size_t number, double pair_s)
{
    for (int causal = 0; causal < 2; causal++)
        for (size_t q = 0; q < table->n_sides; q++)
            for (size_t k = 0; k < table->n_sides; k++) {
                if (q != k && (causal || table->pass == RING_PASS_BACKWARD))
                    continue;
                struct exec_gpu_shape shape = {
                    .pass = table->pass,
                    .dtype = table->dtype,
                    .head_dim = table->head_dim,
                    .q_tokens = side_tokens(q),
                    .k_tokens = side_tokens(k),
                    .causal = causal,
                };
                survey->cells[survey->n_cells++] =
                    (struct cell){number, q, k, shape, pair_s * exec_gpu_shape_pairs(&shape)};
            }
}

static double sample_s(const struct exec_gpu_calibration *c)
{
    return c->n_ranks > c->n_devices ? SHARING_SAMPLE_S : SAMPLE_S;
}

static double round_s(const struct exec_gpu_calibration *c, const struct survey *survey)
{
    double sum_s = 0;

    for (size_t i = 0; i < survey->n_cells; i++)
        sum_s += HOST_SHARE * fmax(survey->cells[i].expected_s, sample_s(c));
    return sum_s;
}

/* The shapes that the time allows. */
static void choose_cells(struct exec_gpu_calibration *c, struct survey *survey, const double *pair_s,
                         double seconds)
{
    for (size_t most = EXEC_GPU_SIDES; most >= MIN_SIDES; most--) {
        survey->n_cells = 0;
        for (size_t i = 0; i < c->n_tables; i++) {
            if (c->tables[i].n_sides > most)
                c->tables[i].n_sides = most;
            add_cells(survey, &c->tables[i], i, pair_s[i]);
        }
        if (round_s(c, survey) * (MIN_ROUNDS + 1) <= seconds)
            break;
    }
}

/* Ranks that share a device go through a table together. */
static enum ring_status run_round(const struct exec_gpu_calibration *c, struct survey *survey,
                                  double *samples_s, struct ring_error *error)
{
    enum ring_status status = RING_OK;

    for (size_t i = 0; i < survey->n_cells && status == RING_OK; i++) {
        struct cell *cell = &survey->cells[i];
        double n = cell->expected_s < sample_s(c) ? ceil(sample_s(c) / cell->expected_s) : 1;
        if (i == 0 || cell->table != survey->cells[i - 1].table)
            status = exec_barrier(c->comm, &c->bound, "all ranks to time a kernel", error);
        if (status == RING_OK)
            status = time_shape(c, &survey->bench, &cell->shape, (size_t)fmin(n, 1000), &samples_s[i], error);
        cell->expected_s = fmax(samples_s[i], 1e-7);
    }
    return exec_agree(c->comm, &c->bound, status, error);
}

/* Rounds until the time is over on some rank; the first one only warms up. */
static enum ring_status run_rounds(struct exec_gpu_calibration *c, struct survey *survey, double seconds,
                                   struct ring_error *error)
{
    double begun_s = c->now_s();
    enum ring_status status = run_round(c, survey, survey->samples_s[0], error);

    for (c->n_rounds = 0; c->n_rounds < MAX_ROUNDS && status == RING_OK; c->n_rounds++) {
        double spent = (c->now_s() - begun_s) / seconds;
        status = exec_maximum(c->comm, &c->bound, &spent, 1, "all ranks to end a round", error);
        if (status != RING_OK || (c->n_rounds >= MIN_ROUNDS && spent > 1 - 1 / (c->n_rounds + 1.0)))
            break;
        exec_gpu_progress(c, "kernels, round %u", c->n_rounds + 1);
        status = run_round(c, survey, survey->samples_s[c->n_rounds], error);
    }
    return status;
}

/* Rates on rank 0: of each rank's median over the rounds, the mean over the ranks. */
static enum ring_status gather_rates(struct exec_gpu_calibration *c, const struct survey *survey,
                                     struct ring_error *error)
{
    size_t n = survey->n_cells;
    double *mine = calloc(2 * n + 1, sizeof *mine), *all = calloc(n * (size_t)c->n_ranks + 1, sizeof *all);
    enum ring_status status =
        mine && all ? RING_OK : ring_fail(error, RING_NO_MEMORY, "out of memory for rates");

    status = exec_agree(c->comm, &c->bound, status, error);
    for (size_t i = 0; i < n && status == RING_OK; i++) {
        double rounds_s[MAX_ROUNDS];
        for (uint32_t round = 0; round < c->n_rounds; round++)
            rounds_s[round] = survey->samples_s[round][i];
        mine[i] = exec_median(rounds_s, c->n_rounds);
        mine[n + i] = exec_spread(rounds_s, c->n_rounds);
    }
    if (status == RING_OK)
        status = exec_gather(c->comm, &c->bound, mine, (int)(n * sizeof *mine), all, "kernel times", error);
    for (size_t i = 0; i < n && status == RING_OK && c->rank == 0; i++) {
        const struct cell *cell = &survey->cells[i];
        struct exec_gpu_table *table = &c->tables[cell->table];
        double sum_s = 0;
        for (int rank = 0; rank < c->n_ranks; rank++)
            sum_s += all[(size_t)rank * n + i];
        *(cell->shape.causal ? &table->causal[cell->q] : &table->full[cell->q][cell->k]) =
            exec_gpu_shape_flops(&survey->bench, &cell->shape) * c->n_ranks / sum_s;
    }
    if (status == RING_OK)
        c->kernel_spread = exec_median(mine + n, n);
    free(mine);
    free(all);
    return status;
}

enum ring_status exec_gpu_calibrate_kernels(struct exec_gpu_calibration *c, double seconds,
                                            struct ring_error *error)
{
    struct survey *survey = calloc(1, sizeof *survey);
    double pair_s[EXEC_GPU_TABLES];
    size_t n_sides = 0;
    enum ring_status status =
        exec_agree(c->comm, &c->bound,
                   survey ? RING_OK : ring_fail(error, RING_NO_MEMORY, "out of memory for samples"), error);

    if (status == RING_OK)
        status = open_bench(c, &survey->bench, &n_sides, error);
    if (status == RING_OK) {
        status = open_tables(c, survey, n_sides, pair_s, error);
        if (status == RING_OK)
            choose_cells(c, survey, pair_s, seconds);
        if (status == RING_OK)
            status = run_rounds(c, survey, seconds, error);
        if (status == RING_OK)
            status = gather_rates(c, survey, error);
        exec_gpu_bench_close(&survey->bench);
    }
    free(survey);
    return status;
}
