/* SPDX-License-Identifier: MIT
 *
 * Queues, what is in them, and when it is done. See device_stream.h. One thread; all state is this process's.
 */
#include "tests/cuda/device_stream_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum kind { COPY, RECORD, FOLLOW, CALL, KERNEL };
enum kernel { FORWARD, FINISH, PREPARE, BACKWARD, ADD };

struct event {
    uint64_t recorded, passed; /* how often */
    double when_s;
};

struct item {
    enum kind kind;
    void *to; /* of a copy; of an addition */
    const void *from;
    uint64_t bytes; /* or elements */
    struct event *event;
    uint64_t turn; /* of the event's records */
    void (*call)(void *context);
    void *context;
    enum kernel kernel;
    struct cuda_block block;
    bool begin;
    enum ring_dtype dtype;
    struct item *next;
};

struct stream {
    struct item *first, **end;
    struct stream *next;
};

const char *const device_stream_paces[DEVICE_STREAM_N_PACES] = {"eager", "late", "random"};

static struct stream *streams;
static enum device_stream_pace pace;
static uint64_t dice = 1;
static int n_devices = 1;
static struct ring_error failed; /* of a kernel, reported where an event is asked for */

static double clock_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint32_t roll(uint32_t n)
{
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(dice >> 33) % n;
}

void device_stream_set(enum device_stream_pace new_pace, uint32_t seed)
{
    pace = new_pace;
    dice = 2 * (uint64_t)seed + 1;
}

void device_stream_set_count(int n)
{
    n_devices = n;
}

struct device_stream_counts device_stream_counts(void)
{
    return device_stream_counted;
}

/* --- doing
 * ---------------------------------------------------------------------------------------------------------
 */

static void run_kernel(const struct item *item)
{
    switch (item->kernel) {
    case FORWARD:
        cuda_block_forward(&item->block, item->begin, NULL, &failed);
        break;
    case FINISH:
        cuda_block_finish(&item->block, item->to, NULL, &failed);
        break;
    case PREPARE:
        cuda_block_prepare(&item->block, NULL, &failed);
        break;
    case BACKWARD:
        cuda_block_backward(&item->block, item->begin, NULL, &failed);
        break;
    case ADD:
        cuda_block_add(item->dtype, item->to, item->from, item->bytes, item->begin, NULL, &failed);
        break;
    }
}

static bool may_run(const struct item *item)
{
    return item->kind != FOLLOW || item->event->passed >= item->turn;
}

/* Does the first item of a stream, which may run. */
static void do_first(struct stream *stream)
{
    struct item *item = stream->first;

    stream->first = item->next;
    if (!stream->first)
        stream->end = &stream->first;
    switch (item->kind) {
    case COPY:
        memcpy(item->to, item->from, item->bytes);
        break;
    case RECORD:
        item->event->passed = item->turn;
        item->event->when_s = clock_s();
        break;
    case FOLLOW:
        break;
    case CALL:
        item->call(item->context);
        break;
    case KERNEL:
        run_kernel(item);
        break;
    }
    device_stream_counted.done++;
    free(item);
}

/* Some items, of any stream. false: nothing could be done. */
static bool do_one(void)
{
    uint32_t n = 0;

    for (const struct stream *s = streams; s; s = s->next)
        n += s->first && may_run(s->first);
    if (n == 0)
        return false;
    uint32_t which = roll(n);
    for (struct stream *s = streams; s; s = s->next)
        if (s->first && may_run(s->first) && which-- == 0) {
            do_first(s);
            return true;
        }
    return false;
}

/* Everything that this turn of an event needs, and nothing else. */
static void do_for(const struct event *event, uint64_t turn)
{
    struct stream *holder = NULL;

    if (event->passed >= turn)
        return;
    for (struct stream *s = streams; s && !holder; s = s->next)
        for (const struct item *i = s->first; i; i = i->next)
            if (i->kind == RECORD && i->event == event && i->turn == turn)
                holder = s;
    while (holder && event->passed < turn) {
        if (!may_run(holder->first))
            do_for(holder->first->event, holder->first->turn);
        do_first(holder);
    }
}

static enum ring_status enqueue(struct stream *stream, struct item item, struct ring_error *error)
{
    struct item *copy = malloc(sizeof *copy);

    if (!copy)
        return ring_fail(error, RING_NO_MEMORY, "test device: out of memory");
    *copy = item;
    copy->next = NULL;
    *stream->end = copy;
    stream->end = &copy->next;
    while (pace == DEVICE_STREAM_EAGER && do_one())
        ;
    return RING_OK;
}

/* --- streams and events
 * ---------------------------------------------------------------------------------------------------------
 */

static enum ring_status count_devices(int *n, struct ring_error *error)
{
    *n = n_devices;
    return n_devices > 0 ? RING_OK : ring_fail(error, RING_UNSUPPORTED, "the test has none");
}

static enum ring_status open_device(int number, char *name, struct ring_error *error)
{
    (void)error;
    snprintf(name, EXEC_DEVICE_NAME_BYTES, "test device %d", number);
    return RING_OK;
}

static enum ring_status facts(struct exec_device_facts *found, struct ring_error *error)
{
    (void)error;
    *found = (struct exec_device_facts){.name = "test device"};
    return RING_OK;
}

