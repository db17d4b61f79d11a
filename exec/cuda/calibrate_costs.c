/* SPDX-License-Identifier: MIT
 *
 * What a block costs on a device beside its products: launches, seeing the end, folding into a state, adding
 * up gradients; and what copies that go on meanwhile cost a kernel. */
#include <math.h>

#include "exec/calibration.h"
#include "exec/cuda/bench.h"
#include "exec/cuda/calibration.h"
#include "exec/cuda/compute.h"

enum { N_TRIALS = 9, N_LAUNCHES = 200, N_STEPS = 50, SIDE = 4096, ADDED = 16 << 20, N_TINY = 8 };
#define COPY_BYTES (UINT64_C(32) << 20)

struct costs {
    struct exec_gpu_bench bench;
    struct exec_gpu_shape shape;
    uint64_t n_added; /* elements of an addition */
};

static enum ring_status enqueue_block(void *context, void *stream, struct ring_error *error)
{
    const struct costs *costs = context;
    return exec_gpu_bench_run(&costs->bench, &costs->shape, stream, error);
}

/* Gradients in fp32, as they mostly travel. */
static enum ring_status enqueue_add(void *context, void *stream, struct ring_error *error)
{
    const struct costs *costs = context;
    return costs->bench.runtime->kernels.add(RING_FP32, costs->bench.sums[2], costs->bench.sums[3],
                                             costs->n_added, false, stream, error);
}

/* The median over trials of one work, one launch each; the first is left out. */
static enum ring_status time_median(const struct exec_gpu_calibration *c, const struct exec_gpu_work *work,
                                    double *median_s, struct ring_error *error)
{
    double trials_s[N_TRIALS];
    enum ring_status status = RING_OK;

    for (int trial = -1; trial < N_TRIALS && status == RING_OK; trial++)
        status = exec_gpu_time(c, EXEC_LANE_COMPUTE, work, 1, &trials_s[trial < 0 ? 0 : trial], error);
    *median_s = status == RING_OK ? exec_median(trials_s, N_TRIALS) : 0;
    return status;
}

/* From one kernel of nothing to the next, on the device and on the host. */
static enum ring_status time_launches(struct exec_gpu_calibration *c, struct costs *costs,
                                      struct ring_error *error)
{
    struct exec_gpu_work work = {enqueue_add, costs};
    void *stream = c->lanes.streams[EXEC_LANE_COMPUTE];
    enum ring_status status = RING_OK;

    costs->n_added = N_TINY;
    for (int turn = 0; turn < 2 && status == RING_OK; turn++) /* the first loads the kernel */
        status = exec_gpu_time(c, EXEC_LANE_COMPUTE, &work, N_LAUNCHES, &c->launch_s, error);
    double begun_s = c->now_s();
    for (int i = 0; i < N_LAUNCHES && status == RING_OK; i++)
        status = enqueue_add(costs, stream, error);
    c->enqueue_s = (c->now_s() - begun_s) / N_LAUNCHES;
    return status == RING_OK ? c->lanes.runtime->settle(stream, error) : status;
}

static enum ring_status launch_tiny(void *context, const struct ring_task *task, void *stream,
                                    struct ring_error *error)
{
    (void)task;
    return enqueue_add(context, stream, error);
}

/* Posting a computation of nothing and waiting for it, as a step of a run does. */
static enum ring_status time_step(struct exec_gpu_calibration *c, struct costs *costs,
                                  struct ring_error *error)
{
    struct exec_compute_lane lane;
    struct exec_launch launch = {launch_tiny, costs};
    exec_compute_lane_init(&lane, &c->lanes, &launch);
    struct exec_transport_spec spec = {.comm = c->comm,
                                       .progress = MODEL_PROGRESS_POLL,
                                       .compute = {.worker = &lane.worker},
                                       .bound = c->bound,
                                       .clock_offset_s = c->clock.offset_s};
    struct exec_transport *transport = NULL;
    struct ring_task task = {.rank = (uint32_t)c->rank};
    double trials_s[N_TRIALS];
    enum ring_status status = exec_transport_open(&transport, &spec, error);

    for (int trial = -1; trial < N_TRIALS && status == RING_OK; trial++) {
        struct ring_transport *t = exec_transport_base(transport);
        double begun_s = c->now_s();
        for (int step = 0; step < N_STEPS && status == RING_OK; step++) {
            struct ring_request request;
            status = t->ops->post_compute(t, &task, &request);
            if (status == RING_OK)
                status = t->ops->wait(t, &request);
            if (status != RING_OK && error)
                *error = t->error;
        }
        trials_s[trial < 0 ? 0 : trial] = (c->now_s() - begun_s) / N_STEPS;
    }
    c->step_s = status == RING_OK ? exec_median(trials_s, N_TRIALS) : 0;
    status = exec_agree(c->comm, &c->bound, status, error);
    if (status == RING_OK)
        exec_transport_close(transport);
    return status;
}

