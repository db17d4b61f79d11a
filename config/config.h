/* SPDX-License-Identifier: MIT
 *
 * The files people write: scenarios, topologies and devices in YAML, turned into the plain structs of engine/
 * and models/. Everything a file can get wrong is found here, before anything runs, and reported as one line
 * `file:line:column: what was found, what is accepted`. This is the only folder that knows YAML. */
#ifndef CONFIG_H
#define CONFIG_H

#include <stdbool.h>
#include <stdio.h>

#include "engine/plan.h"
#include "models/ring.h"

/* data: what the numbers are, for runs on real data. */
struct config_data {
    const char *kind; /* "random" or "ramp", see exec/kernels/data.h */
    uint64_t seed;
};

/* measure: how a real run is repeated and bounded. */
struct config_measure {
    uint32_t repeats, warmups;
    double timeout_s;
    const char *kernel; /* "auto" or a kernel's name */
};

/* Where values stand of which only a run can say whether it takes them: "FILE:LINE:COLUMN" or "--set KEY". */
struct config_places {
    const char *dtype, *kernel, *threads; /* or their sections, or the file, where they are not given */
    const char *const *faults;            /* [faults.n] */
};

struct config_scenario {
    const char *name, *path;
    struct ring_plan_spec plan;
    const struct model_topology *topology;
    const char *cluster;       /* "this-machine", or the file's path from the root: as it is shown */
    const char *cluster_path;  /* as resolved: what was opened */
    const uint32_t *placement; /* [n_ranks] device index of each rank */
    struct model_compute compute;
    enum model_progress progress;
    struct model_faults faults;
    struct config_data data;
    struct config_measure measure;
    struct config_places places;
    struct config_pool *pool; /* owns every byte above */
};

/* One `--set key.path=value`. The value is read as YAML, so errors in it are reported like a file's. */
struct config_overrides {
    const char *const *items;
    size_t n_items;
};

/* Loads a scenario with everything it refers to (paths in it are relative to the file), fills defaults,
 * applies overrides. All or nothing: on failure *out is NULL and error has the line. */
enum ring_status config_scenario_load(const char *path, const struct config_overrides *overrides,
                                      struct config_scenario **out, struct ring_error *error);
void config_scenario_free(struct config_scenario *scenario);

/* Writes the scenario with all defaults filled, as YAML that loads to the same scenario. */
void config_scenario_show(const struct config_scenario *scenario, FILE *file);

/* A topology alone, or that of a scenario: its cluster. */
struct config_cluster {
    const struct model_topology *topology;
    struct config_pool *pool; /* owns it */
};
enum ring_status config_cluster_load(const char *path, struct config_cluster *out, struct ring_error *error);
void config_cluster_free(struct config_cluster *cluster);

/* Any file, for `ringlab check`: what it is and holds, in a line. A file says which it is by its top-level
 * key: `problem:` or `cluster:` a scenario, `device:` a device, `topology:` a topology, `set:` a set. */
enum config_kind { CONFIG_SCENARIO, CONFIG_TOPOLOGY, CONFIG_DEVICE, CONFIG_SET };
struct config_summary {
    enum config_kind kind;
    char text[768]; /* "topology dgx-h100: 8 devices, 1 switch, 16 links, bisection 1432 GB/s one way, ..." */
};
enum ring_status config_check(const char *path, struct config_summary *summary, struct ring_error *error);

/* Where `cluster: this-machine` points: $RINGLAB_CACHE, else $XDG_CACHE_HOME/ringlab, else ~/.cache/ringlab;
 * the file this-machine.yaml in it (a topology, whose device file stands beside it). */
enum ring_status config_cache_path(char *out, size_t size, const char *file, struct ring_error *error);

/* A set of scenarios to try: `set: {scenario: BASE.yaml, grids: [{ring.devices: [1, 2], ...}, ...]}`, every
 * combination of a grid's values a case. Any other file is a scenario, and a set of one. */
struct config_case {
    const char *scenario;    /* path */
    const char *const *sets; /* "key=value", as config_overrides takes them */
    size_t n_sets;
};
struct config_set {
    const struct config_case *cases;
    size_t n_cases;
    struct config_pool *pool; /* owns every byte above */
};
/* All or nothing; a case's scenario is not loaded. */
enum ring_status config_set_load(const char *path, struct config_set *set, struct ring_error *error);
void config_set_free(struct config_set *set);

/* Reads a quantity such as "400 Gbps" or "1.5 us" into SI. */
enum config_unit { CONFIG_SECONDS, CONFIG_BYTES, CONFIG_BYTES_PER_S, CONFIG_FLOP_PER_S };
enum ring_status config_quantity(const char *text, enum config_unit unit, double *out,
                                 struct ring_error *error);

#endif
