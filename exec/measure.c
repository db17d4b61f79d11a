/* SPDX-License-Identifier: MIT
 *
 * Repeats a pass and writes what happened. See measure.h. Only rank 0 writes; the others hand it their rows.
 */
#include "exec/measure.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exec/calibration.h"
#include "exec/memory.h"
#include "exec/output.h"
#include "exec/probe.h"
#include "exec/processor.h"

/* Looks at the machine's speed before the first repeat, one after the other. */
enum { N_BEFORE = 3 };
#define LOOK_BEFORE_S  40e-3
#define LOOK_BETWEEN_S 10e-3

/* What a look reads drives a pass out of the caches, and short passes would pay for that: they are left
 * alone. */
#define LOOK_EVERY_S 0.2

/* What a rank knows about all repeats, for rank 0. */
struct facts {
    uint64_t bytes_sent;                 /* in one repeat */
    uint64_t peak_bytes, baseline_bytes; /* in memory: the most while it ran, and before it had its blocks */
    uint64_t device_bytes;               /* taken of its device's memory; 0: it has none */
    double clock_error_s;
    double core_share;
    double before[N_BEFORE], drift; /* how slow it was then, and in the median of all looks; 0: unknown */
    uint64_t n_rows;
};

struct repeats {
    uint32_t n, shown;        /* shown: the median one, whose trace is written */
    double *start_s, *time_s; /* time: from the common start to the last rank's end */
    double *core_share;       /* of this rank */
    double *looks; /* [n_looks <= N_BEFORE + n], some before the first, others between; this rank's */
    uint32_t n_looks;
    struct ring_trace *traces; /* this rank's */
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

static enum ring_status repeats_open(struct repeats *repeats, uint32_t n, struct ring_error *error)
{
    repeats->n = n;
    repeats->start_s = calloc(n, sizeof *repeats->start_s);
    repeats->time_s = calloc(n, sizeof *repeats->time_s);
    repeats->core_share = calloc(n, sizeof *repeats->core_share);
    repeats->looks = calloc((size_t)n + N_BEFORE, sizeof *repeats->looks);
    repeats->traces = calloc(n, sizeof *repeats->traces);
    if (!repeats->start_s || !repeats->time_s || !repeats->core_share || !repeats->looks || !repeats->traces)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for %" PRIu32 " repeats", n);
    return RING_OK;
}

static void repeats_close(struct repeats *repeats)
{
    for (uint32_t i = 0; repeats->traces && i < repeats->n; i++)
        ring_trace_fini(&repeats->traces[i]);
    free(repeats->start_s);
    free(repeats->time_s);
    free(repeats->core_share);
    free(repeats->looks);
    free(repeats->traces);
}

/* The lower of the two in the middle: a repeat that took place, not a mean of two. */
static uint32_t median_index(const double *values, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t before = 0;
        for (uint32_t j = 0; j < n; j++)
            before += values[j] < values[i] || (values[j] == values[i] && j < i);
        if (before == (n - 1) / 2)
            return i;
    }
    return 0;
}

/* When this rank's last wait ended: what a reader of the trace finds as well. */
static double last_end_s(const struct ring_trace *trace, double otherwise_s)
{
    double end_s = trace->n_rows > 0 ? trace->rows[0].wait_end_s : otherwise_s;
    for (size_t i = 1; i < trace->n_rows; i++)
        end_s = fmax(end_s, trace->rows[i].wait_end_s);
    return end_s;
}

static enum ring_status run_repeats(struct exec_session *session, struct exec_probe *probe,
                                    struct repeats *repeats, struct ring_error *error)
{
    enum ring_status status = RING_OK;
    double unseen_s = 0; /* of passes since the last look */

    for (; repeats->n_looks < N_BEFORE && status == RING_OK; repeats->n_looks++)
        status = exec_probe_look(probe, session, LOOK_BEFORE_S, &repeats->looks[repeats->n_looks], error);
    for (uint32_t i = 0; i < repeats->n && status == RING_OK; i++) {
        struct exec_pass_time time = {0, 0, 0};
        exec_progress(session, "repeat %" PRIu32 " of %" PRIu32, i + 1, repeats->n);
        status = exec_pass(session, &repeats->traces[i], &time, error);
        repeats->start_s[i] = time.start_s;
        repeats->time_s[i] = last_end_s(&repeats->traces[i], time.end_s) - time.start_s;
        repeats->core_share[i] = time.core_share;
        unseen_s += repeats->time_s[i];
        double most_s = unseen_s; /* ranks end apart, and look together */
        if (status == RING_OK)
            status = exec_maximum(session->comm, &session->pass_bound, &most_s, 1, "all ranks' times", error);
        if (status != RING_OK || (most_s < LOOK_EVERY_S && i + 1 < repeats->n))
            continue;
        status = exec_probe_look(probe, session, LOOK_BETWEEN_S, &repeats->looks[repeats->n_looks++], error);
        unseen_s = 0;
    }
    return status;
}

