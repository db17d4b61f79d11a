/* SPDX-License-Identifier: MIT
 *
 * What happened, in the same rows for every world. The tracing transport wraps another and writes one row an
 * operation (a send, a receive, a computation): when it was posted, when its wait began and ended, and when
 * the world says it really moved. parts.h turns the rows of all ranks into reasons. */
#ifndef RING_TRACE_H
#define RING_TRACE_H

#include <stdio.h>

#include "engine/transport.h"

enum ring_trace_kind { RING_TRACE_SEND, RING_TRACE_RECV, RING_TRACE_COMPUTE };

struct ring_trace_row {
    enum ring_trace_kind kind;
    enum ring_payload payload; /* messages */
    enum ring_job job;         /* computations */
    uint32_t rank;
    uint32_t peer; /* messages; the rank itself for a computation */
    uint32_t step; /* of the plan, when it was posted; a receive posted ahead carries the hop's own step */
    uint32_t block;
    uint64_t amount; /* bytes, or visible pairs (an add: bytes) */
    double post_s;
    double wait_begin_s;
    double wait_end_s;
    double begun_s; /* as the world reported, see struct ring_request */
    double ended_s;
};

/* Rows of one rank. Grows by itself; owned by whoever inits. */
struct ring_trace {
    struct ring_trace_row *rows;
    size_t n_rows, capacity;
};

void ring_trace_init(struct ring_trace *trace);
void ring_trace_fini(struct ring_trace *trace);

/* A transport that passes every call on to inner and records it in trace (borrowed, both). */
struct ring_tracing {
    struct ring_transport base; /* use this as the transport */
    struct ring_transport *inner;
    struct ring_trace *trace;
    uint32_t rank;
};
void ring_tracing_init(struct ring_tracing *tracing, uint32_t rank, struct ring_transport *inner,
                       struct ring_trace *trace);

/* Text form, one line a row after a header line; times in %.17g so that nothing is lost. Read appends. */
enum ring_status ring_trace_write(const struct ring_trace *trace, FILE *file, struct ring_error *error);
enum ring_status ring_trace_read(struct ring_trace *trace, FILE *file, struct ring_error *error);

/* Appends a row. RING_NO_MEMORY. */
enum ring_status ring_trace_append(struct ring_trace *trace, const struct ring_trace_row *row);

#endif
