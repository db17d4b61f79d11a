/* SPDX-License-Identifier: MIT
 *
 * How long copies take by size, each way, on the lanes that a run uses for it and with all ranks copying. */
#include <stdlib.h>

#include "exec/calibration.h"
#include "exec/cuda/calibration.h"
#include "exec/cuda/move_parts.h"

enum { N_TRIALS = 7, COPIES_BYTES = 64 << 20, MOST_COPIES = 64 };

/* A rank's memory to copy to and from. */
struct places {
    void *device[2], *pinned[2];
    void *peer; /* the rank before's device[0]; NULL: cannot be reached */
};

struct copy {
    const struct exec_device_runtime *runtime;
    void *to;
    const void *from;
    uint64_t bytes;
};

static enum ring_status enqueue(void *context, void *stream, struct ring_error *error)
{
    const struct copy *copy = context;
    return copy->runtime->copy(copy->to, copy->from, copy->bytes, stream, error);
}

static size_t copies_of(uint64_t bytes)
{
    uint64_t n = COPIES_BYTES / bytes;
    return n < 1 ? 1 : n > MOST_COPIES ? MOST_COPIES : (size_t)n;
}

/* As many copies out as there are in, behind whose end nobody waits here. */
static enum ring_status copy_out_meanwhile(const struct exec_gpu_calibration *c, const struct places *places,
                                           uint64_t bytes, size_t n, struct ring_error *error)
{
    enum ring_status status = RING_OK;

    for (size_t i = 0; i < 2 * n && status == RING_OK; i++)
        status = c->lanes.runtime->copy(places->pinned[1], places->device[1], bytes,
                                        c->lanes.streams[EXEC_LANE_OUT], error);
    return status;
}

/* One copy of a way and size: the slowest rank's mean, the median over trials. */
static enum ring_status time_copy(struct exec_gpu_calibration *c, const struct places *places,
                                  enum exec_gpu_copy way, size_t size, struct ring_error *error)
{
    uint64_t bytes = c->sizes[size];
    size_t n = copies_of(bytes);
    struct copy copy = {c->lanes.runtime, places->device[0], places->pinned[0], bytes};
    enum exec_lane lane = way == EXEC_GPU_COPY_OUT ? EXEC_LANE_OUT : EXEC_LANE_IN;
    double trials_s[N_TRIALS];
    enum ring_status status = exec_barrier(c->comm, &c->bound, "all ranks to copy", error);

    if (way == EXEC_GPU_COPY_OUT)
        copy.to = places->pinned[1], copy.from = places->device[1];
    if (way == EXEC_GPU_COPY_WITHIN || way == EXEC_GPU_COPY_PEER)
        copy.from = way == EXEC_GPU_COPY_PEER ? places->peer : places->device[1];
    if (way == EXEC_GPU_COPY_PEER)
        copy.to = places->device[1];
    struct exec_gpu_work work = {enqueue, &copy};
    for (int trial = -1; trial < N_TRIALS && status == RING_OK; trial++) { /* the first is first contact */
        if (way == EXEC_GPU_COPY_BOTH)
            status = copy_out_meanwhile(c, places, bytes, n, error);
        double seconds = 0;
        if (status == RING_OK)
            status = exec_gpu_time(c, lane, &work, n, &seconds, error);
        if (status == RING_OK && way == EXEC_GPU_COPY_BOTH)
            status = c->lanes.runtime->settle(c->lanes.streams[EXEC_LANE_OUT], error);
        trials_s[trial < 0 ? 0 : trial] = seconds;
    }
    double median_s = status == RING_OK ? exec_median(trials_s, N_TRIALS) : 0;
    status = exec_agree(c->comm, &c->bound, status, error);
    if (status == RING_OK)
        status = exec_maximum(c->comm, &c->bound, &median_s, 1, "all ranks' copies", error);
    c->copy_s[way][size] = median_s;
    return status;
}

static enum ring_status time_way(struct exec_gpu_calibration *c, const struct places *places,
                                 enum exec_gpu_copy way, struct ring_error *error)
{
    enum ring_status status = RING_OK;

    for (size_t size = 0; size < EXEC_GPU_SIZES && status == RING_OK; size++)
        status = time_copy(c, places, way, size, error);
    return status;
}

/* Copies from the rank before, where all of them can. */
static enum ring_status time_peers(struct exec_gpu_calibration *c, struct places *places,
                                   struct ring_error *error)
{
    struct ring_buffer memory = {places->device[0], c->sizes[EXEC_GPU_SIZES - 1]};
    struct exec_mover_spec spec = {.comm = c->comm,
                                   .bound = c->bound,
                                   .lanes = &c->lanes,
                                   .move = EXEC_MOVE_PEER,
                                   .stage_bytes = EXEC_STAGE_BYTES,
                                   .memory = &memory,
                                   .n_memory = 1};
    struct exec_mover *mover = NULL;

    if (c->n_ranks == 1)
        return RING_OK;
    enum ring_status status = exec_mover_open(&mover, &spec, error);
    if (status == RING_UNSUPPORTED)
        return RING_OK;
    if (status == RING_OK) {
        places->peer = mover->reach.memory[(c->rank + c->n_ranks - 1) % c->n_ranks];
        status = time_way(c, places, EXEC_GPU_COPY_PEER, error);
    }
    if (status == RING_OK) /* nobody closes what another may still read */
        status = exec_barrier(c->comm, &c->bound, "all ranks to have copied", error);
    exec_mover_close(mover);
    return status;
}

static enum ring_status take_places(struct exec_gpu_calibration *c, struct places *places,
                                    struct ring_error *error)
{
    const struct exec_device_runtime *runtime = c->lanes.runtime;
    uint64_t bytes = c->sizes[EXEC_GPU_SIZES - 1];
    enum ring_status status = RING_OK;

    for (int i = 0; i < 2 && status == RING_OK; i++) {
        status = runtime->take(bytes, &places->device[i], error);
        if (status == RING_OK)
            status = runtime->take_pinned(bytes, &places->pinned[i], error);
    }
    return exec_agree(c->comm, &c->bound, status, error);
}

enum ring_status exec_gpu_calibrate_copies(struct exec_gpu_calibration *c, struct ring_error *error)
{
    struct places places = {.peer = NULL};
    enum ring_status status = take_places(c, &places, error);

    exec_gpu_progress(c, "copies");
    for (int way = 0; way < EXEC_GPU_COPY_PEER && status == RING_OK; way++)
        status = time_way(c, &places, (enum exec_gpu_copy)way, error);
    if (status == RING_OK)
        status = time_peers(c, &places, error);
    for (int i = 0; i < 2; i++) {
        if (places.device[i])
            c->lanes.runtime->give(places.device[i]);
        if (places.pinned[i])
            c->lanes.runtime->give_pinned(places.pinned[i]);
    }
    return status;
}
