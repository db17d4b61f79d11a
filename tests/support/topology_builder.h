/* SPDX-License-Identifier: MIT
 *
 * Clusters for tests, built in C without a file. Names are given by the test, links are named "from -> to" as
 * in files. A test has no use for half a cluster: running out of memory, or a cluster that makes no sense,
 * ends the program with a line. */
#ifndef TESTS_TOPOLOGY_BUILDER_H
#define TESTS_TOPOLOGY_BUILDER_H

#include "models/topology.h"

struct topology_builder {
    struct model_topology topology;
    struct model_device device; /* of every device; costs nothing until the test fills it in */
};

/* Vertices are the indices that device and switch return; links likewise. */
void topology_builder_init(struct topology_builder *builder);
void topology_builder_fini(struct topology_builder *builder);
uint32_t topology_builder_device(struct topology_builder *builder, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
uint32_t topology_builder_switch(struct topology_builder *builder, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
uint32_t topology_builder_link(struct topology_builder *builder, uint32_t from, uint32_t to,
                               double bytes_per_s, double latency_s);
/* Both ways. */
void topology_builder_cable(struct topology_builder *builder, uint32_t a, uint32_t b, double bytes_per_s,
                            double latency_s);
/* Makes the index; to be called once, when all is there. */
const struct model_topology *topology_builder_finish(struct topology_builder *builder);

/* n_devices devices g0, g1 ... on one switch; a hop has that bandwidth and that latency in all. */
void topology_builder_star(struct topology_builder *builder, uint32_t n_devices, double bytes_per_s,
                           double latency_s);

/* n_nodes nodes of n_devices devices (node0.gpu0 ...), all on their node's switch; device i of a node also on
 * its NIC i * n_nics / n_devices by a cable as fast as the inside; all NICs on one fabric. No latency. */
void topology_builder_nodes(struct topology_builder *builder, uint32_t n_nodes, uint32_t n_devices,
                            uint32_t n_nics, double inside_bytes_per_s, double nic_bytes_per_s);

#endif
