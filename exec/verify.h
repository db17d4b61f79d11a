/* SPDX-License-Identifier: MIT
 *
 * `ringlab-rank verify`: runs a scenario once on real data and compares every rank's rows with the fp64
 * single-shot oracle (docs/FORMATS.md, 'What a verified run writes'). */
#ifndef EXEC_VERIFY_H
#define EXEC_VERIFY_H

#include "exec/session.h"

struct exec_verify_spec {
    const char *path;     /* rank 0's to write; NULL: into fallback */
    FILE *fallback;       /* rank 0's */
    const char *dump_dir; /* q, k, v, out, lse as .npy in global token order; NULL: none */
    uint64_t max_rows;    /* of each head and batch entry on each rank; 0: all */
};

/* Collective; the session must have data. The error of a row over its bound is in the file, not in the
 * status. */
enum ring_status exec_verify(struct exec_session *session, const struct exec_verify_spec *spec,
                             struct ring_error *error);

/* Gathers out and lse of all ranks and writes the five tensors into directory, which is made if missing. out
 * and lse are the rank's own, as attention_finish gives them. Collective. */
enum ring_status exec_dump(struct exec_session *session, const char *directory, const void *out,
                           const void *lse, struct ring_error *error);

#endif
