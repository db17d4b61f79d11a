/* SPDX-License-Identifier: MIT
 *
 * Many routes from one search: the scratch of a breadth-first search, kept between questions. Asking for
 * several targets of one source costs one search, and a search ends as soon as its target is found. */
#ifndef MODEL_ROUTE_H
#define MODEL_ROUTE_H

#include "models/topology.h"

struct model_router {
    const struct model_topology *topology; /* indexed; borrowed */
    uint32_t search;                       /* number of the current search, from 1 */
    uint32_t source;                       /* where it began */
    uint32_t *reached;                     /* [n_vertices] number of the search that last reached it */
    uint32_t *by_link;                     /* [n_vertices] the link by which */
    uint32_t *queue;                       /* [n_vertices] reached, in order */
    uint32_t queue_head, queue_tail;
    /* where ties are broken by the destination; NULL otherwise */
    uint32_t *steps;               /* [n_vertices] links from the source */
    uint32_t *number;              /* [n_vertices] of a device among all */
    uint32_t *in_first, *in_links; /* adjacency against the links */
    uint32_t *path;                /* [n_vertices] links of the last answer */
    uint32_t *routes;              /* [n_routes] explicit routes, by their ends */
};

enum ring_status model_router_init(struct model_router *router, const struct model_topology *topology,
                                   struct ring_error *error);
void model_router_fini(struct model_router *router);

/* As model_topology_route. *links is valid until the next question. */
enum ring_status model_router_find(struct model_router *router, uint32_t from_vertex, uint32_t to_vertex,
                                   const uint32_t **links, size_t *n_links, struct ring_error *error);

/* The same, only whether there is one. */
bool model_router_reaches(struct model_router *router, uint32_t from_vertex, uint32_t to_vertex);

/* The adjacency against the links: first [n_vertices + 2], zeroed, links [n_links]; in file order. */
void model_index_against(const struct model_topology *topology, uint32_t *first, uint32_t *links);

#endif
