/* SPDX-License-Identifier: MIT
 *
 * A plan placed on a cluster and priced: what each block costs each rank, and what each hop costs alone. Both
 * ways to simulate (recurrence.h here, sim/) take their durations from this one place, so they can only
 * differ in how they play the schedule - which is why each can be the other's oracle. */
#ifndef MODEL_RING_H
#define MODEL_RING_H

#include "engine/plan.h"
#include "engine/transport.h"
#include "models/fault.h"
#include "models/memory.h"
#include "models/topology.h"

/* What moves a message while the rank computes. POLL: the transport is looked after during computation (or
 * needs no looking after, as under a GPU). NONE: bytes move only while the rank waits. THREAD: as POLL, but
 * by a thread of its own, which also copies if there is a core to spare for it. */
#define MODEL_PROGRESS(X)               X(POLL, "poll") X(NONE, "none") X(THREAD, "thread")
#define MODEL_PROGRESS_ENUM(name, text) MODEL_PROGRESS_##name,
enum model_progress { MODEL_PROGRESS(MODEL_PROGRESS_ENUM) MODEL_N_PROGRESS };
#undef MODEL_PROGRESS_ENUM
extern const char *const model_progress_names[MODEL_N_PROGRESS];

/* How a block's time is found. */
struct model_compute {
    double block_s; /* > 0: every computed block takes exactly this long, and nothing else computes; 0: ask
                       the device model */
    bool core_free; /* a timed block leaves the core free, so that a receiver-moved copy can overlap it */
    double backward_block_s; /* the same in a backward pass; 0: 2.5 * block_s. Only beside block_s */
    double slowdown;         /* kernels take so many times what the devices' curves say; 0: as they say */
    uint32_t threads; /* that a rank computes with; 0 is 1. Only devices that say their cores have them */
};

/* The way from one rank to another, for messages of the plan's block size. */
struct model_hop {
    uint32_t target; /* rank */
    uint32_t n_links;
    const uint32_t *links; /* of the topology, in order */
    double latency_s;      /* sum over the route */
    double bytes_per_s;    /* of the slowest link, nothing else on it; infinity for a route of no links */
    double bytes;          /* of all messages of the whole pass */
    bool lazy;             /* bytes move only while the receiver waits and does not compute */
    bool changes;          /* a fault makes it another hop for a time: ask fault.h when bytes arrive */
};

struct model_ring {
    const struct ring_plan *plan;
    const struct model_topology *topology;
    const uint32_t *device_of_rank; /* [n_ranks] index into topology->devices; borrowed */
    struct model_compute compute;
    enum model_progress progress;
    bool spare_core;             /* the cluster has a core for every rank beside those that it computes on */
    struct model_hop *hops;      /* all pairs that talk, by source rank, ascending target */
    uint32_t *hop_first;         /* [n_ranks + 1] */
    uint32_t *route_links;       /* storage behind hops[].links */
    double *link_bytes_per_s;    /* [n_links] at the plan's block size */
    double *link_bytes;          /* [n_links] over each in the whole pass */
    double look_interval_s;      /* of a rank that computes and polls; infinity: it does not */
    double looking_s;            /* how long, in a block: until the slowest hop is through; a lazy one takes
                                    two looks, to be met and to be rid of */
    bool shared;                 /* two hops share a link, or two ranks a device: recurrence.h must refuse */
    const char *shared_what;     /* one name of what is shared, for the reader; borrowed; NULL if none */
    struct model_faulty *faulty; /* see fault.h; NULL: none. Faults for ever are in the prices above */
};

struct model_ring_spec {
    const struct ring_plan *plan;
    const struct model_topology *topology;
    const uint32_t *device_of_rank;
    struct model_compute compute;
    enum model_progress progress;
    const struct model_faults *faults; /* NULL: none */
};

/* Routes every pair of ranks that the plan makes talk, and prices each hop. RING_BAD_INPUT where a pair has
 * no route, a rank no device, or a device no curve. What the spec points to is borrowed. */
enum ring_status model_ring_init(struct model_ring *ring, const struct model_ring_spec *spec,
                                 struct ring_error *error);
void model_ring_fini(struct model_ring *ring);

/* The hop from rank source to rank target; NULL if the plan never uses it. */
const struct model_hop *model_ring_hop(const struct model_ring *ring, uint32_t source, uint32_t target);

/* Seconds that task->rank's device needs for this job, alone on the device. Of the task, job, rank, block,
 * first and work matter, its buffers do not.
 *
 * - forward: the block by the forward curves; without visible pairs, 0.
 * - backward: the block by the backward curves (2.5 x the forward FLOPs). The first of a pass also prepares
 *   delta: it reads the state and dO and writes lse and delta, (accumulator + dtype) bytes for each element
 *   of the rank's output and 4 accumulators a row.
 * - add: memory traffic alone. The contribution is read, the gradient read (but for the first) and written.
 *
 * Accumulators are fp32, fp64 for an fp64 problem. Where compute.block_s fixes the time of a block, preparing
 * and adding take none: the block's time is all there is. */
double model_ring_task_s(const struct model_ring *ring, const struct ring_task *task);
/* The same, explained. RING_BAD_INPUT as model_device_block. */
enum ring_status model_ring_task(const struct model_ring *ring, const struct ring_task *task,
                                 struct model_block_cost *cost, struct ring_error *error);

/* The time that is fixed for a block's job; none for adding, which a fixed time has in it. 0: none is fixed.
 * backward_block_s as in struct model_compute. */
double model_fixed_block_s(double block_s, double backward_block_s, enum ring_job job);

/* How long a rank that computes leaves its messages alone between two looks, when the largest has so many
 * bytes. One rule for both worlds: what exec/ does is what is priced here. */
double model_look_interval_s(uint64_t bytes);

/* The two tasks that run.h makes of a step, priced: while it waits for messages, and after; 0 where the step
 * has none. */
double model_ring_step_s(const struct model_ring *ring, uint32_t rank, const struct ring_plan_step *step);
double model_ring_add_s(const struct model_ring *ring, uint32_t rank, const struct ring_plan_step *step);

/* Natural placement: rank i on device i, wrapping round where the topology allows sharing. RING_BAD_INPUT
 * with how many devices there are where they do not suffice. */
enum ring_status model_place_natural(const struct model_topology *topology, uint32_t n_ranks,
                                     uint32_t *device_of_rank, struct ring_error *error);

/* Lower bounds that no schedule of these messages and jobs beats: compute_s the busiest rank's computing,
 * network_s the most loaded link's bytes over its bandwidth, or the busiest hop's and its latency once,
 * time_s the larger. Takes one walk over the plan. */
struct model_bound {
    double compute_s, network_s, time_s;
};
struct model_bound model_ring_bound(const struct model_ring *ring);

/* The bandwidth of every hop, one way, at which the pass's messages just hide behind its blocks: the largest
 * of bytes / (time - latency) over the steps that move and compute, with a step's bytes those of the busiest
 * hop (a block, and in a backward pass a gradient), its time that of the busiest rank's block, and its
 * latency the largest. The hop that brings the last gradient home has nothing to hide behind and is left out.
 * Exact where one rank is the busiest in all steps or all are alike. pass: one that the plan has, forward or
 * backward. 0: nothing moves; infinity: a latency alone is longer than the block. */
double model_ring_crossover(const struct model_ring *ring, enum ring_pass pass);

/* Bytes over each link of the topology in the whole pass, [n_links]. */
void model_ring_link_bytes(const struct model_ring *ring, double *bytes);

#endif
