/* SPDX-License-Identifier: MIT
 *
 * `ringlab place`: searches for the best and the worst order of devices, and simulates a step of each. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/commands.h"
#include "tools/file.h"
#include "tools/place.h"
#include "tools/simulate.h"

static struct tool_order *add_order(struct tool_places *places, const char *name, struct ring_error *error)
{
    struct tool_order *order = &places->orders[places->n_orders];
    uint32_t n = places->setup->plan.n_ranks;

    *order = (struct tool_order){
        .name = name,
        .device_of_rank = malloc(n * sizeof *order->device_of_rank),
        .links = malloc((places->setup->scenario->topology->n_links + 1) * sizeof *order->links),
    };
    places->n_orders++;
    if (order->device_of_rank != NULL && order->links != NULL)
        return order;
    ring_fail(error, RING_NO_MEMORY, "out of memory for an order of %" PRIu32 " ranks", n);
    return NULL;
}

static void free_orders(struct tool_places *places)
{
    for (size_t i = 0; i < places->n_orders; i++) {
        free(places->orders[i].device_of_rank);
        free(places->orders[i].links);
    }
}

static int by_crowd(const void *left, const void *right)
{
    const struct tool_shared_link *a = left, *b = right;
    double a_s = a->n_hops / a->bytes_per_s, b_s = b->n_hops / b->bytes_per_s;

    return a_s != b_s ? (a_s > b_s ? -1 : 1) : (a->link > b->link) - (a->link < b->link);
}

static enum ring_status find_shared(struct tool_order *order, const struct model_ring *ring,
                                    struct ring_error *error)
{
    const struct model_topology *topology = ring->topology;
    uint32_t *n_hops = calloc(topology->n_links + 1, sizeof *n_hops);

    if (n_hops == NULL)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for %zu links", topology->n_links);
    for (uint32_t h = 0; h < ring->hop_first[ring->plan->n_ranks]; h++)
        for (uint32_t i = 0; i < ring->hops[h].n_links; i++)
            n_hops[ring->hops[h].links[i]]++;
    for (size_t i = 0; i < topology->n_links; i++)
        if (n_hops[i] > 1)
            order->links[order->n_links++] = (struct tool_shared_link){topology->links[i].name, (uint32_t)i,
                                                                       n_hops[i], ring->link_bytes_per_s[i]};
    qsort(order->links, order->n_links, sizeof *order->links, by_crowd);
    free(n_hops);
    return RING_OK;
}

/* Simulates one step of the order, as predict does. */
static enum ring_status time_order(struct tool_order *order, const struct tool_setup *given,
                                   struct ring_error *error)
{
    struct config_scenario scenario = *given->scenario;
    struct tool_setup setup = *given;
    struct tool_result result;

    scenario.placement = order->device_of_rank;
    setup.scenario = &scenario;
    struct model_ring_spec spec = {
        .plan = &setup.plan,
        .topology = scenario.topology,
        .device_of_rank = order->device_of_rank,
        .compute = scenario.compute,
        .progress = scenario.progress,
        .faults = &scenario.faults,
    };
    enum ring_status status = model_ring_init(&setup.ring, &spec, error);
    if (status != RING_OK)
        return status;
    status = find_shared(order, &setup.ring, error);
    if (status == RING_OK) {
        status = tool_simulate(&setup, "auto", false, &result, error);
        bool missing = status == RING_UNSUPPORTED && setup.ring.shared;
        order->time_s = status == RING_OK ? result.time_s : (double)NAN;
        order->world = setup.ring.shared ? "simgrid" : "recurrence";
        status = missing ? RING_OK : status;
        tool_result_fini(&result);
    }
    model_ring_fini(&setup.ring);
    return status;
}

/* Says how far it is, where somebody is looking. */
static void show_progress(const char *what, double done)
{
    if (!isatty(STDERR_FILENO))
        return;
    if (done < 1)
        fprintf(stderr, "\rsearching for the %s order: %3.0f %%", what, 100 * done);
    else
        fprintf(stderr, "\r%*s\r", 48, "");
    fflush(stderr);
}

static const struct tool_order *seek(struct tool_places *places, struct model_place *place, const char *name,
                                     enum model_goal goal, struct ring_error *error)
{
    struct tool_order *order = add_order(places, name, error);

