/* SPDX-License-Identifier: MIT
 *
 * The cases. Each body is what one rank does; a failed call or a broken promise ends it with a line. */
#include <stddef.h>

#include "tests/conformance/suite.h"
#include "tests/conformance/talk.h"

/* --- order
 * --------------------------------------------------------------------------------------------------- */

enum { N_QUEUED = 8, QUEUED_BYTES = 40000 };

/* Later messages are smaller, so that they would overtake if they could. */
static enum ring_status queue(seat_t *seat, bool backwards, struct ring_error *error)
{
    struct ring_request requests[N_QUEUED];

    for (uint32_t i = 0; i < N_QUEUED; i++) {
        char *data = seat->memory + i * (size_t)QUEUED_BYTES;
        uint64_t bytes = QUEUED_BYTES - i * 4999u;
        if (seat->rank == 0)
            TRY(talk_post_send(seat, 1, 7, data, bytes, i, &requests[i], error));
        else
            TRY(talk_post_recv(seat, 0, 7, data, bytes, &requests[i], error));
    }
    for (uint32_t i = 0; i < N_QUEUED; i++) {
        uint32_t at = backwards ? N_QUEUED - 1 - i : i;
        TRY(talk_wait_checked(seat, &requests[at], seat->memory + at * (size_t)QUEUED_BYTES,
                              QUEUED_BYTES - at * 4999u, at, error));
    }
    return RING_OK;
}

static enum ring_status equal_tags(seat_t *seat, struct ring_error *error)
{
    return queue(seat, false, error);
}

static enum ring_status equal_tags_backwards(seat_t *seat, struct ring_error *error)
{
    return queue(seat, true, error);
}

/* Rank 1 asks for the second message first. */
static enum ring_status different_tags(seat_t *seat, struct ring_error *error)
{
    const uint64_t bytes = 100000;
    struct ring_request first, second;

    if (seat->rank == 0) {
        TRY(talk_post_send(seat, 1, 1, seat->memory, bytes, 1, &first, error));
        TRY(talk_post_send(seat, 1, 2, seat->memory + bytes, bytes, 2, &second, error));
        TRY(talk_wait(seat, &first, error));
        return talk_wait(seat, &second, error);
    }
    TRY(talk_post_recv(seat, 0, 2, seat->memory, bytes, &second, error));
    TRY(talk_wait_checked(seat, &second, seat->memory, bytes, 2, error));
    TRY(talk_post_recv(seat, 0, 1, seat->memory, bytes, &first, error));
    return talk_wait_checked(seat, &first, seat->memory, bytes, 1, error);
}

/* --- size and company
 * ---------------------------------------------------------------------------------------- */

static enum ring_status from_first_to_last(seat_t *seat, uint64_t bytes, struct ring_error *error)
{
    struct ring_request request;

    if (seat->rank == 0) {
        TRY(talk_post_send(seat, seat->n_ranks - 1, 3, seat->memory, bytes, 9, &request, error));
        return talk_wait(seat, &request, error);
    }
    TRY(talk_post_recv(seat, 0, 3, seat->memory, bytes, &request, error));
    return talk_wait_checked(seat, &request, seat->memory, bytes, 9, error);
}

static enum ring_status one_byte(seat_t *seat, struct ring_error *error)
{
    return from_first_to_last(seat, 1, error);
}

enum { BIG_BYTES = (64 << 20) + 7 };

static enum ring_status big_message(seat_t *seat, struct ring_error *error)
{
    return from_first_to_last(seat, BIG_BYTES, error);
}

static enum ring_status to_oneself(seat_t *seat, struct ring_error *error)
{
    const uint64_t bytes = 100000;
    struct ring_request out, in;

    TRY(talk_post_recv(seat, seat->rank, 5, seat->memory, bytes, &in, error));
    TRY(talk_post_send(seat, seat->rank, 5, seat->memory + bytes, bytes, seat->rank, &out, error));
    TRY(talk_wait_checked(seat, &in, seat->memory, bytes, seat->rank, error));
    TRY(talk_wait(seat, &out, error));
    /* and with the send posted first */
    TRY(talk_post_send(seat, seat->rank, 6, seat->memory + bytes, bytes, 10 + seat->rank, &out, error));
    TRY(talk_post_recv(seat, seat->rank, 6, seat->memory, bytes, &in, error));
    TRY(talk_wait(seat, &out, error));
    return talk_wait_checked(seat, &in, seat->memory, bytes, 10 + seat->rank, error);
}

/* The sender waits long before the receiver, who has other things to do first, asks. */
static enum ring_status late_receive(seat_t *seat, struct ring_error *error)
{
    const uint64_t bytes = 1000000;
    struct ring_request request;

