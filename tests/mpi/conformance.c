/* SPDX-License-Identifier: MIT
 *
 * What every transport promises, asked of the one over MPI, with and without polling. */
#include "tests/conformance/suite.h"
#include "tests/mpi/ranks.h"

static enum ring_status run_case(const struct seat *all, const struct conformance_case *one,
                                 enum model_progress progress, struct ring_error *error)
{
    struct seat seat = *all;
    struct exec_transport *transport = NULL;
    struct ring_compute compute = conformance_compute((uint32_t)all->rank);
    struct exec_compute kernel = {.kernel = &compute};
    bool plays = (uint32_t)all->rank < one->n_ranks;
    enum ring_status status = RING_OK;

    seat.n_ranks = (int)one->n_ranks;
    MPI_Comm_split(all->comm, plays ? 0 : MPI_UNDEFINED, all->rank, &seat.comm);
    if (plays)
        status = open_transport(&seat, progress, &kernel, &transport, error);
    if (plays && status == RING_OK)
        status = conformance_play(one, (uint32_t)seat.rank, exec_transport_base(transport), error);
    if (transport && status == RING_OK)
        exec_transport_close(transport);
    status = exec_agree(all->comm, &all->bound, status, error);
    if (plays && status == RING_OK)
        MPI_Comm_free(&seat.comm);
    return status;
}

/* On the largest world only, which has room for every case. */
enum ring_status test_conformance(const struct seat *seat, struct ring_error *error)
{
    if (seat->n_ranks < CONFORMANCE_MAX_RANKS)
        return RING_OK;
    for (uint32_t i = 0; i < conformance_n_cases; i++) {
        for (int progress = 0; progress < MODEL_N_PROGRESS; progress++) {
            const struct conformance_case *one = &conformance_cases[i];
            enum ring_status status = run_case(seat, one, (enum model_progress)progress, error);
            report(seat, "%s: %s (%s)", status == RING_OK ? "ok" : "FAILED", one->name,
                   model_progress_names[progress]);
            if (status != RING_OK)
                return status;
        }
    }
    return RING_OK;
}
