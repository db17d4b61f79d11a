/* SPDX-License-Identifier: MIT
 *
 * What the tests of device-ranks share. */
#ifndef TESTS_CUDA_RANKS_H
#define TESTS_CUDA_RANKS_H

#include "engine/status.h"

/* A line of the test's output, from rank 0. */
void device_ranks_report(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Each is collective over MPI_COMM_WORLD. RING_OK, or one line. */
enum ring_status device_ranks_conformance(struct ring_error *error);
enum ring_status device_ranks_sessions(struct ring_error *error);
enum ring_status device_ranks_calibration(struct ring_error *error);

#endif
