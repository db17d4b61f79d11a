/* SPDX-License-Identifier: MIT
 *
 * The keys of a scenario's sections, as tables: scenario.c reads by them, show.c writes by them. Each section
 * is one map of the file and one struct. */
#ifndef CONFIG_SCENARIO_H
#define CONFIG_SCENARIO_H

#include "config/load.h"

/* ring: as the file has it; devices 0: as many as the cluster, or the placement, has. */
struct config_ring_section {
    uint32_t devices, buffers;
    enum ring_layout_kind layout;
    enum ring_pass pass;
    enum ring_dtype gradients; /* in which dK and dV travel */
    bool keep_kv;
    const char *strategy;
    const struct config_node *placement; /* NULL: natural */
};

/* compute: {block: 40 ms, core: free}, the form for textbook cases. */
struct config_compute_section {
    double block_s;
    unsigned core; /* an index into busy, free */
};

struct config_section {
    const char *key;
    const struct config_field *fields;
    size_t n_fields;
};

extern const struct config_section config_problem_section; /* struct ring_problem */
extern const struct config_section config_ring_section;    /* struct config_ring_section */
extern const struct config_section config_compute_section; /* struct config_compute_section */
extern const struct config_section config_data_section;    /* struct config_data */
extern const struct config_section config_measure_section; /* struct config_measure */

#endif
