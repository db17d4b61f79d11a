/* SPDX-License-Identifier: MIT
 *
 * See device_priced.h. Whatever is put into a stream is done there and then, on paper: it begins when what is
 * before it ends, and an event knows when it will have passed. */
#include "tests/cuda/device_priced.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/cuda/device_stream_parts.h"

enum { MOST_PIECES = 64, MOST_STREAMS = 8 };
enum place { ELSEWHERE, DEVICE, PINNED, REACHED };

struct piece {
    const char *at;
    uint64_t bytes;
    enum place place;
};

struct stream {
    double until_s; /* when all that is in it will be done */
    bool copies;    /* the last of it is a copy */
};

struct event {
    double when_s;
};

const struct device_price device_price_usual = {
    .flop_per_s = 400e12,
    .launch_s = 5e-6,
    .kernel_s = 2e-6,
    .question_s = 0.5e-6,
    .copy_latency_s = 3e-6,
    .in_bytes_per_s = 50e9,
    .out_bytes_per_s = 40e9,
    .within_bytes_per_s = 1500e9,
    .peer_bytes_per_s = 300e9,
    .add_bytes_per_s = 2000e9,
    .merge_share = 0.05,
    .slowed = 1.25,
    .n_sharing = 1,
};

static struct device_price price;
static double now_s;
static struct piece pieces[MOST_PIECES];
static struct stream *streams[MOST_STREAMS];

void device_priced_set(const struct device_price *new_price)
{
    price = *new_price;
    now_s = 0;
}

double device_priced_now(void)
{
    return now_s;
}

double device_priced_rate(enum ring_pass pass, enum ring_dtype dtype, uint32_t head_dim, double q_tokens,
                          double k_tokens)
{
    double full = price.flop_per_s * sqrt(head_dim / 128.0) / price.n_sharing;

    return full * (pass == RING_PASS_FORWARD ? 1 : 0.75) * (dtype == RING_FP32 ? 0.125 : 1) * q_tokens *
           k_tokens / (q_tokens * k_tokens + 512.0 * 512.0);
}

/* --- memory */

/* A test that goes wrong here has asked for what no device would do. */
static void insist(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "ringlab-rank: priced device: %s\n", what);
    abort();
}

static void note(const void *at, uint64_t bytes, enum place place)
{
    for (size_t i = 0; i < MOST_PIECES; i++)
        if (!pieces[i].at) {
            pieces[i] = (struct piece){at, bytes, place};
            return;
        }
    insist(false, "more pieces than a test should take");
}

static void forget(const void *at)
{
    for (size_t i = 0; i < MOST_PIECES; i++)
        if (pieces[i].at == at)
            pieces[i].at = NULL;
}

static enum place place_of(const void *data)
{
    for (size_t i = 0; i < MOST_PIECES; i++)
        if (pieces[i].at && (const char *)data >= pieces[i].at &&
            (const char *)data < pieces[i].at + pieces[i].bytes)
            return pieces[i].place;
    return ELSEWHERE;
}

static enum ring_status take(uint64_t bytes, void **memory, struct ring_error *error)
{
    enum ring_status status = device_stream_take(bytes, memory, error);
    if (status == RING_OK)
        note(*memory, bytes, DEVICE);
    return status;
}

static void give(void *memory)
{
    forget(memory);
    device_stream_give(memory);
}

static enum ring_status take_pinned(uint64_t bytes, void **memory, struct ring_error *error)
{
    enum ring_status status = device_stream_take_pinned(bytes, memory, error);
    if (status == RING_OK)
        note(*memory, bytes, PINNED);
    return status;
}

static void give_pinned(void *memory)
{
    forget(memory);
    device_stream_give_pinned(memory);
}

static enum ring_status reach(const struct exec_device_handle *handle, void **memory,
                              struct ring_error *error)
{
    enum ring_status status = device_stream_reach(handle, memory, error);
    if (status == RING_OK)
        note(*memory, UINT64_C(64) << 20, REACHED);
    return status;
}

static void leave(void *memory)
{
    forget(memory);
    device_stream_leave(memory);
}

/* --- the device */

static enum ring_status count(int *n_devices, struct ring_error *error)
{
    (void)error;
    *n_devices = 1;
    return RING_OK;
}

static enum ring_status open_device(int number, char *name, struct ring_error *error)
{
    (void)error;
    snprintf(name, EXEC_DEVICE_NAME_BYTES, "priced device %d", number);
    return RING_OK;
}

static enum ring_status facts(struct exec_device_facts *found, struct ring_error *error)
{
    (void)error;
    *found = (struct exec_device_facts){.name = "priced device",
                                        .memory_bytes = UINT64_C(80) << 30,
                                        .driver = 13000,
                                        .runtime = 12080,
                                        .n_processors = 132,
                                        .clock_hz = 1.98e9,
                                        .memory_clock_hz = 2.619e9};
    return RING_OK;
}

static uint64_t most_taken(void)
{
    return 0;
}

/* --- streams and events */

static enum ring_status open_stream(void **stream, struct ring_error *error)
{
    for (size_t i = 0; i < MOST_STREAMS; i++)
        if (!streams[i]) {
            *stream = streams[i] = calloc(1, sizeof *streams[i]);
            device_stream_counted.streams += *stream != NULL;
            return *stream ? RING_OK : ring_fail(error, RING_NO_MEMORY, "priced device: out of memory");
        }
    return ring_fail(error, RING_NO_MEMORY, "priced device: out of streams");
}

