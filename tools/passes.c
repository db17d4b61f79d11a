/* SPDX-License-Identifier: MIT
 *
 * See passes.h. */
#include "tools/passes.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

void tool_passes_init(struct tool_result *result, const struct ring_plan *plan)
{
    const struct tool_pass both[TOOL_MAX_PASSES] = {
        {.pass = RING_PASS_FORWARD, .n_steps = plan->backward_step},
        {.pass = RING_PASS_BACKWARD,
         .first_step = plan->backward_step,
         .n_steps = plan->n_steps - plan->backward_step},
    };
    result->n_passes = 0;
    for (int i = 0; i < TOOL_MAX_PASSES; i++) {
        if (both[i].n_steps == 0)
            continue;
        struct tool_pass *pass = &result->passes[result->n_passes++];
        *pass = both[i];
        uint32_t n_ranks = ring_plan_alike(plan) ? 1 : plan->n_ranks;
        for (uint32_t rank = 0; rank < n_ranks; rank++)
            pass->bytes_sent = fmax(pass->bytes_sent, (double)ring_plan_pass_bytes(plan, rank, pass->pass));
    }
}

/* One rank's share of a pass. */
static void take_rank(struct tool_pass *pass, double compute_s, double exposed_s)
{
    pass->compute_s = fmax(pass->compute_s, compute_s);
    pass->exposed_s = fmax(pass->exposed_s, exposed_s);
}

void tool_passes_of_steps(struct tool_result *result, const struct ring_parts *steps)
{
    double begin_s = 0;
    for (uint32_t i = 0; i < result->n_passes; i++) {
        struct tool_pass *pass = &result->passes[i];
        double end_s = begin_s;
        for (uint32_t rank = 0; rank < result->n_ranks; rank++) {
            const struct ring_parts *first = &steps[(size_t)rank * result->n_steps + pass->first_step];
            double compute_s = 0, exposed_s = 0;
            for (uint32_t j = 0; j < pass->n_steps; j++) {
                compute_s += first[j].compute_s;
                exposed_s += first[j].transfer_s;
            }
            take_rank(pass, compute_s, exposed_s);
            end_s = fmax(end_s, first[pass->n_steps - 1].end_s);
        }
        pass->time_s = end_s - begin_s;
        begin_s = end_s;
    }
}

void tool_passes_of_totals(struct tool_result *result, const struct ring_parts *forward)
{
    struct tool_pass *first = &result->passes[0], *last = &result->passes[result->n_passes - 1];
    double begin_s = 0;
    for (uint32_t i = 0; i < result->n_ranks; i++) {
        const struct tool_rank *rank = &result->ranks[i];
        struct ring_parts before = {0};
        if (forward != NULL) {
            before = forward[i];
            take_rank(first, before.compute_s, before.transfer_s);
            begin_s = fmax(begin_s, before.end_s);
        }
        take_rank(last, rank->compute_s - before.compute_s, rank->transfer_s - before.transfer_s);
    }
    first->time_s = begin_s;
    last->time_s = result->time_s - begin_s;
}

enum ring_status tool_passes_check(const struct ring_plan *plan, const struct ring_trace *rows,
                                   struct ring_error *error)
{
    uint64_t(*sent)[RING_N_PASSES] = calloc(plan->n_ranks, sizeof *sent);
    enum ring_status status = RING_OK;
    if (sent == NULL)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for %" PRIu32 " ranks", plan->n_ranks);
    for (size_t i = 0; i < rows->n_rows; i++) {
        const struct ring_trace_row *row = &rows->rows[i];
        if (row->kind == RING_TRACE_SEND && row->rank < plan->n_ranks)
            sent[row->rank][ring_plan_step_pass(plan, row->step)] += row->amount;
    }
    for (uint32_t rank = 0; rank < plan->n_ranks && status == RING_OK; rank++) {
        for (enum ring_pass pass = RING_PASS_FORWARD; pass <= RING_PASS_BACKWARD; pass++) {
            uint64_t planned = ring_plan_pass_bytes(plan, rank, pass);
            if (sent[rank][pass] != planned && status == RING_OK)
                status = ring_fail(error, RING_WORLD,
                                   "rank %" PRIu32 " sent %" PRIu64 " bytes in the %s pass, its plan says "
                                   "%" PRIu64,
                                   rank, sent[rank][pass], ring_pass_names[pass], planned);
        }
    }
    free(sent);
    return status;
}

double tool_passes_ratio(const struct tool_result *result)
{
    return result->n_passes == 2 ? result->passes[1].time_s / result->passes[0].time_s : (double)NAN;
}
