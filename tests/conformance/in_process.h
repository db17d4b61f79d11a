/* SPDX-License-Identifier: MIT
 *
 * A transport of a dozen lines a call: ranks are threads of this process, a message is a memcpy by whoever
 * comes second, the clock counts events. It shows that the promises can be kept without a network, and serves
 * tests that need a real exchange and no world. */
#ifndef TESTS_CONFORMANCE_IN_PROCESS_H
#define TESTS_CONFORMANCE_IN_PROCESS_H

#include "engine/transport.h"

typedef enum ring_status (*in_process_body)(void *context, uint32_t rank, struct ring_transport *transport,
                                            struct ring_error *error);

/* Runs body on n_ranks threads and returns the first failure by rank. compute [n_ranks] is run in the wait
 * for the computation. A wait of over 20 s fails with RING_TIMED_OUT. */
enum ring_status in_process_run(uint32_t n_ranks, const struct ring_compute *compute, in_process_body body,
                                void *context, struct ring_error *error);

#endif
