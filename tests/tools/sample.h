/* SPDX-License-Identifier: MIT
 *
 * A small result with every field filled, for tests: two ranks, two steps, one link, three repeats. */
#ifndef TESTS_TOOLS_SAMPLE_H
#define TESTS_TOOLS_SAMPLE_H

#include "tools/result.h"

/* Rank 0 computes 3 and 2 s, moves for 1 and waits for 0.5; rank 1 computes 3 and 3 s with 0.25 s overhead.
 */
void sample_result(struct tool_result *result);

#endif
