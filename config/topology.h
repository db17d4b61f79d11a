/* SPDX-License-Identifier: MIT
 *
 * A topology while it is being read: the graph that grows, and the names in it with the places they came
 * from. The two ways to write one - nodes (nodes.c, inside.c) joined by a fabric (fabric.c, fabrics.c), and
 * an explicit graph (graph.c) - add to the same graph. */
#ifndef CONFIG_TOPOLOGY_H
#define CONFIG_TOPOLOGY_H

#include "config/load.h"

enum { CONFIG_MAX_DEVICES = 16384, CONFIG_MAX_LINKS = 1 << 20 };

/* A kind of cable. Name and size classes are kept, for links to point to; half has half the latency, for hops
 * that cross two such cables. */
struct config_link_type {
    const char *name;
    enum model_mover mover;
    const struct model_size_class *full, *half;
    size_t n_classes;
    /* a limit of both directions together: bare has no latency, the others have this limit's bandwidth; NULL:
     * no such limit */
    const struct model_size_class *bare, *both_full, *both_half;
};

/* A node's way to the fabric. */
struct config_port {
    uint32_t nic;  /* vertex */
    uint32_t node; /* index into config_graph.nodes */
    const struct config_link_type *link;
};

/* A node, as the fabric sees it. */
struct config_place {
    uint32_t first_device, n_devices; /* vertices */
    uint32_t first_port, n_ports;
};

struct config_graph {
    struct config_reader *reader;
    struct model_topology *topology; /* its memory is malloc'ed: model_topology_fini frees it */
    size_t vertices_room, links_room;
    struct config_names vertices, links, types; /* names to indices, items are marks; types: to link types */
    uint32_t node;                              /* the one that vertices are added to, from 1; 0: none */
    struct config_port *ports;
    struct config_place *places;
    size_t n_ports, n_places, ports_room, places_room;
};

/* What a topology's file has, before its parts are read. */
struct config_topology_draft {
    const char *name, *source;
    bool devices_forward, share_devices;
    enum model_ties ties; /* MODEL_N_TIES: as the fabric likes it */
    const struct config_node *links, *nodes, *devices, *switches, *cables, *routes, *fabric;
};

/* Adds a vertex of a name that is not there yet; device NULL: a switch. Its index; 0 after a failure. */
uint32_t config_add_vertex(struct config_graph *graph, const struct config_mark *mark, const char *name,
                           const struct model_device *device);
uint32_t config_add_switch(struct config_graph *graph, const struct config_mark *mark, const char *name,
                           enum model_vertex_kind kind);
/* Adds a link one way, named "from -> to". */
void config_add_link(struct config_graph *graph, const struct config_mark *mark, uint32_t from, uint32_t to,
                     const struct config_link_type *type, const struct model_size_class *classes);
/* Both ways; classes is type->full or type->half, or the caller's own. */
void config_add_cable(struct config_graph *graph, const struct config_mark *mark, uint32_t a, uint32_t b,
                      const struct config_link_type *type, const struct model_size_class *classes);
/* The vertex that a scalar names. 0 after a failure. */
uint32_t config_find_vertex(struct config_graph *graph, const struct config_node *node, const char *what);

/* links.c: the types of `links:`, and the type that a value gives by name or in place. NULL after a failure.
 */
void config_read_link_types(struct config_graph *graph, const struct config_node *map);
const struct config_link_type *config_read_link_type(struct config_graph *graph,
                                                     const struct config_node *node, const char *what);

/* A link type of one bandwidth and no latency, and the bandwidth of a type's largest messages. NULL after a
 * failure. */
const struct config_link_type *config_make_link_type(struct config_graph *graph, const char *name,
                                                     double bytes_per_s);
double config_link_bytes_per_s(const struct config_link_type *type);

/* "prefix.name3", or "prefix.name" where there is only one; no dot after an empty prefix. */
const char *config_numbered(struct config_graph *graph, const char *prefix, const char *name, uint32_t index,
                            uint32_t count);

/* nodes.c: `nodes:`, and then the fabric that joins them. */
void config_read_nodes(struct config_graph *graph, const struct config_topology_draft *draft);
/* fabric.c: `fabric:` (NULL: one switch), on what nodes.c has left in places and ports. */
void config_read_fabric(struct config_graph *graph, const struct config_node *node,
                        const struct config_mark *nodes);
/* graph.c: `devices:` and `switches:`, then `cables:`, then `routes:`. */
void config_read_vertices(struct config_graph *graph, const struct config_topology_draft *draft);
void config_read_cables(struct config_graph *graph, const struct config_node *list);
void config_read_routes(struct config_graph *graph, const struct config_node *list);

#endif
