/* SPDX-License-Identifier: MIT
 *
 * Between transport.c, which takes the engine's calls, messages.c, which moves messages, and deferred.c,
 * which computes and has them looked after meanwhile, by itself or by helper.c. Everyone else includes
 * transport.h, but for calibrate_costs.c, which times a look. */
#ifndef EXEC_TRANSPORT_PARTS_H
#define EXEC_TRANSPORT_PARTS_H

#include "exec/clock.h"
#include "exec/flight.h"
#include "exec/transport.h"

/* One call to MPI that may have moved something. */
struct exec_call {
    double begin_s, end_s;
    double cpu_s; /* processor time, if the transport counts it */
};

struct exec_helper;

struct exec_transport {
    struct ring_transport base;
    struct exec_transport_spec spec;
    MPI_Comm comm;
    int rank;
    bool *shares_memory; /* [n_ranks]: on this machine, so that the receiver copies */
    struct exec_hangar hangar;
    struct exec_helper *helper; /* NULL unless progress is thread; its turns are in deferred.c */
    struct exec_call last_call;
    double copy_cpu_s;
    struct exec_crew_time crew_time;
    uint64_t bytes_sent;
};

static inline double exec_transport_now(const struct exec_transport *t)
{
    return exec_clock_s() - t->spec.clock_offset_s;
}

/* Starts a message that nothing holds back. The very post of a receive copies, where the sender was here
 * first, so the call is remembered. */
enum ring_status exec_transport_start_message(struct exec_transport *t, struct exec_flight *flight);

/* Looks at every message in flight once, and at what a device computes, and notes which are done. */
enum ring_status exec_transport_look(struct exec_transport *t);

/* The part of that which is about messages; by whoever has MPI at the time. */
enum ring_status exec_transport_look_at_messages(struct exec_transport *t, struct ring_error *error);

/* How long to leave the messages in flight alone between two looks; infinite if there are none. */
double exec_transport_look_interval_s(const struct exec_transport *t);

/* The part of that which is about a device's computations. */
enum ring_status exec_transport_look_at_device(struct exec_transport *t);

/* Does the pending computations, those that no worker has, oldest first: up to and with until, or all of them
 * if it is no computation.
 */
enum ring_status exec_transport_compute(struct exec_transport *t, const struct exec_flight *until);

#endif
