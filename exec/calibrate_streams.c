/* SPDX-License-Identifier: MIT
 *
 * What streams through memory beside the kernels - copies, gradients added, delta made - by the code that a
 * run has for it. All ranks at once. */
#include <string.h>

#include "exec/calibration.h"
#include "exec/kernels/gradient.h"
#include "exec/memory.h"

enum {
    N_TRIALS = 9,
    STREAM_BYTES = 32 << 20,
    PIECE = 1 << 18, /* numbers added at once, as a run does */
    PREPARED_HEAD_DIM = 64
};

/* Something that streams through memory, and the bytes that it reads and writes. */
struct stream {
    double (*run)(const struct stream *stream);
    char *from, *to;
    enum ring_dtype dtype;
};

static double run_copy(const struct stream *stream)
{
    memcpy(stream->to, stream->from, STREAM_BYTES);
    return 2.0 * STREAM_BYTES;
}

/* Contributions are fp32 whatever the gradient is. */
static double run_add(const struct stream *stream)
{
    size_t n = STREAM_BYTES / sizeof(float), bytes = ring_dtype_bytes(stream->dtype);

    for (size_t i = 0; i < n; i += PIECE)
        block_gradient_add(stream->dtype, stream->to + i * bytes, RING_FP32,
                           (float *)(void *)stream->from + i, PIECE, false);
    return (double)n * (double)(sizeof(float) + 2 * bytes);
}

/* Rows of output as fp32 and of dO, with three figures a row: m, l and lse after one another, and delta. */
static double run_prepare(const struct stream *stream)
{
    size_t bytes = ring_dtype_bytes(stream->dtype),
           rows = STREAM_BYTES / sizeof(float) / (PREPARED_HEAD_DIM + 4) / 16 * 16;
    float *m = (float *)(void *)stream->from;
    struct block_state state = {RING_FP32, rows, PREPARED_HEAD_DIM, m, m + rows, m + 4 * rows};

    block_gradient_prepare(&state, stream->dtype, stream->to, m + 2 * rows, m + 3 * rows);
    return (double)rows * (double)(PREPARED_HEAD_DIM * (sizeof(float) + bytes) + 4 * sizeof(float));
}

/* Bytes read and written in a second of a processor's time, by each rank. */
static enum ring_status time_stream(struct exec_calibration *c, const struct stream *stream, double *rate,
                                    struct ring_error *error)
{
    double trials_s[N_TRIALS], bytes = 0, time_s = 0;
    enum ring_status status = exec_barrier(c->comm, &c->bound, "all ranks to stream", error);

    for (int trial = 0; trial < N_TRIALS; trial++) {
        double begun_s = exec_clock_cpu_s();
        bytes = stream->run(stream);
        trials_s[trial] = exec_clock_cpu_s() - begun_s;
    }
    if (status == RING_OK)
        status = exec_calibrate_settle(c, trials_s, N_TRIALS, &time_s, "all ranks' streams", error);
    *rate = bytes / time_s;
    return status;
}

static enum ring_status time_streams(struct exec_calibration *c, char *from, char *to,
                                     struct ring_error *error)
{
    static const enum ring_dtype dtypes[] = {RING_FP32, RING_BF16};
    for (size_t i = 0; i < STREAM_BYTES / sizeof(float); i++)
        ((float *)(void *)from)[i] = 1; /* no row is empty, and nothing grows too small or too large */
    struct stream copy = {run_copy, from, to, RING_FP32};
    enum ring_status status = time_stream(c, &copy, &c->copy_bytes_per_s, error);

    for (size_t i = 0; i < 2 && status == RING_OK; i++) {
        struct stream add = {run_add, from, to, dtypes[i]}, prepare = {run_prepare, from, to, dtypes[i]};
        status = time_stream(c, &add, &c->add_bytes_per_s[dtypes[i]], error);
        if (status == RING_OK)
            status = time_stream(c, &prepare, &c->prepare_bytes_per_s[dtypes[i]], error);
    }
    return status;
}

enum ring_status exec_calibrate_streams(struct exec_calibration *c, struct ring_error *error)
{
    char *buffers[] = {exec_memory_alloc(STREAM_BYTES), exec_memory_alloc(STREAM_BYTES)};
    enum ring_status status =
        buffers[0] && buffers[1] ? RING_OK : ring_fail(error, RING_NO_MEMORY, "out of memory for streams");

    exec_calibrate_progress(c, "copies and sums");
    status = exec_agree(c->comm, &c->bound, status, error);
    if (status == RING_OK)
        status = time_streams(c, buffers[0], buffers[1], error);
    exec_memory_free(buffers[0]);
    exec_memory_free(buffers[1]);
    return status;
}
