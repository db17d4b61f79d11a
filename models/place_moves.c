/* SPDX-License-Identifier: MIT
 *
 * See place_moves.h. Moves work on a line, not a circle: the ring is first rotated so that the place to begin
 * at comes first. */
#include "models/place_moves.h"

#include "models/random.h"

static void turn(uint32_t *order, uint32_t first, uint32_t end)
{
    while (first + 1 < end) {
        uint32_t kept = order[first];
        order[first++] = order[--end];
        order[end] = kept;
    }
}

/* Takes [first, middle) behind [middle, end). */
static void rotate(uint32_t *order, uint32_t first, uint32_t middle, uint32_t end)
{
    turn(order, first, middle);
    turn(order, middle, end);
    turn(order, first, end);
}

/* The next permutation in lexicographic order; false after the last (Narayana's way). */
static bool next_permutation(uint32_t *order, uint32_t n)
{
    uint32_t i = n - 1, j = n - 1;

    while (i > 0 && order[i - 1] >= order[i])
        i--;
    if (i == 0)
        return false;
    while (order[j] <= order[i - 1])
        j--;
    uint32_t kept = order[i - 1];
    order[i - 1] = order[j];
    order[j] = kept;
    turn(order, i, n);
    return true;
}

static bool begins_lowest(const uint32_t *order, uint32_t n_ranks)
{
    for (uint32_t i = 1; i < n_ranks; i++)
        if (order[i] < order[0])
            return false;
    return true;
}

bool model_next_ring(uint32_t *order, uint32_t n_ranks, uint32_t n_devices)
{
    do {
        turn(order, n_ranks, n_devices); /* the last order of those left over: the next changes the ring */
        if (!next_permutation(order, n_devices))
            return false;
    } while (!begins_lowest(order, n_ranks));
    return true;
}

uint64_t model_count_rings(uint32_t n_ranks, uint32_t n_devices, uint64_t most)
{
    uint64_t n = 1;

    for (uint32_t i = 0; i < n_ranks && n / n_ranks <= most; i++)
        n *= n_devices - i;
    return n / n_ranks;
}

/* The rank after one of the slowest hops: the first from a random place on. */
static uint32_t slow_place(uint32_t n_ranks, const double *hops_s, uint64_t *random)
{
    uint32_t begin = model_random_below(random, n_ranks), slowest = begin;

    for (uint32_t i = 1; i < n_ranks; i++) {
        uint32_t rank = (begin + i) % n_ranks;
        if (hops_s[rank] > hops_s[slowest] * (1 + 1e-9))
            slowest = rank;
    }
    return (slowest + model_random_below(random, 2)) % n_ranks;
}

/* Devices from first on that are of one machine. */
static uint32_t run_of(const uint32_t *order, uint32_t first, uint32_t end, const uint32_t *group)
{
    uint32_t length = 1;

    while (first + length < end && group[order[first + length]] == group[order[first]])
        length++;
    return length;
}

/* Exchanges the machine's part at the front with another's. */
static void exchange_runs(uint32_t *order, uint32_t n, const uint32_t *group, uint64_t *random)
{
    uint32_t a = run_of(order, 0, n, group);

    if (a >= n)
        return;
    uint32_t at = a + model_random_below(random, n - a);
    while (at > a && group[order[at - 1]] == group[order[at]])
        at--;
    uint32_t b = run_of(order, at, n, group);
    rotate(order, 0, a, at + b);          /* between, b, a */
    rotate(order, 0, at - a, at - a + b); /* b, between, a */
}

/* Moves the part at the front elsewhere, one time in two turned round. */
static void move_part(uint32_t *order, uint32_t n, uint32_t length, uint64_t *random)
{
    if (length >= n)
        return;
    if (model_random_below(random, 2))
        turn(order, 0, length);
    rotate(order, 0, length, length + 1 + model_random_below(random, n - length));
}

void model_move(uint32_t *order, uint32_t n, uint32_t n_devices, const uint32_t *group, const double *hops_s,
                uint64_t *random)
{
    bool aim = hops_s && model_random_below(random, 2);
    uint32_t begin = aim ? slow_place(n, hops_s, random) : model_random_below(random, n);
    uint32_t other = 1 + model_random_below(random, n - 1), kept = 0;

    rotate(order, 0, begin, n);
    switch (model_random_below(random, n_devices > n ? 7 : 6)) {
    case 0:
    case 1:
        turn(order, 0, other + 1);
        break;
    case 2:
        move_part(order, n, 1 + model_random_below(random, 3), random);
        break;
    case 3:
        move_part(order, n, run_of(order, 0, n, group), random);
        break;
    case 4:
        exchange_runs(order, n, group, random);
        break;
    case 5:
        kept = order[0];
        order[0] = order[other];
        order[other] = kept;
        break;
    default:
        other = n + model_random_below(random, n_devices - n);
        kept = order[0];
        order[0] = order[other];
        order[other] = kept;
        break;
    }
}
