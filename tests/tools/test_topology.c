/* SPDX-License-Identifier: MIT
 *
 * Machines that other programs describe become topology files that load, with the ways between their parts
 * as described; and every cluster can be drawn. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "config/config.h"
#include "tools/import.h"
#include "tools/topology_picture.h"

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/ringlab-topology-%ld", (long)getpid());
    return mkdir(folder, 0700);
}

static int remove_folder(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static const char *path_of(const char *name)
{
    static char path[128];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* The topology that a machine becomes; freed with config_cluster_free. */
static struct config_cluster load(const struct tool_machine *machine)
{
    struct config_cluster cluster;
    struct ring_error error = {""};
    FILE *device = fopen(path_of("gpu.yaml"), "w");

    assert_non_null(device);
    fputs("device: {name: gpu}\n", device);
    fclose(device);
    FILE *file = fopen(path_of("imported.yaml"), "w");
    assert_non_null(file);
    tool_write_machine(machine, file);
    fclose(file);
    if (config_cluster_load(path_of("imported.yaml"), &cluster, &error) != RING_OK)
        fail_msg("%s", error.text);
    return cluster;
}

/* Type of the narrowest kind of link on the way between two devices, as "a > b > c" of the kinds' names. */
static const char *kinds_between(const struct model_topology *topology, uint32_t a, uint32_t b)
{
    static char text[256];
    uint32_t links[32];
    size_t n = 0;

    assert_int_equal(
        model_topology_route(topology, topology->devices[a], topology->devices[b], links, 32, &n, NULL),
        RING_OK);
    text[0] = '\0';
    for (size_t i = 0; i < n; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i > 0 ? " > " : "",
                 topology->links[links[i]].type);
    return text;
}

static const char mesh[] = "\tGPU0\tGPU1\tGPU2\tGPU3\tmlx5_0\tmlx5_1\tCPU Affinity\tNUMA Affinity\n"
                           "GPU0\t X \tNV2\tNV1\tSYS\tPIX\tSYS\t0-19,40-59\t0\n"
                           "GPU1\tNV2\t X \tSYS\tNV1\tPIX\tSYS\t0-19,40-59\t0\n"
                           "GPU2\tNV1\tSYS\t X \tNV2\tSYS\tPHB\t20-39,60-79\t1\n"
                           "GPU3\tSYS\tNV1\tNV2\t X \tSYS\tPHB\t20-39,60-79\t1\n"
                           "mlx5_0\tPIX\tPIX\tSYS\tSYS\t X \tSYS\n"
                           "mlx5_1\tSYS\tSYS\tPHB\tPHB\tSYS\t X \n"
                           "\nLegend:\n\n  X    = Self\n";

static void a_matrix_of_nvlinks_becomes_a_mesh(void **state)
{
    struct tool_machine machine;
    struct ring_error error = {""};

    (void)state;
    assert_int_equal(tool_import_smi(mesh, &machine, &error), RING_OK);
    assert_int_equal(machine.n_devices, 4);
    assert_int_equal(machine.n_nics, 2);
    assert_int_equal(machine.n_sockets, 2);
    assert_int_equal(machine.nvlinks[0][1], 2);
    assert_int_equal(machine.nvlinks[3][1], 1);
    struct config_cluster cluster = load(&machine);
    assert_string_equal(kinds_between(cluster.topology, 0, 1), "nvlink");
    /* no cable between 0 and 3: over the switch of 0, both sockets, and 3 hangs on its socket itself */
    assert_string_equal(kinds_between(cluster.topology, 0, 3), "pcie > pcie > sockets > pcie");
    config_cluster_free(&cluster);
}

static void a_matrix_where_all_say_the_same_becomes_a_switch(void **state)
{
    static const char text[] = "\tGPU0\tGPU1\tGPU2\tCPU Affinity\n"
                               "GPU0\t X \tNV18\tNV18\t0-7\n"
                               "GPU1\tNV18\t X \tNV18\t0-7\n"
                               "GPU2\tNV18\tNV18\t X \t8-15\n";
    struct tool_machine machine;
    struct ring_error error = {""};

    (void)state;
    assert_int_equal(tool_import_smi(text, &machine, &error), RING_OK);
    assert_int_equal(machine.n_sockets, 2);
    struct config_cluster cluster = load(&machine);
    assert_string_equal(kinds_between(cluster.topology, 0, 2), "nvlink > nvlink");
    assert_true(cluster.topology->links[0].classes[0].bytes_per_s == 450e9);
    config_cluster_free(&cluster);
}

static void a_matrix_without_nvlink_is_a_tree(void **state)
{
    static const char text[] = "GPU0 GPU1 GPU2\nGPU0 X PIX SYS\nGPU1 PIX X SYS\nGPU2 SYS SYS X\n";
    struct tool_machine machine;
    struct ring_error error = {""};

    (void)state;
    assert_int_equal(tool_import_smi(text, &machine, &error), RING_OK);
    struct config_cluster cluster = load(&machine);
    assert_string_equal(kinds_between(cluster.topology, 0, 1), "pcie > pcie");
    assert_string_equal(kinds_between(cluster.topology, 1, 2), "pcie > pcie > sockets > pcie");
    config_cluster_free(&cluster);
}

