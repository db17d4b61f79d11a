/* SPDX-License-Identifier: MIT
 *
 * A world where nothing happens: every call succeeds at once and is written down. It shows what the engine
 * asks of a transport, in which order, and can be told to fail at any call - so that each failure path can be
 * walked. */
#ifndef RING_RECORDING_H
#define RING_RECORDING_H

#include <stddef.h>

#include "engine/transport.h"

enum ring_recorded_kind {
    RING_RECORDED_SEND,
    RING_RECORDED_RECV,
    RING_RECORDED_COMPUTE,
    RING_RECORDED_WAIT_SEND,
    RING_RECORDED_WAIT_RECV,
    RING_RECORDED_WAIT_COMPUTE,
};

struct ring_recorded {
    enum ring_recorded_kind kind;
    uint32_t step, peer, block; /* of the message or task; a wait carries those of what it waits for */
    struct ring_buffer buffer;
};

/* The caller's array takes the first capacity calls; n_calls counts all. now() is the number of calls so far.
 */
struct ring_recording {
    struct ring_transport base; /* use this as the transport */
    struct ring_recorded *calls;
    size_t capacity, n_calls;
    size_t fail_at; /* the call, counted from 1, that fails with RING_WORLD; 0: none */
};

void ring_recording_init(struct ring_recording *recording, struct ring_recorded *calls, size_t capacity);

#endif
