/* SPDX-License-Identifier: MIT
 *
 * A topology while it is being read: the graph that grows, and the names in it with the places they came
 * from. The two ways to write one - equal nodes (nodes.c) and an explicit graph (graph.c) - add to the same
 * graph. */
#ifndef CONFIG_TOPOLOGY_H
#define CONFIG_TOPOLOGY_H

#include "config/load.h"

enum { CONFIG_MAX_DEVICES = 16384, CONFIG_MAX_LINKS = 1 << 20 };

/* A kind of cable. Size classes are kept, for links to point to; half has half the latency, for hops that
 * cross two such cables. */
struct config_link_type {
    const char *name;
    enum model_mover mover;
    const struct model_size_class *full, *half;
    size_t n_classes;
};

struct config_graph {
    struct config_reader *reader;
    struct model_topology *topology; /* its memory is malloc'ed: model_topology_fini frees it */
    size_t vertices_room, links_room;
    struct config_names vertices, links, types; /* names to indices, items are marks; types: to link types */
};

/* What a topology's file has, before its parts are read. */
struct config_topology_draft {
    const char *name, *source;
    bool devices_forward, share_devices;
    const struct config_node *links, *nodes, *devices, *switches, *cables, *routes, *fabric;
};

/* Adds a vertex of a name that is not there yet; device NULL: a switch. Its index; 0 after a failure. */
uint32_t config_add_vertex(struct config_graph *graph, const struct config_mark *mark, const char *name,
                           const struct model_device *device);
/* Adds a link one way, named "from -> to". */
void config_add_link(struct config_graph *graph, const struct config_mark *mark, uint32_t from, uint32_t to,
                     const struct config_link_type *type, const struct model_size_class *classes);
/* Both ways. */
void config_add_cable(struct config_graph *graph, const struct config_mark *mark, uint32_t a, uint32_t b,
                      const struct config_link_type *type, const struct model_size_class *classes);
/* The vertex that a scalar names. 0 after a failure. */
uint32_t config_find_vertex(struct config_graph *graph, const struct config_node *node, const char *what);

/* links.c: the types of `links:`, and the type that a value gives by name or in place. NULL after a failure.
 */
void config_read_link_types(struct config_graph *graph, const struct config_node *map);
const struct config_link_type *config_read_link_type(struct config_graph *graph,
                                                     const struct config_node *node, const char *what);

/* nodes.c: `nodes:` and the fabric that joins their NICs. */
void config_read_nodes(struct config_graph *graph, const struct config_topology_draft *draft);
/* graph.c: `devices:` and `switches:`, then `cables:`, then `routes:`. */
void config_read_vertices(struct config_graph *graph, const struct config_topology_draft *draft);
void config_read_cables(struct config_graph *graph, const struct config_node *list);
void config_read_routes(struct config_graph *graph, const struct config_node *list);

#endif
