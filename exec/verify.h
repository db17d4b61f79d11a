/* SPDX-License-Identifier: MIT
 *
 * `ringlab-rank verify`: runs a scenario on real data, mostly once, and compares every rank's rows with the
 * fp64 single-shot oracle (docs/FORMATS.md, 'What a verified run writes'). */
#ifndef EXEC_VERIFY_H
#define EXEC_VERIFY_H

#include "exec/session.h"

struct exec_verify_spec {
    const char *path;     /* rank 0's to write; NULL: into fallback */
    FILE *fallback;       /* rank 0's */
    const char *dump_dir; /* all tensors as .npy in global token order; NULL: none */
    uint64_t max_rows;    /* of each head and batch entry on each rank; 0: all */
    uint32_t repeats;     /* runs; those after the first must come to the same bits. 0 and 1: one */
};

/* Collective; the session must have data. The error of a row over its bound is in the file, not in the
 * status; a run that gives other bits than the first is RING_WORLD. */
enum ring_status exec_verify(struct exec_session *session, const struct exec_verify_spec *spec,
                             struct ring_error *error);

/* A rank's own results, in the order of its tokens. */
struct exec_results {
    const void *out, *lse; /* as attention_finish gives them */
    const void *d_q;       /* as attention_d_q gives it; NULL: there was no backward pass */
    const void *gradient;  /* dK, then dV, in the type in which they travel */
};

/* Gathers all ranks' results and writes them and the inputs into directory, which is made if missing:
 * q, k, v, out, lse, and where there was a backward pass d_out, d_q, d_k, d_v. Collective. */
enum ring_status exec_dump(struct exec_session *session, const char *directory,
                           const struct exec_results *results, struct ring_error *error);

#endif