    if (order == NULL)
        return NULL;
    model_place_begin(place, goal, places->effort, 1);
    while (model_place_go_on(place))
        show_progress(name, model_place_progress(place));
    show_progress(name, 1);
    model_place_take(place, order->device_of_rank, &order->found);
    places->least_hop_s = order->found.least_hop_s;
    places->bytes = order->found.bytes;
    return order;
}

static const struct tool_order *judge(struct tool_places *places, struct model_place *place, const char *name,
                                      const uint32_t *device_of_rank, struct ring_error *error)
{
    struct tool_order *order = add_order(places, name, error);

    if (order == NULL)
        return NULL;
    memcpy(order->device_of_rank, device_of_rank, places->setup->plan.n_ranks * sizeof *device_of_rank);
    order->found.score = model_place_judge(place, order->device_of_rank);
    return order;
}

static int ascending(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

    return (a > b) - (a < b);
}

/* The order of the file: of the first devices, or of those that the scenario has. */
static void make_natural(const struct tool_places *places, uint32_t *natural)
{
    uint32_t n = places->setup->plan.n_ranks;

    for (uint32_t rank = 0; rank < n; rank++)
        natural[rank] = places->keep_devices ? places->setup->scenario->placement[rank] : rank;
    qsort(natural, n, sizeof *natural, ascending);
}

/* The orders that need no search. */
static enum ring_status judge_given(struct tool_places *places, struct model_place *place,
                                    struct ring_error *error)
{
    const uint32_t *given = places->setup->scenario->placement;
    size_t size = places->setup->plan.n_ranks * sizeof *given;
    uint32_t *natural = malloc(size);

    if (natural == NULL)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for an order");
    make_natural(places, natural);
    places->natural = places->scenario = judge(places, place, "natural", natural, error);
    if (places->natural != NULL && memcmp(given, natural, size) != 0)
        places->scenario = judge(places, place, "scenario", given, error);
    free(natural);
    return places->scenario != NULL ? RING_OK : RING_NO_MEMORY;
}

static enum ring_status find_orders(struct tool_places *places, struct model_place *place,
                                    struct ring_error *error)
{
    if (judge_given(places, place, error) == RING_OK)
        places->best = seek(places, place, "best", MODEL_PLACE_BEST, error);
    if (places->best != NULL)
        places->worst = seek(places, place, "worst", MODEL_PLACE_WORST, error);
    if (places->worst == NULL)
        return RING_NO_MEMORY;
    for (size_t i = 0; i < places->n_orders; i++) {
        enum ring_status status = time_order(&places->orders[i], places->setup, error);
        if (status != RING_OK)
            return status;
    }
    return RING_OK;
}

static enum ring_status save(const struct tool_places *places, const char *path, struct ring_error *error)
{
    struct tool_file file = {.stream = NULL};
    enum ring_status status = tool_file_open(&file, path, error);

    if (status == RING_OK)
        status = tool_place_write(places, file.stream, error);
    if (status == RING_OK)
        return tool_file_commit(&file, error);
    tool_file_discard(&file);
    return status;
}

enum ring_status tool_place(const struct tool_options *options, struct ring_error *error)
{
    struct tool_setup setup;
    struct model_place *place = NULL;
    struct tool_places places = {
        .setup = &setup, .effort = (enum model_effort)options->effort, .keep_devices = options->keep_devices};

    if (options->out != NULL) {
        enum ring_status status = tool_file_probe(options->out, error);
        if (status != RING_OK)
            return status;
    }
    enum ring_status status = tool_setup_open(&setup, options, error);
    if (status != RING_OK)
        return status;
    const struct model_place_spec spec = {
        .plan = &setup.plan,
        .topology = setup.scenario->topology,
        .faults = &setup.scenario->faults,
        .among = options->keep_devices ? setup.scenario->placement : NULL,
    };
    status = model_place_open(&place, &spec, error);
    if (status == RING_OK)
        status = find_orders(&places, place, error);
    if (status == RING_OK && options->out != NULL)
        status = save(&places, options->out, error);
    if (status == RING_OK)
        status = options->json ? tool_place_write(&places, stdout, error)
                               : tool_place_print(&places, stdout, error);
    model_place_close(place);
    free_orders(&places);
    tool_setup_close(&setup);
    return status;
}
