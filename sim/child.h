/* SPDX-License-Identifier: MIT
 *
 * Runs a task in a forked child: SimGrid serves one engine a process, aborts on what it does not like, prints
 * and installs signal handlers, and none of that may reach the process that asks. Knows nothing of
 * simulations. */
#ifndef SIM_CHILD_H
#define SIM_CHILD_H

#include <stddef.h>

#include "engine/status.h"

/* What the child does. Its memory is a copy: results must go through shared mappings or files opened before.
 */
typedef enum ring_status (*sim_task)(void *context, struct ring_error *error);

/* Runs task(context) in a child and waits for it. Its standard output and error are caught; it dies with this
 * process, and from Ctrl-C by default. Returns what the task returned, with its line; RING_WORLD if the child
 * died before that, with its last words. */
enum ring_status sim_in_child(sim_task task, void *context, struct ring_error *error);

/* Memory that parent and child share, zeroed; NULL if there is none. */
void *sim_shared_alloc(size_t bytes);
void sim_shared_free(void *memory, size_t bytes);

#endif
