/* SPDX-License-Identifier: MIT
 *
 * What a hop costs between the ranks of this machine: a ring of all of them, every rank sending and receiving
 * at once, hop after hop as a run does it, through the transport that a run uses. */
#include "exec/calibration.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "exec/memory.h"
#include "exec/transport.h"

enum {
    N_TRIALS = 15,
    MIN_TRIALS = 3,
    FIRST_BYTES = 1024,
    MAX_BYTES = 64 << 20,
    MAX_HOPS = 128,
    COPY_BYTES = 32 << 20,
    LARGE_BYTES = 256 << 10,
    SECOND_BEST = 1,
    HURRY_S = 5 /* with less time to spend the largest messages are left out */
};

#define FASTEST_COPY_BYTES_PER_S 50e9

/* Of the time to spend, for one size; on a free machine none needs so much. */
#define SIZE_SHARE 0.05

/* Enough hops to time, not so many that large ones take long. */
static int hops_of(uint64_t bytes)
{
    uint64_t n = (UINT64_C(32) << 20) / bytes;
    return n > MAX_HOPS ? MAX_HOPS : n < 1 ? 1 : (int)n;
}

/* The largest message that all ranks can have four times over in a quarter of the memory. */
static uint64_t largest_message(const struct exec_calibration *c)
{
    double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    uint64_t bytes = c->spec->seconds < HURRY_S ? MAX_BYTES / 16 : MAX_BYTES;

    while (bytes > COPY_BYTES / 8 && 4.0 * (double)bytes * c->n_ranks > memory / 4)
        bytes /= 4;
    return bytes;
}

static enum ring_status one_hop(struct exec_calibration *c, struct ring_transport *t, char *out, char *in,
                                uint64_t bytes, struct ring_error *error)
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

/* What the trials of one size came to, a hop each. */
struct trials {
    size_t n;
    double wall_s[N_TRIALS],
        copy_s[N_TRIALS]; /* of the slowest rank: on the clock; of a processor, copying */
};

/* Where the block is that leaves at that turn and has come at the one before. */
static char *place(char *buffers[2], uint64_t turn, uint64_t bytes, uint64_t largest)
{
    return buffers[turn % 2] + turn * bytes % largest;
}

static enum ring_status run_trials(struct exec_calibration *c, struct exec_transport *transport,
                                   char *buffers[2], uint64_t bytes, struct trials *trials,
                                   struct ring_error *error)
{
    int n_hops = hops_of(bytes);
    uint64_t turn = 0, largest = largest_message(c);
    enum ring_status status = RING_OK;

    double spent_s = 0; /* the same on all ranks */
    trials->n = 0;
    for (int trial = -1; trial < N_TRIALS && status == RING_OK; trial++) { /* the first is first contact */
        if (trial >= MIN_TRIALS && spent_s > SIZE_SHARE * c->spec->seconds)
            break;
        status = exec_barrier(c->comm, &c->bound, "all ranks to exchange", error);
        double begun_s = exec_clock_s(), copied_s = exec_transport_copy_cpu_s(transport);
        /* Each hop sends what the one before received, as in a ring, and receives where no cache has been
         * lately. */
        for (int hop = 0; hop < n_hops && status == RING_OK; hop++, turn++)
            status = one_hop(c, exec_transport_base(transport), place(buffers, turn, bytes, largest),
                             place(buffers, turn + 1, bytes, largest), bytes, error);
        double times_s[] = {(exec_clock_s() - begun_s) / n_hops,
                            (exec_transport_copy_cpu_s(transport) - copied_s) / n_hops};
        if (status == RING_OK)
            status = exec_maximum(c->comm, &c->bound, times_s, 2, "all ranks' hop times", error);
        spent_s += times_s[0] * n_hops;
        if (trial >= 0) {
            trials->wall_s[trial] = times_s[0];
            trials->copy_s[trial] = times_s[1];
            trials->n++;
        }
    }
    return status;
}

/* The time of a hop. A small one is over before anybody takes the core away: the second best of the trials on
 * the clock. A large one is the copy, so it is that in processor time, and what the smallest hop takes for
 * the handshake; unless the bytes came in pieces (no single copy), which shows as a copy too fast to be one.
 */
