/* SPDX-License-Identifier: MIT
 *
 * mpi-ranks rings|overlap|passes|conformance: plays a test on 1, 2, 3, 5 and 7 of the ranks that were started
 * (passes also on 4 and 8), in turn, so that one start of mpirun serves them all. */
#include "tests/mpi/ranks.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void report(const struct seat *seat, const char *format, ...)
{
    va_list arguments;

    if (seat->rank != 0)
        return;
    va_start(arguments, format);
    fputs("ringlab-progress: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

enum ring_status open_transport(const struct seat *seat, enum model_progress progress,
                                const struct exec_compute *compute, struct exec_transport **out,
                                struct ring_error *error)
{
    struct exec_transport_spec spec = {.comm = seat->comm, .progress = progress, .bound = seat->bound};

    if (compute)
        spec.compute = *compute;
    return exec_transport_open(out, &spec, error);
}

/* The first n ranks play; the rest wait for them. */
static enum ring_status play(enum ring_status (*test)(const struct seat *, struct ring_error *), int n,
                             struct ring_error *error)
{
    struct exec_bound bound = {.timeout_s = 60};
    struct seat seat = {.n_ranks = n};
    enum ring_status status = RING_OK;
    int rank = 0;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank < n ? 0 : MPI_UNDEFINED, rank, &seat.comm);
    bound.rank = rank;
    bound.crowded = n > sysconf(_SC_NPROCESSORS_ONLN);
    seat.rank = rank;
    seat.bound = bound;
    if (rank < n)
        status = test(&seat, error);
    bound.crowded = true;
    status = exec_agree(MPI_COMM_WORLD, &bound, status, error);
    if (rank < n && status == RING_OK)
        MPI_Comm_free(&seat.comm);
    return status;
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
    static const int some[] = {1, 2, 3, 5, 7, 0}, more[] = {1, 2, 3, 4, 5, 7, 8, 0};
    static const struct {
        const char *name;
        enum ring_status (*test)(const struct seat *, struct ring_error *);
        const int *counts; /* ended by 0 */
    } tests[] = {
        {"rings", test_rings, some},
        {"overlap", test_overlap, some},
        {"passes", test_passes, more},
        {"conformance", test_conformance, some},
    };
    enum ring_status status = RING_BAD_INPUT;
    struct ring_error error = {"no such test"};
    int n_ranks = 0, rank = 0;

    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (size_t i = 0; argc > 1 && i < sizeof tests / sizeof *tests; i++) {
        if (strcmp(argv[1], tests[i].name) != 0)
            continue;
        status = RING_OK;
        for (const int *n = tests[i].counts; *n != 0 && *n <= n_ranks && status == RING_OK; n++)
            status = play(tests[i].test, *n, &error);
    }
    if (status == RING_OK) {
        MPI_Finalize();
        return 0;
    }
    if (rank == 0 || status == RING_TIMED_OUT)
        fprintf(stderr, "ringlab-rank: %s\n", error.text);
    MPI_Abort(MPI_COMM_WORLD, 3);
    return 3;
}
