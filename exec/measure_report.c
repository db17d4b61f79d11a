/* SPDX-License-Identifier: MIT
 *
 * What a measured run leaves. Only rank 0 writes; the others hand it their figures and their rows. */
#include "exec/measure_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "exec/calibration.h"
#include "exec/memory.h"
#include "exec/output.h"
#include "exec/processor.h"

/* What a rank knows about all repeats, for rank 0. */
struct facts {
    uint64_t bytes_sent;                 /* in one repeat */
    uint64_t peak_bytes, baseline_bytes; /* in memory: the most while it ran, and before it had its blocks */
    uint64_t device_bytes;               /* taken of its device's memory; 0: it has none */
    double clock_error_s;
    double core_share;
    double before[EXEC_N_BEFORE]; /* how slow the machine was then; 0: unknown */
    double drift;                 /* the same, the median of all looks */
    uint64_t n_rows;
};

void exec_describe_transport(const struct exec_session *session, char *out, size_t size)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0, n = 0;

    MPI_Get_library_version(version, &length);
    version[strcspn(version, ",\n")] = '\0'; /* "Open MPI v4.1.4, package: ..." */
    char *v = strstr(version, " v");
    if (v && v[2] >= '0' && v[2] <= '9')
        memmove(v + 1, v + 2, strlen(v + 2) + 1);
    n = snprintf(out, size, "%.100s, %s", version, model_progress_names[session->scenario->progress]);
    if (session->clock.n_hosts > 1 && n > 0 && (size_t)n < size)
        n += snprintf(out + n, size - (size_t)n, ", %d machines", session->clock.n_hosts);
    char more[256];
    session->processor->describe(session, more, sizeof more);
    if (more[0] && n > 0 && (size_t)n < size)
        snprintf(out + n, size - (size_t)n, ", %s", more);
}

static struct facts own_facts(const struct exec_session *session, const struct exec_repeats *repeats)
{
    struct facts facts = {
        .bytes_sent = repeats->bytes_sent,
        .peak_bytes = exec_memory_peak(),
        .baseline_bytes = session->baseline_bytes,
        .device_bytes = session->processor->device_bytes ? session->processor->device_bytes(session) : 0,
        .clock_error_s = session->clock.error_s,
        .core_share = repeats->core_share[repeats->shown],
        .n_rows = repeats->traces[repeats->shown].n_rows};

    memcpy(facts.before, repeats->looks, sizeof facts.before); /* before the median puts them in order */
    facts.drift = exec_median(repeats->looks, repeats->n_looks);
    return facts;
}

static void write_head(const struct exec_session *session, const struct exec_repeats *repeats,
                       const struct facts *facts, FILE *file)
{
    char transport[512];
    double clock_error_s = 0, drift = 0, before[EXEC_N_BEFORE] = {0};

    exec_describe_transport(session, transport, sizeof transport);
    fprintf(file, "ringlab-measure 1\nranks %d\nsteps %" PRIu32 "\n", session->n_ranks,
            session->plan.n_steps);
    fprintf(file, "kernel %s\ntransport %s\n", session->kernel ? session->kernel->name : "timed", transport);
    fprintf(file, "hosts %d\nfirst_s 0\nrepeats_s", session->clock.n_hosts);
    for (uint32_t i = 0; i < repeats->n; i++)
        fprintf(file, " %.9f", repeats->time_s[i]);
    fprintf(file, "\nshown %" PRIu32 "\nbytes_sent", repeats->shown);
    for (int rank = 0; rank < session->n_ranks; rank++)
        fprintf(file, " %" PRIu64, facts[rank].bytes_sent);
    fprintf(file, "\npeak_rss_bytes");
    for (int rank = 0; rank < session->n_ranks; rank++) {
        fprintf(file, " %" PRIu64, facts[rank].peak_bytes);
        if (facts[rank].clock_error_s > clock_error_s)
            clock_error_s = facts[rank].clock_error_s;
        drift += facts[rank].drift / session->n_ranks;
        for (int i = 0; i < EXEC_N_BEFORE; i++)
            before[i] += facts[rank].before[i] / session->n_ranks;
    }
    fprintf(file, "\nbaseline_rss_bytes");
    for (int rank = 0; rank < session->n_ranks; rank++)
        fprintf(file, " %" PRIu64, facts[rank].baseline_bytes);
    if (session->processor->device_bytes)
        fprintf(file, "\ndevice_bytes");
    for (int rank = 0; session->processor->device_bytes && rank < session->n_ranks; rank++)
        fprintf(file, " %" PRIu64, facts[rank].device_bytes);
    fprintf(file, "\nclock_error_s %.3g\n", clock_error_s);
    fprintf(file, "core_share");
    for (int rank = 0; rank < session->n_ranks; rank++)
        fprintf(file, " %.3f", facts[rank].core_share);
    fputc('\n', file);
    if (drift > 0) {
        fprintf(file, "drift %.4f\ndrift_before", drift);
        for (int i = 0; i < EXEC_N_BEFORE; i++)
            fprintf(file, " %.4f", before[i]);
        fputc('\n', file);
    }
    fprintf(file, "trace\n");
}

