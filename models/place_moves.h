/* SPDX-License-Identifier: MIT
 *
 * From one order of devices to another: the next of all, and a random local move. An order is all devices,
 * the ring's n_ranks first. Internal to models/place*.c. */
#ifndef MODEL_PLACE_MOVES_H
#define MODEL_PLACE_MOVES_H

#include <stdbool.h>
#include <stdint.h>

/* The lexicographically next choice of n_ranks among n_devices, the others ascending after them. Begins with
 * 0, 1, 2 ...; false after the last. */
bool model_next_order(uint32_t *order, uint32_t n_ranks, uint32_t n_devices);

/* The first device of the ring is its lowest: of all rotations, one is. */
bool model_begins_lowest(const uint32_t *order, uint32_t n_ranks);

/* Changes the order by one move: a part turned round (2-opt), a part of one to three devices or one machine's
 * moved elsewhere (or-opt), two devices exchanged, two machines' parts exchanged, or a device replaced by one
 * that is left over. Half the moves begin at one of the slowest hops, if hops_s [n_ranks] is there. group
 * [n_devices]: each device's machine. n_ranks >= 3. */
void model_move(uint32_t *order, uint32_t n_ranks, uint32_t n_devices, const uint32_t *group,
                const double *hops_s, uint64_t *random);

#endif