    if (seat->rank == 0) {
        TRY(talk_post_send(seat, 1, 4, seat->memory, bytes, 4, &request, error));
        return talk_wait(seat, &request, error);
    }
    for (uint32_t i = 0; i < 10; i++) {
        uint32_t peer = 3 - seat->rank;
        if ((i + seat->rank) % 2)
            TRY(talk_post_send(seat, peer, i, seat->memory, bytes, i, &request, error));
        else
            TRY(talk_post_recv(seat, peer, i, seat->memory, bytes, &request, error));
        TRY(talk_wait_checked(seat, &request, seat->memory, bytes, i, error));
    }
    if (seat->rank == 2)
        return RING_OK;
    TRY(talk_post_recv(seat, 0, 4, seat->memory, bytes, &request, error));
    return talk_wait_checked(seat, &request, seat->memory, bytes, 4, error);
}

/* Both send and receive at once, in every order of posting and waiting. */
static enum ring_status two_way(seat_t *seat, struct ring_error *error)
{
    const uint64_t bytes = 4000000;
    uint32_t peer = 1 - seat->rank;
    char *to = seat->memory, *from = seat->memory + bytes;

    for (uint32_t order = 0; order < 4; order++) {
        struct ring_request out, in;
        if (order & 1)
            TRY(talk_post_recv(seat, peer, order, to, bytes, &in, error));
        TRY(talk_post_send(seat, peer, order, from, bytes, 10 * order + seat->rank, &out, error));
        if (!(order & 1))
            TRY(talk_post_recv(seat, peer, order, to, bytes, &in, error));
        if (order & 2)
            TRY(talk_wait(seat, &out, error));
        TRY(talk_wait_checked(seat, &in, to, bytes, 10 * order + peer, error));
        if (!(order & 2))
            TRY(talk_wait(seat, &out, error));
    }
    return RING_OK;
}

/* Several messages each way at once, and the sends waited for before any receive. */
static enum ring_status several_each_way(seat_t *seat, struct ring_error *error)
{
    enum { N_EACH_WAY = 3 };
    const uint64_t bytes = 1000000;
    uint32_t peer = 1 - seat->rank;
    struct ring_request out[N_EACH_WAY], in[N_EACH_WAY];

    for (uint32_t i = 0; i < N_EACH_WAY; i++) {
        TRY(talk_post_recv(seat, peer, i, seat->memory + i * bytes, bytes, &in[i], error));
        TRY(talk_post_send(seat, peer, i, seat->memory + (N_EACH_WAY + i) * bytes, bytes, 10 * i + seat->rank,
                           &out[i], error));
    }
    for (uint32_t i = 0; i < N_EACH_WAY; i++)
        TRY(talk_wait(seat, &out[i], error));
    for (uint32_t i = 0; i < N_EACH_WAY; i++)
        TRY(talk_wait_checked(seat, &in[i], seat->memory + i * bytes, bytes, 10 * i + peer, error));
    return RING_OK;
}

/* A ring with two buffers, three times round; each request is used again and again. */
static enum ring_status ring(seat_t *seat, struct ring_error *error)
{
    const uint64_t bytes = 60000;
    uint32_t n = seat->n_ranks, next = (seat->rank + 1) % n, previous = (seat->rank + n - 1) % n;
    struct ring_request out, in;

    for (uint32_t step = 0; step < 3 * n; step++) {
        uint32_t block = (seat->rank + 3 * n - step) % n, next_block = (block + n - 1) % n;
        char *here = seat->memory + (step % 2) * bytes, *there = seat->memory + ((step + 1) % 2) * bytes;
        TRY(talk_post_recv(seat, previous, step, there, bytes, &in, error));
        TRY(talk_post_send(seat, next, step, here, bytes, block, &out, error));
        TRY(talk_wait_checked(seat, &in, there, bytes, next_block, error));
        TRY(talk_wait_checked(seat, &out, here, bytes, block, error));
    }
    return RING_OK;
}

/* --- computations
 * -------------------------------------------------------------------------------------------- */

enum { N_PIECES = 5 };

static struct {
    uint32_t n_run, block;
    bool in_order;
} computed[CONFORMANCE_MAX_RANKS];

static uint32_t n_pieces(void *context, const struct ring_task *task)
{
    (void)context;
    (void)task;
    return N_PIECES;
}

static enum ring_status run_piece(void *context, const struct ring_task *task, uint32_t piece,
                                  struct ring_error *error)
{
    uint32_t rank = (uint32_t)(uintptr_t)context;

