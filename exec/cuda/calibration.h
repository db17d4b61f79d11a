/* SPDX-License-Identifier: MIT
 *
 * What calibrating devices measures, between the files that measure it and the one that writes it down. */
#ifndef EXEC_CUDA_CALIBRATION_H
#define EXEC_CUDA_CALIBRATION_H

#include "engine/problem.h"
#include "exec/clock.h"
#include "exec/cuda/calibrate.h"
#include "exec/cuda/lanes.h"

enum {
    EXEC_GPU_SIDES = 7, /* of blocks: 256 tokens, doubled up to 16384 */
    EXEC_GPU_FIRST_SIDE = 256,
    EXEC_GPU_HEADS = 16,  /* of the blocks that are timed */
    EXEC_GPU_TABLES = 18, /* two passes, three types, three head_dims */
    EXEC_GPU_SIZES = 9,   /* of copies and messages: 1 KiB, fourfold up to 64 MiB */
    EXEC_GPU_FIRST_BYTES = 1024,
};

/* Rates for one pass, type and head_dim, FLOP/s on visible pairs, of one rank while all are at it. */
struct exec_gpu_table {
    enum ring_pass pass; /* backward: squares alone, [i][i] of full */
    enum ring_dtype dtype;
    uint32_t head_dim;
    size_t n_sides;                              /* that were short enough to be timed */
    double full[EXEC_GPU_SIDES][EXEC_GPU_SIDES]; /* [queries][keys] */
    double causal[EXEC_GPU_SIDES];               /* squares that the diagonal cuts */
};

/* Where a copy goes; each rank's own while all ranks copy. */
#define EXEC_GPU_COPIES(X)                                                                                   \
    X(IN, "host to device")                                                                                  \
    X(OUT, "device to host")                                                                                 \
    X(BOTH, "both at once, each way")                                                                        \
    X(WITHIN, "within the device")                                                                           \
    X(PEER, "from the rank before")
#define EXEC_GPU_COPY_ENUM(name, text) EXEC_GPU_COPY_##name,
enum exec_gpu_copy { EXEC_GPU_COPIES(EXEC_GPU_COPY_ENUM) EXEC_GPU_N_COPIES };
#undef EXEC_GPU_COPY_ENUM

struct exec_gpu_calibration {
    MPI_Comm comm;
    int rank, n_ranks, n_devices;
    struct exec_bound bound;
    struct exec_clock clock;
    const struct exec_device_calibrate_spec *spec;
    double (*now_s)(void);
    struct exec_device_facts facts;
    struct exec_lanes lanes;

    size_t n_tables;
    struct exec_gpu_table tables[EXEC_GPU_TABLES];
    uint32_t n_rounds;    /* that the figures are medians of */
    double kernel_spread; /* (largest - smallest) / median over the rounds; the median of all shapes */

    uint64_t sizes[EXEC_GPU_SIZES];
    double copy_s[EXEC_GPU_N_COPIES][EXEC_GPU_SIZES]; /* 0: was not measured */
    double add_bytes_per_s; /* reading and writing device memory, as adding up gradients does */
    double launch_s;        /* from one empty kernel to the next in a stream */
    double enqueue_s;       /* of the host, for one launch */
    double step_s;          /* of the host: posting a computation and seeing that it is done */
    double merge_share;     /* folding a block into a state, over beginning one; less 1 */
    double slowed;          /* a kernel's time while blocks are copied in and out, over its time alone */

    double hop_s[EXEC_GPU_SIZES]; /* all ranks in a ring, each sending and receiving; 0: one rank */
    double hop_spread;
    char way[128]; /* how they moved */
};

/* Each is collective and fills its part. */
enum ring_status exec_gpu_calibrate_kernels(struct exec_gpu_calibration *calibration, double seconds,
                                            struct ring_error *error);
enum ring_status exec_gpu_calibrate_copies(struct exec_gpu_calibration *calibration,
                                           struct ring_error *error);
enum ring_status exec_gpu_calibrate_costs(struct exec_gpu_calibration *calibration, struct ring_error *error);
enum ring_status exec_gpu_calibrate_hops(struct exec_gpu_calibration *calibration, struct ring_error *error);

/* Rank 0: writes both files, the topology to path. */
enum ring_status exec_gpu_calibration_write(const struct exec_gpu_calibration *calibration, const char *path,
                                            struct ring_error *error);

void exec_gpu_progress(const struct exec_gpu_calibration *calibration, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Seconds of work that launch enqueues n times, each: between two events of a stream. Waits. */
struct exec_gpu_work {
    enum ring_status (*enqueue)(void *context, void *stream, struct ring_error *error);
    void *context;
};
enum ring_status exec_gpu_time(const struct exec_gpu_calibration *calibration, enum exec_lane lane,
                               const struct exec_gpu_work *work, size_t n, double *seconds,
                               struct ring_error *error);

#endif
