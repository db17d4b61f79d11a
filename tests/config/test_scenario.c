/* SPDX-License-Identifier: MIT
 *
 * Scenarios: every key, every default, what --set changes, and that what is shown is what was loaded. */
#include "tests/config/support.h"

static void every_key_arrives(void **state)
{
    struct config_scenario *scenario = test_scenario(FILES "full.yaml", NULL);
    const struct ring_problem *problem = &scenario->plan.problem;

    (void)state;
    assert_string_equal(scenario->name, "everything, \"quoted\" \\ and more");
    assert_string_equal(scenario->path, FILES "full.yaml");
    assert_true(problem->tokens == 4096);
    assert_int_equal(problem->batch, 2);
    assert_int_equal(problem->heads, 8);
    assert_int_equal(problem->kv_heads, 2);
    assert_int_equal(problem->head_dim, 128);
    assert_int_equal(problem->dtype, RING_BF16);
    assert_int_equal(problem->mask, RING_MASK_FULL);
    assert_int_equal(scenario->plan.n_ranks, 3);
    assert_int_equal(scenario->plan.layout, RING_LAYOUT_STRIPED);
    assert_int_equal(scenario->plan.pass, RING_PASS_BOTH);
    assert_int_equal(scenario->plan.gradient_dtype, RING_BF16);
    assert_true(scenario->plan.keep_kv);
    assert_string_equal(scenario->plan.strategy, "ring");
    assert_int_equal(scenario->plan.n_buffers, 3);
    assert_int_equal(scenario->placement[0], 2); /* g10 is the third device of the file */
    assert_int_equal(scenario->placement[1], 0);
    assert_int_equal(scenario->placement[2], 1);
    assert_string_equal(scenario->topology->name, "by-hand");
    assert_string_equal(scenario->cluster_path, FILES "graph.yaml");
    assert_true(scenario->compute.block_s == 1.3744e-3);
    assert_true(scenario->compute.core_free);
    assert_int_equal(scenario->progress, MODEL_PROGRESS_NONE);
    assert_string_equal(scenario->data.kind, "ramp");
    assert_true(scenario->data.seed == UINT64_MAX);
    assert_int_equal(scenario->measure.repeats, 7);
    assert_int_equal(scenario->measure.warmups, 0);
    assert_true(scenario->measure.timeout_s == 90);
    assert_string_equal(scenario->measure.kernel, "reference-fp32");
    config_scenario_free(scenario);
}

static void every_key_but_the_cluster_has_a_default(void **state)
{
    struct config_scenario *scenario = test_scenario(FILES "minimal.yaml", NULL);
    const struct ring_problem *problem = &scenario->plan.problem;

    (void)state;
    assert_string_equal(scenario->name, "minimal");
    assert_true(problem->tokens == 65536);
    assert_int_equal(problem->batch, 1);
    assert_int_equal(problem->heads, 32);
    assert_int_equal(problem->kv_heads, 32);
    assert_int_equal(problem->head_dim, 128);
    assert_int_equal(problem->dtype, RING_FP32);
    assert_int_equal(problem->mask, RING_MASK_CAUSAL);
    assert_int_equal(scenario->plan.n_ranks, 8); /* all devices of nodes.yaml */
    assert_int_equal(scenario->plan.layout, RING_LAYOUT_ZIGZAG);
    assert_int_equal(scenario->plan.pass, RING_PASS_FORWARD);
    assert_int_equal(scenario->plan.gradient_dtype, RING_FP32);
    assert_false(scenario->plan.keep_kv);
    assert_string_equal(scenario->plan.strategy, "ring");
    assert_int_equal(scenario->plan.n_buffers, 2);
    for (uint32_t rank = 0; rank < 8; rank++)
        assert_int_equal(scenario->placement[rank], rank);
    assert_true(scenario->compute.block_s == 0);
    assert_int_equal(scenario->progress, MODEL_PROGRESS_POLL);
    assert_string_equal(scenario->data.kind, "random");
    assert_true(scenario->data.seed == 1);
    assert_int_equal(scenario->measure.repeats, 5);
    assert_int_equal(scenario->measure.warmups, 1);
    assert_true(scenario->measure.timeout_s == 60);
    assert_string_equal(scenario->measure.kernel, "auto");
    config_scenario_free(scenario);
}

