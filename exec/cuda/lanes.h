/* SPDX-License-Identifier: MIT
 *
 * A rank's streams on its device and what keeps them in order: one lane computes, one brings blocks in, one
 * takes them out. A lane that touches a piece of memory first follows the last touches of the others that it
 * must not overtake: nothing lands where something is still read, nothing leaves or is read before it has
 * landed. All by events, the host waits for none of it. */
#ifndef EXEC_CUDA_LANES_H
#define EXEC_CUDA_LANES_H

#include "engine/transport.h"
#include "exec/cuda/device.h"

enum exec_lane { EXEC_LANE_COMPUTE, EXEC_LANE_IN, EXEC_LANE_OUT, EXEC_N_LANES };

/* What a lane does with a piece of memory. */
enum exec_touch { EXEC_READS, EXEC_WRITES };

/* The last touches of a piece of memory, by lane. */
struct exec_guard {
    const char *data;
    uint64_t bytes;
    void *last[EXEC_N_LANES];   /* events */
    bool touched[EXEC_N_LANES]; /* the event was recorded */
    bool written[EXEC_N_LANES]; /* ... after a write, or after a read and a write */
};

struct exec_lanes {
    const struct exec_device_runtime *runtime;
    double clock_offset_s;
    void *streams[EXEC_N_LANES];
    void *zero; /* an event of the compute lane, and when it was on the common clock */
    double zero_s;
    struct exec_guard *guards;
    size_t n_guards;
    void **idle_events; /* [room] */
    size_t n_idle, n_events, room;
};

/* The device must be open. clock_offset_s: common time = exec_clock_s() - offset. Waits. */
enum ring_status exec_lanes_open(struct exec_lanes *lanes, const struct exec_device_runtime *runtime,
                                 double clock_offset_s, struct ring_error *error);
/* Waits for what is under way. Safe on zeroed lanes. */
void exec_lanes_close(struct exec_lanes *lanes);

/* Before a lane touches a buffer: it follows who it must. After: others will follow it. A buffer without data
 * is none. */
enum ring_status exec_lanes_before(struct exec_lanes *lanes, enum exec_lane lane, enum exec_touch touch,
                                   struct ring_buffer buffer, struct ring_error *error);
enum ring_status exec_lanes_after(struct exec_lanes *lanes, enum exec_lane lane, enum exec_touch touch,
                                  struct ring_buffer buffer, struct ring_error *error);
/* For who touches it without a lane (a network card): whether all that it must not overtake is done. */
enum ring_status exec_lanes_clear(struct exec_lanes *lanes, enum exec_touch touch, struct ring_buffer buffer,
                                  bool *clear, struct ring_error *error);

/* An event to record, and back with it. Memory grows to the most that were ever out. */
enum ring_status exec_lanes_take_event(struct exec_lanes *lanes, void **event, struct ring_error *error);
void exec_lanes_give_event(struct exec_lanes *lanes, void *event);

/* Ties the device's clock to the host's anew; waits. To be done between runs: clocks drift apart. */
enum ring_status exec_lanes_set_clock(struct exec_lanes *lanes, struct ring_error *error);
/* When an event that has passed did, on the common clock. */
enum ring_status exec_lanes_when(struct exec_lanes *lanes, void *event, double *when_s,
                                 struct ring_error *error);

#endif
