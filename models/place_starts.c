/* SPDX-License-Identifier: MIT
 *
 * Orders of devices that make sense before anything is searched: as in the file, machine by machine, a snake
 * through a torus, round the machines in turn, always the nearest (or farthest) next, and shuffled. */
#include <math.h>
#include <stdlib.h>

#include "models/place_ring.h"
#include "models/random.h"

static void swap(uint32_t *a, uint32_t *b)
{
    uint32_t kept = *a;

    *a = *b;
    *b = kept;
}

/* A group's place in the order, and a device's within it. */
struct seat {
    uint64_t key;
    uint32_t device;
};

static int by_key(const void *left, const void *right)
{
    const struct seat *a = left, *b = right;

    return a->key != b->key ? (a->key < b->key ? -1 : 1) : (a->device > b->device) - (a->device < b->device);
}

/* In ascending order of keys; false without memory. */
static bool sort_by(const struct model_ways *ways, uint64_t (*key)(const struct model_ways *, uint32_t),
                    uint32_t *order)
{
    struct seat *seats = malloc(ways->n * sizeof *seats);

    for (uint32_t i = 0; seats && i < ways->n; i++)
        seats[i] = (struct seat){key(ways, i), i};
    if (!seats)
        return false;
    qsort(seats, ways->n, sizeof *seats, by_key);
    for (uint32_t i = 0; i < ways->n; i++)
        order[i] = seats[i].device;
    free(seats);
    return true;
}

/* Large machines first, so that a ring that needs only some devices needs few machines. */
static uint64_t machine_key(const struct model_ways *ways, uint32_t device)
{
    uint32_t size = 0;

    for (uint32_t i = 0; i < ways->n; i++)
        size += ways->group[i] == ways->group[device];
    return ((uint64_t)(UINT32_MAX - size) << 32) + ways->group[device];
}

/* Every machine's first device, then every machine's second ... */
static uint64_t turn_key(const struct model_ways *ways, uint32_t device)
{
    uint32_t before = 0;

    for (uint32_t i = 0; i < device; i++)
        before += ways->group[i] == ways->group[device];
    return ((uint64_t)before << 32) + ways->group[device];
}

/* Along the first side, back in the next row, and so on; every second layer from its last row to its first.
 */
static uint64_t snake_key(const struct model_ways *ways, uint32_t device)
{
    const uint32_t *grid = ways->topology->grid;
    uint32_t node = ways->topology->vertices[ways->topology->devices[ways->device[device]]].node;
    uint32_t x_n = grid[0], y_n = grid[1] ? grid[1] : 1;

    if (node == 0)
        return UINT64_MAX;
    uint32_t x = (node - 1) % x_n, y = (node - 1) / x_n % y_n, z = (node - 1) / x_n / y_n;
    uint32_t row = z * y_n + (z % 2 ? y_n - 1 - y : y);
    return (uint64_t)row * x_n + (row % 2 ? x_n - 1 - x : x);
}

/* What the hop would take beside the ones that the ring has already. */
static double next_hop_s(const struct model_scale *scale, size_t way)
{
    const struct model_ways *ways = scale->ways;
    double slowest_s = 0;

    for (uint32_t l = ways->first[way]; l < ways->first[way + 1]; l++)
        slowest_s = fmax(slowest_s, (scale->load[ways->links[l]] + 1) * ways->s_per_flow[ways->links[l]]);
    return ways->latency_s[way] + slowest_s;
}

static void add_load(struct model_scale *scale, size_t way)
{
    for (uint32_t l = scale->ways->first[way]; l < scale->ways->first[way + 1]; l++)
        scale->load[scale->ways->links[l]]++;
}

/* From the first of the order on, always the nearest of those left; or for the worst, the farthest. */
static void always_next(struct model_scale *scale, enum model_goal goal, uint32_t *order)
{
    const struct model_ways *ways = scale->ways;

    for (uint32_t at = 1; at < scale->n_ranks; at++) {
        uint32_t pick = at;
        double pick_s = 0;
        for (uint32_t i = at; i < ways->n; i++) {
            double hop_s = next_hop_s(scale, model_way(ways, order[at - 1], order[i]));
            bool better = goal == MODEL_PLACE_BEST ? hop_s < pick_s : hop_s > pick_s;
            if (i == at || better) {
                pick = i;
                pick_s = hop_s;
            }
        }
        swap(&order[at], &order[pick]);
        add_load(scale, model_way(ways, order[at - 1], order[at]));
    }
    for (size_t i = 0; i < ways->topology->n_links; i++)
        scale->load[i] = 0;
}

bool model_start(struct model_scale *scale, enum model_start start, enum model_goal goal, uint64_t *random,
                 uint32_t *order)
{
    const struct model_ways *ways = scale->ways;

    for (uint32_t i = 0; i < ways->n; i++)
        order[i] = i;
    switch (start) {
    case MODEL_START_MACHINES:
        return goal == MODEL_PLACE_BEST && ways->n_groups > 1 && sort_by(ways, machine_key, order);
    case MODEL_START_SNAKE:
        return goal == MODEL_PLACE_BEST && ways->topology->grid[0] > 0 && sort_by(ways, snake_key, order);
    case MODEL_START_SCATTERED:
        return goal == MODEL_PLACE_WORST && ways->n_groups > 1 && sort_by(ways, turn_key, order);
    case MODEL_START_NEXT:
        always_next(scale, goal, order);
        return true;
    case MODEL_START_SHUFFLED:
        for (uint32_t i = ways->n; i > 1; i--)
            swap(&order[i - 1], &order[model_random_below(random, i)]);
        return true;
    default:
        return true;
    }
}
