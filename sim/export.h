/* SPDX-License-Identifier: MIT
 *
 * A whole topology as SimGrid platform text, for use outside of Ringlab. */
#ifndef SIM_EXPORT_H
#define SIM_EXPORT_H

#include <stdio.h>

#include "models/topology.h"

/* Routes of all pairs grow with the square of the devices. */
enum { SIM_EXPORT_MOST_DEVICES = 256 };

/* Hosts, links and one-way routes under the topology's own names; links with their latencies and the
 * bandwidth of their largest messages. Ringlab's own runs use sim_platform_write, which says why it leaves
 * latencies out. RING_UNSUPPORTED for too many devices, RING_NO_MEMORY, RING_IO. */
enum ring_status sim_export(const struct model_topology *topology, FILE *file, struct ring_error *error);

#endif
