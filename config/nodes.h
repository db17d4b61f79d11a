/* SPDX-License-Identifier: MIT
 *
 * What one of several equal nodes is made of: read once (nodes.c, inside.c, nics.c), then added to the graph
 * as often as there are nodes. */
#ifndef CONFIG_NODES_H
#define CONFIG_NODES_H

#include "config/topology.h"

/* A cable between two devices of a node. */
struct config_pair {
    uint32_t a, b;
    const struct config_link_type *type;
    const struct config_mark *mark;
};

/* Where something hangs in a PCIe tree. */
struct config_perch {
    bool there, on_switch; /* else on a socket */
    uint32_t index;
};

struct config_pcie {
    uint32_t n_sockets, n_switches;
    uint32_t *socket_of_switch;          /* [n_switches] */
    struct config_perch *devices, *nics; /* [n_devices], [n_nics] */
    const struct config_link_type *link, *uplink, *between;
};

/* A NIC serves a device. */
struct config_binding {
    uint32_t nic, device;
};

struct config_machine {
    const struct config_mark *mark;
    const char *name, *device_name;
    uint32_t count, n_devices, n_nics;
    const struct model_device *device;
    const struct config_link_type *inside; /* to the node's switch; NULL: none */
    struct config_pair *pairs;
    size_t n_pairs;
    struct config_pcie pcie; /* n_sockets 0: none */
    const struct config_link_type *nic, *attach;
    struct config_binding *bindings;
    size_t n_bindings;
    bool from_switch; /* the node's switch sends to every NIC */
};

/* inside.c: `mesh:` and `pcie:`, and what they add to a node whose devices and NICs are already there. */
void config_read_mesh(struct config_graph *graph, const struct config_node *node,
                      struct config_machine *kind);
void config_read_pcie(struct config_graph *graph, const struct config_node *node,
                      struct config_machine *kind);
void config_add_mesh(struct config_graph *graph, const struct config_machine *kind, uint32_t first_device);
void config_add_pcie(struct config_graph *graph, const struct config_machine *kind, const char *name,
                     uint32_t first_device, uint32_t first_nic);

/* nics.c: `nics:`, in two steps, since a PCIe tree names NICs: first how many and which link, then how they
 * are bound. */
struct config_nics_draft {
    uint32_t count;
    bool from_switch;
    const struct config_node *node, *link, *attach, *bind;
};
void config_read_nics(struct config_graph *graph, const struct config_node *node,
                      struct config_nics_draft *draft, struct config_machine *kind);
void config_bind_nics(struct config_graph *graph, const struct config_nics_draft *draft,
                      struct config_machine *kind);

#endif
