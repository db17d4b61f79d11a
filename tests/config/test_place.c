/* SPDX-License-Identifier: MIT
 *
 * The search for orders on the clusters that come with the project: on every one of eight devices it finds
 * what trying all orders finds, with routes by model_topology_route and shares by another way than
 * models/maxmin.c; and what a shuffled order loses on 128 devices is found again. */
#include <dirent.h>
#include <math.h>

#include "models/place.h"
#include "tests/config/support.h"

enum { N = 8, MAX_LINKS = 512, MAX_ROUTE = 16 };

/* Routes and prices of one cluster's pairs. */
struct pairs {
    size_t n_links;
    double capacity[MAX_LINKS]; /* bytes per second */
    double bytes;
    uint32_t routes[N][N][MAX_ROUTE];
    size_t lengths[N][N];
    double latency_s[N][N];
};

static void read_pairs(struct pairs *pairs, const struct model_topology *topology, uint64_t bytes)
{
    *pairs = (struct pairs){.n_links = topology->n_links, .bytes = (double)bytes};
    assert_true(topology->n_links <= MAX_LINKS);
    for (size_t l = 0; l < topology->n_links; l++)
        pairs->capacity[l] = model_link_class(&topology->links[l], bytes)->bytes_per_s;
    for (uint32_t a = 0; a < N; a++)
        for (uint32_t b = 0; b < N; b++) {
            size_t *n = &pairs->lengths[a][b];
            assert_int_equal(model_topology_route(topology, topology->devices[a], topology->devices[b],
                                                  pairs->routes[a][b], MAX_ROUTE, n, NULL),
                             RING_OK);
            for (size_t i = 0; i < *n; i++)
                pairs->latency_s[a][b] +=
                    model_link_class(&topology->links[pairs->routes[a][b][i]], bytes)->latency_s;
        }
}

/* The slowest hop of the order. Water rises in all hops alike; a link that is full stops the hops that cross
 * it. */
static double worst_hop_s(const struct pairs *pairs, const uint32_t *order)
{
    double used[MAX_LINKS] = {0}, rate[N] = {0}, worst_s = 0;
    bool stopped[N] = {false};

    for (uint32_t n_stopped = 0; n_stopped < N;) {
        uint32_t n_rising[MAX_LINKS] = {0};
        double rise = INFINITY;
        for (uint32_t r = 0; r < N; r++)
            for (size_t i = 0; !stopped[r] && i < pairs->lengths[order[r]][order[(r + 1) % N]]; i++)
                n_rising[pairs->routes[order[r]][order[(r + 1) % N]][i]]++;
        for (size_t l = 0; l < pairs->n_links; l++)
            if (n_rising[l] > 0)
                rise = fmin(rise, (pairs->capacity[l] - used[l]) / n_rising[l]);
        for (size_t l = 0; l < pairs->n_links; l++)
            used[l] += rise * n_rising[l];
        for (uint32_t r = 0; r < N; r++) {
            if (stopped[r])
                continue;
            rate[r] += rise;
            for (size_t i = 0; i < pairs->lengths[order[r]][order[(r + 1) % N]]; i++) {
                uint32_t link = pairs->routes[order[r]][order[(r + 1) % N]][i];
                stopped[r] |= used[link] >= pairs->capacity[link] * (1 - 1e-12);
            }
            n_stopped += stopped[r];
        }
    }
    for (uint32_t r = 0; r < N; r++)
        worst_s = fmax(worst_s, pairs->latency_s[order[r]][order[(r + 1) % N]] + pairs->bytes / rate[r]);
    return worst_s;
}

struct extremes {
    double best_s, worst_s;
};

/* All orders of at and later; the first device stays, a ring can begin anywhere. */
static void try_all(const struct pairs *pairs, uint32_t *order, uint32_t at, struct extremes *extremes)
{
    if (at == N) {
        double hop_s = worst_hop_s(pairs, order);
        extremes->best_s = fmin(extremes->best_s, hop_s);
        extremes->worst_s = fmax(extremes->worst_s, hop_s);
        return;
    }
    for (uint32_t i = at; i < N; i++) {
        uint32_t kept = order[i];
        order[i] = order[at];
        order[at] = kept;
        try_all(pairs, order, at + 1, extremes);
        order[at] = order[i];
        order[i] = kept;
    }
}

static struct model_place_score search(const struct model_topology *topology, const struct ring_plan *plan,
                                       enum model_goal goal, uint32_t *order)
{
    struct model_place *place;
    struct ring_error error = {""};

    if (model_place_search(&(struct model_place_spec){plan, topology, NULL, NULL}, goal, order, &error) !=
            RING_OK ||
        model_place_open(&place, &(struct model_place_spec){plan, topology, NULL, NULL}, &error) != RING_OK)
        fail_msg("%s", error.text);
    struct model_place_score score = model_place_judge(place, order);
    model_place_close(place);
    return score;
}

static void assert_near(const char *path, double actual, double expected)
{
    if (!(fabs(actual - expected) <= 1e-9 * expected))
        fail_msg("%s: %.12g s, expected %.12g s", path, actual, expected);
}