static void an_override_beats_the_file_and_the_last_beats_the_first(void **state)
{
    static const char *const items[] = {"problem.tokens=2048", "ring.devices=2",       "ring.devices=4",
                                        "compute.block=40 ms", "compute.core=free",    "data={kind: ramp}",
                                        "name='a: b = c'",     "measure.kernel=a.b=c", NULL};
    struct config_scenario *scenario = test_scenario(FILES "minimal.yaml", items);

    (void)state;
    assert_true(scenario->plan.problem.tokens == 2048);
    assert_int_equal(scenario->plan.problem.heads, 32);
    assert_int_equal(scenario->plan.n_ranks, 4);
    assert_true(scenario->compute.block_s == 0.04);
    assert_true(scenario->compute.core_free);
    assert_string_equal(scenario->data.kind, "ramp");
    assert_string_equal(scenario->name, "a: b = c");
    assert_string_equal(scenario->measure.kernel, "a.b=c");
    config_scenario_free(scenario);
}

static void an_override_of_a_section_replaces_all_of_it(void **state)
{
    static const char *const items[] = {"ring={devices: 3}", NULL};
    struct config_scenario *scenario = test_scenario(FILES "full.yaml", items);

    (void)state;
    assert_int_equal(scenario->plan.n_ranks, 3);
    assert_int_equal(scenario->plan.layout, RING_LAYOUT_ZIGZAG);
    assert_int_equal(scenario->plan.n_buffers, 2);
    assert_int_equal(scenario->placement[0], 0);
    config_scenario_free(scenario);
}

static void an_override_of_one_key_leaves_its_aliases_alone(void **state)
{
    static const char text[] = "cluster: c.yaml\n"
                               "data: &same {kind: ramp}\n"
                               "x: *same\n";
    static const char *const items[] = {"data.seed=7", NULL};
    struct config_reader reader;
    struct ring_error error = {""};
    struct config_source source = {"t.yaml", "", true};

    (void)state;
    assert_int_equal(config_reader_open(&reader, &error), RING_OK);
    const struct config_node *root = config_tree_parse(&reader, &source, text, sizeof text - 1);
    const struct config_node *changed = config_override(&reader, root, items[0]);
    assert_non_null(config_find(config_find(changed, "data")->value, "seed"));
    assert_null(config_find(config_find(changed, "x")->value, "seed"));
    assert_null(config_find(config_find(root, "data")->value, "seed"));
    config_reader_close(&reader);
}

static void an_overridden_cluster_is_relative_to_where_one_stands(void **state)
{
    static const char *const items[] = {"cluster=" FILES "graph.yaml", NULL};
    struct config_scenario *scenario = test_scenario(FILES "minimal.yaml", items);

    (void)state;
    assert_string_equal(scenario->topology->name, "by-hand");
    config_scenario_free(scenario);
}

/* full.yaml has 4096 tokens, 8 heads of 2, 3 devices in a list, both passes with keep_kv. */
static void a_conflict_is_where_the_command_line_made_it(void **state)
{
    static const struct {
        const char *item, *start;
    } cases[] = {
        {"problem.heads=9", "--set problem.heads: heads is 9"},
        {"problem.kv_heads=3", "--set problem.kv_heads: heads is 8"},
        {"problem.tokens=2", "--set problem.tokens: 2 tokens on 3 devices"},
        {"ring.devices=4", "--set ring.devices: placement: found 3 devices, accepted: 4"},
        {"ring.pass=forward", "--set ring.pass: keep_kv"},
        {"problem.dtype=fp64", "--set problem.dtype: gradient dtype is bf16"},
        {"problem={tokens: 2147483648, batch: 65536, heads: 4096}", "--set problem: tokens * batch"},
    };

    (void)state;
    for (size_t i = 0; i < CONFIG_N(cases); i++) {
        struct config_overrides overrides = {&cases[i].item, 1};
        struct config_scenario *scenario;
        struct ring_error error = {""};
        assert_int_equal(config_scenario_load(FILES "full.yaml", &overrides, &scenario, &error),
                         RING_BAD_INPUT);
        if (strncmp(error.text, cases[i].start, strlen(cases[i].start)) != 0)
            fail_msg("'%s' does not start with '%s'", error.text, cases[i].start);
    }
}

static void ranks_share_devices_only_where_the_topology_lets_them(void **state)
{
    static const char *const natural[] = {"ring.devices=7", "ring.placement=natural", NULL};
    static const char *const listed[] = {"ring.devices=3", "ring.placement=[g2, g2, g1]", NULL};
    struct config_scenario *scenario = test_scenario(FILES "full.yaml", natural);

    (void)state;
    assert_int_equal(scenario->plan.n_ranks, 7);
    assert_int_equal(scenario->placement[6], 0);
    config_scenario_free(scenario);
    scenario = test_scenario(FILES "full.yaml", listed);
    assert_int_equal(scenario->placement[0], 1);
    assert_int_equal(scenario->placement[1], 1);
    config_scenario_free(scenario);
}

