/* SPDX-License-Identifier: MIT
 *
 * A priced ring as SimGrid platform text: hosts for the devices in use, links on the hops in use, and a
 * one-way route for each pair of devices that talk, along the hop's own links. */
#ifndef SIM_PLATFORM_H
#define SIM_PLATFORM_H

#include <stdio.h>

#include "models/ring.h"

/* Name of a device's host in the platform: "d3" for device 3. */
enum { SIM_HOST_NAME_SIZE = 16 };
void sim_host_name(char name[SIM_HOST_NAME_SIZE], uint32_t device);

/* Flops a second of every host: a computation of t seconds is t times that. */
#define SIM_HOST_FLOP_PER_S 1e9

/* Writes the platform. RING_NO_MEMORY, RING_IO. */
enum ring_status sim_platform_write(const struct model_ring *ring, FILE *file, struct ring_error *error);

#endif
