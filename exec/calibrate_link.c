/* SPDX-License-Identifier: MIT
 *
 * What a hop costs between the ranks of this machine: a ring of all of them, every rank sending and receiving
 * at once, hop after hop as a run does it, through the transport that a run uses. Sizes take turns, so that
 * no size meets a slow minute alone. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "exec/calibration.h"
#include "exec/memory.h"
#include "exec/transport.h"

enum {
    N_TRIALS = 15,
    MIN_TRIALS = 3,
    FIRST_BYTES = 1024,
    MAX_BYTES = 64 << 20,
    LEAST_MAX_BYTES = 4 << 20, /* however little memory there is */
    TRIAL_BYTES = 32 << 20,    /* of all hops of a trial, but at least one ... */
    TRIAL_HOPS = 128,          /* ... and at most so many */
    COPIED_BYTES = 256 << 10,  /* from here on a hop is its copy */
    HURRY_S = 5                /* with less time to spend the largest messages are left out */
};

#define FASTEST_COPY_BYTES_PER_S 50e9

/* Of the time to spend; on a free machine less is needed. */
#define LINK_SHARE 0.2

/* What the trials of one size came to, a hop each, of the slowest rank: on the clock; of a core, copying. */
struct trials {
    double wall_s[N_TRIALS], copy_s[N_TRIALS];
};

struct wire {
    struct exec_transport *transport;
    char *buffers[2];
    uint64_t largest, turn;
};

/* Enough hops to time, not so many that large ones take long. */
static int hops_of(uint64_t bytes)
{
    uint64_t n = TRIAL_BYTES / bytes;
    return n > TRIAL_HOPS ? TRIAL_HOPS : n < 1 ? 1 : (int)n;
}

/* The largest message that all ranks can have four times over in a quarter of the memory. */
static uint64_t largest_message(const struct exec_calibration *c)
{
    double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    uint64_t bytes = c->spec->seconds < HURRY_S ? MAX_BYTES / 16 : MAX_BYTES;

    while (bytes > LEAST_MAX_BYTES && 4.0 * (double)bytes * c->n_ranks > memory / 4)
        bytes /= 4;
    return bytes;
}

enum ring_status exec_calibrate_hop(const struct exec_calibration *c, struct ring_transport *t, char *out,
                                    char *in, uint64_t bytes, struct ring_error *error)
{
    struct ring_message to = {.peer = (uint32_t)((c->rank + 1) % c->n_ranks), .bytes = bytes};
    struct ring_message from = {.peer = (uint32_t)((c->rank + c->n_ranks - 1) % c->n_ranks), .bytes = bytes};
    struct ring_task task = {.rank = (uint32_t)c->rank};
    struct ring_request received, sent, computed;

    enum ring_status status = t->ops->post_recv(t, &from, (struct ring_buffer){in, bytes}, &received);
    if (status == RING_OK)
        status = t->ops->post_send(t, &to, (struct ring_buffer){out, bytes}, &sent);
    if (status == RING_OK)
        status = t->ops->post_compute(t, &task, &computed);
    struct ring_request *order[] = {&received, &computed, &sent};
    for (int i = 0; i < 3 && status == RING_OK; i++)
        status = t->ops->wait(t, order[i]);
    if (status != RING_OK && error)
        *error = t->error;
    return status;
}

/* Where the block is that leaves at that turn and has come at the one before: each hop sends what the one
 * before received, as in a ring, and receives where no cache has been lately. */
static char *place(const struct wire *wire, uint64_t turn, uint64_t bytes)
{
    return wire->buffers[turn % 2] + turn * bytes % wire->largest;
}

static enum ring_status run_trial(const struct exec_calibration *c, struct wire *wire, uint64_t bytes,
                                  double *wall_s, double *copy_s, struct ring_error *error)
{
    int n_hops = hops_of(bytes);
    enum ring_status status = exec_barrier(c->comm, &c->bound, "all ranks to exchange", error);
    double begun_s = exec_clock_s(), copied_s = exec_transport_copy_cpu_s(wire->transport);

    for (int hop = 0; hop < n_hops && status == RING_OK; hop++, wire->turn++)
        status = exec_calibrate_hop(c, exec_transport_base(wire->transport), place(wire, wire->turn, bytes),
                                    place(wire, wire->turn + 1, bytes), bytes, error);
    double times_s[] = {(exec_clock_s() - begun_s) / n_hops,
                        (exec_transport_copy_cpu_s(wire->transport) - copied_s) / n_hops};
    if (status == RING_OK)
        status = exec_maximum(c->comm, &c->bound, times_s, 2, "all ranks' hop times", error);
    *wall_s = times_s[0];
    *copy_s = times_s[1];
    return status;
}

/* The time of a hop, the median of the trials. Of a small one on the clock: it is over before anybody takes
 * the core away. A large one is the copy, so it is that in processor time, and what the smallest hop takes
 * for the handshake; unless the bytes came in pieces (no single copy), which shows as a copy too fast to be
 * one. */
static double hop_time(struct trials *trials, size_t n, uint64_t bytes, double handshake_s, double *spread)
{
    double copy_s = exec_median(trials->copy_s, n), wall_s = exec_median(trials->wall_s, n);
    bool copied = bytes >= COPIED_BYTES && copy_s > (double)bytes / FASTEST_COPY_BYTES_PER_S;

    *spread = exec_spread(copied ? trials->copy_s : trials->wall_s, n);
    return copied ? fmin(copy_s + handshake_s, wall_s) : wall_s;
}

