/* SPDX-License-Identifier: MIT
 *
 * Sets of scenarios: every combination of a grid is a case, in the order one would write them, and what is
 * not a set is refused in one line. */
#include "tests/config/support.h"

static struct config_set load(const char *text)
{
    struct config_set set;
    struct ring_error error = {""};
    test_file("base.yaml", "{}", 2);
    if (config_set_load(test_file("set.yaml", text, strlen(text)), &set, &error) != RING_OK)
        fail_msg("%s", error.text);
    return set;
}

static void refuse(const char *text, const char *reason)
{
    struct config_set set;
    struct ring_error error = {""};
    assert_int_equal(config_set_load(test_file("bad.yaml", text, strlen(text)), &set, &error),
                     RING_BAD_INPUT);
    if (strstr(error.text, reason) == NULL)
        fail_msg("'%s' does not say '%s'", error.text, reason);
    assert_null(set.cases);
    assert_int_equal(set.n_cases, 0);
}

static void every_combination_is_a_case_and_the_last_key_changes_fastest(void **state)
{
    (void)state;
    struct config_set set =
        load("set: {scenario: base.yaml, grids: [{ring.devices: [1, 2], problem.mask: [full, causal]}]}\n");
    const char *const wanted[][2] = {{"ring.devices=1", "problem.mask=full"},
                                     {"ring.devices=1", "problem.mask=causal"},
                                     {"ring.devices=2", "problem.mask=full"},
                                     {"ring.devices=2", "problem.mask=causal"}};
    assert_int_equal(set.n_cases, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(set.cases[i].n_sets, 2);
        assert_string_equal(set.cases[i].sets[0], wanted[i][0]);
        assert_string_equal(set.cases[i].sets[1], wanted[i][1]);
    }
    config_set_free(&set);
}

static void several_grids_follow_one_another_and_paths_are_relative_to_the_set(void **state)
{
    (void)state;
    struct config_set set =
        load("set:\n  scenario: base.yaml\n  grids:\n    - {a: 1}\n    - {b: [2, 3], c: 4}\n");
    char base[128];
    snprintf(base, sizeof base, "%s/base.yaml", test_folder());
    assert_int_equal(set.n_cases, 3);
    assert_string_equal(set.cases[0].sets[0], "a=1");
    assert_string_equal(set.cases[2].sets[0], "b=3");
    assert_string_equal(set.cases[2].sets[1], "c=4");
    assert_string_equal(set.cases[1].scenario, base);
    config_set_free(&set);
}

static void any_other_file_is_a_set_of_one(void **state)
{
    (void)state;
    struct config_set set = load("cluster: this-machine\n");
    assert_int_equal(set.n_cases, 1);
    assert_int_equal(set.cases[0].n_sets, 0);
    assert_non_null(strstr(set.cases[0].scenario, "set.yaml"));
    config_set_free(&set);
}

static void what_is_no_set_is_refused_with_its_place(void **state)
{
    (void)state;
    refuse("set: 3\n", "bad.yaml:1:6: set: found '3', accepted: a map");
    refuse("set: {grids: [{a: 1}]}\n", "scenario");
    refuse("set: {scenario: base.yaml}\n", "grids");
    refuse("set: {scenario: base.yaml, grids: []}\n", "empty list");
    refuse("set: {scenario: base.yaml, grids: [{}]}\n", "found 0 keys");
    refuse("set: {scenario: base.yaml, grids: [{a: []}]}\n", "a: found an empty list");
    refuse("set: {scenario: base.yaml, grids: [{a: [[1]]}]}\n", "a single value");
    refuse("set: {scenario: base.yaml, grids: [{a: 1}], more: 1}\n", "more");
    refuse("set: {scenario: base.yaml, grids: [{a: 1}]}\ncluster: x\n", "beside 'set'");
}

static void more_cases_than_anyone_runs_are_refused(void **state)
{
    (void)state;
    refuse("set: {scenario: base.yaml, grids: [{a: &x [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17], b: *x, c: "
           "*x}]}\n",
           "more than 4096");
}

static void the_set_that_comes_with_the_project_has_scenarios_that_load(void **state)
{
    (void)state;
    static const char cluster[] =
        "topology: {name: t, devices: {a: d.yaml, b: d.yaml}, links: {w: {bandwidth: 1 GB/s}}, cables: "
        "[{between: [a, b], link: w}], share_devices: true}\n";
    static const char device[] = "device: {name: d, source: s}\n";
    struct config_set set;
    struct ring_error error = {""};
    assert_int_equal(config_set_load("scenarios/validate/this-machine.yaml", &set, &error), RING_OK);
    assert_true(set.n_cases >= 40);
    test_file("d.yaml", device, strlen(device));
    char override[300];
    snprintf(override, sizeof override, "cluster=%s", test_file("t.yaml", cluster, strlen(cluster)));
    for (size_t i = 0; i < set.n_cases; i++) {
        const char *items[16] = {override};
        for (size_t j = 0; j < set.cases[i].n_sets; j++)
            items[j + 1] = set.cases[i].sets[j];
        config_scenario_free(test_scenario(set.cases[i].scenario, items));
    }
    config_set_free(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_combination_is_a_case_and_the_last_key_changes_fastest),
        cmocka_unit_test(several_grids_follow_one_another_and_paths_are_relative_to_the_set),
        cmocka_unit_test(any_other_file_is_a_set_of_one),
        cmocka_unit_test(what_is_no_set_is_refused_with_its_place),
        cmocka_unit_test(more_cases_than_anyone_runs_are_refused),
        cmocka_unit_test(the_set_that_comes_with_the_project_has_scenarios_that_load),
    };
    return cmocka_run_group_tests(tests, NULL, test_remove_folder);
}
