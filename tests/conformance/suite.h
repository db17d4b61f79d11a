/* SPDX-License-Identifier: MIT
 *
 * What every transport promises (engine/transport.h), as cases that run over any of them. A case is a body
 * that every rank plays; it reports through a status and a line, because in some worlds a rank is another
 * process. How a body gets its ranks is the world's business: a world adds a test_WORLD.c here, or walks
 * the table of cases itself where it has its own launcher. */
#ifndef TESTS_CONFORMANCE_SUITE_H
#define TESTS_CONFORMANCE_SUITE_H

#include "engine/transport.h"

enum { CONFORMANCE_MAX_RANKS = 5 };

struct conformance_seat {
    struct ring_transport *transport;
    uint32_t rank, n_ranks;
    char *memory; /* of the case's bytes; made by conformance_play */
};

struct conformance_case {
    const char *name; /* a sentence */
    uint32_t n_ranks;
    uint64_t memory_bytes; /* that a rank works with */
    enum ring_status (*body)(const struct conformance_seat *seat, struct ring_error *error);
};

extern const struct conformance_case conformance_cases[];
extern const uint32_t conformance_n_cases;

/* Plays one rank of a case over its transport. RING_OK, or what went wrong in one line that names the rank.
 */
enum ring_status conformance_play(const struct conformance_case *one, uint32_t rank,
                                  struct ring_transport *transport, struct ring_error *error);

/* The hook that a world gives rank's transport for its computations, so that cases can see what was run. It
 * keeps its counts in this process, by rank. Tasks carry no data. */
struct ring_compute conformance_compute(uint32_t rank);

/* A world to run the cases in. run plays the case on all its ranks, who can talk to each other and to
 * themselves, each with a fresh transport, and returns the first failure. */
struct conformance_world {
    const char *name;
    enum ring_status (*run)(void *context, const struct conformance_case *one, struct ring_error *error);
    void *context;
};

/* Runs all cases as cmocka tests, "WORLD: CASE"; returns how many failed. */
int conformance_run_all(const struct conformance_world *world);

#endif
