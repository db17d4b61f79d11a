/* SPDX-License-Identifier: MIT
 *
 * Two actors: the weather, who sleeps from change to change and sets the links; and the mender's mate, who
 * takes back what sim_faults_let_start has lent, as soon as the flow has started. Both are daemons: they hold
 * nothing up when the ranks have finished. */
#include "sim/faults.h"

#include <inttypes.h>
#include <math.h>
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/link.h>
#include <simgrid/semaphore.h>
#include <stdio.h>
#include <stdlib.h>

/* SimGrid knows no bandwidth of 0. A link that is down passes this, a byte in eleven days. */
static const double down_bytes_per_s = 1e-6;

/* A round lets every actor make one call. A flow that its carrier starts in its next call is there after two.
 */
enum { ROUNDS_TO_START = 3 };

struct sim_faults {
    struct sim_world *world;
    sg_link_t *links;                  /* [n_links], NULL: not in use */
    double *share;                     /* [n_links] of its price, now */
    uint32_t *n_raised;                /* [n_links] flows over it that are starting */
    const struct model_hop **starting; /* from first on, in order */
    size_t first, n_starting, capacity;
    sg_sem_t gate; /* opened once for each in starting */
};

static void set_link(struct sim_faults *faults, uint32_t link)
{
    double whole = faults->world->play.ring->link_bytes_per_s[link];
    double wanted = faults->n_raised[link] > 0 ? whole : fmax(faults->share[link] * whole, down_bytes_per_s);

    sg_link_set_bandwidth(faults->links[link], wanted);
}

static bool is_over(const struct sim_world *world)
{
    return world->status != RING_OK || world->n_finished == world->play.ring->plan->n_ranks;
}

static void weather_main(int argc, char **argv)
{
    struct sim_faults *faults = sg_actor_self_get_data();
    const struct model_ring *ring = faults->world->play.ring;
    double at_s = 0; /* the change's own time, not the clock's, which may be a rounding short of it */

    (void)argc;
    (void)argv;
    while (!isinf(at_s) && !is_over(faults->world)) {
        double next_s = INFINITY, until_s;
        for (uint32_t link = 0; link < ring->topology->n_links; link++) {
            if (!faults->links[link])
                continue;
            double share = model_fault_link_share(ring, link, at_s, &until_s);
            next_s = fmin(next_s, until_s);
            if (share == faults->share[link])
                continue;
            faults->share[link] = share;
            set_link(faults, link);
        }
        at_s = next_s;
        if (!isinf(at_s))
            sg_actor_sleep_until(at_s);
    }
}

static void mate_main(int argc, char **argv)
{
    struct sim_faults *faults = sg_actor_self_get_data();

    (void)argc;
    (void)argv;
    for (;;) {
        sg_sem_acquire(faults->gate);
        for (int i = 0; i < ROUNDS_TO_START; i++)
            sg_actor_yield();
        const struct model_hop *hop = faults->starting[faults->first++];
        if (faults->first == faults->n_starting)
            faults->first = faults->n_starting = 0;
        for (uint32_t i = 0; i < hop->n_links; i++) {
            uint32_t link = hop->links[i];
            if (--faults->n_raised[link] == 0 && faults->share[link] < 1)
                set_link(faults, link);
        }
    }
}

void sim_faults_let_start(struct sim_world *world, const struct model_hop *hop)
{
    struct sim_faults *faults = world->faults;

    /* Links that are whole are held up as well: the weather may be about to change one at this very time. */
    if (!faults)
        return;
    if (faults->n_starting == faults->capacity) {
        size_t capacity = 2 * faults->capacity + 16;
        const struct model_hop **more = realloc(faults->starting, capacity * sizeof *more);
        if (!more) {
            sim_world_fail(world, RING_NO_MEMORY, "out of memory for the simulator's faults");
            return;
        }
        faults->starting = more;
        faults->capacity = capacity;
    }
    for (uint32_t i = 0; i < hop->n_links; i++) {
        uint32_t link = hop->links[i];
        if (faults->n_raised[link]++ == 0 && faults->share[link] < 1)
            set_link(faults, link);
    }
    faults->starting[faults->n_starting++] = hop;
    sg_sem_release(faults->gate);
}

static void hire(struct sim_faults *faults, const char *name, void (*what)(int, char **))
{
    sg_actor_t actor = sg_actor_init(name, faults->world->seats[0].host);

    sg_actor_set_data(actor, faults);
    sg_actor_start(actor, what, 0, NULL);
    sg_actor_daemonize(actor);
}

enum ring_status sim_faults_start(struct sim_world *world, struct ring_error *error)
{
    const struct model_ring *ring = world->play.ring;
    size_t n_links = ring->topology->n_links + 1;

    if (!model_fault_links_change(ring))
        return RING_OK;
    struct sim_faults *faults = calloc(1, sizeof *faults);
    world->faults = faults;
    if (faults)
        *faults = (struct sim_faults){
            .world = world,
            .links = calloc(n_links, sizeof *faults->links),
            .share = calloc(n_links, sizeof *faults->share),
            .n_raised = calloc(n_links, sizeof *faults->n_raised),
        };
    if (!faults || !faults->links || !faults->share || !faults->n_raised)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for the faults of %zu links", n_links - 1);
    for (size_t i = 0; i < n_links; i++)
        faults->share[i] = 1;
    for (uint32_t h = 0; h < ring->hop_first[ring->plan->n_ranks]; h++) {
        for (uint32_t i = 0; ring->hops[h].changes && i < ring->hops[h].n_links; i++) {
            char name[16];
            snprintf(name, sizeof name, "l%" PRIu32, ring->hops[h].links[i]);
            faults->links[ring->hops[h].links[i]] = sg_link_by_name(name);
        }
    }
    faults->gate = sg_sem_init(0);
    hire(faults, "weather", weather_main);
    hire(faults, "mate", mate_main);
    return RING_OK;
}

void sim_faults_stop(struct sim_world *world)
{
    struct sim_faults *faults = world->faults;

    if (!faults)
        return;
    free(faults->links);
    free(faults->share);
    free(faults->n_raised);
    free(faults->starting);
    free(faults);
    world->faults = NULL;
}
