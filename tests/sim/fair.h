/* SPDX-License-Identifier: MIT
 *
 * An independent player of priced plans, for comparison: the schedule's meaning written down once more, as a
 * list of events, with max-min fair sharing solved by progressive filling from scratch at every event. Slow
 * and short. */
#ifndef TESTS_SIM_FAIR_H
#define TESTS_SIM_FAIR_H

#include "models/ring.h"

/* ends_s [n_ranks]: when each rank finished. A plan that cannot finish ends the program. */
void fair_play(const struct model_ring *ring, double *ends_s);

#endif
