/* SPDX-License-Identifier: MIT
 *
 * The world: starts SimGrid on a ring's platform, seats the ranks, and ends the run when one fails or none
 * can go on. The options below are what makes simulated times exact. */
#include "sim/world.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/semaphore.h>
#include <simgrid/forward.h> /* version.h needs it */
#include <simgrid/version.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "models/deadlock.h"
#include "sim/faults.h"
#include "sim/platform.h"

void sim_world_fail(struct sim_world *world, enum ring_status status, const char *line)
{
    if (world->status != RING_OK)
        return;
    world->status = ring_fail(&world->error, status, "%s", line);
    for (uint32_t rank = 0; rank < world->play.ring->plan->n_ranks; rank++) {
        struct sim_seat *seat = &world->seats[rank];
        if (seat->awaits)
            sim_seat_wake(seat, seat->awaits);
    }
}

static struct model_wait find_wait(const struct sim_seat *seat)
{
    const struct sim_errand *errand = seat->awaits;
    const struct ring_message *message = &errand->message;
    struct model_wait wait = {.rank = seat->rank, .block = message->block, .hop = message->step};

    if (errand->kind == SIM_COMPUTATION) {
        wait.kind = MODEL_WAIT_COMPUTE;
        return wait;
    }
    bool receives = errand->hop->target == seat->rank;
    wait.kind = receives ? MODEL_WAIT_RECEIVE : MODEL_WAIT_SEND;
    wait.peer = receives ? errand->rank : errand->hop->target;
    return wait;
}

static void describe_deadlock(const struct sim_world *world, char *line, size_t size)
{
    struct model_wait *waits = malloc((world->n_blocked + 1) * sizeof *waits);
    size_t n = 0;

    for (uint32_t i = 0; waits && i < world->play.ring->plan->n_ranks && n < world->n_blocked; i++)
        if (world->seats[i].awaits)
            waits[n++] = find_wait(&world->seats[i]);
    if (waits)
        model_deadlock_line(world->play.ring, waits, n, line, size);
    else
        snprintf(line, size, "nobody can go on");
    free(waits);
}

void sim_world_check_progress(struct sim_world *world)
{
    char line[sizeof world->error.text];

    if (world->status != RING_OK || world->n_blocked == 0 || world->n_errands > 0 ||
        world->n_blocked + world->n_finished < world->play.ring->plan->n_ranks)
        return;
    /* A rank looks after its lazy messages in their own waits; but if all wait, it may as well do so now. */
    for (uint32_t rank = 0; rank < world->play.ring->plan->n_ranks; rank++)
        if (world->seats[rank].awaits)
            sim_transport_hurry(&world->seats[rank]);
    if (world->n_errands > 0 || world->n_blocked + world->n_finished < world->play.ring->plan->n_ranks)
        return;
    describe_deadlock(world, line, sizeof line);
    sim_world_fail(world, RING_DEADLOCK, line);
}

/* A computation on a device of its own: its end is known, and it has come or is slept for. */
static void await_clock(struct sim_world *world, struct sim_errand *errand)
{
    double due_s = errand->ended_s;

    if (due_s > simgrid_get_clock())
        sg_actor_sleep_until(due_s);
    sim_errand_end(world, errand);
    errand->ended_s = fmin(due_s, errand->ended_s);
}

static void block(struct sim_seat *seat, const struct sim_errand *errand)
{
    seat->awaits = errand;
    seat->world->n_blocked++;
    sim_world_check_progress(seat->world);
    sg_sem_acquire(seat->gate);
}

enum ring_status sim_world_await(struct sim_seat *seat, struct sim_errand *errand)
{
    struct sim_world *world = seat->world;
    bool carries = errand->kind == SIM_MESSAGE && errand->hop->target == seat->rank;

    if (world->status == RING_OK && errand->stage == SIM_CLOCKED && !isinf(errand->ended_s))
        await_clock(world, errand);
    if (world->status == RING_OK && errand->stage != SIM_DONE && !(errand->stage == SIM_READY && carries))
        block(seat, errand);
    if (world->status == RING_OK && errand->stage == SIM_READY) {
        sim_errand_carry(world, errand);
        if (world->status == RING_OK && errand->stage == SIM_STRANDED)
            block(seat, errand);
    }
    if (world->status != RING_OK)
        seat->base.error = world->error;
    return world->status;
}

static void rank_main(int argc, char **argv)
{
    struct sim_seat *seat = sg_actor_self_get_data();
    struct sim_world *world = seat->world;
    struct ring_error error = {""};

    (void)argc;
    (void)argv;
    enum ring_status status = world->play.body(world->play.context, seat->rank, &seat->base, &error);
    seat->end_s = simgrid_get_clock();
    world->n_finished++;
    if (status != RING_OK)
        sim_world_fail(world, status, error.text);
    sim_world_check_progress(world);
    if (world->n_finished == world->play.ring->plan->n_ranks)
        sim_couriers_dismiss(world);
}

/* Gives SimGrid an argument vector of its own, for it eats what it takes for options, and undoes the handlers
 * that it installs: this process dies as others do. */