static void a_text_that_is_no_matrix_is_refused_with_its_line(void **state)
{
    static const struct {
        const char *text, *wanted;
    } cases[] = {
        {"", "found no line of heads (GPU0 GPU1 ...), accepted: the text of nvidia-smi topo -m"},
        {"No devices were found\n",
         "found no line of heads (GPU0 GPU1 ...), accepted: the text of nvidia-smi topo -m"},
        {"GPU0 GPU1\nGPU0 X NV0\nGPU1 NV0 X\n",
         "line 2: 'NV0' between GPU0 and GPU1 is unknown, accepted: X, NV1 "
         "..., PIX, PXB, PHB, NODE or SYS"},
        {"GPU0 GPU1\nGPU0 X\n",
         "line 2: '' between GPU0 and GPU1 is unknown, accepted: X, NV1 ..., PIX, PXB, PHB, NODE or SYS"},
        {"GPU0 GPU1\nGPU0 X SYS\n", "GPU1 has a column but no row"},
        {"GPU0 NIC0 GPU1\nGPU0 X SYS SYS\nNIC0 SYS X SYS\nGPU1 SYS SYS X\n",
         "GPU1 stands after a NIC, accepted: GPUs first"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tool_machine machine;
        struct ring_error error = {""};
        assert_int_equal(tool_import_smi(cases[i].text, &machine, &error), RING_BAD_INPUT);
        assert_string_equal(error.text, cases[i].wanted);
    }
}

static void a_matrix_cut_anywhere_is_refused_or_still_one(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof mesh; n++) {
        char text[sizeof mesh];
        struct tool_machine machine;
        struct ring_error error = {""};
        memcpy(text, mesh, n);
        text[n] = '\0';
        enum ring_status status = tool_import_smi(text, &machine, &error);
        assert_true(status == RING_OK || (status == RING_BAD_INPUT && error.text[0]));
    }
}

static void hwloc_s_xml_becomes_a_tree(void **state)
{
    struct tool_machine machine;
    struct ring_error error = {""};

    (void)state;
    enum ring_status status = tool_import_hwloc("tests/cli/hwloc.xml", &machine, &error);
    if (status == RING_UNSUPPORTED)
        skip();
    if (status != RING_OK)
        fail_msg("%s", error.text);
    assert_int_equal(machine.n_devices, 4);
    assert_int_equal(machine.n_nics, 2);
    assert_int_equal(machine.n_sockets, 2);
    assert_int_equal(machine.n_switches, 2);
    struct config_cluster cluster = load(&machine);
    assert_string_equal(kinds_between(cluster.topology, 0, 1), "pcie > pcie");
    assert_string_equal(kinds_between(cluster.topology, 1, 2), "pcie > pcie > sockets > pcie > pcie");
    config_cluster_free(&cluster);
    assert_int_equal(tool_import_hwloc("tests/cli/tiny.yaml", &machine, &error), RING_BAD_INPUT);
}

/* Every tag that opens closes, and every number is one. */
static void check_svg(const char *name, const char *text)
{
    size_t n_open = 0, n_close = 0, length = strlen(text);

    if (length < 100 || strncmp(text, "<?xml", 5) != 0 || strcmp(text + length - 7, "</svg>\n") != 0)
        fail_msg("%s: no whole picture", name);
    for (const char *at = text; (at = strchr(at, '<')); at++) {
        const char *end = strchr(at, '>');
        assert_non_null(end);
        n_open += at[1] != '/' && at[1] != '?' && end[-1] != '/';
        n_close += at[1] == '/';
    }
    assert_int_equal(n_open, n_close);
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "\"inf"));
}

static void draw_folder(const char *of, size_t least)
{
    DIR *directory = opendir(of);
    size_t n = 0;

    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));) {
        const char *dot = strrchr(entry->d_name, '.');
        char path[512], *text = NULL;
        size_t size = 0;
        struct config_cluster cluster;
        struct ring_error error = {""};
        snprintf(path, sizeof path, "%s/%s", of, entry->d_name);
        if (!dot || strcmp(dot, ".yaml") != 0 || config_cluster_load(path, &cluster, &error) != RING_OK)
            continue;
        FILE *file = open_memstream(&text, &size);
        assert_non_null(file);
        assert_int_equal(tool_draw_topology(cluster.topology, file, &error), RING_OK);
        fclose(file);
        check_svg(path, text);
        assert_non_null(strstr(text, cluster.topology->name));
        free(text);
        config_cluster_free(&cluster);
        n++;
    }
    closedir(directory);
    assert_true(n >= least);
}

static void every_cluster_can_be_drawn(void **state)
{
    (void)state;
    draw_folder("topologies", 10);
    draw_folder("tests/sim/clusters", 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_matrix_of_nvlinks_becomes_a_mesh),
        cmocka_unit_test(a_matrix_where_all_say_the_same_becomes_a_switch),
        cmocka_unit_test(a_matrix_without_nvlink_is_a_tree),
        cmocka_unit_test(a_text_that_is_no_matrix_is_refused_with_its_line),
        cmocka_unit_test(a_matrix_cut_anywhere_is_refused_or_still_one),
        cmocka_unit_test(hwloc_s_xml_becomes_a_tree),
        cmocka_unit_test(every_cluster_can_be_drawn),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
