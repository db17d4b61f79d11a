/* SPDX-License-Identifier: MIT
 *
 * `ringlab-rank measure`: runs a scenario some times over and leaves times, traces and what they cost in one
 * file (docs/FORMATS.md, 'What a real run writes'). */
#ifndef EXEC_MEASURE_H
#define EXEC_MEASURE_H

#include "exec/session.h"

/* Collective. path is rank 0's to write; NULL: into fallback (a stream, rank 0's). RING_WORLD also if a rank
 * sent another number of bytes than its plan says. */
enum ring_status exec_measure(struct exec_session *session, const char *path, FILE *fallback,
                              struct ring_error *error);

/* "Open MPI 4.1.4, poll", and with a device its name and how blocks move. */
void exec_describe_transport(const struct exec_session *session, char *out, size_t size);

#endif
