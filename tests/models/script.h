/* SPDX-License-Identifier: MIT
 *
 * Schedules written down message by message, for what no real schedule does: a lone flow, a deadlock,
 * messages awaited long after they were posted. */
#ifndef TESTS_MODELS_SCRIPT_H
#define TESTS_MODELS_SCRIPT_H

#include "engine/plan.h"

enum { SCRIPT_RANKS = 8, SCRIPT_STEPS = 8, SCRIPT_MESSAGES = 64 };

struct script_message {
    uint32_t from, to;
    uint32_t send_step, send_await_step;       /* of the sender */
    uint32_t receive_step, receive_await_step; /* of the receiver */
    uint64_t bytes;
};

struct script {
    uint32_t n_ranks, n_steps, n_messages;
    struct script_message
        messages[SCRIPT_MESSAGES]; /* in the order of their posts; message i has slot 1 + i */
    bool computes[SCRIPT_RANKS][SCRIPT_STEPS];
};

/* Turns plan into the script, which is borrowed and the only one that is played until the next call. The
 * plan's problem stays what it was. */
void script_into_plan(const struct script *script, struct ring_plan *plan);

#endif
