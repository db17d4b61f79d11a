/* SPDX-License-Identifier: MIT
 *
 * The schedules that exist, one per file of this folder; plan.c has the table. */
#ifndef RING_PLANS_H
#define RING_PLANS_H

#include "engine/plan.h"

extern const struct ring_plan_kind ring_plan_ring; /* K/V blocks rotate, queries stay */

#endif
