/* SPDX-License-Identifier: MIT
 *
 * Repeats a pass, and looks at the machine's speed between. What is said of it: measure_report.c. */
#include "exec/measure.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "exec/measure_parts.h"
#include "exec/memory.h"
#include "exec/probe.h"

/* How long a look is. */
#define LOOK_BEFORE_S  40e-3
#define LOOK_BETWEEN_S 10e-3

/* What a look reads drives a pass out of the caches, and short passes would pay for that: they are left
 * alone. */
#define LOOK_EVERY_S 0.2

static enum ring_status repeats_open(struct exec_repeats *repeats, uint32_t n, struct ring_error *error)
{
    repeats->n = n;
    repeats->start_s = calloc(n, sizeof *repeats->start_s);
    repeats->time_s = calloc(n, sizeof *repeats->time_s);
    repeats->core_share = calloc(n, sizeof *repeats->core_share);
    repeats->looks = calloc((size_t)n + EXEC_N_BEFORE, sizeof *repeats->looks);
    repeats->traces = calloc(n, sizeof *repeats->traces);
    if (!repeats->start_s || !repeats->time_s || !repeats->core_share || !repeats->looks || !repeats->traces)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for %" PRIu32 " repeats", n);
    return RING_OK;
}

static void repeats_close(struct exec_repeats *repeats)
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
                                    struct exec_repeats *repeats, struct ring_error *error)
{
    enum ring_status status = RING_OK;
    double unseen_s = 0; /* of passes since the last look */

    for (; repeats->n_looks < EXEC_N_BEFORE && status == RING_OK; repeats->n_looks++)
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

static enum ring_status run_all(struct exec_session *session, struct exec_repeats *repeats,
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
                                    struct exec_repeats *repeats, struct ring_error *error)
{
    uint64_t sent = exec_transport_bytes_sent(session->transport);
    uint64_t planned = ring_plan_bytes_sent(&session->plan, (uint32_t)session->rank);

    repeats->bytes_sent = sent / n_passes;
    if (sent == planned * n_passes)
        return RING_OK;
    return ring_fail(error, RING_WORLD,
                     "rank %d sent %" PRIu64 " bytes in %" PRIu64 " passes, its plan says %" PRIu64 " each",
                     session->rank, sent, n_passes, planned);
}

enum ring_status exec_measure(struct exec_session *session, const char *path, FILE *fallback,
                              struct ring_error *error)
{
    const struct config_measure *measure = &session->scenario->measure;
    struct exec_repeats repeats = {0};
    enum ring_status status = repeats_open(&repeats, measure->repeats, error);

    status = exec_agree(session->comm, &session->bound, status, error);
    exec_memory_forget_peak(); /* what only opening took is not the run's */
    if (status == RING_OK)
        status = run_all(session, &repeats, error);
    if (status == RING_OK) {
        status = check_bytes(session, (uint64_t)measure->repeats + measure->warmups + 1, &repeats, error);
        status = exec_agree(session->comm, &session->bound, status, error);
        if (status == RING_OK)
            status = exec_measure_report(session, &repeats, path, fallback, error);
    }
    repeats_close(&repeats);
    return status;
}
