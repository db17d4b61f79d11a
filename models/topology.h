/* SPDX-License-Identifier: MIT
 *
 * A cluster as a graph: devices and switches joined by directed links, and the route between two devices. A
 * cable is two links, one each way. Pure data and pure functions; config/ builds it from YAML, sim/ turns it
 * into a platform, ring.h turns routes into seconds. */
#ifndef MODEL_TOPOLOGY_H
#define MODEL_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/status.h"
#include "models/device.h"

/* Who moves the bytes. WIRE: the link itself (DMA, NIC), beside any computation. RECEIVER: the receiving core
 * copies (shared memory between CPU processes), so a busy core cannot overlap. */
#define MODEL_MOVERS(X)              X(WIRE, "wire") X(RECEIVER, "receiver")
#define MODEL_MOVER_ENUM(name, text) MODEL_MOVED_BY_##name,
enum model_mover { MODEL_MOVERS(MODEL_MOVER_ENUM) MODEL_N_MOVERS };
#undef MODEL_MOVER_ENUM
extern const char *const model_mover_names[MODEL_N_MOVERS];

/* A message of at most up_to_bytes sees these figures; classes ascend and the last serves everything larger.
 */
struct model_size_class {
    uint64_t up_to_bytes;
    double latency_s;
    double bytes_per_s;
};

struct model_link {
    char *name;        /* "node0.gpu3 -> node0.switch" */
    uint32_t from, to; /* vertices */
    enum model_mover mover;
    const struct model_size_class *classes; /* at least one; may be shared by many links; not owned here */
    size_t n_classes;
    const char *type; /* "nvlink": what kind of cable it is, for the reader; NULL: unknown. Not owned here. */
};

/* What a vertex without a device is, for the reader: routing sees switches alone. CABLE: an end of the part
 * of a cable that both its directions share. */
#define MODEL_VERTICES(X)             X(SWITCH, "switch") X(NIC, "nic") X(SOCKET, "socket") X(CABLE, "cable")
#define MODEL_VERTEX_ENUM(name, text) MODEL_##name,
enum model_vertex_kind { MODEL_VERTICES(MODEL_VERTEX_ENUM) MODEL_N_VERTEX_KINDS };
#undef MODEL_VERTEX_ENUM
extern const char *const model_vertex_kind_names[MODEL_N_VERTEX_KINDS];

struct model_vertex {
    char *name;                        /* "node0.gpu3"; unique */
    const struct model_device *device; /* NULL: a switch. Not owned here. */
    enum model_vertex_kind kind;       /* of one without a device */
    uint32_t node;                     /* the machine that it is in, from 1; 0: none */
};

/* Which of several equally short routes is taken. FIRST: the one whose links come first in the file.
 * DESTINATION: at each switch where several join, the one that the destination's number among all devices
 * says (its remainder by their number; what is left of the number decides at the next switch), so that routes
 * to different devices spread as with d-mod-k routing of fat trees; at devices, the first. */
#define MODEL_TIES(X)               X(FIRST, "first") X(DESTINATION, "destination")
#define MODEL_TIES_ENUM(name, text) MODEL_TIES_##name,
enum model_ties { MODEL_TIES(MODEL_TIES_ENUM) MODEL_N_TIES };
#undef MODEL_TIES_ENUM
extern const char *const model_ties_names[MODEL_N_TIES];

/* An explicit route between two devices, as link indices in order; it beats the search. */
struct model_route {
    uint32_t from_vertex, to_vertex;
    uint32_t *links;
    size_t n_links;
};

struct model_topology {
    char *name, *source;
    struct model_vertex *vertices;
    size_t n_vertices;
    struct model_link *links;
    size_t n_links;
    uint32_t *devices; /* vertices that are devices, in file order: device 0, 1, ... of natural placement */
    size_t n_devices;
    struct model_route *routes;
    size_t n_routes;
    enum model_ties ties;
    uint32_t grid[3];     /* lengths of the sides of a torus or mesh of machines; 0: none such */
    bool devices_forward; /* routes may pass through other devices (a torus); otherwise only through switches
                           */
    bool share_devices;   /* natural placement may put several ranks on one device (cores of this machine) */
    uint32_t *out_first;  /* [n_vertices + 1], index into out_links; made by model_topology_index */
    uint32_t *out_links;
};

/* Builds the adjacency (out_first, out_links in file order). Checks that ends exist, no self loop, no link
 * without positive finite bandwidth and finite latency, size classes that ascend, and that each explicit
 * route leads from its one device to its other. RING_BAD_INPUT, RING_NO_MEMORY; may be called again after
 * either. */
enum ring_status model_topology_index(struct model_topology *topology, struct ring_error *error);
/* Frees everything but devices, size classes and what else is said to be owned elsewhere. */
void model_topology_fini(struct model_topology *topology);

/* Fewest links; among equals as topology->ties says, so the same every time. Writes at
 * most max_links link indices into out and sets *n_links. RING_BAD_INPUT naming both ends where there is no
 * route; from == to is a route of no links. */
enum ring_status model_topology_route(const struct model_topology *topology, uint32_t from_vertex,
                                      uint32_t to_vertex, uint32_t *out, size_t max_links, size_t *n_links,
                                      struct ring_error *error);

/* RING_BAD_INPUT listing (the first few of) the ordered device pairs with no route between them. Time is
 * linear in vertices and links where some switch joins all devices, as in every tree and fat tree. */
enum ring_status model_topology_check_connected(const struct model_topology *topology,
                                                struct ring_error *error);

/* How large a topology is. */
struct model_topology_size {
    size_t n_switches, n_nics;    /* n_switches counts sockets too */
    uint32_t diameter;            /* links of the longest route between two devices */
    double bisection_bytes_per_s; /* what the first half of the devices can send to the others at once, over
                                     any ways, in messages of the largest size class */
};
/* Of an indexed topology whose devices are all connected. Bisection: a maximum flow (Dinic 1970). */
enum ring_status model_topology_measure(const struct model_topology *topology,
                                        struct model_topology_size *size, struct ring_error *error);

/* The class that serves a message of so many bytes. */
const struct model_size_class *model_link_class(const struct model_link *link, uint64_t bytes);

/* Vertex of that name, or -1. */
long model_topology_find(const struct model_topology *topology, const char *name);

#endif
