/* SPDX-License-Identifier: MIT
 *
 * The recurrence's oracle: the same promises played naively with a clock. Whatever can happen now happens,
 * then the clock goes to the next thing that ends. No queue, no formula in common with models/; slow, and
 * plain. */
#ifndef TESTS_MODELS_CLOCKWORK_H
#define TESTS_MODELS_CLOCKWORK_H

#include "models/ring.h"

/* When each rank's step ended, [n_ranks][n_steps]; false if the ranks wait for ever. */
bool clockwork_play(const struct model_ring *ring, double *step_ends_s);

#endif
