/* SPDX-License-Identifier: MIT
 *
 * Times under faults. Every rate is constant by pieces, so work is integrated piece by piece and no step
 * width enters: results are exact to rounding. Putting faults on a ring and taking them off is faulty.c's
 * business.
 */
#include "models/fault.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/faulty.h"
#include "models/random.h"

#define MODEL_FAULT_NAME(name, text) text,
const char *const model_fault_names[MODEL_N_FAULTS] = {MODEL_FAULTS(MODEL_FAULT_NAME)};
#undef MODEL_FAULT_NAME

/* So many changes in a row without a moment of work: it will never be done (two links of a hop that are never
 * up together). */
enum { HOPELESS = 1000000 };

/* A rate, or a share of one, and when it changes. */
struct piece {
    double rate, until_s;
};

bool model_fault_constant(const struct model_fault *fault)
{
    if (fault->from_s > 0 || !isinf(fault->to_s))
        return false;
    return fault->kind == MODEL_FAULT_SLOW || fault->kind == MODEL_FAULT_LATENCY ||
           (fault->kind == MODEL_FAULT_BANDWIDTH && fault->amount > 0);
}

enum ring_status model_faults_real(const struct model_faults *faults, const char *const *places,
                                   struct ring_error *error)
{
    for (size_t i = 0; i < faults->n; i++) {
        const struct model_fault *fault = &faults->items[i];
        bool down = fault->kind == MODEL_FAULT_BANDWIDTH && !(fault->amount > 0);
        if (fault->kind == MODEL_FAULT_SLOW || fault->kind == MODEL_FAULT_JITTER ||
            fault->kind == MODEL_FAULT_LATENCY || (fault->kind == MODEL_FAULT_BANDWIDTH && !down))
            continue;
        return ring_fail(error, RING_UNSUPPORTED,
                         "%s%s%s: %s%s cannot be had on a real machine, only predicted (accepted here: slow, "
                         "jitter, latency and bandwidth above 0)",
                         places ? places[i] : "", places ? ": " : "", fault->subject,
                         model_fault_names[fault->kind], down ? " 0 %" : "");
    }
    return RING_OK;
}

/* Up first, so that a flap that lasts from the beginning begins with a whole link. */
static struct piece flap_piece(const struct model_fault *fault, double at_s)
{
    double n = floor((at_s - fault->from_s) / fault->period_s);

    /* the quotient's rounding may miss by one; boundaries are always computed alike */
    while (fault->from_s + (n + 1) * fault->period_s <= at_s)
        n++;
    while (n > 0 && fault->from_s + n * fault->period_s > at_s)
        n--;
    double up_s = fault->from_s + (n + 1) * fault->period_s, down_s = up_s - fault->down_s;
    bool up = at_s < down_s;
    return (struct piece){up ? 1 : 0, fmin(up ? down_s : up_s, fault->to_s)};
}

/* What a fault leaves of a rate. */
static struct piece share_at(const struct model_fault *fault, double at_s)
{
    if (at_s < fault->from_s)
        return (struct piece){1, fault->from_s};
    if (at_s >= fault->to_s)
        return (struct piece){1, INFINITY};
    switch (fault->kind) {
    case MODEL_FAULT_SLOW:
        return (struct piece){1 / fault->amount, fault->to_s};
    case MODEL_FAULT_BANDWIDTH:
        return (struct piece){fault->amount, fault->to_s};
    case MODEL_FAULT_FLAP:
        return flap_piece(fault, at_s);
    case MODEL_FAULT_DEVICE_DIES:
    case MODEL_FAULT_LINK_DIES:
        return (struct piece){0, INFINITY};
    default:
        return (struct piece){1, INFINITY};
    }
}

static struct piece rank_share(const struct model_faulty *faulty, uint32_t rank, double at_s)
{
    struct piece all = {1, INFINITY};

    for (uint32_t i = faulty->rank_first[rank]; i < faulty->rank_first[rank + 1]; i++) {
        struct piece one = share_at(faulty->of_ranks[i], at_s);
        all.rate *= one.rate;
        all.until_s = fmin(all.until_s, one.until_s);
    }
    return all;
}

