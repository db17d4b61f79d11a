/* SPDX-License-Identifier: MIT
 *
 * Says in words what limits a step, who is to blame and what would help, from the figures of a result and the
 * prices of its hops. The same rules judge predictions and measurements. */
#ifndef TOOL_VERDICT_H
#define TOOL_VERDICT_H

#include "tools/result.h"

/* Where the step's time went beyond what evenly spread computing would take; the sum of all is near time_s.
 */
struct tool_losses {
    double compute_s;   /* the mean rank's computing, at the pace of the median device */
    double straggler_s; /* more, because the device of the busiest rank is slower than the others */
    double imbalance_s; /* more, because the busiest rank has more to do, or ranks wait for one another */
    double network_s;   /* more, because messages were moving and a rank had nothing else to do */
    double overhead_s;  /* posting, launching and polling of the rank that ends last */
    uint32_t busiest;   /* the rank that computes longest */
    uint32_t exposed;   /* the rank that stands still for messages longest */
};
struct tool_losses tool_losses_of(const struct tool_result *result);

/* Fills result->verdict; everything else in result is there already. The largest loss is the limit if it is a
 * tenth of the step or more, otherwise computing is; what does not fit into a device's memory comes before
 * all. */
void tool_verdict_find(struct tool_result *result, const struct model_ring *ring);

/* verdict_network.c: the verdict where messages are to blame, network or latency. */
void tool_verdict_network(struct tool_result *result, const struct model_ring *ring,
                          const struct tool_losses *losses);

/* verdict_replay.c: of a measured step that has lost time to a slow device and to a slow hop, whether the
 * hop is the one whose repair would save more. false also where that cannot be said. */
bool tool_replay_blames_hop(const struct tool_result *result, const struct model_ring *ring,
                            const struct tool_losses *losses);

/* What it plays: a forward ring, rank r sending to r + 1. */
struct tool_replay {
    uint32_t n_ranks, n_steps;
    double *compute_s; /* [n_ranks][n_steps] */
    double *hop_s;     /* [n_ranks], of one message from each rank */
};
/* When the last rank ends. NaN without memory. */
double tool_replay_s(const struct tool_replay *replay);

/* Why messages cannot move while a rank computes, as the start of a sentence; NULL if they can. */
const char *tool_verdict_lazy(const struct model_ring *ring);

#endif
