/* SPDX-License-Identifier: MIT
 *
 * device-ranks conformance|sessions|calibration: the host side of exec/cuda over MPI, on the devices of
 * device_stream.h and device_priced.h. Started by tests/mpi's launcher, or without it as one rank. */
#include "tests/cuda/ranks.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "exec/bounded.h"
#include "tests/cuda/device_stream.h"

void device_ranks_report(const char *format, ...)
{
    va_list arguments;
    int rank = 0;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank != 0)
        return;
    va_start(arguments, format);
    fputs("ringlab-progress: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

/* Everything that was taken must be given back in the end. */
static enum ring_status check_counts(struct ring_error *error)
{
    struct device_stream_counts counts = device_stream_counts();

    device_ranks_report("%llu items, %llu copies later than their call", (unsigned long long)counts.done,
                        (unsigned long long)counts.late_copies);
    if (counts.pieces || counts.pinned || counts.streams || counts.events)
        return ring_fail(error, RING_WORLD, "left over: %lld pieces, %lld pinned, %lld streams, %lld events",
                         (long long)counts.pieces, (long long)counts.pinned, (long long)counts.streams,
                         (long long)counts.events);
    if (counts.late_copies == 0)
        return ring_fail(error, RING_WORLD, "no copy was ever late: nothing was tested");
    return RING_OK;
}

#ifdef __SANITIZE_ADDRESS__
/* Open MPI keeps memory of plugins that it has unloaded by the end, which no suppression can name any more.
 */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}
#endif

int main(int argc, char **argv)
{
    struct ring_error error = {"conformance, sessions or calibration?"};
    struct exec_bound bound = {.timeout_s = 60, .crowded = true};
    enum ring_status status = RING_BAD_INPUT;
    int rank = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 1 && strcmp(argv[1], "conformance") == 0)
        status = device_ranks_conformance(&error);
    if (argc > 1 && strcmp(argv[1], "sessions") == 0)
        status = device_ranks_sessions(&error);
    if (argc > 1 && strcmp(argv[1], "calibration") == 0)
        status = device_ranks_calibration(&error);
    if (status == RING_OK)
        status = exec_agree(MPI_COMM_WORLD, &bound, check_counts(&error), &error);
    if (status == RING_OK) {
        MPI_Finalize();
        return 0;
    }
    if (rank == 0 || status == RING_TIMED_OUT)
        fprintf(stderr, "ringlab-rank: %s\n", error.text);
    MPI_Abort(MPI_COMM_WORLD, 3);
    return 3;
}
