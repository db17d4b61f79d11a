/* SPDX-License-Identifier: MIT
 *
 * A transport that watches another one. It adds no time of its own to a simulated world and a few nanoseconds
 * to a real one: a row is filled in place, and only growing the array allocates. */
#include "engine/trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_names[] = {"send", "recv", "compute"};
static const char *const payload_names[] = {"kv", "gradient"};
static const char *const job_names[] = {"forward", "backward", "add"};

/* Index of word among names, or -1. */
static int find_word(const char *word, const char *const *names, int n_names)
{
    for (int i = 0; i < n_names; i++)
        if (strcmp(word, names[i]) == 0)
            return i;
    return -1;
}

void ring_trace_init(struct ring_trace *trace)
{
    *trace = (struct ring_trace){.rows = NULL};
}

void ring_trace_fini(struct ring_trace *trace)
{
    free(trace->rows);
    ring_trace_init(trace);
}

enum ring_status ring_trace_append(struct ring_trace *trace, const struct ring_trace_row *row)
{
    if (trace->n_rows == trace->capacity) {
        size_t capacity = trace->capacity ? 2 * trace->capacity : 256;
        struct ring_trace_row *rows = realloc(trace->rows, capacity * sizeof *rows);
        if (!rows)
            return RING_NO_MEMORY;
        trace->rows = rows;
        trace->capacity = capacity;
    }
    trace->rows[trace->n_rows++] = *row;
    return RING_OK;
}

/* Writes the row of an operation about to be posted and ties the request to it. */
static enum ring_status open_row(struct ring_tracing *tracing, struct ring_trace_row row,
                                 struct ring_request *request)
{
    row.rank = tracing->rank;
    row.post_s = tracing->inner->ops->now(tracing->inner);
    request->row = (uint32_t)tracing->trace->n_rows;
    if (ring_trace_append(tracing->trace, &row) == RING_OK)
        return RING_OK;
    return ring_fail(&tracing->base.error, RING_NO_MEMORY, "out of memory for the trace of rank %" PRIu32,
                     tracing->rank);
}

/* The line of a failed inner call becomes ours. */
static enum ring_status pass_on(struct ring_tracing *tracing, enum ring_status status)
{
    if (status != RING_OK)
        tracing->base.error = tracing->inner->error;
    return status;
}

static struct ring_trace_row message_row(enum ring_trace_kind kind, const struct ring_message *message)
{
    return (struct ring_trace_row){
        .kind = kind,
        .payload = message->payload,
        .peer = message->peer,
        .step = message->step,
        .block = message->block,
        .amount = message->bytes,
    };
}

static enum ring_status trace_post_send(struct ring_transport *transport, const struct ring_message *message,
                                        struct ring_buffer buffer, struct ring_request *request)
{
    struct ring_tracing *tracing = (struct ring_tracing *)transport;
    enum ring_status status = open_row(tracing, message_row(RING_TRACE_SEND, message), request);

    if (status != RING_OK)
        return status;
    return pass_on(tracing, tracing->inner->ops->post_send(tracing->inner, message, buffer, request));
}

static enum ring_status trace_post_recv(struct ring_transport *transport, const struct ring_message *message,
                                        struct ring_buffer buffer, struct ring_request *request)
{
    struct ring_tracing *tracing = (struct ring_tracing *)transport;
    enum ring_status status = open_row(tracing, message_row(RING_TRACE_RECV, message), request);

    if (status != RING_OK)
        return status;
    return pass_on(tracing, tracing->inner->ops->post_recv(tracing->inner, message, buffer, request));
}

static enum ring_status trace_post_compute(struct ring_transport *transport, const struct ring_task *task,
                                           struct ring_request *request)
{
    struct ring_tracing *tracing = (struct ring_tracing *)transport;
    struct ring_trace_row row = {
        .kind = RING_TRACE_COMPUTE,
        .job = task->job,
        .peer = tracing->rank,
        .step = task->step,
        .block = task->block,
        .amount = task->job == RING_JOB_ADD ? task->gradient.bytes : task->work.visible_pairs,
    };
    enum ring_status status = open_row(tracing, row, request);

    if (status != RING_OK)
        return status;
    return pass_on(tracing, tracing->inner->ops->post_compute(tracing->inner, task, request));
}

