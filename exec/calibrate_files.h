/* SPDX-License-Identifier: MIT
 *
 * What is the same of a calibration whatever it measures: how its ranks begin, and the two files that it
 * leaves: where they go, and that both are written or neither. */
#ifndef EXEC_CALIBRATE_FILES_H
#define EXEC_CALIBRATE_FILES_H

#include "exec/bounded.h"
#include "exec/calibrate.h"
#include "exec/clock.h"

/* How a calibration begins. Collective: finds the clock, and whether ranks share cores. RING_BAD_INPUT on
 * more machines than one. */
enum ring_status exec_calibrate_meet(MPI_Comm comm, struct exec_bound *bound, struct exec_clock *clock,
                                     struct ring_error *error);

/* Rank 0: the topology's path, that of spec or FILE in config's cache folder, and a try whether something can
 * be written there, before any time is spent. Collective. */
enum ring_status exec_calibrate_place(const struct exec_calibrate_spec *spec, const struct exec_bound *bound,
                                      const char *file, char *path, size_t size, struct ring_error *error);

/* Who writes them: the device's file, and the topology's, which names it. Both say where and how the figures
 * were taken. */
struct exec_calibrate_writer {
    void (*device)(const void *context, const char *source, FILE *file);
    void (*topology)(const void *context, const char *source, const char *device_file, FILE *file);
    const void *context;
    char source[512];
};

/* The topology to path, the device beside it under path's name with a suffix: "-core". RING_IO. */
enum ring_status exec_calibrate_write(const struct exec_calibrate_writer *writer, const char *path,
                                      const char *suffix, struct ring_error *error);

#endif
