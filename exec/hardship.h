/* SPDX-License-Identifier: MIT
 *
 * A scenario's faults where they are real: what one rank has to endure. A slow device and jitter keep the
 * core busy for longer after each piece of work, and a link that is late or thin holds a message back before
 * it is sent, by what it would lose on the way. A link that flaps, and what dies, cannot be had this way. */
#ifndef EXEC_HARDSHIP_H
#define EXEC_HARDSHIP_H

#include "config/config.h"

struct exec_hardship {
    const struct config_scenario *scenario; /* borrowed */
    uint32_t rank;
    double start_s;  /* of the pass, on the transport's clock; NaN: no pass, and nothing to endure */
    uint32_t target; /* the last that was sent to, and the way there; UINT32_MAX: none yet */
    uint32_t *links; /* [n_links of the topology] */
    size_t n_links;
};

/* RING_UNSUPPORTED, naming the fault, where it cannot be had; RING_NO_MEMORY. */
enum ring_status exec_hardship_open(struct exec_hardship *hardship, const struct config_scenario *scenario,
                                    uint32_t rank, struct ring_error *error);
void exec_hardship_close(struct exec_hardship *hardship);

/* How many times as long as the work itself a piece of it takes that begins at at_s, of that step; 1 or more.
 */
double exec_hardship_factor(const struct exec_hardship *hardship, uint32_t step, double at_s);

/* For how long a message to target, to be sent at at_s, is held back. */
double exec_hardship_delay_s(struct exec_hardship *hardship, uint32_t target, uint64_t bytes, double at_s);

#endif
