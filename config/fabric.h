/* SPDX-License-Identifier: MIT
 *
 * What joins the nodes: read in fabric.c, built in fabrics.c (trees, rails, dragonflies) and grids.c. */
#ifndef CONFIG_FABRIC_H
#define CONFIG_FABRIC_H

#include "config/topology.h"

/* a : b, how much more can come up into a switch from below than can leave it upwards. */
struct config_ratio {
    uint32_t down, up;
};

struct config_fabric {
    const struct config_mark *mark;
    uint32_t levels, nodes_per_leaf, spines, leaves_per_pod, cores; /* fat-tree; spines also rails */
    uint32_t routers, nodes_per_router;                             /* dragonfly */
    struct config_ratio oversubscription, core_oversubscription;
    const struct config_link_type *uplink, *core_uplink, *local, *global; /* NULL: by oversubscription */
    const struct config_link_type *link;                                  /* torus, mesh, ring */
    uint32_t size[3], n_sizes;
};

void config_add_one_switch(struct config_graph *graph, const struct config_fabric *fabric);
void config_add_fat_tree(struct config_graph *graph, const struct config_fabric *fabric);
void config_add_rails(struct config_graph *graph, const struct config_fabric *fabric);
void config_add_dragonfly(struct config_graph *graph, const struct config_fabric *fabric);
/* grids.c; wraps: a torus. */
void config_add_torus(struct config_graph *graph, const struct config_fabric *fabric);
void config_add_mesh_of_nodes(struct config_graph *graph, const struct config_fabric *fabric);
void config_add_ring(struct config_graph *graph, const struct config_fabric *fabric);

#endif