    (void)error;
    computed[rank].in_order &= piece == computed[rank].n_run && task->rank == rank;
    computed[rank].n_run++;
    computed[rank].block = task->block;
    return RING_OK;
}

struct ring_compute conformance_compute(uint32_t rank)
{
    return (struct ring_compute){
        .n_pieces = n_pieces, .run_piece = run_piece, .context = (void *)(uintptr_t)rank};
}

static enum ring_status post_compute(seat_t *seat, uint32_t block, struct ring_request *request,
                                     struct ring_error *error)
{
    struct ring_task task = {.rank = seat->rank,
                             .step = block,
                             .block = block,
                             .work = {.q_tokens = 64, .k_tokens = 64, .visible_pairs = 4096}};

    computed[seat->rank].n_run = 0;
    computed[seat->rank].in_order = true;
    return talk_check(seat, seat->transport->ops->post_compute(seat->transport, &task, request),
                      "post_compute", error);
}

static enum ring_status wait_computed(seat_t *seat, uint32_t block, double posted_s,
                                      struct ring_request *request, struct ring_error *error)
{
    TRY(talk_wait(seat, request, error));
    TRY(talk_expect(seat, computed[seat->rank].n_run == N_PIECES,
                    "each piece is run once before the wait returns", error));
    TRY(talk_expect(seat, computed[seat->rank].in_order, "pieces are run in order, of the rank's own task",
                    error));
    TRY(talk_expect(seat, computed[seat->rank].block == block, "the pieces are of the task that was posted",
                    error));
    return talk_expect(seat, request->begun_s >= posted_s, "a computation begins after its post", error);
}

static enum ring_status computation(seat_t *seat, struct ring_error *error)
{
    struct ring_request request;

    for (uint32_t block = 0; block < 3; block++) {
        double posted_s = talk_now(seat);
        TRY(post_compute(seat, block, &request, error));
        TRY(wait_computed(seat, block, posted_s, &request, error));
    }
    return RING_OK;
}

/* A step of the engine, waited for in both orders: messages first, and the computation first. */
static enum ring_status compute_and_exchange(seat_t *seat, struct ring_error *error)
{
    const uint64_t bytes = 3000000;
    uint32_t n = seat->n_ranks, next = (seat->rank + 1) % n, previous = (seat->rank + n - 1) % n;
    char *to = seat->memory, *from = seat->memory + bytes;

    for (uint32_t step = 0; step < 4; step++) {
        struct ring_request out, in, compute;
        TRY(talk_post_recv(seat, previous, step, to, bytes, &in, error));
        TRY(talk_post_send(seat, next, step, from, bytes, 10 * step + seat->rank, &out, error));
        double posted_s = talk_now(seat);
        TRY(post_compute(seat, step, &compute, error));
        if (step % 2)
            TRY(wait_computed(seat, step, posted_s, &compute, error));
        TRY(talk_wait_checked(seat, &in, to, bytes, 10 * step + previous, error));
        if (step % 2 == 0)
            TRY(wait_computed(seat, step, posted_s, &compute, error));
        TRY(talk_wait_checked(seat, &out, from, bytes, 10 * step + seat->rank, error));
    }
    return RING_OK;
}

const struct conformance_case conformance_cases[] = {
    {"messages of equal tags arrive in the order posted", 2, N_QUEUED *QUEUED_BYTES, equal_tags},
    {"and so they do when waited for backwards", 2, N_QUEUED *QUEUED_BYTES, equal_tags_backwards},
    {"a message waits while one of another tag is asked for", 2, 200000, different_tags},
    {"one byte arrives", 2, 1, one_byte},
    {"64 MiB and 7 bytes arrive", 2, BIG_BYTES, big_message},
    {"a rank alone can send to itself", 1, 200000, to_oneself},
    {"ranks in company can send to themselves", 3, 200000, to_oneself},
    {"a receive may be posted late", 3, 1000000, late_receive},
    {"two that send to each other do not block, in any order", 2, 8000000, two_way},
    {"nor with several messages under way each way", 2, 6000000, several_each_way},
    {"a ring of one turns", 1, 120000, ring},
    {"a ring of two turns", 2, 120000, ring},
    {"a ring of three turns", 3, 120000, ring},
    {"a ring of five turns", 5, 120000, ring},
    {"a computation is finished when its wait returns", 2, 1, computation},
    {"one rank computes and sends to itself", 1, 6000000, compute_and_exchange},
    {"two ranks compute while they exchange", 2, 6000000, compute_and_exchange},
    {"three ranks compute while they exchange", 3, 6000000, compute_and_exchange},
};
const uint32_t conformance_n_cases = sizeof conformance_cases / sizeof *conformance_cases;
