/* SPDX-License-Identifier: MIT
 *
 * Max-min fair rates of flows over links that all are there at once: nobody can have more without someone who
 * has less getting less still. The rates that sim/ arrives at while nothing begins or ends, without a
 * simulator: thousands of questions a second. */
#ifndef MODEL_MAXMIN_H
#define MODEL_MAXMIN_H

#include <stddef.h>
#include <stdint.h>

#include "engine/status.h"

/* One flow: the links that it crosses, each once; none: nothing limits it. Borrowed. */
struct model_flow {
    const uint32_t *links;
    uint32_t n_links;
};

/* The scratch, kept between questions. */
struct model_maxmin {
    const double *bytes_per_s; /* [n_links] what each link can carry; borrowed */
    double *left_bytes_per_s;  /* [n_links] not yet given away */
    uint32_t *n_open;          /* [n_links] flows over it whose rate is not known yet; 0 between questions */
    uint32_t *used;            /* [n_links] those that some flow crosses, n_used of them */
    size_t n_used;
};

enum ring_status model_maxmin_init(struct model_maxmin *maxmin, const double *bytes_per_s, size_t n_links,
                                   struct ring_error *error);
void model_maxmin_fini(struct model_maxmin *maxmin);

/* rates_bytes_per_s [n_flows]; infinity for a flow of no links. Progressive filling (Bertsekas, Gallager:
 * Data Networks, 1992, section 6.5.2): the link with the least left for each of its flows settles them, then
 * the next. */
void model_maxmin_rates(struct model_maxmin *maxmin, const struct model_flow *flows, size_t n_flows,
                        double *rates_bytes_per_s);

#endif