static void list_hops(struct exec_calibration *c, uint64_t largest)
{
    c->n_hops = 0;
    for (uint64_t bytes = FIRST_BYTES; bytes <= largest && c->n_ranks > 1; bytes *= 2) {
        bool held_out = c->n_hops % 2 == 1; /* every other size: a class is four times the one before */
        if (c->n_hops < EXEC_MAX_HOPS)
            c->hops[c->n_hops++] = (struct exec_hop){.bytes = bytes, .held_out = held_out};
    }
}

/* The classes' times, levelled. */
static void level(struct exec_calibration *c)
{
    uint64_t sizes[EXEC_MAX_HOPS] = {0};
    double times_s[EXEC_MAX_HOPS] = {0};
    size_t n = 0;

    for (size_t i = 0; i < c->n_hops; i++)
        if (!c->hops[i].held_out) {
            sizes[n] = c->hops[i].bytes;
            times_s[n++] = c->hops[i].time_s;
        }
    exec_calibration_level(sizes, times_s, n);
    for (size_t i = c->n_hops; i-- > 0;)
        if (!c->hops[i].held_out)
            c->hops[i].time_s = times_s[--n];
}

static enum ring_status time_hops(struct exec_calibration *c, struct wire *wire, struct ring_error *error)
{
    struct trials trials[EXEC_MAX_HOPS];
    double spreads[EXEC_MAX_HOPS], spent_s = 0; /* the same on all ranks */
    enum ring_status status = RING_OK;
    size_t n = 0;

    for (int trial = -1; trial < N_TRIALS && status == RING_OK; trial++) { /* the first is first contact */
        if (trial >= MIN_TRIALS && spent_s > LINK_SHARE * c->spec->seconds)
            break;
        exec_calibrate_progress(c, "hops of %zu sizes, turn %d", c->n_hops, trial + 2);
        n = trial > 0 ? (size_t)trial : 0;
        for (size_t i = 0; i < c->n_hops && status == RING_OK; i++) {
            status = run_trial(c, wire, c->hops[i].bytes, &trials[i].wall_s[n], &trials[i].copy_s[n], error);
            spent_s += trials[i].wall_s[n] * hops_of(c->hops[i].bytes);
        }
        n++;
    }
    for (size_t i = 0; i < c->n_hops && status == RING_OK; i++)
        c->hops[i].time_s = hop_time(&trials[i], n, c->hops[i].bytes, c->hops[0].time_s, &spreads[i]);
    if (status == RING_OK && c->n_hops > 0) {
        c->link_spread = exec_median(spreads, c->n_hops);
        level(c);
    }
    return status;
}

void exec_calibration_level(const uint64_t *sizes, double *hop_s, size_t n)
{
    for (size_t i = n; i-- > 1;)
        hop_s[i - 1] = fmin(hop_s[i - 1], hop_s[i]);
    for (size_t i = 1; i < n; i++)
        hop_s[i] =
            fmax(hop_s[i], hop_s[i - 1] + (double)(sizes[i] - sizes[i - 1]) / FASTEST_COPY_BYTES_PER_S);
}

enum ring_status exec_calibrate_hops(struct exec_calibration *c, struct ring_error *error)
{
    struct exec_transport_spec spec = {.comm = c->comm,
                                       .progress = MODEL_PROGRESS_POLL,
                                       .bound = c->bound,
                                       .clock_offset_s = c->clock.offset_s,
                                       .count_copies = true};
    uint64_t largest = largest_message(c);
    struct wire wire = {.largest = largest,
                        .buffers = {exec_memory_alloc(largest), exec_memory_alloc(largest)}};
    enum ring_status status = wire.buffers[0] && wire.buffers[1]
                                  ? RING_OK
                                  : ring_fail(error, RING_NO_MEMORY, "out of memory for messages");

    status = exec_agree(c->comm, &c->bound, status, error);
    if (status == RING_OK)
        status = exec_transport_open(&wire.transport, &spec, error);
    list_hops(c, largest);
    if (status == RING_OK)
        status = time_hops(c, &wire, error);
    exec_transport_close(wire.transport);
    exec_memory_free(wire.buffers[0]);
    exec_memory_free(wire.buffers[1]);
    return status;
}

size_t exec_calibration_classes(const struct exec_hop *hops, size_t n_hops, struct model_size_class *classes)
{
    const struct exec_hop *before = NULL;
    size_t n = 0;

    for (size_t i = 0; i < n_hops; i++) {
        if (hops[i].held_out)
            continue;
        double bytes = (double)hops[i].bytes, hop_s = hops[i].time_s;
        double bytes_per_s = bytes / hop_s, latency_s = 0;
        if (before && hop_s > before->time_s) {
            bytes_per_s = (bytes - (double)before->bytes) / (hop_s - before->time_s);
            latency_s = hop_s - bytes / bytes_per_s;
        }
        if (!before || latency_s < 0) { /* no line through both: the hop is all latency, or all bytes */
            latency_s = before ? 0 : 0.9 * hop_s;
            bytes_per_s = bytes / (hop_s - latency_s);
        }
        before = &hops[i];
        classes[n++] = (struct model_size_class){hops[i].bytes, latency_s, bytes_per_s};
    }
    return n;
}
