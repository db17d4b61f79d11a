/* SPDX-License-Identifier: MIT
 *
 * A scenario's faults: what each key means, what a link's name stands for, and that writing them back changes
 * nothing. Wrong ones are in tests/bad/. */
#include <math.h>

#include "tests/config/support.h"

static struct config_scenario *scenario_with(const char *faults)
{
    static char item[1024];
    const char *const items[] = {item, NULL};

    snprintf(item, sizeof item, "faults=%s", faults);
    return test_scenario(FILES "minimal.yaml", items);
}

static void every_effect_is_read_in_si(void **state)
{
    struct config_scenario *scenario =
        scenario_with("[{device: node0.gpu3, slow: 1.5x}, {device: node1.gpu0, jitter: 5 %, from: 1 ms},"
                      " {link: node0.gpu0 -> node0.switch, bandwidth: 50%, from: 3 ms, to: 8 ms},"
                      " {link: node0.gpu0 -> node0.switch, latency: 20 us},"
                      " {link: node0.gpu0 -> node0.switch, flap: {period: 2 ms, down: 0.5 ms}},"
                      " {link: node0.gpu0 -> node0.switch, dies: 4 ms}, {device: node1.gpu3, dies: 0 s}]");
    const struct model_faults *faults = &scenario->faults;
    static const struct model_fault wanted[] = {
        {.kind = MODEL_FAULT_SLOW, .device = 3, .amount = 1.5, .to_s = INFINITY},
        {.kind = MODEL_FAULT_JITTER, .device = 4, .amount = 0.05, .from_s = 1e-3, .to_s = INFINITY},
        {.kind = MODEL_FAULT_BANDWIDTH, .n_links = 1, .amount = 0.5, .from_s = 3e-3, .to_s = 8e-3},
        {.kind = MODEL_FAULT_LATENCY, .n_links = 1, .amount = 20e-6, .to_s = INFINITY},
        {.kind = MODEL_FAULT_FLAP, .n_links = 1, .period_s = 2e-3, .down_s = 0.5e-3, .to_s = INFINITY},
        {.kind = MODEL_FAULT_LINK_DIES, .n_links = 1, .from_s = 4e-3, .to_s = INFINITY},
        {.kind = MODEL_FAULT_DEVICE_DIES, .device = 7, .to_s = INFINITY},
    };

    (void)state;
    assert_int_equal(faults->n, sizeof wanted / sizeof *wanted);
    assert_int_equal(faults->seed, 1);
    for (size_t i = 0; i < faults->n; i++) {
        const struct model_fault *fault = &faults->items[i];
        assert_int_equal(fault->kind, wanted[i].kind);
        assert_int_equal(fault->device, wanted[i].device);
        assert_int_equal(fault->n_links, wanted[i].n_links);
        assert_true(fault->amount == wanted[i].amount);
        assert_true(fault->period_s == wanted[i].period_s && fault->down_s == wanted[i].down_s);
        assert_true(fault->from_s == wanted[i].from_s && fault->to_s == wanted[i].to_s);
        for (size_t j = 0; j < fault->n_links; j++)
            assert_string_equal(scenario->topology->links[fault->links[j]].name,
                                "node0.gpu0 -> node0.switch");
    }
    assert_string_equal(faults->items[0].subject, "node0.gpu3");
    assert_string_equal(faults->items[2].subject, "node0.gpu0 -> node0.switch");
    config_scenario_free(scenario);
}

static void two_devices_mean_every_link_of_the_way_between_them(void **state)
{
    struct config_scenario *scenario = scenario_with("[{link: node0.gpu1 -> node0.gpu2, bandwidth: 50 %},"
                                                     " {link: node0.gpu1 <-> node0.gpu2, bandwidth: 50 %},"
                                                     " {link: node0.gpu1<->node0.switch, bandwidth: 50 %},"
                                                     " {link: node0.gpu1 <-> node0.gpu2, latency: 5 us}]");
    const struct model_fault *items = scenario->faults.items;
    const struct model_link *links = scenario->topology->links;
    static const char *const names[] = {"node0.gpu1 -> node0.switch", "node0.switch -> node0.gpu2",
                                        "node0.gpu2 -> node0.switch", "node0.switch -> node0.gpu1"};

    (void)state;
    assert_int_equal(items[0].n_links, 2);
    assert_int_equal(items[1].n_links, 4);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(links[items[1].links[i]].name, names[i]);
    assert_int_equal(items[3].n_links, 2); /* once each way */
    assert_string_equal(links[items[3].links[0]].name, names[0]);
    assert_string_equal(links[items[3].links[1]].name, names[2]);
    assert_int_equal(items[2].n_links, 2);
    assert_string_equal(links[items[2].links[0]].name, names[0]);
    assert_string_equal(links[items[2].links[1]].name, names[3]);
    config_scenario_free(scenario);
}

static void what_is_written_back_reads_the_same(void **state)
{
    static const char text[] = "[{device: node0.gpu3, slow: 1.37x, from: 1.1 us, to: 7.3 s},"
                               " {device: node1.gpu0, jitter: 5.7 %},"
                               " {link: node0.gpu0 <-> node0.gpu1, bandwidth: 33.3 %},"
                               " {link: node0.gpu0 -> node0.switch, latency: 20.7 us},"
                               " {link: node0.gpu0 -> node0.switch, flap: {period: 2.3 ms, down: 0.7 ms}},"
                               " {link: node0.gpu0 -> node0.switch, dies: 4.1 ms}]";
    struct config_scenario *scenario = scenario_with(text);
    char path[512];

    (void)state;
    snprintf(path, sizeof path, "%s/shown.yaml", test_folder());
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    config_scenario_show(scenario, file);
    fclose(file);
    struct config_scenario *again = test_scenario(path, NULL);
    assert_int_equal(again->faults.n, scenario->faults.n);
    assert_int_equal(again->faults.seed, scenario->faults.seed);
    for (size_t i = 0; i < scenario->faults.n; i++) {
        const struct model_fault *a = &scenario->faults.items[i], *b = &again->faults.items[i];
        assert_true(a->kind == b->kind && a->device == b->device && a->amount == b->amount);
        assert_true(a->period_s == b->period_s && a->down_s == b->down_s);
        assert_true(a->from_s == b->from_s && a->to_s == b->to_s && a->n_links == b->n_links);
        assert_string_equal(a->subject, b->subject);
    }
    config_scenario_free(scenario);
    config_scenario_free(again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_effect_is_read_in_si),
        cmocka_unit_test(two_devices_mean_every_link_of_the_way_between_them),
        cmocka_unit_test(what_is_written_back_reads_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, test_remove_folder);
}
