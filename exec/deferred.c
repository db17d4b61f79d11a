/* SPDX-License-Identifier: MIT
 *
 * The computations of the MPI transport: what runs when a wait finds work pending, and how often messages are
 * looked after meanwhile. */
#include "exec/transport_parts.h"

#include <inttypes.h>
#include <math.h>

#include "exec/helper.h"

double exec_transport_look_interval_s(const struct exec_transport *t)
{
    uint64_t largest = 0;
    bool any = false;

    for (const struct exec_flight *flight = t->hangar.messages.first; flight; flight = flight->next) {
        if (flight->done)
            continue;
        any = true;
        if (flight->message.bytes > largest)
            largest = flight->message.bytes;
    }
    return any ? model_look_interval_s(largest) : INFINITY;
}

/* Seconds between looks while computing; infinite if somebody else looks, or nobody. */
static double poll_interval_s(const struct exec_transport *t)
{
    return t->spec.progress == MODEL_PROGRESS_POLL ? exec_transport_look_interval_s(t) : INFINITY;
}

/* A computation that looks up from its work now and then. */
struct watch {
    double begun_s, polled_s; /* when it began, and when it last looked */
    double polling_s;         /* time spent looking */
    double block_s;           /* how long it is to take, if that is fixed */
    double interval_s;
    bool helped; /* a helper looks meanwhile */
    uint32_t step;
};

/* Stopped because a neighbour is gone, perhaps: which messages were still on their way. */
static enum ring_status stopped(struct exec_transport *t, uint32_t step)
{
    char list[512] = "", what[128];
    size_t n = 0;

    if (t->helper) /* the list is this thread's again */
        exec_helper_end(t->helper, NULL);
    for (const struct exec_flight *flight = t->hangar.messages.first; flight && n < sizeof list - sizeof what;
         flight = flight->next) {
        if (flight->done)
            continue;
        exec_flight_describe(flight, what, sizeof what);
        n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", n > 0 ? ", " : "; pending ", what);
    }
    return ring_fail(&t->base.error, RING_WORLD,
                     "rank %d: step %" PRIu32 ": stopped from outside while computing%s", t->rank, step,
                     list);
}

static enum ring_status look_up(struct exec_transport *t, struct watch *watch)
{
    double before_s = exec_transport_now(t);

    if (exec_stopped(&t->spec.bound))
        return stopped(t, watch->step);
    if (before_s - watch->polled_s < watch->interval_s)
        return RING_OK;
    enum ring_status status = exec_transport_look(t);
    watch->polled_s = exec_transport_now(t);
    watch->polling_s += watch->polled_s - before_s;
    watch->interval_s = poll_interval_s(t);
    return status;
}

static double hardship_factor(const struct exec_transport *t, const struct exec_flight *flight)
{
    return t->spec.hardship ? exec_hardship_factor(t->spec.hardship, flight->task.step, exec_transport_now(t))
                            : 1;
}

/* Keeps the core busy for so much longer than the work itself took. */
static enum ring_status endure(struct exec_transport *t, double extra_s, struct watch *watch)
{
    double begun_s = exec_transport_now(t), polling_s = watch->polling_s;
    enum ring_status status = RING_OK;

    while (status == RING_OK && exec_transport_now(t) - begun_s - (watch->polling_s - polling_s) < extra_s)
        status = look_up(t, watch);
    return status;
}

/* The kernel, a piece at a time. */
static enum ring_status compute_pieces(struct exec_transport *t, const struct exec_flight *flight,
                                       struct watch *watch)
{
    const struct ring_compute *kernel = t->spec.compute.kernel;
    uint32_t n_pieces = kernel->n_pieces(kernel->context, &flight->task);
    enum ring_status status = RING_OK;

    for (uint32_t piece = 0; piece < n_pieces && status == RING_OK; piece++) {
        double factor = hardship_factor(t, flight), begun_s = exec_transport_now(t);
        status = kernel->run_piece(kernel->context, &flight->task, piece, &t->base.error);
        if (status == RING_OK && factor > 1)
            status = endure(t, (factor - 1) * (exec_transport_now(t) - begun_s), watch);
        if (status == RING_OK)
            status = look_up(t, watch);
    }
    return status;
}

/* What the rank's threads share while they do a task. */
struct joint_work {
    struct exec_transport *t;
    const struct exec_flight *flight;
    struct watch *watch;
    enum ring_status looked; /* of the rank's own thread */
};

static bool look_between(void *context)
{
    struct joint_work *work = context;

    work->looked = look_up(work->t, work->watch);
    return work->looked == RING_OK;
}

static double extra_s(void *context, double begun_s)
{
    const struct joint_work *work = context;

    return (hardship_factor(work->t, work->flight) - 1) * (exec_clock_s() - begun_s);
}

/* The kernel, by several threads. */
static enum ring_status compute_together(struct exec_transport *t, const struct exec_flight *flight,
                                         struct watch *watch)
{
    struct joint_work work = {t, flight, watch, RING_OK};
    const struct exec_crew_duty duty = {look_between, extra_s, &work};
    struct ring_error error;

