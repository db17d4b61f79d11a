/* SPDX-License-Identifier: MIT
 *
 * See hardship.h. */
#include "exec/hardship.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum ring_status exec_hardship_open(struct exec_hardship *hardship, const struct config_scenario *scenario,
                                    uint32_t rank, struct ring_error *error)
{
    *hardship = (struct exec_hardship){
        .scenario = scenario, .rank = rank, .start_s = (double)NAN, .target = UINT32_MAX};
    hardship->links = calloc(scenario->topology->n_links + 1, sizeof *hardship->links);
    if (!hardship->links)
        return ring_fail(error, RING_NO_MEMORY, "rank %" PRIu32 ": out of memory for a route", rank);
    return model_faults_real(&scenario->faults, scenario->places.faults, error);
}

void exec_hardship_close(struct exec_hardship *hardship)
{
    free(hardship->links);
    *hardship = (struct exec_hardship){.scenario = NULL};
}

static bool is_there(const struct model_fault *fault, double at_s)
{
    return at_s >= fault->from_s && at_s < fault->to_s;
}

double exec_hardship_factor(const struct exec_hardship *hardship, uint32_t step, double at_s)
{
    double factor = 1;
    uint64_t n_jitters = 0;

    if (!hardship->scenario || isnan(hardship->start_s))
        return factor;
    const struct model_faults *faults = &hardship->scenario->faults;
    uint32_t device = hardship->scenario->placement[hardship->rank];
    for (size_t i = 0; i < faults->n; i++) {
        const struct model_fault *fault = &faults->items[i];
        if (!model_fault_of_device(fault) || fault->device != device)
            continue;
        uint64_t nth = n_jitters;
        n_jitters += fault->kind == MODEL_FAULT_JITTER;
        if (!is_there(fault, at_s - hardship->start_s))
            continue;
        factor *= fault->kind == MODEL_FAULT_SLOW
                      ? fault->amount
                      : model_fault_stretch(fault, faults->seed, nth, hardship->rank, step);
    }
    return factor;
}

static void find_way(struct exec_hardship *hardship, uint32_t target)
{
    const struct config_scenario *scenario = hardship->scenario;
    const struct model_topology *topology = scenario->topology;
    struct ring_error ignored;

    if (hardship->target == target)
        return;
    hardship->target = target;
    if (model_topology_route(topology, topology->devices[scenario->placement[hardship->rank]],
                             topology->devices[scenario->placement[target]], hardship->links,
                             topology->n_links, &hardship->n_links, &ignored) != RING_OK)
        hardship->n_links = 0;
}

static bool strikes(const struct model_fault *fault, uint32_t link)
{
    for (size_t i = 0; !model_fault_of_device(fault) && i < fault->n_links; i++)
        if (fault->links[i] == link)
            return true;
    return false;
}

double exec_hardship_delay_s(struct exec_hardship *hardship, uint32_t target, uint64_t bytes, double at_s)
{
    double whole = INFINITY, left = INFINITY, late_s = 0;

    if (!hardship->scenario || isnan(hardship->start_s) || hardship->scenario->faults.n == 0)
        return 0;
    const struct model_faults *faults = &hardship->scenario->faults;
    find_way(hardship, target);
    for (size_t i = 0; i < hardship->n_links; i++) {
        uint32_t link = hardship->links[i];
        double rate = model_link_class(&hardship->scenario->topology->links[link], bytes)->bytes_per_s,
               share = 1;
        for (size_t j = 0; j < faults->n; j++) {
            const struct model_fault *fault = &faults->items[j];
            if (!strikes(fault, link) || !is_there(fault, at_s - hardship->start_s))
                continue;
            if (fault->kind == MODEL_FAULT_BANDWIDTH)
                share *= fault->amount;
            else
                late_s += fault->amount;
        }
        whole = fmin(whole, rate);
        left = fmin(left, rate * share);
    }
    return late_s + (isinf(left) ? 0 : (double)bytes / left - (double)bytes / whole);
}