static enum ring_status open_stream(void **stream, struct ring_error *error)
{
    struct stream *opened = calloc(1, sizeof *opened);

    *stream = opened;
    if (!opened)
        return ring_fail(error, RING_NO_MEMORY, "test device: out of memory");
    opened->end = &opened->first;
    opened->next = streams;
    streams = opened;
    device_stream_counted.streams++;
    return RING_OK;
}

static enum ring_status settle(void *of, struct ring_error *error)
{
    struct stream *stream = of;

    (void)error;
    while (stream->first) {
        if (!may_run(stream->first))
            do_for(stream->first->event, stream->first->turn);
        do_first(stream);
    }
    return RING_OK;
}

static void close_stream(void *stream)
{
    struct stream **link = &streams;

    settle(stream, NULL);
    while (*link != stream)
        link = &(*link)->next;
    *link = (*link)->next;
    free(stream);
    device_stream_counted.streams--;
}

static enum ring_status open_event(void **event, struct ring_error *error)
{
    *event = calloc(1, sizeof(struct event));
    device_stream_counted.events += *event != NULL;
    return *event ? RING_OK : ring_fail(error, RING_NO_MEMORY, "test device: out of memory");
}

static void close_event(void *event)
{
    free(event);
    device_stream_counted.events--;
}

static enum ring_status record(void *of, void *stream, struct ring_error *error)
{
    struct event *event = of;
    return enqueue(stream, (struct item){.kind = RECORD, .event = event, .turn = ++event->recorded}, error);
}

static enum ring_status follow(void *stream, void *of, struct ring_error *error)
{
    struct event *event = of;
    return enqueue(stream, (struct item){.kind = FOLLOW, .event = event, .turn = event->recorded}, error);
}

/* A late device takes its time even so: the first question is always answered with no. */
static enum ring_status passed(void *of, bool *has_passed, struct ring_error *error)
{
    struct event *event = of;

    if (failed.text[0])
        return ring_fail(error, RING_WORLD, "%s", failed.text);
    *has_passed = event->passed == event->recorded;
    if (!*has_passed && pace == DEVICE_STREAM_LATE && roll(4) == 0)
        do_for(event, event->recorded);
    for (uint32_t n = pace == DEVICE_STREAM_RANDOM ? roll(4) : 0; n > 0 && do_one(); n--)
        ;
    return RING_OK;
}

static enum ring_status between(void *from, void *to, double *seconds, struct ring_error *error)
{
    (void)error;
    *seconds = ((struct event *)to)->when_s - ((struct event *)from)->when_s;
    return RING_OK;
}

static enum ring_status copy(void *to, const void *from, uint64_t bytes, void *stream,
                             struct ring_error *error)
{
    uint64_t before = device_stream_counted.done;
    enum ring_status status =
        enqueue(stream, (struct item){.kind = COPY, .to = to, .from = from, .bytes = bytes}, error);

    device_stream_counted.late_copies += device_stream_counted.done == before;
    return status;
}

enum ring_status device_stream_call(void *stream, void (*call)(void *context), void *context,
                                    struct ring_error *error)
{
    return enqueue(stream, (struct item){.kind = CALL, .call = call, .context = context}, error);
}

/* --- kernels
 * ---------------------------------------------------------------------------------------------------------
 */

static enum ring_status forward(const struct cuda_block *block, bool begin, void *stream,
                                struct ring_error *error)
{
    return enqueue(stream, (struct item){.kind = KERNEL, .kernel = FORWARD, .block = *block, .begin = begin},
                   error);
}

static enum ring_status finish(const struct cuda_block *block, float *out, void *stream,
                               struct ring_error *error)
{
    return enqueue(stream, (struct item){.kind = KERNEL, .kernel = FINISH, .block = *block, .to = out},
                   error);
}

static enum ring_status prepare(const struct cuda_block *block, void *stream, struct ring_error *error)
{
    return enqueue(stream, (struct item){.kind = KERNEL, .kernel = PREPARE, .block = *block}, error);
}

static enum ring_status backward(const struct cuda_block *block, bool begin, void *stream,
                                 struct ring_error *error)
{
    return enqueue(stream, (struct item){.kind = KERNEL, .kernel = BACKWARD, .block = *block, .begin = begin},
                   error);
}

static enum ring_status add(enum ring_dtype dtype, void *gradient, const float *contribution, uint64_t n,
                            bool begin, void *stream, struct ring_error *error)
{
    return enqueue(stream,
                   (struct item){.kind = KERNEL,
                                 .kernel = ADD,
                                 .dtype = dtype,
                                 .to = gradient,
                                 .from = contribution,
                                 .bytes = n,
                                 .begin = begin},
                   error);
}

const struct exec_device_runtime device_stream_runtime = {
    .count = count_devices,
    .open = open_device,
    .facts = facts,
    .take = device_stream_take,
    .give = device_stream_give,
    .most_taken = device_stream_most_taken,
    .take_pinned = device_stream_take_pinned,
    .give_pinned = device_stream_give_pinned,
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
    .reach = device_stream_reach,
    .leave = device_stream_leave,
    .kernels = {cuda_block_supports, forward, finish, prepare, backward, add},
};
