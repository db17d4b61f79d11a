/* SPDX-License-Identifier: MIT
 *
 * What goes wrong in a cluster, and what that makes of times: devices that are slow or jitter, links that are
 * thin, late or flap, and what dies. A fault is data; the functions here answer "when would this block be
 * computed" and "when would these bytes have moved" for whoever plays a schedule, the recurrence as well as
 * sim/, so that both worlds have the same faults. Faults for ever of devices and links are folded into a
 * ring's prices (model_faults_apply); what changes with time is integrated piece by piece.
 *
 * Who waits for whom, and who is to blame, is found elsewhere (dataflow.c, blame.h). */
#ifndef MODEL_FAULT_H
#define MODEL_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/status.h"

struct model_hop;
struct model_ring;

/* Each list entry is (NAME, "key in files"). */
#define MODEL_FAULTS(X)                                                                                      \
    X(SLOW, "slow")           /* a device computes amount times as long */                                   \
    X(JITTER, "jitter")       /* each block of a device takes exp(amount * |Z|) times as long */             \
    X(DEVICE_DIES, "dies")    /* a device neither computes, sends nor receives any more */                   \
    X(BANDWIDTH, "bandwidth") /* links have amount times their bandwidth */                                  \
    X(LATENCY, "latency")     /* links take amount seconds longer */                                         \
    X(FLAP, "flap")           /* links are down for the last down_s of every period_s */                     \
    X(LINK_DIES, "dies")      /* nothing moves over links any more */
#define MODEL_FAULT_ENUM(name, text) MODEL_FAULT_##name,
enum model_fault_kind { MODEL_FAULTS(MODEL_FAULT_ENUM) MODEL_N_FAULTS };
#undef MODEL_FAULT_ENUM
extern const char *const model_fault_names[MODEL_N_FAULTS];

struct model_fault {
    enum model_fault_kind kind;
    const char *subject;   /* the device or link as the file names it; borrowed */
    uint32_t device;       /* of a device's fault: an index into topology->devices */
    const uint32_t *links; /* of a link's: links of the topology, which all have it; borrowed */
    size_t n_links;
    double amount; /* see above; bandwidth 0 is a link that is down */
    double period_s, down_s;
    double from_s, to_s; /* it lasts from from_s until to_s, infinity for ever; what dies, dies at from_s */
};

/* seed: of the jitter. Z is standard normal, drawn anew for each device, rank and step from the seed alone:
 * jitter only delays, by half a normal's share, and two runs of one seed are the same bit for bit. */
struct model_faults {
    const struct model_fault *items;
    size_t n;
    uint64_t seed;
};

static inline bool model_fault_of_device(const struct model_fault *fault)
{
    return fault->kind <= MODEL_FAULT_DEVICE_DIES;
}

/* Whether it is there from the beginning to the end and always the same: then it is part of the prices. */
bool model_fault_constant(const struct model_fault *fault);

/* Whether a real run can have them: devices that are slow or jitter, links that are thin or late, but nothing
 * that stops. RING_UNSUPPORTED with places[i] ("" where places is NULL) of the first that it cannot. */
enum ring_status model_faults_real(const struct model_faults *faults, const char *const *places,
                                   struct ring_error *error);

/* Faults, found by rank and by link; a ring's own. */
struct model_faulty;

/* Gives ring these faults (borrowed; NULL or none: it is whole again), whatever it had before: bandwidths of
 * links and prices of hops follow. Called by model_ring_init for those of the spec. RING_BAD_INPUT where a
 * device that several ranks share is slow for a time only, for then nobody knows who is held up how long;
 * RING_NO_MEMORY. */
enum ring_status model_faults_apply(struct model_ring *ring, const struct model_faults *faults,
                                    struct ring_error *error);
void model_faulty_free(struct model_faulty *faulty);

/* A copy of a ring with other faults; everything else is borrowed from the ring. Finish with
 * model_ring_faults_fini. */
enum ring_status model_ring_with_faults(struct model_ring *copy, const struct model_ring *ring,
                                        const struct model_faults *faults, struct ring_error *error);
void model_ring_with_faults_fini(struct model_ring *copy);

/* Seconds that a job of rank's step takes which begins at start_s and takes nominal_s on a whole device;
 * infinity if it never ends. */
double model_fault_compute_s(const struct model_ring *ring, uint32_t rank, uint32_t step, double start_s,
                             double nominal_s);
/* How many times as long as on a whole device everything that rank computes takes: the faults for ever. */
double model_fault_slowness(const struct model_ring *ring, uint32_t rank);
/* exp(amount * |Z|) of one jitter fault, the nth of its device, for rank's block of that step. */
double model_fault_stretch(const struct model_fault *fault, uint64_t seed, uint64_t nth, uint32_t rank,
                           uint32_t step);
/* The same of rank's block of that step, over all its jitter that is there at start_s; 1 without. */
double model_fault_jitter(const struct model_ring *ring, uint32_t rank, uint32_t step, double start_s);

/* When bytes that begin to move over a hop at start_s, alone on its links, have moved; infinity: never. */
double model_fault_moved_s(const struct model_ring *ring, const struct model_hop *hop, double start_s,
                           double bytes);
/* Latency of what has moved over a hop at that time. */
double model_fault_latency_s(const struct model_ring *ring, const struct model_hop *hop, double moved_s);

/* For whoever plays links by himself: whether any link in use changes with time; the share of its price
 * (ring->link_bytes_per_s) that a link has at at_s, and until when. A link that is dead keeps its share here:
 * see model_fault_dead. */
bool model_fault_links_change(const struct model_ring *ring);
double model_fault_link_share(const struct model_ring *ring, uint32_t link, double at_s, double *until_s);
/* Whether nothing can arrive over the hop any more. */
bool model_fault_dead(const struct model_ring *ring, const struct model_hop *hop, double at_s);

/* "no progress (d5 dies at 0.004 s): ", the start of a line that says who waits for whom; "" if nothing dies.
 */
void model_fault_causes(const struct model_ring *ring, char *text, size_t size);

#endif
