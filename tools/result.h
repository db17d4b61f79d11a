/* SPDX-License-Identifier: MIT
 *
 * What came out, in one struct for every world: a prediction and a measurement differ in the name of their
 * world and in nothing else, so they can be laid side by side. result_json.c turns it into a document and
 * back. */
#ifndef TOOL_RESULT_H
#define TOOL_RESULT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "config/config.h"
#include "engine/parts.h"
#include "models/ring.h"
#include "tools/blame.h"
#include "tools/seeds.h"

/* The question, complete: what a scenario says after defaults and overrides. Strings belong to the result. */
struct tool_question {
    const char *name, *path, *cluster;
    struct ring_plan_spec plan;
    bool natural; /* placement: rank i on device i; otherwise the names of tool_rank say it */
    struct model_compute compute;
    enum model_progress progress;
    const char *faults; /* the list as JSON; NULL: none */
    uint64_t fault_seed;
    struct config_data data;
    struct config_measure measure;
};

/* One rank over the whole step; the four parts and the begin add up to end_s. */
struct tool_rank {
    const char *device;
    double compute_s, transfer_s, wait_s, overhead_s, end_s;
    uint64_t bytes_sent;
    uint64_t visible_pairs;       /* per head and batch entry, over all steps */
    uint64_t memory_bytes;        /* needed */
    uint64_t device_memory_bytes; /* there; 0: unknown */
    uint64_t run_bytes;           /* of memory_bytes, what ringlab's own ranks hold while they are measured */
    uint64_t resident_bytes; /* of a measured run: the most that lay in memory, above what the process had
                                before it had its blocks; 0: not measured */
};

/* One pass of the step. passes.h fills it. */
struct tool_pass {
    enum ring_pass pass; /* forward or backward */
    uint32_t first_step, n_steps;
    double time_s;    /* from the last rank's end of the pass before to the last rank's end of this one */
    double compute_s; /* the longest that one rank computed */
    double
        exposed_s; /* the longest that one rank stood still while a message that it waited for was moving */
    double bytes_sent;            /* by the rank that sends most */
    double crossover_bytes_per_s; /* of every hop, from which on its messages hide behind its blocks; 0:
                                     nothing moves, infinite: nothing hides its latency, NaN: unknown, or
                                     nothing hides for want of a free core */
};
enum { TOOL_MAX_PASSES = 2, TOOL_LOOKS = 4 };

/* One link that carried something. predicted: bytes_per_s is what it can carry and busy_s how long it needs
 * for the bytes at that rate; measured: busy_s is when messages over it were moving, and bytes_per_s their
 * rate. */
struct tool_link {
    const char *name;
    double bytes, busy_s, bytes_per_s;
};

/* What limits the step. Each list entry is (NAME, "name in files and output"). */
#define TOOL_LIMITS(X)                                                                                       \
    X(COMPUTE, "compute")                                                                                    \
    X(NETWORK, "network")                                                                                    \
    X(LATENCY, "latency")                                                                                    \
    X(IMBALANCE, "imbalance")                                                                                \
    X(STRAGGLER, "straggler")                                                                                \
    X(OVERHEAD, "overhead")                                                                                  \
    X(BUSY, "busy")                                                                                          \
    X(MEMORY, "memory")
#define TOOL_LIMIT_ENUM(name, text) TOOL_LIMIT_##name,
enum tool_limit { TOOL_LIMITS(TOOL_LIMIT_ENUM) TOOL_N_LIMITS };
#undef TOOL_LIMIT_ENUM
extern const char *const tool_limit_names[TOOL_N_LIMITS];

struct tool_verdict {
    enum tool_limit limit;
    const char *culprit; /* the device or link to blame, NULL if no single one is */
    const char *text;    /* one to three sentences */
};

struct tool_result {
    const char *world;        /* "recurrence", "simgrid" or "mpi" */
    const char *world_detail; /* "SimGrid 3.32, CM02 ...", "Open MPI 4.1.4, poll" */
    const char *kernel;       /* of a measured run; NULL: none ran */
    struct tool_question question;
    double time_s; /* first start to last end; of a measured run, the median repeat; NaN: nothing ran, for it
                      does not fit (then there are no times at all) */
    double *repeats_s;
    size_t n_repeats; /* 0: not measured */
    uint32_t n_ranks, n_steps;
    struct tool_pass passes[TOOL_MAX_PASSES];
    uint32_t n_passes;        /* 1, or 2: forward and then backward */
    struct model_fit fit;     /* the rank whose device is fullest, and whether it holds it */
    struct tool_rank *ranks;  /* [n_ranks] */
    struct ring_parts *steps; /* [n_ranks][n_steps], times from the first start; NULL: not kept */
    struct tool_link *links;
    size_t n_links;
    struct model_bound bound;
    double flops;    /* of all ranks */
    double moving_s; /* how long something moved over a hop, added up over hops; two at once count once */
    double drift;    /* of a measured run: how much slower the machine ran than when it was calibrated; 0:
                          unknown */
    double looks[TOOL_LOOKS]; /* likewise, right before the first repeat; not in documents */
    size_t n_looks;
    double slowdown;   /* of a prediction: kernels take this times their calibrated time; 0: as calibrated */
    bool on_device;    /* of a measured run: what its ranks hold in memory is memory of a CUDA device */
    double core_share; /* of a measured run: processor time over time, mean over ranks; 0: unknown */
    struct tool_verdict verdict;
    struct tool_blame blame;             /* of a predicted step */
    struct tool_seeds seeds;             /* the same */
    const char *blame_text, *seeds_text; /* both as a document had them, of a result that was read; or NULL */
    const char **notes;                  /* things the reader should know, one line each */
    size_t n_notes;
    char **strings; /* every string above */
    size_t n_strings;
};

void tool_result_init(struct tool_result *result);
void tool_result_fini(struct tool_result *result);

/* A string that lives as long as the result. NULL without memory. */
const char *tool_result_keep(struct tool_result *result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Room for so many ranks, and for their steps if with_steps; all zero. RING_NO_MEMORY. */
enum ring_status tool_result_allocate(struct tool_result *result, uint32_t n_ranks, uint32_t n_steps,
                                      bool with_steps, struct ring_error *error);

/* Adds a line for the reader. */
void tool_result_note(struct tool_result *result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Sums that several readers need. exposed_s: the longest that one rank stood still while a message it waited
 * for was moving. overlap: 1 - (what stood exposed on all ranks) / moving_s, between 0 and 1; NaN if nothing
 * moved. */
double tool_result_exposed_s(const struct tool_result *result);
double tool_result_overlap(const struct tool_result *result);
double tool_result_tokens_per_s(const struct tool_result *result);

/* min, median (of an even number the lower one) and max of the repeats; n_repeats > 0. */
struct tool_spread {
    double min_s, median_s, max_s;
};
struct tool_spread tool_result_spread(const struct tool_result *result);

/* result_json.c: one document, ended by a newline. with_steps: the per-step rows as well. */
enum ring_status tool_result_write(const struct tool_result *result, bool with_steps, FILE *stream,
                                   struct ring_error *error);
/* The same into a file, whole or not at all. */
enum ring_status tool_result_save(const struct tool_result *result, bool with_steps, const char *path,
                                  struct ring_error *error);
/* Reads what write wrote. RING_BAD_INPUT with the file and what is wrong with it; then result is as after
 * init. */
enum ring_status tool_result_load(struct tool_result *result, const char *path, struct ring_error *error);

#endif
