/* SPDX-License-Identifier: MIT
 *
 * Streams, events and who follows whom. See lanes.h. */
#include "exec/cuda/lanes.h"

#include <stdlib.h>

#include "exec/clock.h"

static enum ring_status no_memory(struct ring_error *error)
{
    return ring_fail(error, RING_NO_MEMORY, "out of memory for a device's events");
}

enum ring_status exec_lanes_open(struct exec_lanes *lanes, const struct exec_device_runtime *runtime,
                                 double clock_offset_s, struct ring_error *error)
{
    enum ring_status status = RING_OK;

    *lanes = (struct exec_lanes){.runtime = runtime, .clock_offset_s = clock_offset_s};
    for (int lane = 0; lane < EXEC_N_LANES && status == RING_OK; lane++)
        status = runtime->open_stream(&lanes->streams[lane], error);
    if (status == RING_OK)
        status = exec_lanes_take_event(lanes, &lanes->zero, error);
    if (status == RING_OK)
        status = exec_lanes_set_clock(lanes, error);
    return status;
}

void exec_lanes_close(struct exec_lanes *lanes)
{
    if (!lanes->runtime)
        return;
    for (int lane = 0; lane < EXEC_N_LANES; lane++) {
        if (!lanes->streams[lane])
            continue;
        lanes->runtime->settle(lanes->streams[lane], NULL);
        lanes->runtime->close_stream(lanes->streams[lane]);
    }
    for (size_t i = 0; i < lanes->n_guards; i++)
        for (int lane = 0; lane < EXEC_N_LANES; lane++)
            if (lanes->guards[i].last[lane])
                exec_lanes_give_event(lanes, lanes->guards[i].last[lane]);
    if (lanes->zero)
        exec_lanes_give_event(lanes, lanes->zero);
    for (size_t i = 0; i < lanes->n_idle; i++)
        lanes->runtime->close_event(lanes->idle_events[i]);
    free(lanes->idle_events);
    free(lanes->guards);
    *lanes = (struct exec_lanes){.runtime = NULL};
}

enum ring_status exec_lanes_take_event(struct exec_lanes *lanes, void **event, struct ring_error *error)
{
    if (lanes->n_idle > 0) {
        *event = lanes->idle_events[--lanes->n_idle];
        return RING_OK;
    }
    if (lanes->n_events == lanes->room) { /* there is always room to give all of them back */
        size_t room = lanes->room ? 2 * lanes->room : 32;
        void **events = realloc(lanes->idle_events, room * sizeof *events);
        if (!events)
            return no_memory(error);
        lanes->idle_events = events;
        lanes->room = room;
    }
    enum ring_status status = lanes->runtime->open_event(event, error);
    lanes->n_events += status == RING_OK;
    return status;
}

void exec_lanes_give_event(struct exec_lanes *lanes, void *event)
{
    lanes->idle_events[lanes->n_idle++] = event;
}

static bool overlaps(const struct exec_guard *guard, struct ring_buffer buffer)
{
    const char *data = buffer.data;

    return data < guard->data + guard->bytes && guard->data < data + buffer.bytes;
}

/* Two reads may go side by side. */
static bool must_follow(const struct exec_guard *guard, int other, enum exec_touch touch)
{
    return guard->touched[other] && (touch == EXEC_WRITES || guard->written[other]);
}

enum ring_status exec_lanes_before(struct exec_lanes *lanes, enum exec_lane lane, enum exec_touch touch,
                                   struct ring_buffer buffer, struct ring_error *error)
{
    enum ring_status status = RING_OK;

    for (size_t i = 0; buffer.data && i < lanes->n_guards; i++) {
        const struct exec_guard *guard = &lanes->guards[i];
        for (int other = 0; overlaps(guard, buffer) && other < EXEC_N_LANES && status == RING_OK; other++)
            if (other != (int)lane && must_follow(guard, other, touch))
                status = lanes->runtime->follow(lanes->streams[lane], guard->last[other], error);
    }
    return status;
}

static struct exec_guard *find_guard(struct exec_lanes *lanes, struct ring_buffer buffer)
{
    for (size_t i = 0; i < lanes->n_guards; i++)
        if (lanes->guards[i].data == buffer.data)
            return &lanes->guards[i];
    struct exec_guard *guards = realloc(lanes->guards, (lanes->n_guards + 1) * sizeof *guards);
    if (!guards)
        return NULL;
    lanes->guards = guards;
    guards[lanes->n_guards] = (struct exec_guard){.data = buffer.data};
    return &guards[lanes->n_guards++];
}

enum ring_status exec_lanes_after(struct exec_lanes *lanes, enum exec_lane lane, enum exec_touch touch,
                                  struct ring_buffer buffer, struct ring_error *error)
{
    if (!buffer.data || !buffer.bytes)
        return RING_OK;
    struct exec_guard *guard = find_guard(lanes, buffer);
    if (!guard)
        return no_memory(error);
    if (buffer.bytes > guard->bytes)
        guard->bytes = buffer.bytes;
    if (!guard->last[lane]) {
        enum ring_status status = exec_lanes_take_event(lanes, &guard->last[lane], error);
        if (status != RING_OK)
            return status;
    }
    /* Whoever follows the later event has followed the earlier one: a read after a write stays a write. */
    guard->touched[lane] = true;
    guard->written[lane] |= touch == EXEC_WRITES;
    return lanes->runtime->record(guard->last[lane], lanes->streams[lane], error);
}

enum ring_status exec_lanes_clear(struct exec_lanes *lanes, enum exec_touch touch, struct ring_buffer buffer,
                                  bool *clear, struct ring_error *error)
{
    enum ring_status status = RING_OK;

    *clear = true;
    for (size_t i = 0; buffer.data && i < lanes->n_guards && *clear; i++) {
        const struct exec_guard *guard = &lanes->guards[i];
        for (int lane = 0; overlaps(guard, buffer) && lane < EXEC_N_LANES && *clear; lane++) {
            if (must_follow(guard, lane, touch))
                status = lanes->runtime->passed(guard->last[lane], clear, error);
            if (status != RING_OK)
                return status;
        }
    }
    return RING_OK;
}

enum ring_status exec_lanes_set_clock(struct exec_lanes *lanes, struct ring_error *error)
{
    void *stream = lanes->streams[EXEC_LANE_COMPUTE];
    enum ring_status status = lanes->runtime->settle(stream, error);
    double before_s = exec_clock_s();

    if (status == RING_OK)
        status = lanes->runtime->record(lanes->zero, stream, error);
    if (status == RING_OK)
        status = lanes->runtime->settle(stream, error);
    lanes->zero_s = (before_s + exec_clock_s()) / 2 - lanes->clock_offset_s;
    return status;
}

enum ring_status exec_lanes_when(struct exec_lanes *lanes, void *event, double *when_s,
                                 struct ring_error *error)
{
    double since_s = 0;
    enum ring_status status = lanes->runtime->between(lanes->zero, event, &since_s, error);

    *when_s = lanes->zero_s + since_s;
    return status;
}
