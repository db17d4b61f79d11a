/* SPDX-License-Identifier: MIT
 *
 * Links whose bandwidth changes while the simulation runs (models/fault.h says when and how much). Devices'
 * faults, latencies and what dies need nothing from SimGrid: the transport asks models/ for their times. */
#ifndef SIM_FAULTS_H
#define SIM_FAULTS_H

#include "sim/world.h"

/* Hires who changes the links; nothing if none changes. To be called when the platform is there. */
enum ring_status sim_faults_start(struct sim_world *world, struct ring_error *error);
void sim_faults_stop(struct sim_world *world);

/* To be called right before a flow over the hop starts. SimGrid never lets a flow go faster than the slowest
 * bandwidth that its links had when it started; so they are whole for that moment, in which no simulated time
 * passes, and what they should be right after. */
void sim_faults_let_start(struct sim_world *world, const struct model_hop *hop);

#endif
