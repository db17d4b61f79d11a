/* SPDX-License-Identifier: MIT
 *
 * From the rows of a trace to what moved: each send joined with its receive, how long the bytes were on their
 * way, and when the links of the route were in use. */
#ifndef TOOL_TRAFFIC_H
#define TOOL_TRAFFIC_H

#include "engine/trace.h"
#include "models/ring.h"
#include "tools/result.h"

/* How long something moved from one rank to another, added up over such pairs: from when both ends had
 * posted (and the world says they began) to when the receiver had it; two at once count once. RING_BAD_INPUT
 * if a receive has no send; RING_NO_MEMORY. */
enum ring_status tool_traffic_moving(const struct ring_trace *rows, double *moving_s,
                                     struct ring_error *error);

/* Replaces busy_s and bytes_per_s of the result's links, which are those of the topology that carry
 * something, in its order, by what the rows say: a link is busy while a message whose route it is on is
 * moving. */
enum ring_status tool_traffic_links(const struct ring_trace *rows, const struct model_ring *ring,
                                    struct tool_result *result, struct ring_error *error);

#endif
