/* SPDX-License-Identifier: MIT
 *
 * One run on real data against the oracles. See verify.h; the bounds are kernels/verify.c's and
 * verify_gradient.c's. */
#include "exec/verify.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "exec/kernels/verify.h"
#include "exec/kernels/verify_gradient.h"
#include "exec/measure.h"
#include "exec/memory.h"
#include "exec/output.h"
#include "exec/processor.h"

/* What one rank's check came to, for rank 0. */
struct checked {
    uint64_t bytes_sent;
    struct verify_report rows;
    struct verify_gradient_report gradients; /* of a plan with a backward pass */
};

static void write_rows(const struct exec_session *session, const struct checked *ranks, FILE *file)
{
    fprintf(file,
            "rows\nrank rows_checked rows_total out_error2 out_norm2 out_worst out_bound lse_worst lse_bound "
            "n_bad checksum\n");
    for (int rank = 0; rank < session->n_ranks; rank++) {
        const struct verify_report *r = &ranks[rank].rows;
        fprintf(file,
                "%" PRIu32 " %" PRIu64 " %" PRIu64 " %.17g %.17g %.17g %.17g %.17g %.17g %" PRIu64
                " %016" PRIx64 "\n",
                r->rank, r->rows_checked, r->rows_total, r->out_error2, r->out_norm2, r->out_worst,
                r->out_bound, r->lse_worst, r->lse_bound, r->n_bad, r->checksum);
    }
}

static void write_gradients(const struct exec_session *session, const struct checked *ranks, FILE *file)
{
    fprintf(file, "gradients\nrank rows_checked rows_total keys_checked keys_total");
    for (int i = 0; i < 3; i++) {
        const char *name = (const char *[]){"d_q", "d_k", "d_v"}[i];
        fprintf(file, " %s_error2 %s_norm2 %s_gross2 %s_bound", name, name, name, name);
    }
    fprintf(file, " n_bad checksum\n");
    for (int rank = 0; rank < session->n_ranks; rank++) {
        const struct verify_gradient_report *r = &ranks[rank].gradients;
        const struct verify_frobenius *const tensors[] = {&r->d_q, &r->d_k, &r->d_v};
        fprintf(file, "%" PRIu32 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, r->rank, r->rows_checked,
                r->rows_total, r->keys_checked, r->keys_total);
        for (int i = 0; i < 3; i++)
            fprintf(file, " %.17g %.17g %.17g %.17g", tensors[i]->error2, tensors[i]->norm2,
                    tensors[i]->gross2, tensors[i]->bound);
        fprintf(file, " %" PRIu64 " %016" PRIx64 "\n", r->n_bad, r->checksum);
    }
}

static void write_report(const struct exec_session *session, uint32_t repeats, const struct checked *ranks,
                         FILE *file)
{
    char transport[512];

    exec_describe_transport(session, transport, sizeof transport);
    fprintf(file, "ringlab-verify 1\nranks %d\nkernel %s\ntransport %s\nstate %s\nbytes_sent",
            session->n_ranks, session->kernel->name, transport, ring_dtype_names[session->kernel->state]);
    for (int rank = 0; rank < session->n_ranks; rank++)
        fprintf(file, " %" PRIu64, ranks[rank].bytes_sent);
    if (repeats > 1)
        fprintf(file, "\nrepeats %" PRIu32, repeats);
    fputc('\n', file);
    write_rows(session, ranks, file);
    if (session->plan.pass != RING_PASS_FORWARD)
        write_gradients(session, ranks, file);
}

static enum ring_status check_rows(const struct exec_session *session, uint64_t max_rows,
                                   const struct exec_results *results, struct verify_report *report,
                                   struct ring_error *error)
{
    struct oracle *oracle = NULL;
    enum ring_status status = oracle_open(&oracle, &session->plan.problem, &session->data, error);

    if (status != RING_OK)
        return status;
    verify_rank_rough(&session->plan, (uint32_t)session->rank, oracle, session->kernel->state, results->out,
                      results->lse, session->kernel->weight_u, max_rows, report);
    oracle_close(oracle);
    return RING_OK;
}

