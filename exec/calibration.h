/* SPDX-License-Identifier: MIT
 *
 * What calibrate measures, between the files that measure it and the one that writes it down. */
#ifndef EXEC_CALIBRATION_H
#define EXEC_CALIBRATION_H

#include "engine/problem.h"
#include "exec/calibrate.h"
#include "exec/clock.h"
#include "exec/kernels/block.h"

enum { EXEC_MAX_TOKENS = 7, EXEC_MAX_SIZES = 9, EXEC_N_TABLES = 8 };

/* A processor core's rates for one pass, type and head_dim, FLOP/s on visible pairs. */
struct exec_kernel_table {
    enum ring_pass pass; /* backward: squares alone, [i][i] of full */
    enum ring_dtype dtype;
    uint32_t head_dim;
    const struct block_kernel *kernel;
    double full[EXEC_MAX_TOKENS][EXEC_MAX_TOKENS]; /* [queries][keys] */
    double causal[EXEC_MAX_TOKENS];                /* squares that the diagonal cuts */
};

struct exec_calibration {
    MPI_Comm comm;
    int rank, n_ranks;
    struct exec_bound bound;
    struct exec_clock clock;
    const struct exec_calibrate_spec *spec;

    size_t n_tokens, tokens[EXEC_MAX_TOKENS]; /* the sides of the tables */
    size_t n_tables;
    struct exec_kernel_table tables[EXEC_N_TABLES];
    uint32_t n_rounds;    /* that the figures are medians of */
    double core_share;    /* of a core that rank 0 had meanwhile; the rest went to others */
    double kernel_spread; /* (largest - smallest) / median over the rounds; the median of all shapes */

    size_t n_sizes; /* 0: there was no second rank */
    uint64_t sizes[EXEC_MAX_SIZES];
    double hop_s[EXEC_MAX_SIZES]; /* all ranks in a ring, each sending and receiving */
    double link_spread;
    double step_s;           /* what a step costs beside computing and moving */
    double copy_bytes_per_s; /* a core reading and writing memory, all cores at it: bytes copied, times two */
};

/* Each is collective and fills its part. */
enum ring_status exec_calibrate_kernels(struct exec_calibration *calibration, double seconds,
                                        struct ring_error *error);
enum ring_status exec_calibrate_link(struct exec_calibration *calibration, struct ring_error *error);

/* Times of ascending sizes, so that none takes less than a smaller one: noise only adds, so the larger one is
 * believed; and no bytes are faster than the fastest copy. */
void exec_calibration_level(const uint64_t *sizes, double *hop_s, size_t n);

/* Rank 0: writes both files, the topology to path. */
enum ring_status exec_calibration_write(const struct exec_calibration *calibration, const char *path,
                                        struct ring_error *error);

void exec_calibrate_progress(const struct exec_calibration *calibration, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Of n values, which are put in order. */
double exec_median(double *values, size_t n);
/* (largest - smallest) / median of ordered values. */
double exec_spread(const double *values, size_t n);

#endif
