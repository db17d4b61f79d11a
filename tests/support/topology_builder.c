/* SPDX-License-Identifier: MIT
 *
 * See topology_builder.h. Arrays grow one by one: a test's cluster is small. */
#include "tests/support/topology_builder.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static void give_up(const char *why)
{
    fprintf(stderr, "topology_builder: %s\n", why);
    abort();
}

static void *grown(void *array, size_t n, size_t size)
{
    void *larger = realloc(array, (n + 1) * size);

    if (!larger)
        give_up("out of memory");
    return larger;
}

void topology_builder_init(struct topology_builder *builder)
{
    *builder = (struct topology_builder){.device = {.name = "test device", .source = "test"}};
}

void topology_builder_fini(struct topology_builder *builder)
{
    for (size_t i = 0; i < builder->topology.n_links; i++)
        free((void *)builder->topology.links[i].classes);
    model_topology_fini(&builder->topology);
}

static uint32_t add_vertex(struct topology_builder *builder, const struct model_device *device,
                           const char *format, va_list arguments)
{
    struct model_topology *topology = &builder->topology;
    char *name;

    if (vasprintf(&name, format, arguments) < 0)
        give_up("out of memory");
    topology->vertices = grown(topology->vertices, topology->n_vertices, sizeof *topology->vertices);
    topology->vertices[topology->n_vertices] = (struct model_vertex){.name = name, .device = device};
    return (uint32_t)topology->n_vertices++;
}

uint32_t topology_builder_device(struct topology_builder *builder, const char *format, ...)
{
    struct model_topology *topology = &builder->topology;
    va_list arguments;

    va_start(arguments, format);
    uint32_t vertex = add_vertex(builder, &builder->device, format, arguments);
    va_end(arguments);
    topology->devices = grown(topology->devices, topology->n_devices, sizeof *topology->devices);
    topology->devices[topology->n_devices++] = vertex;
    return vertex;
}

uint32_t topology_builder_switch(struct topology_builder *builder, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    uint32_t vertex = add_vertex(builder, NULL, format, arguments);
    va_end(arguments);
    return vertex;
}

uint32_t topology_builder_link(struct topology_builder *builder, uint32_t from, uint32_t to,
                               double bytes_per_s, double latency_s)
{
    struct model_topology *topology = &builder->topology;
    struct model_size_class *class = grown(NULL, 0, sizeof *class);
    char *name;

    *class = (struct model_size_class){.latency_s = latency_s, .bytes_per_s = bytes_per_s};
    if (asprintf(&name, "%s -> %s", topology->vertices[from].name, topology->vertices[to].name) < 0)
        give_up("out of memory");
    topology->links = grown(topology->links, topology->n_links, sizeof *topology->links);
    topology->links[topology->n_links] =
        (struct model_link){.name = name, .from = from, .to = to, .classes = class, .n_classes = 1};
    return (uint32_t)topology->n_links++;
}

void topology_builder_cable(struct topology_builder *builder, uint32_t a, uint32_t b, double bytes_per_s,
                            double latency_s)
{
    topology_builder_link(builder, a, b, bytes_per_s, latency_s);
    topology_builder_link(builder, b, a, bytes_per_s, latency_s);
}

const struct model_topology *topology_builder_finish(struct topology_builder *builder)
{
    struct ring_error error;

    if (model_topology_index(&builder->topology, &error) != RING_OK)
        give_up(error.text);
    return &builder->topology;
}

void topology_builder_star(struct topology_builder *builder, uint32_t n_devices, double bytes_per_s,
                           double latency_s)
{
    uint32_t middle = topology_builder_switch(builder, "switch");

    for (uint32_t i = 0; i < n_devices; i++)
        topology_builder_cable(builder, topology_builder_device(builder, "g%u", i), middle, bytes_per_s,
                               latency_s / 2);
}

static void add_node(struct topology_builder *builder, uint32_t node, uint32_t n_devices, uint32_t n_nics,
                     double inside_bytes_per_s, double nic_bytes_per_s, uint32_t fabric)
{
    uint32_t middle = topology_builder_switch(builder, "node%u.switch", node);
    uint32_t first_nic = 0;

    for (uint32_t i = 0; i < n_nics; i++) {
        uint32_t nic = topology_builder_switch(builder, "node%u.nic%u", node, i);
        topology_builder_cable(builder, nic, fabric, nic_bytes_per_s, 0);
        if (i == 0)
            first_nic = nic;
    }
    for (uint32_t i = 0; i < n_devices; i++) {
        uint32_t device = topology_builder_device(builder, "node%u.gpu%u", node, i);
        topology_builder_cable(builder, device, middle, inside_bytes_per_s, 0);
        topology_builder_cable(builder, device, first_nic + i * n_nics / n_devices, inside_bytes_per_s, 0);
    }
}

void topology_builder_nodes(struct topology_builder *builder, uint32_t n_nodes, uint32_t n_devices,
                            uint32_t n_nics, double inside_bytes_per_s, double nic_bytes_per_s)
{
    uint32_t fabric = topology_builder_switch(builder, "fabric");

    for (uint32_t node = 0; node < n_nodes; node++)
        add_node(builder, node, n_devices, n_nics, inside_bytes_per_s, nic_bytes_per_s, fabric);
}