static enum ring_status check_gradients(const struct exec_session *session, uint64_t max_rows,
                                        const struct exec_results *results,
                                        struct verify_gradient_report *report, struct ring_error *error)
{
    struct oracle_gradient *oracle = NULL;
    enum ring_status status = oracle_gradient_open(&oracle, &session->plan.problem, &session->data, error);

    if (status != RING_OK)
        return status;
    verify_gradient_rough(&session->plan, (uint32_t)session->rank, oracle, session->kernel->state,
                          results->d_q, results->gradient, session->kernel->weight_u, max_rows, report);
    oracle_gradient_close(oracle);
    return RING_OK;
}

static enum ring_status write_file(const struct exec_session *session, const struct exec_verify_spec *spec,
                                   const struct checked *ranks, struct ring_error *error)
{
    struct exec_output output = {.file = NULL};

    if (!spec->path) {
        write_report(session, spec->repeats, ranks, spec->fallback);
        return RING_OK;
    }
    enum ring_status status = exec_output_open(&output, spec->path, error);
    if (status != RING_OK)
        return status;
    write_report(session, spec->repeats, ranks, output.file);
    return exec_output_commit(&output, error);
}

static enum ring_status report(struct exec_session *session, const struct exec_verify_spec *spec,
                               const struct checked *own, struct ring_error *error)
{
    struct checked *ranks = calloc((size_t)session->n_ranks, sizeof *ranks);
    enum ring_status status =
        ranks ? RING_OK : ring_fail(error, RING_NO_MEMORY, "out of memory for a report");

    status = exec_agree(session->comm, &session->bound, status, error);
    if (status == RING_OK)
        status =
            exec_gather(session->comm, &session->bound, own, sizeof *own, ranks, "all ranks' reports", error);
    if (status == RING_OK && session->rank == 0)
        status = write_file(session, spec, ranks, error);
    free(ranks);
    return exec_agree(session->comm, &session->bound, status, error);
}

/* The first run's results, to hold later ones against. */
enum { N_KEPT = 4 }; /* out, lse, dQ; dK and dV */
struct kept {
    struct ring_buffer first[N_KEPT];
};

static void list_results(const struct exec_session *session, const struct exec_results *results,
                         const void *parts[N_KEPT], uint64_t bytes[N_KEPT])
{
    const struct ring_problem *problem = &session->plan.problem;
    uint64_t n_rows = (uint64_t)problem->batch * problem->heads * session->shard.tokens;
    uint64_t lse_bytes = n_rows * ring_dtype_bytes(session->kernel->state);
    bool backward = session->plan.pass != RING_PASS_FORWARD;

    parts[0] = results->out, bytes[0] = lse_bytes * problem->head_dim;
    parts[1] = results->lse, bytes[1] = lse_bytes;
    parts[2] = results->d_q, bytes[2] = backward ? bytes[0] : 0;
    parts[3] = results->gradient;
    bytes[3] = backward ? ring_plan_payload_bytes(&session->plan, RING_GRADIENT, (uint32_t)session->rank) : 0;
}

static enum ring_status keep(const struct exec_session *session, const struct exec_results *results,
                             struct kept *kept, struct ring_error *error)
{
    const void *parts[N_KEPT];
    uint64_t bytes[N_KEPT];

    list_results(session, results, parts, bytes);
    for (int i = 0; i < N_KEPT; i++) {
        kept->first[i] = (struct ring_buffer){exec_memory_alloc(bytes[i]), bytes[i]};
        if (!kept->first[i].data)
            return ring_fail(error, RING_NO_MEMORY, "rank %d: out of memory for its results", session->rank);
        if (bytes[i] > 0)
            memcpy(kept->first[i].data, parts[i], bytes[i]);
    }
    return RING_OK;
}

static bool same_as_kept(const struct exec_session *session, const struct exec_results *results,
                         const struct kept *kept)
{
    const void *parts[N_KEPT];
    uint64_t bytes[N_KEPT];
    bool same = true;

    list_results(session, results, parts, bytes);
    for (int i = 0; i < N_KEPT; i++)
        same = same && (bytes[i] == 0 || memcmp(kept->first[i].data, parts[i], bytes[i]) == 0);
    return same;
}

