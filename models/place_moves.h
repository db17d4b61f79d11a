/* SPDX-License-Identifier: MIT
 *
 * From one order of devices to another: the next of all, and a random local move. An order is all devices,
 * the ring's n_ranks first. Internal to models/place*.c. */
#ifndef MODEL_PLACE_MOVES_H
#define MODEL_PLACE_MOVES_H

#include <stdbool.h>
#include <stdint.h>

/* Rings of n_ranks among n_devices, each once though it can begin anywhere: (n_devices choose n_ranks) *
 * (n_ranks - 1)!; something above most if they are more than most. */
uint64_t model_count_rings(uint32_t n_ranks, uint32_t n_devices, uint64_t most);

/* The next of all rings in lexicographic order, written down from its lowest device on, those left over
 * ascending after it. The first is 0, 1, 2 ...; false after the last. */
bool model_next_ring(uint32_t *order, uint32_t n_ranks, uint32_t n_devices);

/* Changes the order by one move: a part turned round (2-opt), a part of one to three devices or one machine's
 * moved elsewhere (or-opt), two devices exchanged, two machines' parts exchanged, or a device replaced by one
 * that is left over. Half the moves begin at one of the slowest hops, if hops_s [n_ranks] is there. group
 * [n_devices]: each device's machine. n_ranks >= 3. */
void model_move(uint32_t *order, uint32_t n_ranks, uint32_t n_devices, const uint32_t *group,
                const double *hops_s, uint64_t *random);

#endif