static bool is_death(const struct model_fault *fault)
{
    return fault->kind == MODEL_FAULT_LINK_DIES || fault->kind == MODEL_FAULT_DEVICE_DIES ||
           (fault->kind == MODEL_FAULT_BANDWIDTH && !(fault->amount > 0) && isinf(fault->to_s));
}

/* Of a link's price, in which the faults for ever are already. */
static struct piece link_share(const struct model_faulty *faulty, uint32_t link, double at_s, bool deaths)
{
    struct piece all = {1, INFINITY};

    for (uint32_t i = faulty->link_first[link]; i < faulty->link_first[link + 1]; i++) {
        const struct model_fault *fault = faulty->of_links[i];
        if (model_fault_constant(fault) || (!deaths && is_death(fault)))
            continue;
        struct piece one = share_at(fault, at_s);
        all.rate *= one.rate;
        all.until_s = fmin(all.until_s, one.until_s);
    }
    return all;
}

static struct piece hop_rate(const struct model_ring *ring, const struct model_hop *hop, double at_s)
{
    struct piece all = {INFINITY, INFINITY};

    for (uint32_t i = 0; i < hop->n_links; i++) {
        struct piece one = link_share(ring->faulty, hop->links[i], at_s, true);
        all.rate = fmin(all.rate, one.rate * ring->link_bytes_per_s[hop->links[i]]);
        all.until_s = fmin(all.until_s, one.until_s);
    }
    return all;
}

/* One round of integrating: true when the work is done, or never will be (then *at_s is infinite). */
static bool work_off(struct piece piece, double *at_s, double *left, uint32_t *n_idle)
{
    if (piece.rate > 0) {
        double end_s = *at_s + *left / piece.rate;
        if (end_s <= piece.until_s) {
            *at_s = end_s;
            return true;
        }
        *left = fmax(*left - (piece.until_s - *at_s) * piece.rate, 0);
        *n_idle = 0;
    } else {
        ++*n_idle;
    }
    *at_s = *n_idle > HOPELESS ? INFINITY : piece.until_s;
    return isinf(*at_s);
}

/* A well mixed number of a few. */
static uint64_t mix(uint64_t state, uint64_t value)
{
    return model_random_mix(state + value + MODEL_RANDOM_STEP);
}

/* A standard normal number (Box, Muller 1958). */
static double normal(uint64_t key)
{
    double u = ((double)(mix(key, 1) >> 11) + 1) * 0x1p-53, v = (double)(mix(key, 2) >> 11) * 0x1p-53;

    return sqrt(-2 * log(u)) * cos(2 * 3.14159265358979323846 * v);
}

double model_fault_stretch(const struct model_fault *fault, uint64_t seed, uint64_t nth, uint32_t rank,
                           uint32_t step)
{
    uint64_t key = mix(mix(mix(mix(seed, nth), fault->device), rank), step);

    return exp(fault->amount * fabs(normal(key)));
}

double model_fault_jitter(const struct model_ring *ring, uint32_t rank, uint32_t step, double start_s)
{
    const struct model_faulty *faulty = ring->faulty;
    double factor = 1;
    uint64_t n = 0;

    if (!faulty)
        return factor;
    for (uint32_t i = faulty->rank_first[rank]; i < faulty->rank_first[rank + 1]; i++) {
        const struct model_fault *fault = faulty->of_ranks[i];
        if (fault->kind != MODEL_FAULT_JITTER)
            continue;
        uint64_t nth = n++;
        if (start_s >= fault->from_s && start_s < fault->to_s)
            factor *= model_fault_stretch(fault, faulty->faults->seed, nth, rank, step);
    }
    return factor;
}

double model_fault_compute_s(const struct model_ring *ring, uint32_t rank, uint32_t step, double start_s,
                             double nominal_s)
{
    const struct model_faulty *faulty = ring->faulty;

    if (!faulty || faulty->rank_first[rank] == faulty->rank_first[rank + 1] || !(nominal_s > 0) ||
        isinf(start_s))
        return nominal_s;
    double at_s = start_s, left = nominal_s * model_fault_jitter(ring, rank, step, start_s);
    uint32_t n_idle = 0;
    struct piece piece = rank_share(faulty, rank, at_s);
    if (isinf(piece.until_s) && piece.rate > 0) /* not through start_s, for the last bit */
        return left / piece.rate;
    while (!work_off(piece, &at_s, &left, &n_idle))
        piece = rank_share(faulty, rank, at_s);
    return at_s - start_s;
}

