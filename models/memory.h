/* SPDX-License-Identifier: MIT
 *
 * What a ring holds on each device, byte by byte, and whether that fits. Needs no price: a plan that no
 * device can hold is refused before anything is priced or run. */
#ifndef MODEL_MEMORY_H
#define MODEL_MEMORY_H

#include "engine/plan.h"
#include "models/topology.h"

/* One rank's bytes while its plan runs. Accumulators are fp32, fp64 for an fp64 problem. */
struct model_memory {
    uint64_t q_bytes;            /* own queries, of the problem's dtype */
    uint64_t kv_bytes;           /* own K and V (home) */
    uint64_t buffer_bytes;       /* travelling K/V; with keep_kv every block of the others */
    uint64_t out_bytes;          /* own output, of the problem's dtype */
    uint64_t state_bytes;        /* running m, l and unnormalised o */
    uint64_t lse_bytes;          /* log-sum-exp */
    uint64_t d_out_bytes;        /* from here on 0 in a forward pass; own dO, of the problem's dtype */
    uint64_t d_q_bytes;          /* accumulator */
    uint64_t delta_bytes;        /* accumulator */
    uint64_t contribution_bytes; /* own dK and dV for the block in hand, accumulator */
    uint64_t gradient_bytes;     /* two travelling dK and dV, in the plan's gradient dtype */
    uint64_t own_gradient_bytes; /* dK and dV of the own block, where they come home */
    uint64_t staging_bytes;      /* copies that the transport makes, as told */
    uint64_t total_bytes;        /* all of the above */
    uint64_t run_bytes; /* total without what is only made from the state when it is asked for: the output,
                           and in a forward pass the log-sum-exp. What ringlab's own ranks hold while they are
                           measured */
};
struct model_memory model_ring_memory(const struct ring_plan *plan, uint32_t rank);
/* With so many bytes of staging on top. */
struct model_memory model_ring_memory_staged(const struct ring_plan *plan, uint32_t rank,
                                             uint64_t staging_bytes);

/* The largest sequence of which each rank's total stays within capacity_bytes; 0 if not even a token a rank
 * does. spec->problem.tokens is ignored. */
uint64_t model_largest_tokens(const struct ring_plan_spec *spec, uint64_t capacity_bytes,
                              uint64_t staging_bytes);
/* The smallest number of ranks, up to most_ranks, at which each rank's total stays within capacity_bytes; 0
 * if there is none. spec->n_ranks is ignored. */
uint32_t model_smallest_ranks(const struct ring_plan_spec *spec, uint64_t capacity_bytes,
                              uint64_t staging_bytes, uint32_t most_ranks);

/* A plan on a cluster's devices. */
struct model_fit {
    bool fits;                  /* also where no device says how much memory it has */
    uint32_t rank;              /* the one whose device is fullest */
    uint32_t n_sharing;         /* ranks on that device, itself included */
    uint64_t needed_bytes;      /* of all of them */
    uint64_t capacity_bytes;    /* of that device; 0: no device says */
    struct model_memory memory; /* of that rank */
    uint64_t largest_tokens;    /* at this number of ranks; 0: none, or capacity unknown */
    uint32_t smallest_ranks;    /* at this number of tokens, each with as much memory as that rank has now; 0:
                                   none, or capacity unknown */
};

/* most_ranks bounds the search for smallest_ranks; 0: no search. RING_NO_MEMORY; RING_BAD_INPUT where a rank
 * has no device. */
enum ring_status model_fit(const struct ring_plan *plan, const struct model_topology *topology,
                           const uint32_t *device_of_rank, uint64_t staging_bytes, uint32_t most_ranks,
                           struct model_fit *fit, struct ring_error *error);

#endif
