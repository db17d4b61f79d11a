/* SPDX-License-Identifier: MIT
 *
 * What else a step costs: posting a computation, looking at messages while computing, and what is left of a
 * step that neither computes nor moves anything to speak of. All ranks at once. */
#include <math.h>

#include "engine/run.h"
#include "engine/trace.h"
#include "exec/calibration.h"
#include "exec/memory.h"
#include "exec/transport_parts.h" /* a look, to be timed */

enum {
    N_TRIALS = 15,
    LAUNCHES = 1000,
    LOOKS = 1000,
    RINGS = 100,
    PENDING_BYTES = 1 << 20, /* a message that does not leave before the other end has posted */
    TINY_TOKENS = 16,        /* a rank */
    TINY_HEAD_DIM = 8,
    TINY_BYTES = 2 * TINY_TOKENS * TINY_HEAD_DIM * 4, /* a block */
    TINY_ROOM = 4096,
    MOST_SLOTS = 4
};

static enum ring_status failed(const struct ring_transport *t, enum ring_status status,
                               struct ring_error *error)
{
    if (status != RING_OK && error)
        *error = t->error;
    return status;
}

static enum ring_status time_launches(struct exec_calibration *c, struct ring_transport *t,
                                      struct ring_error *error)
{
    struct ring_task task = {.rank = (uint32_t)c->rank};
    double trials_s[N_TRIALS];
    enum ring_status status = RING_OK;

    for (int trial = 0; trial < N_TRIALS && status == RING_OK; trial++) {
        double begun_s = exec_clock_s();
        for (int i = 0; i < LAUNCHES && status == RING_OK; i++) {
            struct ring_request computed;
            status = t->ops->post_compute(t, &task, &computed);
            if (status == RING_OK)
                status = t->ops->wait(t, &computed);
        }
        trials_s[trial] = (exec_clock_s() - begun_s) / LAUNCHES;
    }
    failed(t, status, error);
    status = exec_agree(c->comm, &c->bound, status, error);
    return status == RING_OK
               ? exec_calibrate_settle(c, trials_s, N_TRIALS, &c->launch_s, "all ranks' launches", error)
               : status;
}

/* Posts one message of two that cross: each rank receives on one tag and sends on the other, so that nothing
 * moves before the second pair is posted. */
static enum ring_status post_pair(const struct exec_calibration *c, struct ring_transport *t, char *buffer,
                                  uint32_t receive_tag, uint32_t send_tag, struct ring_request *received,
                                  struct ring_request *sent)
{
    struct ring_message from = {.peer = (uint32_t)((c->rank + c->n_ranks - 1) % c->n_ranks),
                                .tag = receive_tag,
                                .bytes = PENDING_BYTES};
    struct ring_message to = {
        .peer = (uint32_t)((c->rank + 1) % c->n_ranks), .tag = send_tag, .bytes = PENDING_BYTES};
    enum ring_status status =
        t->ops->post_recv(t, &from, (struct ring_buffer){buffer, PENDING_BYTES}, received);

    return status == RING_OK
               ? t->ops->post_send(t, &to, (struct ring_buffer){buffer + PENDING_BYTES, PENDING_BYTES}, sent)
               : status;
}

static enum ring_status time_looks(struct exec_calibration *c, struct exec_transport *transport, char *buffer,
                                   struct ring_error *error)
{
    struct ring_transport *t = exec_transport_base(transport);
    struct ring_request requests[4];
    double trials_s[N_TRIALS];
    enum ring_status status = post_pair(c, t, buffer, 1, 2, &requests[0], &requests[1]);

    for (int trial = 0; trial < N_TRIALS && status == RING_OK; trial++) {
        double begun_s = exec_clock_s();
        for (int i = 0; i < LOOKS && status == RING_OK; i++)
            status = exec_transport_look(transport);
        trials_s[trial] = (exec_clock_s() - begun_s) / LOOKS;
    }
    if (status == RING_OK)
        status = post_pair(c, t, buffer + 2 * PENDING_BYTES, 2, 1, &requests[2], &requests[3]);
    for (int i = 0; i < 4 && status == RING_OK; i++)
        status = t->ops->wait(t, &requests[i]);
    failed(t, status, error);
    status = exec_agree(c->comm, &c->bound, status, error);
    return status == RING_OK
               ? exec_calibrate_settle(c, trials_s, N_TRIALS, &c->poll_s, "all ranks' looks", error)
               : status;
}

static enum ring_status tiny_plan(int n_ranks, struct ring_plan *plan, struct ring_error *error)
{
    struct ring_plan_spec spec = {
        .strategy = ring_plan_kinds[0]->name,
        .problem = {.tokens = (uint64_t)TINY_TOKENS * (uint64_t)n_ranks,
                    .batch = 1,
                    .heads = 1,
                    .kv_heads = 1,
                    .head_dim = TINY_HEAD_DIM,
                    .dtype = RING_FP32,
                    .mask = RING_MASK_FULL},
        .layout = RING_LAYOUT_CONTIGUOUS,
        .pass = RING_PASS_FORWARD,
        .n_ranks = (uint32_t)n_ranks,
        .n_buffers = 2,
        .gradient_dtype = RING_FP32,
    };
    return ring_plan_init(plan, &spec, error);
}

