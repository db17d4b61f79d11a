/* SPDX-License-Identifier: MIT
 *
 * Fabrics without a centre: torus, mesh and ring of nodes. A node with NICs has a router of its own in the
 * grid; a node without NICs and with one device is itself the router, as a TPU chip is.
 *
 * Node (x, y, z) is number x + size_x * (y + size_y * z). Links are added side by side, first all along x,
 * then y, then z, and upwards before downwards: since the search takes the first of equal routes, messages
 * go along x first, and upwards where both ways round are equally long. */
#include "config/fabric.h"

#include <inttypes.h>

/* The vertex that stands in the grid for each node, in scratch. */
static uint32_t *find_routers(struct config_graph *graph, const struct config_fabric *fabric)
{
    struct config_reader *reader = graph->reader;
    uint32_t *routers = config_scratch(reader, graph->n_places, sizeof *routers);

    for (size_t i = 0; i < graph->n_places && config_ok(reader); i++) {
        const struct config_place *place = &graph->places[i];
        if (place->n_ports == 0 && place->n_devices == 1) {
            routers[i] = place->first_device;
            graph->topology->devices_forward = true;
        } else if (place->n_ports == 0) {
            config_fail(reader, fabric->mark,
                        "a node of %u devices without nics in a grid, accepted: one device, or 'nics'",
                        place->n_devices);
        } else {
            routers[i] =
                config_add_switch(graph, fabric->mark, config_text(reader, "router%zu", i), MODEL_SWITCH);
        }
        for (uint32_t p = 0; p < place->n_ports && config_ok(reader); p++) {
            const struct config_port *port = &graph->ports[place->first_port + p];
            config_add_cable(graph, fabric->mark, port->nic, routers[i], port->link, port->link->half);
        }
    }
    return config_ok(reader) ? routers : NULL;
}

/* Links along one side: from each node to the next one up, or down. */
static void add_links(struct config_graph *graph, const struct config_fabric *fabric, const uint32_t *routers,
                      uint32_t side, uint32_t stride, bool wraps, bool up)
{
    uint32_t n = (uint32_t)graph->n_places;

    for (uint32_t i = 0; i < n && config_ok(graph->reader); i++) {
        uint32_t at = i / stride % side;
        uint32_t next = at + 1 < side ? i + stride : i - at * stride;
        if (side < 2 || (at + 1 == side && (!wraps || side == 2)))
            continue;
        if (fabric->link->bare && up) /* both ways in one */
            config_add_cable(graph, fabric->mark, routers[i], routers[next], fabric->link,
                             fabric->link->full);
        else if (!fabric->link->bare)
            config_add_link(graph, fabric->mark, routers[up ? i : next], routers[up ? next : i], fabric->link,
                            fabric->link->full);
    }
}

static void add_grid(struct config_graph *graph, const struct config_fabric *fabric, bool wraps)
{
    uint64_t n = 1;
    uint32_t stride = 1;

    for (uint32_t i = 0; i < fabric->n_sizes; i++)
        n *= fabric->size[i];
    if (n != graph->n_places) {
        config_fail(graph->reader, fabric->mark, "a grid of %" PRIu64 " places for %zu nodes, accepted: %zu",
                    n, graph->n_places, graph->n_places);
        return;
    }
    const uint32_t *routers = find_routers(graph, fabric);
    for (uint32_t i = 0; i < fabric->n_sizes && routers; i++) {
        graph->topology->grid[i] = fabric->size[i];
        add_links(graph, fabric, routers, fabric->size[i], stride, wraps, true);
        add_links(graph, fabric, routers, fabric->size[i], stride, wraps, false);
        stride *= fabric->size[i];
    }
}

void config_add_torus(struct config_graph *graph, const struct config_fabric *fabric)
{
    add_grid(graph, fabric, true);
}

void config_add_mesh_of_nodes(struct config_graph *graph, const struct config_fabric *fabric)
{
    add_grid(graph, fabric, false);
}

void config_add_ring(struct config_graph *graph, const struct config_fabric *fabric)
{
    struct config_fabric ring = *fabric;

    ring.size[0] = (uint32_t)graph->n_places;
    ring.n_sizes = 1;
    add_grid(graph, &ring, true);
}
