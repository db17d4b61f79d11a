/* SPDX-License-Identifier: MIT
 *
 * What the bodies of cases speak with: the five calls, with data whose pattern says which message it is, so
 * that any mix-up shows, and with the promises about time checked at every wait. Each returns RING_OK or a
 * line that names the rank. */
#ifndef TESTS_CONFORMANCE_TALK_H
#define TESTS_CONFORMANCE_TALK_H

#include <stdbool.h>

#include "tests/conformance/suite.h"

/* Passes a failure on. */
#define TRY(call)                                                                                            \
    do {                                                                                                     \
        enum ring_status try_status = (call);                                                                \
        if (try_status != RING_OK)                                                                           \
            return try_status;                                                                               \
    } while (0)

typedef const struct conformance_seat seat_t;

/* Puts the rank and the call before the line of a failed call. */
enum ring_status talk_check(seat_t *seat, enum ring_status status, const char *call,
                            struct ring_error *error);
/* Fails, saying what does not hold. */
enum ring_status talk_expect(seat_t *seat, bool holds, const char *what, struct ring_error *error);

/* Fills data with message id and posts it. */
enum ring_status talk_post_send(seat_t *seat, uint32_t to, uint32_t tag, char *data, uint64_t bytes,
                                uint32_t id, struct ring_request *request, struct ring_error *error);
/* Spoils data and posts a receive into it. */
enum ring_status talk_post_recv(seat_t *seat, uint32_t from, uint32_t tag, char *data, uint64_t bytes,
                                struct ring_request *request, struct ring_error *error);
double talk_now(seat_t *seat);
enum ring_status talk_wait(seat_t *seat, struct ring_request *request, struct ring_error *error);
/* And then data must hold message id. */
enum ring_status talk_wait_checked(seat_t *seat, struct ring_request *request, const char *data,
                                   uint64_t bytes, uint32_t id, struct ring_error *error);

#endif