/* The runs after the first. out and lse are written anew by each. */
static enum ring_status run_again(struct exec_session *session, const struct exec_verify_spec *spec,
                                  const struct exec_results *first, void *out, void *lse,
                                  struct ring_error *error)
{
    struct kept kept = {.first = {{NULL, 0}}};
    enum ring_status status = spec->repeats > 1 ? keep(session, first, &kept, error) : RING_OK;

    status = exec_agree_when_done(session->comm, &session->bound, status, error);
    for (uint32_t i = 2; i <= spec->repeats && status == RING_OK; i++) {
        struct exec_results again;
        exec_progress(session, "run %" PRIu32 " of %" PRIu32, i, spec->repeats);
        status = exec_pass(session, NULL, NULL, error);
        if (status != RING_OK)
            break;
        status = session->processor->results(session, out, lse, &again, error);
        if (status == RING_OK && !same_as_kept(session, &again, &kept))
            status = ring_fail(error, RING_WORLD, "rank %d: run %" PRIu32 " gave other bits than the first",
                               session->rank, i);
        status = exec_agree_when_done(session->comm, &session->bound, status, error);
    }
    for (int i = 0; i < N_KEPT; i++)
        exec_memory_free(kept.first[i].data);
    return status;
}

/* Runs, compares and writes; out and lse have room for the rank's rows. */
static enum ring_status run(struct exec_session *session, const struct exec_verify_spec *spec, void *out,
                            void *lse, struct ring_error *error)
{
    struct exec_results results = {.out = out, .lse = lse};
    struct checked own = {.rows = {.rank = (uint32_t)session->rank}};

    exec_progress(session, "running %d ranks on %" PRIu64 " tokens", session->n_ranks,
                  session->plan.problem.tokens);
    enum ring_status status = exec_pass(session, NULL, NULL, error);
    if (status != RING_OK)
        return status;
    own.bytes_sent = exec_transport_bytes_sent(session->transport);
    uint64_t planned = ring_plan_bytes_sent(&session->plan, (uint32_t)session->rank);
    if (own.bytes_sent != planned)
        status = ring_fail(error, RING_WORLD, "rank %d sent %" PRIu64 " bytes, its plan says %" PRIu64,
                           session->rank, own.bytes_sent, planned);
    status = exec_agree_when_done(session->comm, &session->bound, status, error);
    if (status != RING_OK)
        return status;
    status = session->processor->results(session, out, lse, &results, error);
    status = exec_agree_when_done(session->comm, &session->bound, status, error);
    if (status != RING_OK)
        return status;
    exec_progress(session, "comparing with the fp64 single shot");
    status = check_rows(session, spec->max_rows, &results, &own.rows, error);
    if (status == RING_OK && session->plan.pass != RING_PASS_FORWARD) {
        exec_progress(session, "comparing gradients with the fp64 single shot");
        status = check_gradients(session, spec->max_rows, &results, &own.gradients, error);
    }
    status = exec_agree_when_done(session->comm, &session->bound, status, error);
    if (status == RING_OK && spec->dump_dir)
        status = exec_dump(session, spec->dump_dir, &results, error);
    if (status == RING_OK)
        status = run_again(session, spec, &results, out, lse, error);
    return status == RING_OK ? report(session, spec, &own, error) : status;
}

enum ring_status exec_verify(struct exec_session *session, const struct exec_verify_spec *spec,
                             struct ring_error *error)
{
    const struct ring_problem *problem = &session->plan.problem;
    uint64_t n_rows = (uint64_t)problem->batch * problem->heads * session->shard.tokens;
    uint64_t real_bytes = ring_dtype_bytes(session->kernel->state);
    void *out = exec_memory_alloc(n_rows * problem->head_dim * real_bytes);
    void *lse = exec_memory_alloc(n_rows * real_bytes);

    enum ring_status status =
        out && lse ? RING_OK
                   : ring_fail(error, RING_NO_MEMORY, "rank %d: out of memory for its output", session->rank);
    status = exec_agree(session->comm, &session->bound, status, error);
    if (status == RING_OK)
        status = run(session, spec, out, lse, error);
    exec_memory_free(out);
    exec_memory_free(lse);
    return status;
}
