/* SPDX-License-Identifier: MIT
 *
 * See verdict.h. First the losses, as plain arithmetic on ranks; then one function a limit that finds its
 * culprit and writes its sentences. */
#include "tools/verdict.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/memory.h"
#include "tools/sort.h"
#include "tools/units.h"

static const double worth_naming = 0.1; /* of the step's time */

/* Short names for sentences. */
#define TIME(seconds)     tool_figure(TOOL_SECONDS, seconds).text
#define SIZE(bytes)       tool_figure(TOOL_BYTES, bytes).text
#define RATE(bytes_per_s) tool_figure(TOOL_BYTES_PER_S, bytes_per_s).text

/* Seconds a visible pair on the (lower) median rank: the pace of a healthy device. 0 if nobody computes. */
static double median_pace(const struct tool_result *result)
{
    double *paces = malloc(result->n_ranks * sizeof *paces), pace = 0;
    size_t n = 0;
    if (paces == NULL)
        return 0;
    for (uint32_t i = 0; i < result->n_ranks; i++)
        if (result->ranks[i].visible_pairs > 0)
            paces[n++] = result->ranks[i].compute_s / (double)result->ranks[i].visible_pairs;
    if (n > 0) {
        tool_sort(paces, n);
        pace = paces[(n - 1) / 2];
    }
    free(paces);
    return pace;
}

struct tool_losses tool_losses_of(const struct tool_result *result)
{
    struct tool_losses losses = {0};
    const struct tool_rank *ranks = result->ranks;
    double pace = median_pace(result), mean_s = 0;
    uint32_t last = 0;
    for (uint32_t i = 0; i < result->n_ranks; i++) {
        mean_s += ranks[i].compute_s / result->n_ranks;
        if (ranks[i].compute_s > ranks[losses.busiest].compute_s)
            losses.busiest = i;
        if (ranks[i].transfer_s > ranks[losses.exposed].transfer_s)
            losses.exposed = i;
        if (ranks[i].end_s > ranks[last].end_s)
            last = i;
    }
    double most_s = ranks[losses.busiest].compute_s;
    double healthy_s = fmin(most_s, pace * (double)ranks[losses.busiest].visible_pairs);
    losses.straggler_s = most_s - healthy_s;
    losses.compute_s = fmin(mean_s, healthy_s);
    losses.overhead_s = ranks[last].overhead_s;
    double rest_s = fmax(result->time_s - most_s - losses.overhead_s, 0);
    losses.network_s = fmin(rest_s, ranks[losses.exposed].transfer_s);
    losses.imbalance_s = healthy_s - losses.compute_s + rest_s - losses.network_s;
    return losses;
}

static void say(struct tool_result *result, enum tool_limit limit, const char *culprit, const char *text)
{
    result->verdict = (struct tool_verdict){limit, culprit, text};
}

static void say_memory(struct tool_result *result)
{
    const struct model_fit *fit = &result->fit;
    const char *device = result->ranks[fit->rank].device;
    char advice[256];
    tool_memory_advice(fit, &result->question.plan, advice, sizeof advice);
    const char *shared = fit->n_sharing > 1
                             ? tool_result_keep(result, "its %" PRIu32 " ranks need", fit->n_sharing)
                             : tool_result_keep(result, "rank %" PRIu32 " needs", fit->rank);
    say(result, TOOL_LIMIT_MEMORY, device,
        tool_result_keep(result, "It does not fit, so there are no times: %s %s and %s has %s. %c%s.", shared,
                         SIZE((double)fit->needed_bytes), device, SIZE((double)fit->capacity_bytes),
                         advice[0] - 'a' + 'A', advice + 1));
}

static void say_straggler(struct tool_result *result, const struct tool_losses *losses)
{
    const struct tool_rank *rank = &result->ranks[losses->busiest];
    double healthy_s = rank->compute_s - losses->straggler_s;
    say(result, TOOL_LIMIT_STRAGGLER, rank->device,
        tool_result_keep(
            result,
            "%s (rank %" PRIu32 ") computes for %s where the same work takes the others %s, and the "
            "whole ring waits for it: %s of the %s step. At the others' pace the step would take "
            "about %s.",
            rank->device, losses->busiest, TIME(rank->compute_s), TIME(healthy_s),
            tool_percent(losses->straggler_s / result->time_s).text, TIME(result->time_s),
            TIME(result->time_s - losses->straggler_s)));
}

/* What would spread the work better. */
static const char *even_advice(const struct tool_result *result)
{
    const struct ring_plan_spec *plan = &result->question.plan;
    if (plan->problem.mask == RING_MASK_CAUSAL && plan->layout == RING_LAYOUT_CONTIGUOUS)
        return "Layout zigzag gives every rank the same work.";
    if (plan->problem.mask == RING_MASK_CAUSAL && plan->layout == RING_LAYOUT_STRIPED)
        return "Layout zigzag is more even than striped.";
    if (plan->problem.tokens % (2 * (uint64_t)plan->n_ranks) != 0)
        return "The tokens do not divide evenly by twice the number of devices.";
    return "Ranks that have computed wait for a neighbour that has not.";
}

