/* SPDX-License-Identifier: MIT
 *
 * What the bodies of cases speak with (talk.h), and what gives them their memory. */
#include "tests/conformance/suite.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tests/conformance/talk.h"

enum ring_status talk_check(seat_t *seat, enum ring_status status, const char *call, struct ring_error *error)
{
    if (status == RING_OK)
        return RING_OK;
    return ring_fail(error, status, "rank %" PRIu32 ": %s failed: %s", seat->rank, call,
                     seat->transport->error.text);
}

enum ring_status talk_expect(seat_t *seat, bool holds, const char *what, struct ring_error *error)
{
    return holds ? RING_OK : ring_fail(error, RING_WORLD, "rank %" PRIu32 ": not so: %s", seat->rank, what);
}

enum { CHUNK_BYTES = 1024 };

/* The bytes of message id from a multiple of CHUNK_BYTES on. */
static void make_chunk(uint32_t id, uint64_t at, uint32_t words[CHUNK_BYTES / sizeof(uint32_t)])
{
    for (uint32_t i = 0; i < CHUNK_BYTES / sizeof *words; i++)
        words[i] = id * 2654435761u + (uint32_t)(at / sizeof *words) + i;
}

static uint64_t chunk_bytes(uint64_t bytes, uint64_t at)
{
    return bytes - at < CHUNK_BYTES ? bytes - at : CHUNK_BYTES;
}

static void fill(char *data, uint64_t bytes, uint32_t id)
{
    uint32_t words[CHUNK_BYTES / sizeof(uint32_t)];

    for (uint64_t at = 0; at < bytes; at += CHUNK_BYTES) {
        make_chunk(id, at, words);
        memcpy(data + at, words, chunk_bytes(bytes, at));
    }
}

static enum ring_status check(seat_t *seat, const char *data, uint64_t bytes, uint32_t id,
                              struct ring_error *error)
{
    uint32_t words[CHUNK_BYTES / sizeof(uint32_t)];

    for (uint64_t at = 0; at < bytes; at += CHUNK_BYTES) {
        make_chunk(id, at, words);
        if (memcmp(data + at, words, chunk_bytes(bytes, at)) != 0)
            return ring_fail(error, RING_WORLD,
                             "rank %" PRIu32 ": message %" PRIu32 " of %" PRIu64
                             " bytes is wrong in the KiB from byte %" PRIu64 " on",
                             seat->rank, id, bytes, at);
    }
    return RING_OK;
}

enum ring_status talk_post_send(seat_t *seat, uint32_t to, uint32_t tag, char *data, uint64_t bytes,
                                uint32_t id, struct ring_request *request, struct ring_error *error)
{
    struct ring_message message = {.peer = to, .tag = tag, .block = id, .bytes = bytes};
    struct ring_buffer buffer = {data, bytes};

    fill(data, bytes, id);
    return talk_check(seat, seat->transport->ops->post_send(seat->transport, &message, buffer, request),
                      "post_send", error);
}

enum ring_status talk_post_recv(seat_t *seat, uint32_t from, uint32_t tag, char *data, uint64_t bytes,
                                struct ring_request *request, struct ring_error *error)
{
    struct ring_message message = {.peer = from, .tag = tag, .bytes = bytes};
    struct ring_buffer buffer = {data, bytes};

    memset(data, 0xff, bytes);
    return talk_check(seat, seat->transport->ops->post_recv(seat->transport, &message, buffer, request),
                      "post_recv", error);
}

double talk_now(seat_t *seat)
{
    return seat->transport->ops->now(seat->transport);
}

enum ring_status talk_wait(seat_t *seat, struct ring_request *request, struct ring_error *error)
{
    double before_s = talk_now(seat);

    TRY(talk_check(seat, seat->transport->ops->wait(seat->transport, request), "wait", error));
    double after_s = talk_now(seat);
    TRY(talk_expect(seat, before_s <= after_s, "the clock does not go back", error));
    TRY(talk_expect(seat, request->begun_s <= request->ended_s, "begun_s <= ended_s", error));
    return talk_expect(seat, request->ended_s <= after_s, "ended_s is not after the wait", error);
}

enum ring_status talk_wait_checked(seat_t *seat, struct ring_request *request, const char *data,
                                   uint64_t bytes, uint32_t id, struct ring_error *error)
{
    TRY(talk_wait(seat, request, error));
    return check(seat, data, bytes, id, error);
}

enum ring_status conformance_play(const struct conformance_case *one, uint32_t rank,
                                  struct ring_transport *transport, struct ring_error *error)
{
    struct conformance_seat seat = {transport, rank, one->n_ranks, malloc(one->memory_bytes)};

    if (!seat.memory)
        return ring_fail(error, RING_NO_MEMORY, "rank %u: out of memory for the case", rank);
    enum ring_status status = one->body(&seat, error);
    free(seat.memory);
    return status;
}