static enum ring_status trace_wait(struct ring_transport *transport, struct ring_request *request)
{
    struct ring_tracing *tracing = (struct ring_tracing *)transport;
    struct ring_transport *inner = tracing->inner;
    uint32_t row = request->row;

    tracing->trace->rows[row].wait_begin_s = inner->ops->now(inner);
    enum ring_status status = inner->ops->wait(inner, request);
    struct ring_trace_row *filled = &tracing->trace->rows[row];
    filled->wait_end_s = inner->ops->now(inner);
    filled->begun_s = request->begun_s;
    filled->ended_s = request->ended_s;
    return pass_on(tracing, status);
}

static double trace_now(struct ring_transport *transport)
{
    struct ring_tracing *tracing = (struct ring_tracing *)transport;

    return tracing->inner->ops->now(tracing->inner);
}

void ring_tracing_init(struct ring_tracing *tracing, uint32_t rank, struct ring_transport *inner,
                       struct ring_trace *trace)
{
    static const struct ring_transport_ops ops = {
        .post_send = trace_post_send,
        .post_recv = trace_post_recv,
        .post_compute = trace_post_compute,
        .wait = trace_wait,
        .now = trace_now,
    };

    *tracing = (struct ring_tracing){.base = {.ops = &ops}, .inner = inner, .trace = trace, .rank = rank};
}

#define HEADER "rank kind what peer step block amount post_s wait_begin_s wait_end_s begun_s ended_s\n"

enum ring_status ring_trace_write(const struct ring_trace *trace, FILE *file, struct ring_error *error)
{
    fputs(HEADER, file);
    for (size_t i = 0; i < trace->n_rows; i++) {
        const struct ring_trace_row *row = &trace->rows[i];
        const char *what =
            row->kind == RING_TRACE_COMPUTE ? job_names[row->job] : payload_names[row->payload];
        fprintf(file,
                "%" PRIu32 " %s %s %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu64
                " %.17g %.17g %.17g %.17g %.17g\n",
                row->rank, kind_names[row->kind], what, row->peer, row->step, row->block, row->amount,
                row->post_s, row->wait_begin_s, row->wait_end_s, row->begun_s, row->ended_s);
    }
    return ferror(file) ? ring_fail(error, RING_IO, "the trace could not be written") : RING_OK;
}

/* False if the line is not a row. */
static bool parse_row(const char *line, struct ring_trace_row *row)
{
    char kind[16], what[16];
    int n_fields = sscanf(
        line, "%" SCNu32 " %15s %15s %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu64 " %lf %lf %lf %lf %lf",
        &row->rank, kind, what, &row->peer, &row->step, &row->block, &row->amount, &row->post_s,
        &row->wait_begin_s, &row->wait_end_s, &row->begun_s, &row->ended_s);
    int kind_index = find_word(kind, kind_names, 3), payload = find_word(what, payload_names, 2),
        job = find_word(what, job_names, 3);
    bool computes = kind_index == RING_TRACE_COMPUTE;

    if (n_fields != 12 || kind_index < 0 || (computes ? job : payload) < 0)
        return false;
    row->kind = (enum ring_trace_kind)kind_index;
    row->payload = computes ? RING_KV : (enum ring_payload)payload;
    row->job = computes ? (enum ring_job)job : RING_JOB_FORWARD;
    return true;
}

enum ring_status ring_trace_read(struct ring_trace *trace, FILE *file, struct ring_error *error)
{
    char line[512];
    struct ring_trace_row row;

    if (!fgets(line, sizeof line, file) || strcmp(line, HEADER) != 0)
        return ring_fail(error, RING_BAD_INPUT, "trace: the header line is missing, wanted '%.*s'",
                         (int)sizeof HEADER - 2, HEADER);
    for (size_t number = 2; fgets(line, sizeof line, file); number++) {
        if (!parse_row(line, &row))
            return ring_fail(error, RING_BAD_INPUT, "trace:%zu: not a row of the 12 fields of the header",
                             number);
        if (ring_trace_append(trace, &row) != RING_OK)
            return ring_fail(error, RING_NO_MEMORY, "out of memory for a trace of %zu rows", trace->n_rows);
    }
    return ferror(file) ? ring_fail(error, RING_IO, "the trace could not be read") : RING_OK;
}
