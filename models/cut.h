/* SPDX-License-Identifier: MIT
 *
 * What half of a cluster can send to the other half at once. Internal to models/; everyone else asks
 * model_topology_measure. */
#ifndef MODEL_CUT_H
#define MODEL_CUT_H

#include "models/topology.h"

/* The maximum flow from devices 0 ... n_first - 1 to all others, bytes per second. RING_NO_MEMORY. */
enum ring_status model_cut(const struct model_topology *topology, size_t n_first, double *bytes_per_s,
                           struct ring_error *error);

#endif
