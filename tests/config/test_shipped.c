/* SPDX-License-Identifier: MIT
 *
 * The files that come with the project: all of them load, and the clusters are what their sources say. */
#include <dirent.h>
#include <math.h>

#include "tests/config/support.h"

static size_t check_folder(const char *folder, enum config_kind kind)
{
    DIR *directory = opendir(folder);
    size_t n = 0;

    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));) {
        const char *dot = strrchr(entry->d_name, '.');
        char path[512];
        struct config_summary summary;
        struct ring_error error = {""};
        if (!dot || strcmp(dot, ".yaml") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (config_check(path, &summary, &error) != RING_OK)
            fail_msg("%s", error.text);
        assert_int_equal(summary.kind, kind);
        assert_true(strlen(summary.text) > 0);
        n++;
    }
    closedir(directory);
    return n;
}

static void every_shipped_file_loads(void **state)
{
    static const char here[] = "topology: {name: here, devices: {core: core.yaml}, share_devices: true}\n";

    (void)state;
    test_file("core.yaml", "device: {name: core}", 20);
    test_file("this-machine.yaml", here, sizeof here - 1);
    setenv("RINGLAB_CACHE", test_folder(), 1);
    assert_true(check_folder("scenarios", CONFIG_SCENARIO) >= 5);
    assert_true(check_folder("topologies", CONFIG_TOPOLOGY) >= 5);
    assert_true(check_folder("models/devices", CONFIG_DEVICE) >= 2);
}

static void every_example_of_the_documentation_loads(void **state)
{
    static char text[1 << 16], path[512], target[512];
    FILE *file = fopen("docs/FORMATS.md", "r");
    size_t n_examples = 0;

    (void)state;
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    static const char *const folders[] = {"models", "topologies"};
    for (size_t i = 0; i < 2; i++) { /* the examples' paths are those of a file in docs/ */
        char *root = realpath(folders[i], NULL);
        snprintf(path, sizeof path, "%s/%s", test_folder(), folders[i]);
        assert_non_null(root);
        assert_int_equal(symlink(root, path), 0);
        free(root);
    }
    snprintf(target, sizeof target, "%s/docs", test_folder());
    assert_int_equal(mkdir(target, 0700), 0);
    for (char *at = text, *end; (at = strstr(at, "```yaml\n")); at = end + 1, n_examples++) {
        struct config_summary summary;
        struct ring_error error = {""};
        at += strlen("```yaml\n");
        end = strstr(at, "```");
        assert_non_null(end);
        if (config_check(test_file("docs/example.yaml", at, (size_t)(end - at)), &summary, &error) != RING_OK)
            fail_msg("example %zu: %s", n_examples + 1, error.text);
    }
    assert_int_equal(n_examples, 6);
}

/* Seconds for one message from device a to device b with nothing else on the way. */
static double alone_s(const struct model_topology *topology, uint32_t a, uint32_t b, uint64_t bytes)
{
    uint32_t links[16];
    size_t n = 0;
    struct ring_error error;
    double latency_s = 0, bytes_per_s = INFINITY;

    assert_int_equal(
        model_topology_route(topology, topology->devices[a], topology->devices[b], links, 16, &n, &error),
        RING_OK);
    for (size_t i = 0; i < n; i++) {
        const struct model_size_class *class = model_link_class(&topology->links[links[i]], bytes);
        latency_s += class->latency_s;
        bytes_per_s = fmin(bytes_per_s, class->bytes_per_s);
    }
    return latency_s + (double)bytes / bytes_per_s;
}

static void a_message_in_a_node_takes_what_was_published(void **state)
{
    /* one send and one receive between two GPUs of a node: github.com/microsoft/vidur, 7d47513,
     * data/profiling/network/{h100,a100}_dgx/send_recv.csv; its times are whole microseconds */
    static const struct {
        const char *path;
        uint64_t bytes;
        double time_s;
    } rows[] = {
        {"topologies/dgx-h100.yaml", 2048, 5e-6},           {"topologies/dgx-h100.yaml", 264192, 8e-6},
        {"topologies/dgx-h100.yaml", 4194304, 19e-6},       {"topologies/dgx-h100.yaml", 16777216, 54e-6},
        {"topologies/dgx-h100.yaml", 67108864, 193e-6},     {"topologies/dgx-h100-x2.yaml", 67108864, 193e-6},
        {"topologies/dgx-h100-x16.yaml", 67108864, 193e-6}, {"topologies/dgx-a100.yaml", 2048, 8e-6},
        {"topologies/dgx-a100.yaml", 1048576, 17e-6},       {"topologies/dgx-a100.yaml", 8388608, 36e-6},
        {"topologies/dgx-a100.yaml", 33554432, 132e-6},     {"topologies/dgx-a100.yaml", 67108864, 294e-6},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct config_reader reader;
        const struct model_topology *topology = test_topology(&reader, rows[i].path);
        double found_s = alone_s(topology, 2, 3, rows[i].bytes);
        if (fabs(found_s - rows[i].time_s) > 0.15 * rows[i].time_s)
            fail_msg("%s: %g us for %llu bytes, published %g us", rows[i].path, found_s * 1e6,
                     (unsigned long long)rows[i].bytes, rows[i].time_s * 1e6);
        config_reader_close(&reader);
    }
}

static void between_nodes_each_gpu_has_a_nic_of_its_own(void **state)
{
    struct config_reader reader;
    const struct model_topology *topology = test_topology(&reader, "topologies/dgx-h100-x2.yaml");

    (void)state;
    /* 46 to 48 GB/s a NIC: github.com/NVIDIA/nccl-tests, issue 290. 1 GB is 20.8 to 21.7 ms */
    for (uint32_t gpu = 0; gpu < 8; gpu++) {
        double time_s = alone_s(topology, gpu, 8 + gpu, 1000000000);
        assert_true(time_s > 1.0 / 48 && time_s < 1.0 / 46);
    }
    assert_true(model_topology_find(topology, "node1.nic7") > 0);
    config_reader_close(&reader);
}

static void ethernet_carries_a_tenth_of_a_gigabyte_in_eight_milliseconds(void **state)
{
    struct config_reader reader;
    const struct model_topology *topology = test_topology(&reader, "topologies/ethernet-100g.yaml");

    (void)state;
    /* 12 GB/s: github.com/NVIDIA/nccl-tests, issue 119. 0.1 GB / 12 GB/s = 8.3333 ms, and 32 us */
    assert_true(fabs(alone_s(topology, 0, 7, 100000000) - 8.3653333e-3) < 1e-8);
    config_reader_close(&reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shipped_file_loads),
        cmocka_unit_test(every_example_of_the_documentation_loads),
        cmocka_unit_test(a_message_in_a_node_takes_what_was_published),
        cmocka_unit_test(between_nodes_each_gpu_has_a_nic_of_its_own),
        cmocka_unit_test(ethernet_carries_a_tenth_of_a_gigabyte_in_eight_milliseconds),
    };
    return cmocka_run_group_tests(tests, NULL, test_remove_folder);
}