double model_fault_slowness(const struct model_ring *ring, uint32_t rank)
{
    const struct model_faulty *faulty = ring->faulty;
    double slowness = 1;

    for (uint32_t i = faulty ? faulty->rank_first[rank] : 0; faulty && i < faulty->rank_first[rank + 1]; i++)
        if (faulty->of_ranks[i]->kind == MODEL_FAULT_SLOW && model_fault_constant(faulty->of_ranks[i]))
            slowness *= faulty->of_ranks[i]->amount;
    return slowness;
}

double model_fault_moved_s(const struct model_ring *ring, const struct model_hop *hop, double start_s,
                           double bytes)
{
    if (!hop->changes || !(bytes > 0) || isinf(start_s))
        return start_s + bytes / hop->bytes_per_s;
    double at_s = start_s, left = bytes;
    uint32_t n_idle = 0;
    while (!work_off(hop_rate(ring, hop, at_s), &at_s, &left, &n_idle))
        ;
    return at_s;
}

double model_fault_latency_s(const struct model_ring *ring, const struct model_hop *hop, double moved_s)
{
    double latency_s = hop->latency_s;

    for (uint32_t i = 0; hop->changes && i < hop->n_links; i++) {
        const struct model_faulty *faulty = ring->faulty;
        uint32_t link = hop->links[i];
        for (uint32_t j = faulty->link_first[link]; j < faulty->link_first[link + 1]; j++) {
            const struct model_fault *fault = faulty->of_links[j];
            if (fault->kind == MODEL_FAULT_LATENCY && !model_fault_constant(fault) &&
                moved_s >= fault->from_s && moved_s < fault->to_s)
                latency_s += fault->amount;
        }
    }
    return latency_s;
}

bool model_fault_links_change(const struct model_ring *ring)
{
    return ring->faulty && ring->faulty->links_change;
}

double model_fault_link_share(const struct model_ring *ring, uint32_t link, double at_s, double *until_s)
{
    struct piece piece = {1, INFINITY};

    if (ring->faulty)
        piece = link_share(ring->faulty, link, at_s, false);
    *until_s = piece.until_s;
    return piece.rate;
}

bool model_fault_dead(const struct model_ring *ring, const struct model_hop *hop, double at_s)
{
    for (uint32_t i = 0; hop->changes && i < hop->n_links; i++) {
        const struct model_faulty *faulty = ring->faulty;
        uint32_t link = hop->links[i];
        for (uint32_t j = faulty->link_first[link]; j < faulty->link_first[link + 1]; j++)
            if (is_death(faulty->of_links[j]) &&
                at_s > faulty->of_links[j]->from_s * (1 + 1e-9)) /* a rounding late is in time */
                return true;
    }
    return false;
}

void model_fault_causes(const struct model_ring *ring, char *text, size_t size)
{
    size_t length = 0;

    text[0] = '\0';
    for (size_t i = 0; ring->faulty && i < ring->faulty->faults->n; i++) {
        const struct model_fault *fault = &ring->faulty->faults->items[i];
        char one[128];
        if (!is_death(fault))
            continue;
        const char *before = length ? ", " : "no progress (";
        size_t n = fault->kind != MODEL_FAULT_BANDWIDTH
                       ? (size_t)snprintf(one, sizeof one, "%s%.48s dies at %g s", before, fault->subject,
                                          fault->from_s)
                       : (size_t)snprintf(one, sizeof one, "%s%.48s has no bandwidth from %g s on", before,
                                          fault->subject, fault->from_s);
        if (length + n + 4 > size)
            break;
        memcpy(text + length, one, n + 1);
        length += n;
    }
    if (length > 0)
        strcpy(text + length, "): ");
}
