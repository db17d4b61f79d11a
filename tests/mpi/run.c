/* SPDX-License-Identifier: MIT
 *
 * mpi-run RANKS SECONDS PROGRAM ARGUMENT...: starts a test program on so many ranks through our own launcher,
 * passes on what it reports, and ends with 0, 1, or 77 - said aloud - where there is no mpirun. */
#include <stdio.h>
#include <stdlib.h>

#include "tools/launch.h"

enum { SKIPPED = 77 };

int main(int argc, char **argv)
{
    struct tool_launch_outcome outcome;
    struct ring_error error = {""};

    if (argc < 4) {
        fprintf(stderr, "usage: mpi-run RANKS SECONDS PROGRAM ARGUMENT...\n");
        return 2;
    }
    struct tool_launch_spec spec = {
        .n_ranks = (uint32_t)strtoul(argv[1], NULL, 10),
        .timeout_s = strtod(argv[2], NULL),
        .program = argv[3],
        .arguments = (const char *const *)argv + 4,
        .progress_fd = 1,
    };
    enum ring_status status = tool_launch(&spec, &outcome, &error);
    if (status == RING_UNSUPPORTED) {
        printf("SKIPPED: %s\n", error.text);
        return SKIPPED;
    }
    printf("%s\n%.2f s, exit %d\n", outcome.command, outcome.seconds, outcome.exit_code);
    if (status != RING_OK)
        printf("FAILED: %s\n", error.text);
    return status == RING_OK ? 0 : 1;
}
