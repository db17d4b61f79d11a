/* SPDX-License-Identifier: MIT
 *
 * See compute.h. */
#include "exec/cuda/compute.h"

#include <math.h>
#include <stdlib.h>

#include "exec/clock.h"
#include "exec/flight.h"

/* A computation under way; flight->work. */
struct run {
    void *begin, *end; /* events */
};

/* What a task does with its buffers; calls touch for each. */
static enum ring_status touch_all(struct exec_lanes *lanes, const struct ring_task *task,
                                  enum ring_status (*touch)(struct exec_lanes *, enum exec_lane,
                                                            enum exec_touch, struct ring_buffer,
                                                            struct ring_error *),
                                  struct ring_error *error)
{
    bool adds = task->job == RING_JOB_ADD, contributes = task->job != RING_JOB_FORWARD;
    enum ring_status status = RING_OK;

    if (!adds)
        status = touch(lanes, EXEC_LANE_COMPUTE, EXEC_READS, task->kv, error);
    if (status == RING_OK && contributes)
        status = touch(lanes, EXEC_LANE_COMPUTE, adds ? EXEC_READS : EXEC_WRITES, task->contribution, error);
    if (status == RING_OK && adds)
        status = touch(lanes, EXEC_LANE_COMPUTE, EXEC_WRITES, task->gradient, error);
    return status;
}

static void forget(struct exec_lanes *lanes, struct exec_flight *flight)
{
    struct run *run = flight->work;

    if (run->begin)
        exec_lanes_give_event(lanes, run->begin);
    if (run->end)
        exec_lanes_give_event(lanes, run->end);
    free(run);
    flight->work = NULL;
}

static enum ring_status start(void *context, struct exec_flight *flight, struct ring_error *error)
{
    struct exec_compute_lane *compute = context;
    struct exec_lanes *lanes = compute->lanes;
    void *stream = lanes->streams[EXEC_LANE_COMPUTE];
    struct run *run = calloc(1, sizeof *run);

    if (!run)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for a computation");
    flight->work = run;
    enum ring_status status = exec_lanes_take_event(lanes, &run->begin, error);
    if (status == RING_OK)
        status = exec_lanes_take_event(lanes, &run->end, error);
    if (status == RING_OK)
        status = touch_all(lanes, &flight->task, exec_lanes_before, error);
    if (status == RING_OK)
        status = lanes->runtime->record(run->begin, stream, error);
    if (status == RING_OK)
        status = compute->launch.launch(compute->launch.context, &flight->task, stream, error);
    if (status == RING_OK)
        status = lanes->runtime->record(run->end, stream, error);
    if (status == RING_OK)
        status = touch_all(lanes, &flight->task, exec_lanes_after, error);
    return status;
}

/* The device's clock is tied to ours to within microseconds: an interval is moved to where it can be. */
static enum ring_status date(struct exec_lanes *lanes, struct exec_flight *flight, struct ring_error *error)
{
    const struct run *run = flight->work;
    double now_s = exec_clock_s() - lanes->clock_offset_s, begun_s = 0, ended_s = 0;
    enum ring_status status = exec_lanes_when(lanes, run->begin, &begun_s, error);

    if (status == RING_OK)
        status = exec_lanes_when(lanes, run->end, &ended_s, error);
    flight->ended_s = fmin(fmax(ended_s, flight->posted_s), now_s);
    flight->begun_s = fmin(fmax(flight->ended_s - (ended_s - begun_s), flight->posted_s), flight->ended_s);
    return status;
}

static enum ring_status test(void *context, struct exec_flight *flight, struct ring_error *error)
{
    struct exec_compute_lane *compute = context;
    const struct run *run = flight->work;
    bool passed = false;
    enum ring_status status = compute->lanes->runtime->passed(run->end, &passed, error);

    if (status != RING_OK || !passed)
        return status;
    status = date(compute->lanes, flight, error);
    forget(compute->lanes, flight);
    flight->done = status == RING_OK;
    return status;
}

static void drop(void *context, struct exec_flight *flight)
{
    struct exec_compute_lane *compute = context;

    if (flight->work)
        forget(compute->lanes, flight);
}

void exec_compute_lane_init(struct exec_compute_lane *compute, struct exec_lanes *lanes,
                            const struct exec_launch *launch)
{
    *compute = (struct exec_compute_lane){.lanes = lanes, .launch = *launch};
    compute->worker = (struct exec_worker){start, test, drop, compute};
}