static void a_random_placement_is_the_natural_one_shuffled_by_its_seed(void **state)
{
    static const char *const seeds[3][3] = {{"ring.placement={random: 5}", "ring.devices=6", NULL},
                                            {"ring.placement={random: 5}", "ring.devices=6", NULL},
                                            {"ring.placement={random: 6}", "ring.devices=6", NULL}};
    struct config_scenario *scenarios[3];

    (void)state;
    for (int i = 0; i < 3; i++) {
        bool there[8] = {false};
        scenarios[i] = test_scenario(FILES "minimal.yaml", seeds[i]);
        assert_int_equal(scenarios[i]->plan.n_ranks, 6);
        for (uint32_t rank = 0; rank < 6; rank++) {
            assert_true(scenarios[i]->placement[rank] < 6 && !there[scenarios[i]->placement[rank]]);
            there[scenarios[i]->placement[rank]] = true;
        }
    }
    assert_memory_equal(scenarios[0]->placement, scenarios[1]->placement, 6 * sizeof(uint32_t));
    assert_memory_not_equal(scenarios[0]->placement, scenarios[2]->placement, 6 * sizeof(uint32_t));
    for (int i = 0; i < 3; i++)
        config_scenario_free(scenarios[i]);
}

static void this_machine_is_in_the_cache(void **state)
{
    static const char topology[] =
        "topology: {name: here, devices: {core: core.yaml}, share_devices: true}\n";
    static const char scenario_text[] = "cluster: this-machine\nring: {devices: 2}\n";
    struct config_scenario *scenario;
    struct ring_error error = {""};
    char path[512], wanted[2048];

    (void)state;
    test_file("core.yaml", "device: {name: core}", 20);
    snprintf(path, sizeof path, "%s", test_file("s.yaml", scenario_text, sizeof scenario_text - 1));
    setenv("RINGLAB_CACHE", test_folder(), 1);
    assert_int_equal(config_scenario_load(path, NULL, &scenario, &error), RING_IO);
    assert_null(scenario);
    snprintf(wanted, sizeof wanted,
             "%s:1:10: this-machine is not calibrated yet: no %s/this-machine.yaml (run `ringlab calibrate` "
             "first)",
             path, test_folder());
    assert_string_equal(error.text, wanted);

    test_file("this-machine.yaml", topology, sizeof topology - 1);
    scenario = test_scenario(path, NULL);
    assert_string_equal(scenario->topology->name, "here");
    assert_string_equal(scenario->cluster, "this-machine");
    config_scenario_free(scenario);
    unsetenv("RINGLAB_CACHE");
}

static void the_cache_is_where_the_environment_says(void **state)
{
    char path[64];
    struct ring_error error = {""};

    (void)state;
    setenv("HOME", "/home/me", 1);
    unsetenv("XDG_CACHE_HOME");
    unsetenv("RINGLAB_CACHE");
    assert_int_equal(config_cache_path(path, sizeof path, "f", &error), RING_OK);
    assert_string_equal(path, "/home/me/.cache/ringlab/f");
    setenv("XDG_CACHE_HOME", "/x", 1);
    assert_int_equal(config_cache_path(path, sizeof path, "f", &error), RING_OK);
    assert_string_equal(path, "/x/ringlab/f");
    setenv("RINGLAB_CACHE", "/r", 1);
    assert_int_equal(config_cache_path(path, sizeof path, "f", &error), RING_OK);
    assert_string_equal(path, "/r/f");
    assert_int_equal(config_cache_path(path, 4, "f", &error), RING_BAD_INPUT);
    unsetenv("RINGLAB_CACHE");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    assert_int_equal(config_cache_path(path, sizeof path, "f", &error), RING_BAD_INPUT);
}

static void a_file_that_cannot_be_read_is_named(void **state)
{
    struct config_scenario *scenario;
    struct config_summary summary;
    struct ring_error error = {""};

    (void)state;
    assert_int_equal(config_scenario_load("nowhere.yaml", NULL, &scenario, &error), RING_IO);
    assert_string_equal(error.text, "nowhere.yaml: no such file");
    assert_null(scenario);
    assert_int_equal(config_check("tests", &summary, &error), RING_IO);
    assert_string_equal(error.text, "tests: is a directory, accepted: a YAML file");
    assert_int_equal(config_check("/dev/zero", &summary, &error), RING_IO);
    assert_string_equal(error.text, "/dev/zero: is not a regular file, accepted: a YAML file");
    assert_int_equal(config_check("", &summary, NULL), RING_IO);
}

static void a_topology_is_not_taken_for_a_scenario(void **state)
{
    struct config_scenario *scenario;
    struct ring_error error = {""};

    (void)state;
    assert_int_equal(config_scenario_load(FILES "nodes.yaml", NULL, &scenario, &error), RING_BAD_INPUT);
    assert_string_equal(error.text,
                        FILES "nodes.yaml:2:1: found a topology, accepted: a scenario (with cluster: FILE)");
}

