/* SPDX-License-Identifier: MIT
 *
 * The order in which this machine's devices are measured. See calibrate.h. */
#include "exec/cuda/calibrate.h"

#include <limits.h>
#include <stdlib.h>

#include "exec/calibrate_files.h"
#include "exec/cuda/calibration.h"
#include "exec/progress.h"

#define TIMEOUT_S 60.0

/* Of the time to spend; copies, hops and costs take what they take, a few seconds. */
#define KERNELS_SHARE 0.7

void exec_gpu_progress(const struct exec_gpu_calibration *c, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    exec_progress_line(c->rank == 0 ? c->spec->common.progress : NULL, "calibrating the device: ", format,
                       arguments);
    va_end(arguments);
}

enum ring_status exec_gpu_time(const struct exec_gpu_calibration *c, enum exec_lane lane,
                               const struct exec_gpu_work *work, size_t n, double *seconds,
                               struct ring_error *error)
{
    const struct exec_device_runtime *runtime = c->lanes.runtime;
    void *stream = c->lanes.streams[lane], *begun = NULL, *ended = NULL;
    enum ring_status status = runtime->open_event(&begun, error);

    if (status == RING_OK)
        status = runtime->open_event(&ended, error);
    if (status == RING_OK)
        status = runtime->record(begun, stream, error);
    for (size_t i = 0; i < n && status == RING_OK; i++)
        status = work->enqueue(work->context, stream, error);
    if (status == RING_OK)
        status = runtime->record(ended, stream, error);
    if (status == RING_OK)
        status = runtime->settle(stream, error);
    if (status == RING_OK)
        status = runtime->between(begun, ended, seconds, error);
    *seconds /= (double)n;
    if (begun)
        runtime->close_event(begun);
    if (ended)
        runtime->close_event(ended);
    return status;
}

/* Each rank the device that a run would give it. */
static enum ring_status open_device(struct exec_gpu_calibration *c, bool *no_device, struct ring_error *error)
{
    const struct exec_device_runtime *runtime = c->spec->runtime;
    struct ring_error why = {""};
    char name[EXEC_DEVICE_NAME_BYTES];
    enum ring_status status = runtime->count(&c->n_devices, &why);

    if (status == RING_OK)
        status = runtime->open(c->clock.rank_here % c->n_devices, name, &why);
    status = exec_agree(c->comm, &c->bound, status, &why);
    *no_device = status == RING_UNSUPPORTED;
    if (*no_device)
        return ring_fail(error, status, "no usable CUDA device is there: %.900s", why.text);
    if (status != RING_OK)
        return ring_fail(error, status, "%.1000s", why.text);
    status = runtime->facts(&c->facts, error);
    if (status == RING_OK)
        status = exec_lanes_open(&c->lanes, runtime, c->clock.offset_s, error);
    return exec_agree(c->comm, &c->bound, status, error);
}

static enum ring_status measure(struct exec_gpu_calibration *c, struct ring_error *error)
{
    for (size_t i = 0; i < EXEC_GPU_SIZES; i++)
        c->sizes[i] = (uint64_t)EXEC_GPU_FIRST_BYTES << (2 * i);
    enum ring_status status = exec_gpu_calibrate_copies(c, error);
    if (status == RING_OK)
        status = exec_gpu_calibrate_hops(c, error);
    if (status == RING_OK)
        status = exec_gpu_calibrate_costs(c, error);
    if (status == RING_OK)
        status = exec_gpu_calibrate_kernels(c, KERNELS_SHARE * c->spec->common.seconds, error);
    return status;
}

static enum ring_status run(struct exec_gpu_calibration *c, bool *no_device, struct ring_error *error)
{
    char path[PATH_MAX];
    enum ring_status status = exec_calibrate_meet(c->comm, &c->bound, &c->clock, error);

    if (status == RING_OK)
        status = open_device(c, no_device, error);
    if (status == RING_OK)
        status = exec_calibrate_place(&c->spec->common, &c->bound, "this-machine-cuda.yaml", path,
                                      sizeof path, error);
    if (status == RING_OK)
        status = measure(c, error);
    if (status == RING_OK && c->rank == 0)
        status = exec_gpu_calibration_write(c, path, error);
    return exec_agree(c->comm, &c->bound, status, error);
}

enum ring_status exec_calibrate_device(const struct exec_device_calibrate_spec *spec, bool *no_device,
                                       struct ring_error *error)
{
    struct exec_gpu_calibration *c = calloc(1, sizeof *c);

    *no_device = false;
    if (!c)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for a calibration");
    c->comm = spec->common.comm;
    c->spec = spec;
    c->now_s = spec->now_s ? spec->now_s : exec_clock_s;
    MPI_Comm_rank(c->comm, &c->rank);
    MPI_Comm_size(c->comm, &c->n_ranks);
    c->bound = (struct exec_bound){TIMEOUT_S, spec->common.stop, true, c->rank};
    enum ring_status status = run(c, no_device, error);
    exec_lanes_close(&c->lanes);
    free(c);
    return status;
}
