/* SPDX-License-Identifier: MIT
 *
 * Errands and who carries them out. A rank that waits for its message carries it itself; where none stands
 * by, a courier does, an actor of its own: a rank that comes to its wait late could not tell how late.
 * Couriers are hired when needed and reused. */
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/exec.h>
#include <simgrid/host.h>
#include <simgrid/semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "sim/faults.h"
#include "sim/platform.h"
#include "sim/world.h"

void sim_seat_wake(struct sim_seat *seat, const struct sim_errand *errand)
{
    if (seat->awaits != errand)
        return;
    seat->awaits = NULL;
    seat->world->n_blocked--;
    sg_sem_release(seat->gate);
}

static void end_computation(struct sim_seat *seat, struct sim_errand *errand)
{
    struct sim_errand **link = &seat->computations;

    while (*link != errand)
        link = &(*link)->next;
    *link = errand->next;
    sim_seat_wake(seat, errand);
}

void sim_errand_end(struct sim_world *world, struct sim_errand *errand)
{
    errand->stage = SIM_DONE;
    errand->ended_s = simgrid_get_clock();
    if (errand->kind == SIM_COMPUTATION) {
        end_computation(&world->seats[errand->rank], errand);
        return;
    }
    /* Neither end's wait has returned, so both buffers are still the message's. */
    if (errand->from && errand->to && errand->from_bytes > 0)
        memcpy(errand->to, errand->from, errand->from_bytes);
    sim_seat_wake(&world->seats[errand->rank], errand);
    sim_seat_wake(&world->seats[errand->hop->target], errand);
}

void sim_errand_carry(struct sim_world *world, struct sim_errand *errand)
{
    sg_host_t host = world->seats[errand->rank].host;

    errand->stage = SIM_MOVING;
    errand->begun_s = simgrid_get_clock();
    if (errand->kind == SIM_MESSAGE) {
        if (errand->hop->changes)
            sim_faults_let_start(world, errand->hop);
        sg_host_sendto(host, world->seats[errand->hop->target].host, (double)errand->from_bytes);
        if (model_fault_dead(world->play.ring, errand->hop, simgrid_get_clock())) {
            errand->stage = SIM_STRANDED;
            return;
        }
    } else {
        sg_exec_t computation = sg_actor_exec_init(errand->alone_s * SIM_HOST_FLOP_PER_S);
        sg_exec_set_host(computation, host);
        sg_exec_start(computation);
        sg_exec_wait(computation);
    }
    sim_errand_end(world, errand);
}

static void courier_main(int argc, char **argv)
{
    struct sim_courier *courier = sg_actor_self_get_data();
    struct sim_world *world = courier->world;

    (void)argc;
    (void)argv;
    while (courier->errand) {
        sim_errand_carry(world, courier->errand);
        courier->errand = NULL;
        world->n_errands--;
        sim_world_check_progress(world);
        if (world->n_finished == world->play.ring->plan->n_ranks)
            break;
        courier->next = world->idle;
        world->idle = courier;
        sg_sem_acquire(courier->gate);
    }
    sg_sem_destroy(courier->gate);
    free(courier);
}

static void hire(struct sim_world *world, struct sim_errand *errand)
{
    struct sim_courier *courier = malloc(sizeof *courier);

    if (!courier) {
        sim_world_fail(world, RING_NO_MEMORY, "out of memory for the simulator's couriers");
        return;
    }
    *courier = (struct sim_courier){.world = world, .errand = errand, .gate = sg_sem_init(0)};
    sg_actor_t actor = sg_actor_init("courier", world->seats[0].host);
    sg_actor_set_data(actor, courier);
    sg_actor_start(actor, courier_main, 0, NULL);
}

void sim_courier_send(struct sim_world *world, struct sim_errand *errand)
{
    struct sim_courier *courier = world->idle;

    world->n_errands++;
    errand->stage = SIM_MOVING;
    if (courier) {
        world->idle = courier->next;
        courier->errand = errand;
        sg_sem_release(courier->gate);
    } else {
        hire(world, errand);
    }
}

void sim_couriers_dismiss(struct sim_world *world)
{
    while (world->idle) {
        struct sim_courier *courier = world->idle;
        world->idle = courier->next;
        sg_sem_release(courier->gate);
    }
}