static void say_imbalance(struct tool_result *result, const struct tool_losses *losses)
{
    const struct tool_rank *most = &result->ranks[losses->busiest], *least = most;
    for (uint32_t i = 0; i < result->n_ranks; i++)
        if (result->ranks[i].compute_s < least->compute_s)
            least = &result->ranks[i];
    say(result, TOOL_LIMIT_IMBALANCE, NULL,
        tool_result_keep(
            result,
            "Work is uneven: rank %" PRIu32 " computes for %s and rank %td for %s; evenly spread it "
            "would be %s each, so %s of the %s step goes to waiting for the busiest. %s",
            losses->busiest, TIME(most->compute_s), least - result->ranks, TIME(least->compute_s),
            TIME(losses->compute_s), tool_percent(losses->imbalance_s / result->time_s).text,
            TIME(result->time_s), even_advice(result)));
}

static void say_overhead(struct tool_result *result, const struct tool_losses *losses)
{
    say(result, TOOL_LIMIT_OVERHEAD, NULL,
        tool_result_keep(
            result,
            "%s of the %s step go to launching work, posting messages and polling, in %" PRIu32
            " steps. Fewer and larger blocks (more tokens, or fewer devices) would make it small.",
            TIME(losses->overhead_s), TIME(result->time_s), result->n_steps));
}

/* Of a measured step on the CPU: the time that the processes neither had a core nor had reason to do without
 * one, a mean over ranks. A wait may sleep, a timed block on a free core does, and so does who waits for a
 * device. */
static double stolen_s(const struct tool_result *result)
{
    const struct tool_question *question = &result->question;
    double resting_s = 0;
    bool timed = question->compute.block_s > 0 && question->compute.core_free;
    if (!(result->core_share > 0) || timed ||
        (result->kernel != NULL && strncmp(result->kernel, "cuda", 4) == 0))
        return 0;
    for (uint32_t i = 0; i < result->n_ranks; i++)
        resting_s += (result->ranks[i].transfer_s + result->ranks[i].wait_s) / result->n_ranks;
    return fmax(0, (1 - result->core_share) * result->time_s - resting_s);
}

static void say_busy(struct tool_result *result, double lost_s)
{
    say(result, TOOL_LIMIT_BUSY, NULL,
        tool_result_keep(
            result,
            "This machine was busy: the processes had %s of a core each, and %s of the %s step went to other "
            "programs, or to other ranks where there are more than cores. What the rest went to says little "
            "of the ring; measure again when the machine is free, or with fewer ranks.",
            tool_percent(result->core_share).text, TIME(lost_s), TIME(result->time_s)));
}

static void say_compute(struct tool_result *result, const struct model_ring *ring,
                        const struct tool_losses *losses)
{
    double overlap = tool_result_overlap(result);
    const char *hidden = "";
    if (result->n_ranks == 1)
        hidden = "One device has nothing to send. ";
    else if (tool_verdict_lazy(ring) != NULL)
        hidden = tool_result_keep(result, "%s: %s here. ", tool_verdict_lazy(ring),
                                  TIME(tool_result_exposed_s(result)));
    else if (overlap >= 0.995)
        hidden = "All communication hides behind it. ";
    else if (!isnan(overlap))
        hidden =
            tool_result_keep(result, "%s of the communication hides behind it. ", tool_percent(overlap).text);
    say(result, TOOL_LIMIT_COMPUTE, NULL,
        tool_result_keep(
            result,
            "The busiest rank computes for %s of the %s step. %sOnly faster devices, more of them or "
            "less work would shorten it.",
            TIME(result->ranks[losses->busiest].compute_s), TIME(result->time_s),
            hidden == NULL ? "" : hidden));
}

/* A slow device hides a slow hop behind its computing. Predictions know better who is to blame:
 * tools/blame.h. */
static bool hides_a_hop(const struct tool_result *result, const struct model_ring *ring,
                        const struct tool_losses *losses, double largest_s)
{
    return result->n_repeats > 0 && largest_s == losses->straggler_s &&
           losses->network_s >= worth_naming / 2 * result->time_s &&
           tool_replay_blames_hop(result, ring, losses);
}

void tool_verdict_find(struct tool_result *result, const struct model_ring *ring)
{
    if (!result->fit.fits && isnan(result->time_s)) {
        say_memory(result);
        return;
    }
    struct tool_losses losses = tool_losses_of(result);
    double named_s = worth_naming * result->time_s;
    double largest_s =
        fmax(fmax(losses.straggler_s, losses.imbalance_s), fmax(losses.network_s, losses.overhead_s));
    double lost_s = stolen_s(result);
    if (lost_s >= named_s && (lost_s >= largest_s || largest_s == losses.overhead_s))
        say_busy(result, lost_s);
    else if (!(largest_s >= named_s) || largest_s == 0)
        say_compute(result, ring, &losses);
    else if (largest_s == losses.network_s || hides_a_hop(result, ring, &losses, largest_s))
        tool_verdict_network(result, ring, &losses);
    else if (largest_s == losses.straggler_s)
        say_straggler(result, &losses);
    else if (largest_s == losses.imbalance_s)
        say_imbalance(result, &losses);
    else
        say_overhead(result, &losses);
}