static void start_simgrid(bool computes)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGUSR1};
    enum { N_SIGNALS = sizeof signals / sizeof *signals };
    struct sigaction before[N_SIGNALS];

    /* Stacks are mapped whole but touched only as far as used; real kernels need room. */
#ifdef __SANITIZE_ADDRESS__
    static char small[] = "--cfg=contexts/stack-size:512", large[] = "--cfg=contexts/stack-size:8192";
#else
    static char small[] = "--cfg=contexts/stack-size:64", large[] = "--cfg=contexts/stack-size:1024";
#endif
    static char name[] = "ringlab", quiet[] = "--log=root.thresh:error", model[] = "--cfg=network/model:CM02",
                cross[] = "--cfg=network/crosstraffic:0", window[] = "--cfg=network/TCP-gamma:1e30",
                threads[] = "--cfg=contexts/nthreads:1",
#if defined __x86_64__ || defined __i386__
                contexts[] = "--cfg=contexts/factory:raw", /* the fastest; not everywhere */
#else
                contexts[] = "--cfg=contexts/guard-size:1", /* the default, said again */
#endif
#if SIMGRID_VERSION >= 33400
        precision[] = "--cfg=precision/timing:1e-12";
#else
        precision[] = "--cfg=surf/precision:1e-12";
#endif
    char *argv[] = {name, quiet, model, cross, window, threads, contexts, precision, computes ? large : small,
                    NULL};
    int argc = (int)(sizeof argv / sizeof *argv) - 1;

    for (size_t i = 0; i < N_SIGNALS; i++)
        sigaction(signals[i], NULL, &before[i]);
    simgrid_init(&argc, argv);
    for (size_t i = 0; i < N_SIGNALS; i++)
        sigaction(signals[i], &before[i], NULL);
}

/* The platform goes through a file without a name. */
static enum ring_status load_platform(const struct model_ring *ring, struct ring_error *error)
{
    char path[64];
    int fd = memfd_create("ringlab-platform", MFD_CLOEXEC);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

    if (!file) {
        if (fd >= 0)
            close(fd);
        return ring_fail(error, RING_IO, "no file for the simulator's platform: %s", strerror(errno));
    }
    enum ring_status status = sim_platform_write(ring, file, error);
    if (status == RING_OK) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        simgrid_load_platform(path);
    }
    fclose(file);
    return status;
}

/* n_on: zeroed, one a device. */
static void seat_ranks(struct sim_world *world, uint32_t *n_on)
{
    const struct model_ring *ring = world->play.ring;

    for (uint32_t rank = 0; rank < ring->plan->n_ranks; rank++)
        n_on[ring->device_of_rank[rank]]++;
    for (uint32_t rank = 0; rank < ring->plan->n_ranks; rank++) {
        struct sim_seat *seat = &world->seats[rank];
        char name[SIM_HOST_NAME_SIZE];
        sim_host_name(name, ring->device_of_rank[rank]);
        seat->world = world;
        seat->rank = rank;
        seat->alone = n_on[ring->device_of_rank[rank]] == 1;
        seat->host = sg_host_by_name(name); /* by name: SimGrid's own lists are in no useful order */
        seat->gate = sg_sem_init(0);
        sim_transport_init(seat);
        snprintf(name, sizeof name, "%" PRIu32, rank);
        sg_actor_t actor = sg_actor_init(name, seat->host);
        sg_actor_set_data(actor, seat);
        sg_actor_start(actor, rank_main, 0, NULL);
    }
}

enum ring_status sim_world_play(const struct sim_play *play, double *ends_s, struct ring_error *error)
{
    uint32_t n_ranks = play->ring->plan->n_ranks;
    struct sim_world world = {
        .play = *play,
        .seats = calloc(n_ranks, sizeof *world.seats),
        .queues = calloc(play->ring->hop_first[n_ranks] + 1, sizeof *world.queues),
    };
    uint32_t *n_on = calloc(play->ring->topology->n_devices + 1, sizeof *n_on);
    enum ring_status status = RING_OK;

    if (!world.seats || !world.queues || !n_on)
        status = ring_fail(error, RING_NO_MEMORY, "out of memory for %" PRIu32 " simulated ranks", n_ranks);
    if (status == RING_OK) {
        start_simgrid(play->compute != NULL);
        status = load_platform(play->ring, error);
    }
    if (status == RING_OK) {
        seat_ranks(&world, n_on);
        status = sim_faults_start(&world, error);
    }
    if (status == RING_OK) {
        simgrid_run();
        status = world.status;
        if (status != RING_OK)
            ring_fail(error, status, "%s", world.error.text);
        else if (world.n_finished < n_ranks)
            status = ring_fail(error, RING_WORLD,
                               "the simulation ended with %" PRIu32 " of %" PRIu32 " ranks finished",
                               world.n_finished, n_ranks);
    }
    for (uint32_t rank = 0; rank < n_ranks && status == RING_OK; rank++)
        ends_s[rank] = world.seats[rank].end_s;
    sim_faults_stop(&world);
    free(world.seats);
    free(world.queues);
    free(n_on);
    return status;
}