static enum ring_status run_all(struct exec_session *session, struct repeats *repeats,
                                struct ring_error *error)
{
    uint32_t n_warmups = session->scenario->measure.warmups;
    struct exec_probe probe;

    enum ring_status status = exec_probe_open(&probe, session, error);
    status = exec_agree(session->comm, &session->bound, status, error);
    exec_progress(session, "first contact");
    if (status == RING_OK)
        status = exec_dry_run(session, error);
    for (uint32_t i = 0; i < n_warmups && status == RING_OK; i++) {
        exec_progress(session, "warm-up %" PRIu32 " of %" PRIu32, i + 1, n_warmups);
        status = exec_pass(session, NULL, NULL, error);
    }
    if (status == RING_OK)
        status = run_repeats(session, &probe, repeats, error);
    exec_probe_close(&probe);
    if (status == RING_OK)
        status = exec_maximum(session->comm, &session->pass_bound, repeats->time_s, (int)repeats->n,
                              "all ranks' times", error);
    if (status == RING_OK) /* a run that failed ends at once, however many repeats it was to have */
        repeats->shown = median_index(repeats->time_s, repeats->n);
    return status;
}

/* The sum that every run is held to. */
static enum ring_status check_bytes(const struct exec_session *session, uint64_t n_passes,
                                    struct facts *facts, struct ring_error *error)
{
    uint64_t sent = exec_transport_bytes_sent(session->transport);
    uint64_t planned = ring_plan_bytes_sent(&session->plan, (uint32_t)session->rank);

    facts->bytes_sent = sent / n_passes;
    if (sent == planned * n_passes)
        return RING_OK;
    return ring_fail(error, RING_WORLD,
                     "rank %d sent %" PRIu64 " bytes in %" PRIu64 " passes, its plan says %" PRIu64 " each",
                     session->rank, sent, n_passes, planned);
}

static struct facts own_facts(const struct exec_session *session, struct repeats *repeats)
{
    struct facts facts = {
        .peak_bytes = exec_memory_peak(),
        .baseline_bytes = session->baseline_bytes,
        .device_bytes = session->processor->device_bytes ? session->processor->device_bytes(session) : 0,
        .clock_error_s = session->clock.error_s,
        .core_share = repeats->core_share[repeats->shown],
        .n_rows = repeats->traces[repeats->shown].n_rows};

    memcpy(facts.before, repeats->looks, sizeof facts.before);
    facts.drift = exec_median(repeats->looks, repeats->n_looks);
    return facts;
}

static void write_head(const struct exec_session *session, const struct repeats *repeats,
                       const struct facts *facts, FILE *file)
{
    char transport[512];
    double clock_error_s = 0, drift = 0, before[N_BEFORE] = {0};

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
        for (int i = 0; i < N_BEFORE; i++)
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
        for (int i = 0; i < N_BEFORE; i++)
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
static enum ring_status collect_rows(const struct exec_session *session, const struct repeats *repeats,
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

static enum ring_status write_all(const struct exec_session *session, const struct repeats *repeats,
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

static enum ring_status report(struct exec_session *session, const struct repeats *repeats, struct facts own,
                               const char *path, FILE *fallback, struct ring_error *error)
{
    struct ring_trace all;
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

enum ring_status exec_measure(struct exec_session *session, const char *path, FILE *fallback,
                              struct ring_error *error)
{
    const struct config_measure *measure = &session->scenario->measure;
    struct repeats repeats = {0};
    enum ring_status status = repeats_open(&repeats, measure->repeats, error);

    status = exec_agree(session->comm, &session->bound, status, error);
    exec_memory_forget_peak(); /* what only opening took is not the run's */
    if (status == RING_OK)
        status = run_all(session, &repeats, error);
    if (status == RING_OK) {
        struct facts own = own_facts(session, &repeats);
        status = check_bytes(session, (uint64_t)measure->repeats + measure->warmups + 1, &own, error);
        status = exec_agree(session->comm, &session->bound, status, error);
        if (status == RING_OK)
            status = report(session, &repeats, own, path, fallback, error);
    }
    repeats_close(&repeats);
    return status;
}