static struct config_scenario *load(const char *cluster, const char *n_ranks, const char *placement)
{
    static char cluster_item[640], ranks_item[64], placement_item[64];
    const char *items[] = {cluster_item, ranks_item, placement_item, "compute={block: 1 ms}", NULL};
    char *path = realpath(cluster, NULL);

    assert_non_null(path);
    snprintf(cluster_item, sizeof cluster_item, "cluster=%s", path);
    snprintf(ranks_item, sizeof ranks_item, "ring.devices=%s", n_ranks);
    snprintf(placement_item, sizeof placement_item, "ring.placement=%s", placement);
    free(path);
    return test_scenario("scenarios/64k-one-node.yaml", items);
}

static bool compare_preset(const char *path)
{
    static struct pairs pairs;
    uint32_t order[N] = {0, 1, 2, 3, 4, 5, 6, 7}, found[N];
    struct extremes extremes = {.best_s = INFINITY};
    struct ring_plan plan;
    struct config_scenario *scenario = load(path, "8", "natural");
    bool eight = scenario->topology->n_devices == N;

    assert_int_equal(ring_plan_init(&plan, &scenario->plan, NULL), RING_OK);
    if (eight) {
        read_pairs(&pairs, scenario->topology, ring_plan_block_bytes(&plan, 0));
        try_all(&pairs, order, 1, &extremes);
        assert_near(path, search(scenario->topology, &plan, MODEL_PLACE_BEST, found).worst_hop_s,
                    extremes.best_s);
        assert_near(path, worst_hop_s(&pairs, found), extremes.best_s);
        assert_near(path, search(scenario->topology, &plan, MODEL_PLACE_WORST, found).worst_hop_s,
                    extremes.worst_s);
        assert_near(path, worst_hop_s(&pairs, found), extremes.worst_s);
    }
    config_scenario_free(scenario);
    return eight;
}

static void every_preset_of_eight_devices_gets_the_best_and_the_worst_of_all_orders(void **state)
{
    DIR *directory = opendir("topologies");
    size_t n = 0;

    (void)state;
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));) {
        const char *dot = strrchr(entry->d_name, '.');
        char path[512];
        snprintf(path, sizeof path, "topologies/%s", entry->d_name);
        if (dot && strcmp(dot, ".yaml") == 0)
            n += compare_preset(path);
    }
    closedir(directory);
    assert_true(n >= 5);
}

/* What the scenario's shuffled order has for its worst hop, the natural one and the one searched for. */
static void compare_shuffled(const char *path, const char *n_ranks, double loses_at_least)
{
    struct ring_plan plan;
    struct config_scenario *shuffled = load(path, n_ranks, "{random: 1}");
    struct config_scenario *natural = load(path, n_ranks, "natural");
    struct config_scenario *best = load(path, n_ranks, "best");
    struct model_place *place;

    assert_int_equal(ring_plan_init(&plan, &natural->plan, NULL), RING_OK);
    assert_int_equal(
        model_place_open(&place, &(struct model_place_spec){&plan, natural->topology, NULL, NULL}, NULL),
        RING_OK);
    double shuffled_s = model_place_judge(place, shuffled->placement).worst_hop_s;
    double natural_s = model_place_judge(place, natural->placement).worst_hop_s;
    double best_s = model_place_judge(place, best->placement).worst_hop_s;
    assert_true(shuffled_s >= loses_at_least * natural_s);
    if (!(best_s <= 1.01 * natural_s))
        fail_msg("%s: %g s a hop, natural %g s, shuffled %g s", path, best_s, natural_s, shuffled_s);
    model_place_close(place);
    config_scenario_free(shuffled);
    config_scenario_free(natural);
    config_scenario_free(best);
}

static void what_a_shuffled_order_of_128_devices_loses_is_found_again(void **state)
{
    (void)state;
    compare_shuffled("topologies/dgx-h100-x16.yaml", "128", 1); /* a NIC for each: nothing is ever shared */
    compare_shuffled("topologies/fat-tree-4to1.yaml", "128", 4);
}

/* Two nodes of four with one NIC: one hop through it at best, four at worst. */
static void a_scenario_may_ask_for_the_best_or_the_worst_order(void **state)
{
    static const char *const goals[] = {"best", "worst"};
    static const double worst_s[] = {33554432 / 25e9, 4 * 33554432 / 25e9};
    struct ring_plan plan;
    struct model_place *place;

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct config_scenario *scenario = load("tests/cli/nodes.yaml", "8", goals[i]);
        assert_int_equal(ring_plan_init(&plan, &scenario->plan, NULL), RING_OK);
        assert_int_equal(
            model_place_open(&place, &(struct model_place_spec){&plan, scenario->topology, NULL, NULL}, NULL),
            RING_OK);
        assert_near(goals[i], model_place_judge(place, scenario->placement).worst_hop_s, worst_s[i]);
        model_place_close(place);
        config_scenario_free(scenario);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_preset_of_eight_devices_gets_the_best_and_the_worst_of_all_orders),
        cmocka_unit_test(what_a_shuffled_order_of_128_devices_loses_is_found_again),
        cmocka_unit_test(a_scenario_may_ask_for_the_best_or_the_worst_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