/* Rings one after the other, of blocks that compute nothing, recorded as a run records them: seconds of one.
 */
static enum ring_status run_rings(const struct ring_plan *plan, uint32_t rank, struct ring_transport *t,
                                  char *buffer, double *ring_s, struct ring_error *error)
{
    struct ring_buffer slots[MOST_SLOTS];
    struct ring_memory memory = {slots, plan->n_slots};
    struct ring_trace trace;
    struct ring_tracing tracing;
    enum ring_status status = RING_OK;

    for (uint32_t i = 0; i < plan->n_slots; i++)
        slots[i] = (struct ring_buffer){buffer + (size_t)i * TINY_ROOM, ring_plan_slot_bytes(plan, rank, i)};
    ring_trace_init(&trace);
    ring_tracing_init(&tracing, rank, t, &trace);
    double begun_s = exec_clock_s();
    for (int i = 0; i < RINGS && status == RING_OK; i++)
        status = failed(t, ring_run(plan, rank, &memory, &tracing.base), error);
    *ring_s = (exec_clock_s() - begun_s) / RINGS;
    ring_trace_fini(&trace);
    return status;
}

static enum ring_status run_hops(const struct exec_calibration *c, struct ring_transport *t, char *buffer,
                                 double *hop_s, struct ring_error *error)
{
    enum ring_status status = RING_OK;
    double begun_s = exec_clock_s();

    for (int i = 0; i < RINGS && status == RING_OK; i++)
        status = exec_calibrate_hop(c, t, buffer, buffer + TINY_ROOM, TINY_BYTES, error);
    *hop_s = (exec_clock_s() - begun_s) / RINGS;
    return status;
}

/* What rings of all ranks take beside their hops, which are timed in the same moment; a step's share of it.
 * At least what a ring of one rank takes, which has one step and no hop. */
static enum ring_status time_steps(struct exec_calibration *c, struct ring_transport *t, char *buffer,
                                   struct ring_error *error)
{
    struct ring_plan all, one;
    double rest_s[N_TRIALS], alone_s[N_TRIALS], least_s = 0;
    enum ring_status status = tiny_plan(c->n_ranks, &all, error);

    if (status == RING_OK)
        status = tiny_plan(1, &one, error);
    if (status == RING_OK && all.n_slots > MOST_SLOTS)
        status = ring_fail(error, RING_UNSUPPORTED, "a ring of %u slots", all.n_slots);
    status = exec_agree(c->comm, &c->bound, status, error);
    for (int trial = 0; trial < N_TRIALS && status == RING_OK; trial++) {
        double hop_s = c->launch_s, ring_s = 0;
        status = run_rings(&one, 0, t, buffer, &alone_s[trial], error);
        if (status == RING_OK)
            status = exec_barrier(c->comm, &c->bound, "all ranks to step", error);
        if (status == RING_OK && c->n_ranks > 1)
            status = run_hops(c, t, buffer, &hop_s, error);
        if (status == RING_OK)
            status = run_rings(&all, (uint32_t)c->rank, t, buffer, &ring_s, error);
        rest_s[trial] = (ring_s - (c->n_ranks - 1) * (hop_s - c->launch_s)) / c->n_ranks;
    }
    if (status == RING_OK)
        status = exec_calibrate_settle(c, alone_s, N_TRIALS, &least_s, "all ranks' lonely steps", error);
    if (status == RING_OK)
        status = exec_calibrate_settle(c, rest_s, N_TRIALS, &c->step_s, "all ranks' steps", error);
    c->step_s = fmax(c->step_s, least_s);
    return status;
}

/* The hops were timed with a computation of nothing beside each: that is launch, and charged by the step. */
static void take_launch_off(struct exec_calibration *c)
{
    for (size_t i = 0; i < c->n_hops; i++)
        c->hops[i].time_s = fmax(c->hops[i].time_s - c->launch_s, 0.1 * c->hops[i].time_s);
}

enum ring_status exec_calibrate_costs(struct exec_calibration *c, struct ring_error *error)
{
    struct exec_transport_spec spec = {.comm = c->comm,
                                       .progress = MODEL_PROGRESS_POLL,
                                       .bound = c->bound,
                                       .clock_offset_s = c->clock.offset_s};
    struct exec_transport *transport = NULL;
    char *buffer = exec_memory_alloc(4 * PENDING_BYTES);
    enum ring_status status =
        buffer ? RING_OK : ring_fail(error, RING_NO_MEMORY, "out of memory for messages");

    exec_calibrate_progress(c, "steps and looks");
    status = exec_agree(c->comm, &c->bound, status, error);
    if (status == RING_OK)
        status = exec_transport_open(&transport, &spec, error);
    struct ring_transport *t = transport ? exec_transport_base(transport) : NULL;
    if (status == RING_OK)
        status = time_launches(c, t, error);
    if (status == RING_OK && c->n_ranks > 1)
        status = time_looks(c, transport, buffer, error);
    if (status == RING_OK)
        status = time_steps(c, t, buffer, error);
    if (status == RING_OK)
        take_launch_off(c);
    exec_transport_close(transport);
    exec_memory_free(buffer);
    return status;
}
