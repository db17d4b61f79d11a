/* SPDX-License-Identifier: MIT
 *
 * What calibrate measures, between the files that measure it and the one that writes it down. */
#ifndef EXEC_CALIBRATION_H
#define EXEC_CALIBRATION_H

#include "engine/problem.h"
#include "exec/calibrate.h"
#include "exec/clock.h"
#include "exec/kernels/block.h"
#include "models/topology.h"

enum {
    EXEC_MAX_TOKENS = 7,
    EXEC_MAX_CLASSES = 9, /* of messages, by size */
    EXEC_MAX_HOPS = 2 * EXEC_MAX_CLASSES,
    EXEC_N_TABLES = 8,
    EXEC_N_BENCHES = 11, /* a table's each, and those of a head_dim that no table is of */
    EXEC_MAX_SHAPES = EXEC_N_TABLES * EXEC_MAX_TOKENS * (EXEC_MAX_TOKENS + 1) + EXEC_N_BENCHES * 16
};

/* A processor core's rates for one pass, type and head_dim, FLOP/s on visible pairs. */
struct exec_kernel_table {
    enum ring_pass pass;
    enum ring_dtype dtype;
    uint32_t head_dim;
    const char *kernel;
    double full[EXEC_MAX_TOKENS][EXEC_MAX_TOKENS]; /* [queries][keys] */
    double causal[EXEC_MAX_TOKENS];                /* squares that the diagonal cuts */
    size_t reference_tokens; /* a full square of this side, timed all through the calibration ... */
    double reference_s;      /* ... and its median */
};

/* A block that was timed. What is held out is in no table, and tells afterwards how good the tables are. */
struct exec_block_shape {
    size_t table; /* or, from n_tables on, a bench without one */
    enum ring_pass pass;
    enum ring_dtype dtype;
    uint32_t head_dim;
    size_t q_tokens, k_tokens;
    bool causal, held_out;
    size_t q, k;   /* of a shape in a table: its sides, by number */
    double time_s; /* of one head; rank 0: the mean over ranks of each one's median */
};

/* All ranks in a ring, each sending and receiving a message of this size. */
struct exec_hop {
    uint64_t bytes;
    bool held_out;
    double time_s;
};

struct exec_calibration {
    MPI_Comm comm;
    int rank, n_ranks;
    struct exec_bound bound;
    struct exec_clock clock;
    const struct exec_calibrate_spec *spec;
    double begun_s, load; /* the load average before; below 0: not known */

    size_t n_tokens, tokens[EXEC_MAX_TOKENS]; /* the sides of the tables */
    size_t n_tables;
    struct exec_kernel_table tables[EXEC_N_TABLES];
    size_t n_shapes;
    struct exec_block_shape shapes[EXEC_MAX_SHAPES];
    uint32_t n_rounds;    /* that the figures are medians of */
    double core_share;    /* of a core that rank 0 had meanwhile; the rest went to others */
    double kernel_spread; /* (largest - smallest) / median over the rounds; the median of all shapes */
    double drift;         /* of the machine meanwhile, the same of the smoothed reference blocks of rank 0 */

    size_t n_hops; /* 0: there was no second rank */
    struct exec_hop hops[EXEC_MAX_HOPS];
    double link_spread;

    double launch_s;         /* posting a computation and waiting for it */
    double step_s;           /* what a step costs beside computing and moving; launch_s is in it */
    double poll_s;           /* a look at two messages in flight */
    double copy_bytes_per_s; /* a core reading and writing memory, all cores at it: bytes copied, times two */
    double add_bytes_per_s[RING_N_DTYPES];     /* adding gradients of that type, likewise; 0: not measured */
    double prepare_bytes_per_s[RING_N_DTYPES]; /* making delta, of problems of that type */

    struct model_grade grades[MODEL_N_GRADES];
};

/* Each is collective and fills its part. Costs wants the hops. */
enum ring_status exec_calibrate_hops(struct exec_calibration *calibration, struct ring_error *error);
enum ring_status exec_calibrate_costs(struct exec_calibration *calibration, struct ring_error *error);
enum ring_status exec_calibrate_streams(struct exec_calibration *calibration, struct ring_error *error);
enum ring_status exec_calibrate_kernels(struct exec_calibration *calibration, double seconds,
                                        struct ring_error *error);

/* One hop in the ring of all ranks, with a computation of nothing beside it. */
struct ring_transport;
enum ring_status exec_calibrate_hop(const struct exec_calibration *calibration,
                                    struct ring_transport *transport, char *out, char *in, uint64_t bytes,
                                    struct ring_error *error);

/* Collective: the slowest rank's median of n trials, to all. */
enum ring_status exec_calibrate_settle(const struct exec_calibration *calibration, double *trials_s, size_t n,
                                       double *value, const char *what, struct ring_error *error);

/* Times of ascending sizes, so that none takes less than a smaller one: noise only adds, so the larger one is
 * believed; and no bytes are faster than the fastest copy. */
void exec_calibration_level(const uint64_t *sizes, double *hop_s, size_t n);

/* The machine's mood: how long a reference block took at some time over its median. */
struct exec_mood {
    double at_s, ratio;
};
/* Each ratio becomes the median of itself and its two neighbours on either side; at_s ascends. */
void exec_mood_smooth(struct exec_mood *moods, size_t n);
/* The ratio at a time, on a straight line between the two around it; 1 if there are none. */
double exec_mood_at(const struct exec_mood *moods, size_t n, double at_s);

/* Straight lines from size to size, for messages of those that are not held out: a class serves up to a
 * measured size and passes through it and the one before. Returns how many. */
size_t exec_calibration_classes(const struct exec_hop *hops, size_t n_hops, struct model_size_class *classes);

/* The device as the file will have it. Its curves point into out, which must not move. */
struct exec_calibrated {
    struct model_device device;
    struct model_curve curves[2 * EXEC_N_TABLES];
    double tokens[EXEC_MAX_TOKENS];
    double rates[EXEC_N_TABLES][EXEC_MAX_TOKENS * EXEC_MAX_TOKENS];
};
void exec_calibration_device(const struct exec_calibration *calibration, struct exec_calibrated *out);

/* Rank 0: asks the model, with what was calibrated, for everything that was held out. */
void exec_calibration_grade(struct exec_calibration *calibration);
/* Of n > 0 pairs. p95: the least error that 95 % of all do not exceed. */
struct model_grade exec_grade(const double *predicted_s, const double *measured_s, size_t n);

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
