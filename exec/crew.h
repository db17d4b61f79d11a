/* SPDX-License-Identifier: MIT
 *
 * The threads of a rank with more cores than one (`threads: n`): OpenMP's, where the build found it. The
 * calling thread is one of them, and the only one that may call MPI. Inside exec/ only. */
#ifndef EXEC_CREW_H
#define EXEC_CREW_H

#include <stdbool.h>

#include "engine/transport.h"

/* Whether so many threads can work in this process; place: where the scenario says how many. RING_UNSUPPORTED
 * without OpenMP, RING_BAD_INPUT for more threads than cores that it may run on. */
enum ring_status exec_crew_check(uint32_t n_threads, const char *place, struct ring_error *error);

/* What the calling thread does between its pieces, and what each does after one. */
struct exec_crew_duty {
    /* The calling thread's, often; false: it has failed, and all shall stop. */
    bool (*look)(void *context);
    /* Any thread's, after a piece that took from begun_s on: how much longer it is to take. */
    double (*extra_s)(void *context, double begun_s);
    void *context;
};

/* Processor time of the threads beside the calling one while they were at work, and how long that was. */
struct exec_crew_time {
    double cpu_s, wall_s;
};

/* Does a task with all the hands that kernel has. The status of a piece that failed, with its line, or
 * RING_OK, also where look stopped it. Adds to time. */
enum ring_status exec_crew_compute(const struct ring_compute *kernel, const struct ring_task *task,
                                   const struct exec_crew_duty *duty, struct exec_crew_time *time,
                                   struct ring_error *error);

#endif