    enum ring_status status =
        exec_crew_compute(t->spec.compute.kernel, &flight->task, &duty, &t->crew_time, &error);
    if (work.looked == RING_OK && status != RING_OK)
        t->base.error = error;
    return work.looked == RING_OK ? status : work.looked;
}

/* What looking at messages has cost the computation, by whoever looked. Of several threads one looks, and the
 * others take over what it would have done. */
static double looking_s(const struct exec_transport *t, const struct watch *watch)
{
    const struct ring_compute *kernel = t->spec.compute.kernel;
    double taken_s = watch->polling_s + (watch->helped ? exec_helper_taken_s(t->helper) : 0);

    return kernel && kernel->n_hands > 1 ? taken_s / kernel->n_hands : taken_s;
}

/* A block of fixed length on a core that is busy: looking costs the computation its time. */
static enum ring_status compute_spinning(struct exec_transport *t, struct watch *watch)
{
    enum ring_status status = RING_OK;

    while (status == RING_OK && exec_transport_now(t) - watch->begun_s - looking_s(t, watch) < watch->block_s)
        status = look_up(t, watch);
    return status;
}

/* A block of fixed length that somebody else computes: this core is free to look after messages. */
static enum ring_status compute_napping(struct exec_transport *t, struct watch *watch)
{
    double end_s = watch->begun_s + watch->block_s;
    enum ring_status status = RING_OK;

    for (double left_s; status == RING_OK && (left_s = end_s - exec_transport_now(t)) > 0;) {
        exec_nap(fmin(left_s, watch->interval_s));
        if (exec_transport_now(t) < end_s)
            status = look_up(t, watch);
    }
    return status;
}

static enum ring_status run_compute(struct exec_transport *t, struct exec_flight *flight)
{
    const struct exec_compute *compute = &t->spec.compute;
    enum ring_status status = RING_OK;
    double fixed_s = model_fixed_block_s(compute->block_s, compute->backward_block_s, flight->task.job);
    double begun_s = exec_transport_now(t);
    struct watch watch = {.begun_s = begun_s,
                          .polled_s = begun_s,
                          .interval_s = poll_interval_s(t),
                          .step = flight->task.step,
                          .block_s = fixed_s * hardship_factor(t, flight)};

    watch.helped =
        t->helper && (watch.block_s > 0 || compute->kernel) && !isinf(exec_transport_look_interval_s(t));
    if (watch.helped)
        exec_helper_begin(t->helper, watch.block_s > 0 && compute->core_free);
    if (watch.block_s > 0 && compute->core_free)
        status = compute_napping(t, &watch);
    else if (watch.block_s > 0)
        status = compute_spinning(t, &watch);
    else if (compute->kernel && compute->kernel->n_hands > 1)
        status = compute_together(t, flight, &watch);
    else if (compute->kernel)
        status = compute_pieces(t, flight, &watch);
    flight->begun_s = begun_s;
    flight->ended_s = exec_transport_now(t) - looking_s(t, &watch);
    if (watch.helped) {
        struct ring_error error;
        enum ring_status met = exec_helper_end(t->helper, &error);
        if (status == RING_OK && met != RING_OK)
            t->base.error = error;
        status = status == RING_OK ? met : status;
    }
    if (watch.block_s > 0)
        flight->ended_s = begun_s + watch.block_s;
    flight->done = status == RING_OK;
    return status;
}

/* A slow device: what took so long is to take so much longer, though nothing works any more. */
static void prolong(const struct exec_transport *t, struct exec_flight *flight)
{
    double factor = hardship_factor(t, flight);

    flight->endures = true;
    flight->ended_s += (factor - 1) * (flight->ended_s - flight->begun_s);
}

enum ring_status exec_transport_look_at_device(struct exec_transport *t)
{
    const struct exec_worker *worker = t->spec.compute.worker;
    enum ring_status status = RING_OK;

    for (struct exec_flight *flight = t->hangar.computes.first; worker && flight && status == RING_OK;
         flight = flight->next) {
        if (flight->done)
            continue;
        if (!flight->endures)
            status = worker->test(worker->context, flight, &t->base.error);
        if (!flight->endures && flight->done)
            prolong(t, flight);
        if (flight->endures)
            flight->done = exec_transport_now(t) >= flight->ended_s;
    }
    return status;
}

/* Work first, oldest first, up to the computation that is waited for or through all of it. */
enum ring_status exec_transport_compute(struct exec_transport *t, const struct exec_flight *until)
{
    enum ring_status status = RING_OK;

    if (t->spec.compute.worker)
        return RING_OK;
    for (struct exec_flight *flight = t->hangar.computes.first; flight && status == RING_OK;
         flight = flight->next) {
        if (!flight->done)
            status = run_compute(t, flight);
        if (flight == until)
            break;
    }
    return status;
}
