/* SPDX-License-Identifier: MIT
 *
 * Who is to blame for a step's time. Suspects are whatever differs from its like: the devices and links that
 * faults strike, devices slower and links thinner or later than their peers in the same cluster. What one
 * costs is found by playing the ring again with it repaired: its fault taken away, or its price made that of
 * the median of its like. Nobody is blamed whose repair, alone or with the others, saves less than a
 * hundredth of the step.
 *
 * Playing is the caller's: by the recurrence, or by simulation where links are shared. */
#ifndef MODEL_BLAME_H
#define MODEL_BLAME_H

#include "models/ring.h"

/* Plays a ring: its time, from 0 to the last rank's end. */
struct model_stage {
    enum ring_status (*play)(void *context, const struct model_ring *ring, double *time_s,
                             struct ring_error *error);
    void *context;
    uint32_t most_plays; /* blame is looked for no longer than this */
    double time_s;       /* of the ring as it is, if that has been played already; 0: it has not */
};

/* The stage of the recurrence. */
struct model_stage model_stage_recurrence(void);

struct model_culprit {
    bool device;      /* a device, otherwise a link */
    const char *name; /* of the device, or of the link as the cluster or the fault names it; borrowed */
    uint32_t index;   /* into topology->devices or ->links; of a fault's several links the first */
    double saves_s;   /* what its repair saves when those before it in the list are repaired */
    double alone_s;   /* what it costs when all others are whole */
};

enum { MODEL_MOST_CULPRITS = 16 };
struct model_blame {
    double time_s;                                      /* as it is; 0: not played, for nobody is suspected */
    double whole_s;                                     /* with every suspect repaired */
    struct model_culprit culprits[MODEL_MOST_CULPRITS]; /* in the order in which repair pays most */
    size_t n_culprits;                                  /* 0: nobody */
    double healed_s;                                    /* with all culprits repaired */
    /* with all culprits repaired: for model_ring_with_faults; valid until fini. n == 0: no faults left */
    struct model_faults healed;
    struct model_fault *items; /* storage behind healed */
};

/* RING_NO_MEMORY, or as the stage fails (RING_DEADLOCK: nobody can be blamed for a step without an end). */
enum ring_status model_blame_find(const struct model_ring *ring, const struct model_stage *stage,
                                  struct model_blame *blame, struct ring_error *error);
/* blame must not be moved before. */
void model_blame_fini(struct model_blame *blame);

#endif
