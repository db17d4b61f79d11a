/* SPDX-License-Identifier: MIT
 *
 * One pass on real data against the oracle. See verify.h; the bounds are kernels/verify.c's. */
#include "exec/verify.h"

#include <inttypes.h>
#include <stdlib.h>

#include "exec/kernels/verify.h"
#include "exec/measure.h"
#include "exec/memory.h"
#include "exec/output.h"

static void write_report(const struct exec_session *session, const struct verify_report *reports, FILE *file)
{
    char transport[256];

    exec_describe_transport(session, transport, sizeof transport);
    fprintf(file, "ringlab-verify 1\nranks %d\nkernel %s\ntransport %s\nstate %s\nrows\n", session->n_ranks,
            session->kernel->name, transport, ring_dtype_names[session->kernel->state]);
    fprintf(file,
            "rank rows_checked rows_total out_error2 out_norm2 out_worst out_bound lse_worst lse_bound n_bad "
            "checksum\n");
    for (int rank = 0; rank < session->n_ranks; rank++) {
        const struct verify_report *r = &reports[rank];
        fprintf(file,
                "%" PRIu32 " %" PRIu64 " %" PRIu64 " %.17g %.17g %.17g %.17g %.17g %.17g %" PRIu64
                " %016" PRIx64 "\n",
                r->rank, r->rows_checked, r->rows_total, r->out_error2, r->out_norm2, r->out_worst,
                r->out_bound, r->lse_worst, r->lse_bound, r->n_bad, r->checksum);
    }
}

static enum ring_status compare(const struct exec_session *session, const struct exec_verify_spec *spec,
                                const void *out, const void *lse, struct verify_report *report,
                                struct ring_error *error)
{
    struct oracle *oracle = NULL;
    enum ring_status status = oracle_open(&oracle, &session->plan.problem, &session->data, error);

    if (status == RING_OK)
        verify_rank(&session->plan, (uint32_t)session->rank, oracle, session->kernel->state, out, lse,
                    spec->max_rows, report);
    if (oracle)
        oracle_close(oracle);
    return status;
}

static enum ring_status write_file(const struct exec_session *session, const struct exec_verify_spec *spec,
                                   const struct verify_report *reports, struct ring_error *error)
{
    struct exec_output output = {.file = NULL};

    if (!spec->path) {
        write_report(session, reports, spec->fallback);
        return RING_OK;
    }
    enum ring_status status = exec_output_open(&output, spec->path, error);
    if (status != RING_OK)
        return status;
    write_report(session, reports, output.file);
    return exec_output_commit(&output, error);
}

static enum ring_status report(struct exec_session *session, const struct exec_verify_spec *spec,
                               const struct verify_report *own, struct ring_error *error)
{
    struct verify_report *reports = calloc((size_t)session->n_ranks, sizeof *reports);
    enum ring_status status =
        reports ? RING_OK : ring_fail(error, RING_NO_MEMORY, "out of memory for a report");

    status = exec_agree(session->comm, &session->bound, status, error);
    if (status == RING_OK)
        status = exec_gather(session->comm, &session->bound, own, sizeof *own, reports, "all ranks' reports",
                             error);
    if (status == RING_OK && session->rank == 0)
        status = write_file(session, spec, reports, error);
    free(reports);
    return exec_agree(session->comm, &session->bound, status, error);
}

static enum ring_status verify_forward(struct exec_session *session, const struct exec_verify_spec *spec,
                                       struct ring_error *error)
{
    const struct ring_problem *problem = &session->plan.problem;
    uint64_t n_rows = (uint64_t)problem->batch * problem->heads * session->shard.tokens;
    uint64_t real_bytes = ring_dtype_bytes(session->kernel->state);
    void *out = exec_memory_alloc(n_rows * problem->head_dim * real_bytes);
    void *lse = exec_memory_alloc(n_rows * real_bytes);
    struct verify_report own = {.rank = (uint32_t)session->rank};

    enum ring_status status =
        out && lse ? RING_OK
                   : ring_fail(error, RING_NO_MEMORY, "rank %d: out of memory for its output", session->rank);
    status = exec_agree(session->comm, &session->bound, status, error);
    exec_progress(session, "running %d ranks on %" PRIu64 " tokens", session->n_ranks, problem->tokens);
    if (status == RING_OK)
        status = exec_pass(session, NULL, NULL, error);
    if (status == RING_OK) {
        attention_finish(session->attention, out, lse);
        exec_progress(session, "comparing with the fp64 single shot");
        status = compare(session, spec, out, lse, &own, error);
        status = exec_agree_when_done(session->comm, &session->bound, status, error);
    }
    if (status == RING_OK && spec->dump_dir)
        status = exec_dump(session, spec->dump_dir, out, lse, error);
    if (status == RING_OK)
        status = report(session, spec, &own, error);
    exec_memory_free(out);
    exec_memory_free(lse);
    return status;
}

enum ring_status exec_verify(struct exec_session *session, const struct exec_verify_spec *spec,
                             struct ring_error *error)
{
    if (session->plan.pass == RING_PASS_FORWARD)
        return verify_forward(session, spec, error);
    return ring_fail(error, RING_UNSUPPORTED, "ring.pass is %s: verify compares the output of a forward pass",
                     ring_pass_names[session->plan.pass]);
}
