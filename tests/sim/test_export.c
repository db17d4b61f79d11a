/* SPDX-License-Identifier: MIT
 *
 * The platform that is written for others is one that SimGrid loads, with the routes that we have. SimGrid is
 * one engine a process and ends it where it does not like what it reads, so a child loads. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <xbt/dynar.h>

#include "config/config.h"
#include "sim/export.h"

/* The narrowest bandwidth and the latency of our own route. */
static void measure(const struct model_topology *topology, uint32_t from, uint32_t to, double *bytes_per_s,
                    double *latency_s)
{
    uint32_t links[64];
    size_t n = 0;

    if (model_topology_route(topology, from, to, links, 64, &n, NULL) != RING_OK)
        exit(2);
    *bytes_per_s = INFINITY;
    *latency_s = 0;
    for (size_t i = 0; i < n; i++) {
        const struct model_link *link = &topology->links[links[i]];
        *bytes_per_s = fmin(*bytes_per_s, link->classes[link->n_classes - 1].bytes_per_s);
        *latency_s += link->classes[link->n_classes - 1].latency_s;
    }
}

static int same(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

/* In the child: 0 if all is well. */
static int load_and_compare(const struct model_topology *topology, const char *path)
{
    char program[] = "export", *arguments[] = {program, NULL};
    int n = 1;

    simgrid_init(&n, arguments);
    simgrid_load_platform(path);
    for (size_t i = 0; i < topology->n_devices; i++)
        for (size_t j = 0; j < topology->n_devices; j++) {
            uint32_t from = topology->devices[i], to = topology->devices[j];
            double bytes_per_s, latency_s;
            sg_host_t a = sg_host_by_name(topology->vertices[from].name);
            sg_host_t b = sg_host_by_name(topology->vertices[to].name);
            if (!a || !b)
                return 3;
            if (i == j)
                continue;
            measure(topology, from, to, &bytes_per_s, &latency_s);
            if (!same(sg_host_get_route_bandwidth(a, b), bytes_per_s) ||
                !same(sg_host_get_route_latency(a, b), latency_s))
                return 4;
        }
    return 0;
}

static void check(const char *cluster_path)
{
    char path[] = "/tmp/ringlab-export-XXXXXX.xml";
    struct config_cluster cluster;
    struct ring_error error = {""};
    int status = -1, descriptor = mkstemps(path, 4);

    if (config_cluster_load(cluster_path, &cluster, &error) != RING_OK)
        fail_msg("%s", error.text);
    FILE *file = fdopen(descriptor, "w");
    assert_non_null(file);
    assert_int_equal(sim_export(cluster.topology, file, &error), RING_OK);
    fclose(file);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(load_and_compare(cluster.topology, path));
    assert_int_equal(waitpid(child, &status, 0), child);
    unlink(path);
    config_cluster_free(&cluster);
    if (status != 0)
        fail_msg("%s: the child ended with %d", cluster_path, status);
}

static void simgrid_loads_what_is_exported_and_has_our_routes(void **state)
{
    (void)state;
    check("topologies/dgx-h100-x2.yaml");
    check("topologies/dgx-1-v100.yaml");
    check("topologies/tpu-v4-4x4x4.yaml");
    check("tests/sim/clusters/half-duplex.yaml");
    check("tests/sim/clusters/two-spines.yaml");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(simgrid_loads_what_is_exported_and_has_our_routes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
