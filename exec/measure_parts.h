/* SPDX-License-Identifier: MIT
 *
 * Between measure.c, which repeats a pass, and measure_report.c, which writes what came of it. */
#ifndef EXEC_MEASURE_PARTS_H
#define EXEC_MEASURE_PARTS_H

#include "exec/measure.h"

/* Looks at the machine's speed before the first repeat, one after the other. */
enum { EXEC_N_BEFORE = 3 };

struct exec_repeats {
    uint32_t n, shown;        /* shown: the median one, whose trace is written */
    double *start_s, *time_s; /* time: from the common start to the last rank's end */
    double *core_share;       /* of this rank */
    double *looks; /* [n_looks <= EXEC_N_BEFORE + n], some before the first, others between; this rank's */
    uint32_t n_looks;
    struct ring_trace *traces; /* this rank's */
    uint64_t bytes_sent;       /* by this rank, in each */
};

/* Collective: gathers all ranks' figures and their rows of the shown repeat, and rank 0 writes them. path and
 * fallback as in exec_measure. */
enum ring_status exec_measure_report(struct exec_session *session, const struct exec_repeats *repeats,
                                     const char *path, FILE *fallback, struct ring_error *error);

#endif