static void to_common_start(struct ring_trace_row *row, double start_s)
{
    double *times[] = {&row->post_s, &row->wait_begin_s, &row->wait_end_s, &row->begun_s, &row->ended_s};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        *times[i] -= start_s;
}

/* All ranks' rows of the shown repeat, in rank order, on rank 0. */
static enum ring_status collect_rows(const struct exec_session *session, const struct exec_repeats *repeats,
                                     const struct facts *facts, struct ring_trace *all,
                                     struct ring_error *error)
{
    const struct ring_trace *mine = &repeats->traces[repeats->shown];
    enum ring_status status = RING_OK;

    for (int rank = 0; rank < session->n_ranks && status == RING_OK; rank++) {
        uint64_t n_rows = session->rank == 0 ? facts[rank].n_rows : mine->n_rows;
        struct ring_trace_row *rows = session->rank == 0 ? malloc((size_t)(n_rows + 1) * sizeof *rows) : NULL;
        if (session->rank == 0 && !rows)
            return ring_fail(error, RING_NO_MEMORY, "out of memory for the traces");
        status = exec_collect(session->comm, &session->bound, rank, mine->rows, n_rows * sizeof *rows, rows,
                              "the trace of a rank", error);
        for (uint64_t i = 0; session->rank == 0 && i < n_rows && status == RING_OK; i++) {
            to_common_start(&rows[i], repeats->start_s[repeats->shown]);
            status = ring_trace_append(all, &rows[i]);
        }
        free(rows);
    }
    return status;
}

static enum ring_status write_all(const struct exec_session *session, const struct exec_repeats *repeats,
                                  const struct facts *facts, const struct ring_trace *all, const char *path,
                                  FILE *fallback, struct ring_error *error)
{
    struct exec_output output = {.file = NULL};
    enum ring_status status = path ? exec_output_open(&output, path, error) : RING_OK;
    FILE *file = path ? output.file : fallback;

    if (status != RING_OK)
        return status;
    write_head(session, repeats, facts, file);
    status = ring_trace_write(all, file, error);
    if (status != RING_OK)
        exec_output_discard(&output);
    else if (path)
        status = exec_output_commit(&output, error);
    return status;
}

enum ring_status exec_measure_report(struct exec_session *session, const struct exec_repeats *repeats,
                                     const char *path, FILE *fallback, struct ring_error *error)
{
    struct ring_trace all;
    struct facts own = own_facts(session, repeats);
    struct facts *facts = calloc((size_t)session->n_ranks, sizeof *facts);
    enum ring_status status =
        facts ? RING_OK : ring_fail(error, RING_NO_MEMORY, "out of memory for a report");

    ring_trace_init(&all);
    if (status == RING_OK)
        status =
            exec_gather(session->comm, &session->bound, &own, sizeof own, facts, "all ranks' facts", error);
    if (status == RING_OK)
        status = collect_rows(session, repeats, facts, &all, error);
    if (status == RING_OK && session->rank == 0)
        status = write_all(session, repeats, facts, &all, path, fallback, error);
    ring_trace_fini(&all);
    free(facts);
    return exec_agree(session->comm, &session->bound, status, error);
}
