/* SPDX-License-Identifier: MIT
 *
 * The thread behind `progress: thread`: it looks after a rank's messages while the rank computes. MPI, and
 * the list of messages in flight, belong to one thread at a time (MPI_THREAD_SERIALIZED is enough): a turn of
 * the helper begins when the rank begins to compute, and is over before the rank touches either again.
 * Between turns it sleeps. Inside exec/ only. */
#ifndef EXEC_HELPER_H
#define EXEC_HELPER_H

#include <stdbool.h>

#include "engine/status.h"

struct exec_transport;
struct exec_helper;

/* spare_core: there is one for it beside those that compute, so it looks without a pause; else it naps
 * between looks for as long as polling would work. RING_UNSUPPORTED where MPI does not let threads take
 * turns; RING_WORLD, RING_NO_MEMORY. */
enum ring_status exec_helper_open(struct exec_helper **out, struct exec_transport *transport, bool spare_core,
                                  struct ring_error *error);
void exec_helper_close(struct exec_helper *helper); /* NULL is fine */

/* Its turn begins. core_free: nobody computes on the rank's own core meanwhile. */
void exec_helper_begin(struct exec_helper *helper, bool core_free);

/* Processor time that its looks took in the turn, where those that compute had to give it; else 0. */
double exec_helper_taken_s(const struct exec_helper *helper);

/* Its turn is over; waits until it is out of MPI. What it met, with its line. Safe without a turn. */
enum ring_status exec_helper_end(struct exec_helper *helper, struct ring_error *error);

#endif
