/* SPDX-License-Identifier: MIT
 *
 * What a sweep over a regular plan keeps of each rank: plain arrays by rank, so that a step is a few loops
 * that compilers turn into vector code. regular.c sweeps, sweep_moves.c moves its messages. Internal to both.
 */
#ifndef MODEL_SWEEP_H
#define MODEL_SWEEP_H

#include "models/play.h"
#include "models/sides.h"

/* A kind of message, and that of each sender at this step. Times are the sender's from [1] on, and [0] is the
 * last rank's: as a rank receives from the one before it, what reaches it is at [rank], and what it sends at
 * [rank + 1]. */
struct sweep_messages {
    double bytes[MODEL_MAX_KINDS]; /* by kind of block */
    double *alone_s;               /* [n_kinds][n_ranks] alone on the sender's hop */
    double *movable_s, *moved_s, *arrived_s;
};

struct sweep {
    const struct model_ring *ring;
    uint32_t step;
    bool plain;                     /* no hop is lazy or changes */
    struct model_pattern *patterns; /* [n_steps] */
    struct model_sides sides;
    double *storage;   /* behind the arrays below and those of the messages */
    double *latency_s; /* [n_ranks] of the sender's hop */
    double *compute_s; /* [n_ranks] of this step */
    double *add_s;     /* [n_ranks] of this step */
    double *picked_s;  /* [n_ranks] room for one step's alone_s */
    double *total_compute_s, *total_transfer_s, *total_wait_s; /* [n_ranks] */
    double
        *begins_s; /* [n_buffers][n_ranks + 1] when the last steps began, a ring of them; the first twice */
    struct sweep_messages kv, gradient;
};

static inline double model_later(double a, double b)
{
    return a > b ? a : b;
}

/* When the messages of this step move. begin_s, posted_s [n_ranks + 1]: when ranks began it, and the step in
 * which they posted the receives of its blocks. */
void model_sweep_move(struct sweep *sweep, const struct model_pattern *pattern, const double *begin_s,
                      const double *posted_s);

/* Adds what moved on every hop at this step to the play's. */
void model_sweep_count_moving(struct model_play *play, const struct sweep *sweep,
                              const struct model_pattern *pattern);

#endif
