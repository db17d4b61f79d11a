/* SPDX-License-Identifier: MIT
 *
 * Running ringlab-rank from a test: a small cluster and scenario of its own, the launcher, and what was left
 * behind. */
#ifndef TESTS_MPI_SUPPORT_H
#define TESTS_MPI_SUPPORT_H

#include "tools/launch.h"

/* Both of tests/mpi/; the tests run in the root of the sources. */
#define SCENARIO "tests/mpi/small.yaml"

/* Runs ringlab-rank with words (ended by NULL) on n_ranks; 0: without mpirun. Skips the test, aloud, where
 * there is no mpirun. */
enum ring_status run_ranks(uint32_t n_ranks, double timeout_s, const char *const *words,
                           struct tool_launch_outcome *outcome, struct ring_error *error);

/* A path for a result in a folder of this test's own, which remove_results clears away. */
const char *result_path(const char *name);
void remove_results(void);

/* A whole file as text; the test fails if there is none. The caller frees it. */
char *read_text(const char *path);

/* How many processes of the program are there that inherited NAME=value. */
int count_processes(const char *assignment);

#endif
