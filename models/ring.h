/* SPDX-License-Identifier: MIT
 *
 * A plan placed on a cluster and priced: what each block costs each rank, and what each hop costs alone. Both
 * ways to simulate (recurrence.h here, sim/) take their durations from this one place, so they can only
 * differ in how they play the schedule - which is why each can be the other's oracle. */
#ifndef MODEL_RING_H
#define MODEL_RING_H

#include "engine/plan.h"
#include "models/topology.h"

/* What moves a message while the rank computes. POLL: the transport is looked after during computation (or
 * needs no looking after, as under a GPU). NONE: bytes move only while the rank waits. */
#define MODEL_PROGRESS(X)               X(POLL, "poll") X(NONE, "none")
#define MODEL_PROGRESS_ENUM(name, text) MODEL_PROGRESS_##name,
enum model_progress { MODEL_PROGRESS(MODEL_PROGRESS_ENUM) MODEL_N_PROGRESS };
#undef MODEL_PROGRESS_ENUM
extern const char *const model_progress_names[MODEL_N_PROGRESS];

/* How a block's time is found. */
struct model_compute {
    double block_s; /* > 0: every computed block takes exactly this long; 0: ask the device model */
    bool core_free; /* a timed block leaves the core free, so that a receiver-moved copy can overlap it */
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
};

struct model_ring {
    const struct ring_plan *plan;
    const struct model_topology *topology;
    const uint32_t *device_of_rank; /* [n_ranks] index into topology->devices; borrowed */
    struct model_compute compute;
    enum model_progress progress;
    struct model_hop *hops;   /* all pairs that talk, by source rank, ascending target */
    uint32_t *hop_first;      /* [n_ranks + 1] */
    uint32_t *route_links;    /* storage behind hops[].links */
    double *link_bytes_per_s; /* [n_links] at the plan's block size */
    double *link_bytes;       /* [n_links] over each in the whole pass */
    bool shared;              /* two hops share a link, or two ranks a device: recurrence.h must refuse */
    const char *shared_what;  /* one name of what is shared, for the reader; borrowed; NULL if none */
};

struct model_ring_spec {
    const struct ring_plan *plan;
    const struct model_topology *topology;
    const uint32_t *device_of_rank;
    struct model_compute compute;
    enum model_progress progress;
};

/* Routes every pair of ranks that the plan makes talk, and prices each hop. RING_BAD_INPUT where a pair has
 * no route, a rank no device, or a device no curve. What the spec points to is borrowed. */
enum ring_status model_ring_init(struct model_ring *ring, const struct model_ring_spec *spec,
                                 struct ring_error *error);
void model_ring_fini(struct model_ring *ring);

/* The hop from rank source to rank target; NULL if the plan never uses it. */
const struct model_hop *model_ring_hop(const struct model_ring *ring, uint32_t source, uint32_t target);

/* Seconds that rank's device needs for this work, alone on the device. work.visible_pairs == 0 is 0. */
double model_ring_block_s(const struct model_ring *ring, uint32_t rank, const struct ring_work *work);
/* The same, explained. RING_BAD_INPUT as model_device_block. */
enum ring_status model_ring_block(const struct model_ring *ring, uint32_t rank, const struct ring_work *work,
                                  struct model_block_cost *cost, struct ring_error *error);

/* Natural placement: rank i on device i, wrapping round where the topology allows sharing. RING_BAD_INPUT
 * with how many devices there are where they do not suffice. */
enum ring_status model_place_natural(const struct model_topology *topology, uint32_t n_ranks,
                                     uint32_t *device_of_rank, struct ring_error *error);

/* Lower bounds that no schedule of these messages and blocks beats: compute_s the busiest rank's computing,
 * network_s the most loaded link's bytes over its bandwidth, or the busiest hop's and its latency once,
 * time_s the larger. Takes one walk over the plan. */
struct model_bound {
    double compute_s, network_s, time_s;
};
struct model_bound model_ring_bound(const struct model_ring *ring);

/* Bytes that each rank's device holds during a forward pass, itemised: queries, home K/V and output in the
 * problem's dtype, the travelling buffers, the running state (m, l and unnormalised o) and the log-sum-exp in
 * fp32 (fp64 for an fp64 problem). */
struct model_memory {
    uint64_t q_bytes, kv_bytes, buffer_bytes, out_bytes, state_bytes, lse_bytes, total_bytes;
};
struct model_memory model_ring_memory(const struct ring_plan *plan, uint32_t rank);

/* Bytes over each link of the topology in the whole pass, [n_links]. */
void model_ring_link_bytes(const struct model_ring *ring, double *bytes);

#endif
