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

/* The value of section.key for a message's place; or the section, or the whole file, as far as they are
 * there.
 */
const struct config_mark *config_place(const struct config_node *root, const struct config_node *section,
                                       const char *key);

/* One of several keys that do not go together. */
struct config_suspect {
    const struct config_node *section;
    const char *key;
};

/* The place to look at where n_suspects keys do not go together: the first of them that the command line
 * gave, for the file was well without it; else the first that is there. */
const struct config_mark *config_blamed(const struct config_node *root, const struct config_suspect *suspects,
                                        size_t n_suspects);

/* placement.c: how many ranks there are, and who sits where: all of it, but for orders that are searched for,
 * which begin as the natural one. */
void config_place_ranks(struct config_reader *reader, const struct config_node *root,
                        const struct config_node *ring, const struct config_ring_section *section,
                        struct config_scenario *scenario);

/* placement: best, worst: searches, when plan and faults are known; nothing for every other placement. */
void config_seek_order(struct config_reader *reader, const struct config_node *ring,
                       struct config_scenario *scenario);

/* threads: not more than the cluster's cores, where it says how many it has. */
void config_check_threads(struct config_reader *reader, const struct config_node *root,
                          const struct config_scenario *scenario);

#endif