static void close_stream(void *stream)
{
    for (size_t i = 0; i < MOST_STREAMS; i++)
        if (streams[i] == stream)
            streams[i] = NULL;
    free(stream);
    device_stream_counted.streams--;
}

static enum ring_status settle(void *of, struct ring_error *error)
{
    const struct stream *stream = of;

    (void)error;
    now_s = fmax(now_s, stream->until_s);
    return RING_OK;
}

static enum ring_status open_event(void **event, struct ring_error *error)
{
    *event = calloc(1, sizeof(struct event));
    device_stream_counted.events += *event != NULL;
    return *event ? RING_OK : ring_fail(error, RING_NO_MEMORY, "priced device: out of memory");
}

static void close_event(void *event)
{
    free(event);
    device_stream_counted.events--;
}

static enum ring_status record(void *of, void *in, struct ring_error *error)
{
    struct event *event = of;
    const struct stream *stream = in;

    (void)error;
    event->when_s = fmax(stream->until_s, now_s);
    return RING_OK;
}

static enum ring_status follow(void *in, void *of, struct ring_error *error)
{
    struct stream *stream = in;
    const struct event *event = of;

    (void)error;
    stream->until_s = fmax(stream->until_s, event->when_s);
    return RING_OK;
}

static enum ring_status passed(void *of, bool *has_passed, struct ring_error *error)
{
    const struct event *event = of;

    (void)error;
    *has_passed = event->when_s <= now_s;
    now_s += *has_passed ? 0 : price.question_s;
    return RING_OK;
}

static enum ring_status between(void *from, void *to, double *seconds, struct ring_error *error)
{
    (void)error;
    *seconds = ((struct event *)to)->when_s - ((struct event *)from)->when_s;
    return RING_OK;
}

/* Puts something that takes so long into a stream. */
static void enqueue(struct stream *stream, double seconds, bool copies)
{
    now_s += price.launch_s;
    stream->until_s = fmax(stream->until_s, now_s) + seconds;
    stream->copies = copies;
    device_stream_counted.done++;
    device_stream_counted.late_copies += copies;
}

static enum ring_status copy(void *to, const void *from, uint64_t bytes, void *stream,
                             struct ring_error *error)
{
    enum place target = place_of(to), source = place_of(from);
    double bytes_per_s = source == REACHED                      ? price.peer_bytes_per_s
                         : source == DEVICE && target == DEVICE ? price.within_bytes_per_s
                         : target == DEVICE                     ? price.in_bytes_per_s
                                                                : price.out_bytes_per_s;

    (void)error;
    enqueue(stream, price.copy_latency_s + (double)bytes / bytes_per_s, true);
    return RING_OK;
}

/* --- kernels */

static bool copies_are_under_way(double when_s)
{
    for (size_t i = 0; i < MOST_STREAMS; i++)
        if (streams[i] && streams[i]->copies && streams[i]->until_s > when_s)
            return true;
    return false;
}

static enum ring_status run_block(enum ring_pass pass, const struct cuda_block *block, bool begin,
                                  struct stream *stream)
{
    double q = (double)block->queries.tokens, k = (double)block->keys.tokens;
    double pairs = block->causal ? q * (q + 1) / 2 : q * k;
    double seconds = (pass == RING_PASS_FORWARD ? 4.0 : 10.0) * block->head_dim * block->heads * pairs /
                     device_priced_rate(pass, block->dtype, block->head_dim, q, k);

    if (begin)
        seconds /= 1 + price.merge_share;
    if (copies_are_under_way(fmax(stream->until_s, now_s)))
        seconds *= price.slowed;
    enqueue(stream, fmax(seconds, price.kernel_s), false);
    return RING_OK;
}

static enum ring_status forward(const struct cuda_block *block, bool begin, void *stream,
                                struct ring_error *error)
{
    (void)error;
    return run_block(RING_PASS_FORWARD, block, begin, stream);
}

static enum ring_status backward(const struct cuda_block *block, bool begin, void *stream,
                                 struct ring_error *error)
{
    (void)error;
    return run_block(RING_PASS_BACKWARD, block, begin, stream);
}

static enum ring_status add(enum ring_dtype dtype, void *gradient, const float *contribution, uint64_t n,
                            bool begin, void *stream, struct ring_error *error)
{
    double bytes = (double)n * (4 + (begin ? 1 : 2) * ring_dtype_bytes(dtype));

    (void)error;
    insist(place_of(gradient) == DEVICE && place_of(contribution) == DEVICE, "an addition of host memory");
    enqueue(stream, fmax(bytes / price.add_bytes_per_s, price.kernel_s), false);
    return RING_OK;
}

static bool supports(enum ring_dtype dtype, uint32_t head_dim)
{
    (void)head_dim;
    return dtype != RING_FP64;
}

const struct exec_device_runtime device_priced_runtime = {
    .count = count,
    .open = open_device,
    .facts = facts,
    .take = take,
    .give = give,
    .most_taken = most_taken,
    .take_pinned = take_pinned,
    .give_pinned = give_pinned,
    .open_stream = open_stream,
    .close_stream = close_stream,
    .settle = settle,
    .open_event = open_event,
    .close_event = close_event,
    .record = record,
    .follow = follow,
    .passed = passed,
    .between = between,
    .copy = copy,
    .share = device_stream_share,
    .reach = reach,
    .leave = leave,
    .kernels = {.supports = supports, .forward = forward, .backward = backward, .add = add},
};
