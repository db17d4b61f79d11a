/* SPDX-License-Identifier: MIT
 *
 * What a hop costs between ranks whose blocks lie on devices: a ring of all of them, every rank sending and
 * receiving at once, through the transport and in the way that a run uses. */
#include <math.h>

#include "exec/calibration.h"
#include "exec/cuda/calibration.h"
#include "exec/transport.h"

enum { N_TRIALS = 9, HOPS_BYTES = 64 << 20, MOST_HOPS = 16 };

static int hops_of(uint64_t bytes)
{
    uint64_t n = HOPS_BYTES / bytes;
    return n < 2 ? 2 : n > MOST_HOPS ? MOST_HOPS : (int)n;
}

static enum ring_status one_hop(const struct exec_gpu_calibration *c, struct ring_transport *t, void *out,
                                void *in, uint64_t bytes, struct ring_error *error)
{
    struct ring_message to = {.peer = (uint32_t)((c->rank + 1) % c->n_ranks), .bytes = bytes};
    struct ring_message from = {.peer = (uint32_t)((c->rank + c->n_ranks - 1) % c->n_ranks), .bytes = bytes};
    struct ring_request received, sent;
    enum ring_status status = t->ops->post_recv(t, &from, (struct ring_buffer){in, bytes}, &received);

    if (status == RING_OK)
        status = t->ops->post_send(t, &to, (struct ring_buffer){out, bytes}, &sent);
    if (status == RING_OK)
        status = t->ops->wait(t, &received);
    if (status == RING_OK)
        status = t->ops->wait(t, &sent);
    if (status != RING_OK && error)
        *error = t->error;
    return status;
}

/* The slowest rank's mean hop, the median over trials. */
static enum ring_status time_size(struct exec_gpu_calibration *c, struct ring_transport *t,
                                  const struct ring_buffer *buffers, size_t size, double *spread,
                                  struct ring_error *error)
{
    uint64_t bytes = c->sizes[size];
    double trials_s[N_TRIALS];
    enum ring_status status = RING_OK;
    int n_hops = hops_of(bytes);

    for (int trial = -1; trial < N_TRIALS && status == RING_OK; trial++) { /* the first is first contact */
        double *trial_s = &trials_s[trial < 0 ? 0 : trial];
        status = exec_barrier(c->comm, &c->bound, "all ranks to exchange", error);
        double begun_s = c->now_s();
        for (int hop = 0; hop < n_hops && status == RING_OK; hop++)
            status = one_hop(c, t, buffers[hop % 2].data, buffers[1 - hop % 2].data, bytes, error);
        *trial_s = (c->now_s() - begun_s) / n_hops;
        if (status == RING_OK)
            status = exec_maximum(c->comm, &c->bound, trial_s, 1, "all ranks' hop times", error);
    }
    if (status != RING_OK)
        return status;
    c->hop_s[size] = exec_median(trials_s, N_TRIALS);
    *spread = exec_spread(trials_s, N_TRIALS);
    return RING_OK;
}

static enum ring_status time_sizes(struct exec_gpu_calibration *c, struct ring_transport *t,
                                   const struct ring_buffer *buffers, struct ring_error *error)
{
    double spreads[EXEC_GPU_SIZES];
    enum ring_status status = RING_OK;

    for (size_t i = 0; i < EXEC_GPU_SIZES && status == RING_OK; i++) {
        exec_gpu_progress(c, "hops of %llu bytes", (unsigned long long)c->sizes[i]);
        status = time_size(c, t, buffers, i, &spreads[i], error);
    }
    if (status != RING_OK)
        return status;
    c->hop_spread = exec_median(spreads, EXEC_GPU_SIZES);
    for (size_t i = EXEC_GPU_SIZES - 1; i-- > 0;) /* noise only adds */
        c->hop_s[i] = fmin(c->hop_s[i], c->hop_s[i + 1]);
    return RING_OK;
}

static enum ring_status with_mover(struct exec_gpu_calibration *c, const struct ring_buffer *buffers,
                                   struct ring_error *error)
{
    struct exec_mover_spec mover_spec = {.comm = c->comm,
                                         .bound = c->bound,
                                         .lanes = &c->lanes,
                                         .move = c->spec->move,
                                         .stage_bytes = EXEC_STAGE_BYTES,
                                         .memory = buffers,
                                         .n_memory = 2};
    struct exec_mover *mover = NULL;
    struct exec_transport *transport = NULL;
    enum ring_status status = exec_mover_open(&mover, &mover_spec, error);

    if (status != RING_OK)
        return status;
    struct exec_transport_spec spec = {.comm = c->comm,
                                       .progress = MODEL_PROGRESS_POLL,
                                       .mover = exec_mover_worker(mover),
                                       .bound = c->bound,
                                       .clock_offset_s = c->clock.offset_s};
    exec_mover_describe(mover, c->way, sizeof c->way);
    status = exec_transport_open(&transport, &spec, error);
    if (status == RING_OK)
        status = time_sizes(c, exec_transport_base(transport), buffers, error);
    if (status != RING_OK)
        return status; /* a message may be under way: what it needs is left to it */
    exec_transport_close(transport);
    exec_mover_close(mover);
    return RING_OK;
}

enum ring_status exec_gpu_calibrate_hops(struct exec_gpu_calibration *c, struct ring_error *error)
{
    struct ring_buffer buffers[2] = {{NULL, c->sizes[EXEC_GPU_SIZES - 1]},
                                     {NULL, c->sizes[EXEC_GPU_SIZES - 1]}};
    enum ring_status status = RING_OK;

    if (c->n_ranks == 1)
        return RING_OK;
    for (int i = 0; i < 2 && status == RING_OK; i++)
        status = c->lanes.runtime->take(buffers[i].bytes, &buffers[i].data, error);
    status = exec_agree(c->comm, &c->bound, status, error);
    if (status == RING_OK)
        status = with_mover(c, buffers, error);
    for (int i = 0; i < 2 && status == RING_OK; i++)
        c->lanes.runtime->give(buffers[i].data);
    return status;
}