/* A block that begins a state, and one that is folded into it. */
static enum ring_status time_merge(struct exec_gpu_calibration *c, struct costs *costs, double *alone_s,
                                   struct ring_error *error)
{
    struct exec_gpu_work work = {enqueue_block, costs};
    double beginning_s = 0;

    costs->shape.begin = true;
    enum ring_status status = time_median(c, &work, &beginning_s, error);
    costs->shape.begin = false;
    if (status == RING_OK)
        status = time_median(c, &work, alone_s, error);
    c->merge_share = *alone_s / beginning_s - 1;
    return status;
}

/* Copies in and out that outlast the kernel, and the kernel among them. */
static enum ring_status time_crowded(struct exec_gpu_calibration *c, struct costs *costs, double alone_s,
                                     struct ring_error *error)
{
    const struct exec_device_runtime *runtime = c->lanes.runtime;
    struct exec_gpu_work work = {enqueue_block, costs};
    void *pinned[2] = {NULL, NULL}, *in = c->lanes.streams[EXEC_LANE_IN],
         *out = c->lanes.streams[EXEC_LANE_OUT];
    double copy_s = c->copy_s[EXEC_GPU_COPY_IN][EXEC_GPU_SIZES - 1] * (double)COPY_BYTES /
                    (double)c->sizes[EXEC_GPU_SIZES - 1],
           trials_s[N_TRIALS];
    int n = (int)fmin(2 + ceil(2 * alone_s / copy_s), 1000);
    enum ring_status status = runtime->take_pinned(COPY_BYTES, &pinned[0], error);

    if (status == RING_OK)
        status = runtime->take_pinned(COPY_BYTES, &pinned[1], error);
    for (int trial = 0; trial < N_TRIALS && status == RING_OK; trial++) {
        for (int i = 0; i < n && status == RING_OK; i++) {
            status = runtime->copy(costs->bench.sums[2], pinned[0], COPY_BYTES, in, error);
            if (status == RING_OK)
                status = runtime->copy(pinned[1], costs->bench.sums[3], COPY_BYTES, out, error);
        }
        if (status == RING_OK)
            status = exec_gpu_time(c, EXEC_LANE_COMPUTE, &work, 1, &trials_s[trial], error);
        if (status == RING_OK)
            status = runtime->settle(in, error);
        if (status == RING_OK)
            status = runtime->settle(out, error);
    }
    if (status == RING_OK)
        c->slowed = exec_median(trials_s, N_TRIALS) / alone_s;
    for (int i = 0; i < 2; i++)
        if (pinned[i])
            runtime->give_pinned(pinned[i]);
    return status;
}

static enum ring_status time_adding(struct exec_gpu_calibration *c, struct costs *costs,
                                    struct ring_error *error)
{
    struct exec_gpu_work work = {enqueue_add, costs};
    double seconds = 0;

    costs->n_added = ADDED;
    enum ring_status status = time_median(c, &work, &seconds, error);
    c->add_bytes_per_s = 3.0 * sizeof(float) * ADDED / seconds;
    return status;
}

/* What is written down is the slowest rank's. */
static enum ring_status take_slowest(struct exec_gpu_calibration *c, struct ring_error *error)
{
    double slow[] = {c->launch_s, c->enqueue_s, c->step_s, c->slowed, c->merge_share, 1 / c->add_bytes_per_s};
    enum ring_status status = exec_maximum(c->comm, &c->bound, slow, 6, "all ranks' costs", error);

    c->launch_s = slow[0];
    c->enqueue_s = slow[1];
    /* The kernel of nothing itself is in the tables' launches as well. */
    c->step_s = fmax(slow[2] - c->launch_s, 0.1e-6);
    c->slowed = slow[3];
    c->merge_share = slow[4];
    c->add_bytes_per_s = 1 / slow[5];
    return status;
}

enum ring_status exec_gpu_calibrate_costs(struct exec_gpu_calibration *c, struct ring_error *error)
{
    struct costs costs = {.shape = {.pass = RING_PASS_FORWARD,
                                    .dtype = RING_BF16,
                                    .head_dim = 128,
                                    .q_tokens = SIDE,
                                    .k_tokens = SIDE}};
    double alone_s = 0;
    enum ring_status status = exec_gpu_bench_open(&costs.bench, c->lanes.runtime, EXEC_GPU_HEADS, SIDE,
                                                  c->lanes.streams[EXEC_LANE_COMPUTE], error);

    exec_gpu_progress(c, "launches and steps");
    status = exec_agree(c->comm, &c->bound, status, error);
    if (status == RING_OK)
        status = time_launches(c, &costs, error);
    status = exec_agree(c->comm, &c->bound, status, error);
    if (status == RING_OK)
        status = time_step(c, &costs, error);
    if (status == RING_OK)
        status = time_merge(c, &costs, &alone_s, error);
    if (status == RING_OK)
        status = time_crowded(c, &costs, alone_s, error);
    if (status == RING_OK)
        status = time_adding(c, &costs, error);
    status = exec_agree(c->comm, &c->bound, status, error);
    if (status == RING_OK)
        status = take_slowest(c, error);
    exec_gpu_bench_close(&costs.bench);
    return status;
}