static char *show(const struct config_scenario *scenario)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);

    assert_non_null(file);
    config_scenario_show(scenario, file);
    fclose(file);
    return text;
}

static void what_is_shown_loads_to_the_same_from_anywhere(void **state)
{
    static const char *const plain[] = {NULL};
    static const char *const odd[] = {"name='tab\there, \xc3\xa9, {braces}: #'",
                                      "problem.dtype=fp64",
                                      "ring.gradients=fp64",
                                      "ring.pass=both",
                                      "compute={block: 0.1 us}",
                                      "measure.timeout=0.3 s",
                                      NULL};
    static const struct {
        const char *path;
        const char *const *items;
    } cases[] = {
        {FILES "full.yaml", plain},
        {FILES "minimal.yaml", plain},
        {FILES "full.yaml", odd},
        {FILES "minimal.yaml", odd},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct config_scenario *scenario = test_scenario(cases[i].path, cases[i].items);
        char *first = show(scenario);
        struct config_scenario *again = test_scenario(test_file("shown.yaml", first, strlen(first)), NULL);
        char *second = show(again);
        assert_string_equal(first, second);
        assert_memory_equal(&scenario->plan.problem, &again->plan.problem, sizeof again->plan.problem);
        assert_int_equal(scenario->plan.pass, again->plan.pass);
        assert_int_equal(scenario->plan.gradient_dtype, again->plan.gradient_dtype);
        assert_int_equal(scenario->plan.keep_kv, again->plan.keep_kv);
        assert_memory_equal(scenario->placement, again->placement, again->plan.n_ranks * sizeof(uint32_t));
        assert_true(scenario->compute.block_s == again->compute.block_s);
        assert_string_equal(scenario->name, again->name);
        free(first);
        free(second);
        config_scenario_free(scenario);
        config_scenario_free(again);
    }
}

static void a_scenario_is_shown_as_one_would_write_it(void **state)
{
    static const char *const items[] = {"name=quick", "ring.devices=2", NULL};
    struct config_scenario *scenario = test_scenario(FILES "minimal.yaml", items);
    char *text = show(scenario), *line;
    static const char *const wanted[] = {
        "name: \"quick\"",
        "problem: {tokens: 65536, batch: 1, heads: 32, kv_heads: 32, head_dim: 128, dtype: fp32, mask: "
        "causal}",
        "ring: {devices: 2, layout: zigzag, pass: forward, gradients: fp32, keep_kv: false, strategy: ring, "
        "buffers: 2, placement: natural}",
        NULL, /* the cluster, from the root of the file system */
        "compute: model",
        "progress: poll",
        "threads: 1",
        "data: {kind: random, seed: 1}",
        "measure: {repeats: 5, warmups: 1, timeout: 60 s, kernel: \"auto\"}",
    };
    size_t n = 0;

    (void)state;
    for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), n++) {
        assert_true(n < sizeof wanted / sizeof wanted[0]);
        if (wanted[n])
            assert_string_equal(line, wanted[n]);
        else
            assert_non_null(strstr(line, "/" FILES "nodes.yaml\""));
    }
    assert_int_equal(n, sizeof wanted / sizeof wanted[0]);
    free(text);
    config_scenario_free(scenario);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_arrives),
        cmocka_unit_test(every_key_but_the_cluster_has_a_default),
        cmocka_unit_test(an_override_beats_the_file_and_the_last_beats_the_first),
        cmocka_unit_test(an_override_of_a_section_replaces_all_of_it),
        cmocka_unit_test(an_override_of_one_key_leaves_its_aliases_alone),
        cmocka_unit_test(an_overridden_cluster_is_relative_to_where_one_stands),
        cmocka_unit_test(a_conflict_is_where_the_command_line_made_it),
        cmocka_unit_test(ranks_share_devices_only_where_the_topology_lets_them),
        cmocka_unit_test(a_random_placement_is_the_natural_one_shuffled_by_its_seed),
        cmocka_unit_test(this_machine_is_in_the_cache),
        cmocka_unit_test(the_cache_is_where_the_environment_says),
        cmocka_unit_test(a_file_that_cannot_be_read_is_named),
        cmocka_unit_test(a_topology_is_not_taken_for_a_scenario),
        cmocka_unit_test(what_is_shown_loads_to_the_same_from_anywhere),
        cmocka_unit_test(a_scenario_is_shown_as_one_would_write_it),
    };
    return cmocka_run_group_tests(tests, NULL, test_remove_folder);
}