static enum ring_status time_size(struct exec_calibration *c, struct exec_transport *transport,
                                  char *buffers[2], size_t size, double *spread, struct ring_error *error)
{
    struct trials trials;
    uint64_t bytes = c->sizes[size];
    enum ring_status status = run_trials(c, transport, buffers, bytes, &trials, error);

    if (status != RING_OK)
        return status;
    double copy_s = exec_median(trials.copy_s, trials.n);
    exec_median(trials.wall_s, trials.n);
    bool copied = bytes >= LARGE_BYTES && copy_s > (double)bytes / FASTEST_COPY_BYTES_PER_S;
    c->hop_s[size] =
        copied ? fmin(copy_s + c->hop_s[0], trials.wall_s[SECOND_BEST]) : trials.wall_s[SECOND_BEST];
    *spread = copied ? exec_spread(trials.copy_s, trials.n) : exec_spread(trials.wall_s, trials.n);
    return RING_OK;
}

/* Streams through memory, all ranks at once: bytes read and written in a second of a processor's time, by
 * each. */
static enum ring_status time_copy(struct exec_calibration *c, char *buffers[2], uint64_t bytes,
                                  struct ring_error *error)
{
    double trials_s[N_TRIALS];

    enum ring_status status = exec_barrier(c->comm, &c->bound, "all ranks to copy", error);
    for (int trial = 0; trial < N_TRIALS; trial++) {
        double begun_s = exec_clock_cpu_s();
        memcpy(buffers[trial % 2], buffers[1 - trial % 2], bytes);
        trials_s[trial] = exec_clock_cpu_s() - begun_s;
    }
    exec_median(trials_s, N_TRIALS);
    double time_s = trials_s[SECOND_BEST];
    if (status == RING_OK)
        status = exec_maximum(c->comm, &c->bound, &time_s, 1, "all ranks' copies", error);
    c->copy_bytes_per_s = 2.0 * (double)bytes / time_s;
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

/* A hop of next to nothing, with a computation of nothing, less the hop itself: what posting and waiting
 * cost. The smallest message stands for the hop; so the two together are exact for small ones. */
static void split_step(struct exec_calibration *c)
{
    c->step_s = c->n_sizes ? c->hop_s[0] / 2 : 1e-6;
    for (size_t i = 0; i < c->n_sizes; i++)
        c->hop_s[i] = fmax(c->hop_s[i] - c->step_s, 1e-9);
}

enum ring_status exec_calibrate_link(struct exec_calibration *c, struct ring_error *error)
{
    struct exec_transport_spec spec = {.comm = c->comm,
                                       .progress = MODEL_PROGRESS_POLL,
                                       .bound = c->bound,
                                       .clock_offset_s = c->clock.offset_s,
                                       .count_copies = true};
    struct exec_transport *transport = NULL;
    uint64_t largest = largest_message(c);
    char *buffers[2] = {exec_memory_alloc(largest), exec_memory_alloc(largest)};
    double spreads[EXEC_MAX_SIZES];

    enum ring_status status =
        buffers[0] && buffers[1] ? RING_OK : ring_fail(error, RING_NO_MEMORY, "out of memory for messages");
    status = exec_agree(c->comm, &c->bound, status, error);
    if (status == RING_OK)
        status = time_copy(c, buffers, largest < COPY_BYTES ? largest : COPY_BYTES, error);
    if (status == RING_OK)
        status = exec_transport_open(&transport, &spec, error);
    c->n_sizes = 0;
    for (uint64_t bytes = FIRST_BYTES; bytes <= largest && c->n_ranks > 1 && status == RING_OK; bytes *= 4) {
        size_t i = c->n_sizes++;
        exec_calibrate_progress(c, "hops of %llu bytes", (unsigned long long)bytes);
        c->sizes[i] = bytes;
        status = time_size(c, transport, buffers, i, &spreads[i], error);
    }
    if (transport && status == RING_OK)
        exec_transport_close(transport);
    exec_memory_free(buffers[0]);
    exec_memory_free(buffers[1]);
    if (status != RING_OK)
        return status;
    c->link_spread = c->n_sizes ? exec_median(spreads, c->n_sizes) : 0;
    exec_calibration_level(c->sizes, c->hop_s, c->n_sizes);
    split_step(c);
    return RING_OK;
}
