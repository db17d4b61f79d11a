/* SPDX-License-Identifier: MIT
 *
 * Which kernels and blocks calibrate times. */
#ifndef EXEC_CALIBRATE_SHAPES_H
#define EXEC_CALIBRATE_SHAPES_H

#include "exec/calibration.h"

/* The first EXEC_N_TABLES make a table each; the others are held out as a whole. */
struct exec_wanted {
    enum ring_pass pass;
    enum ring_dtype dtype;
    uint32_t head_dim;
};
extern const struct exec_wanted exec_wanted[EXEC_N_BENCHES];

/* Adds the blocks of one bench, by its number: one below n_tables has a table. Those with a side longer than
 * the tables' are left out. */
void exec_list_shapes(struct exec_calibration *calibration, size_t bench, const struct exec_wanted *wanted);

#endif
