/* SPDX-License-Identifier: MIT
 *
 * When messages are to blame: which hop stands a rank still, which link of its way is the narrow one, whether
 * it is bandwidth or latency, and what it would take to hide it. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/units.h"
#include "tools/verdict.h"

#define TIME(seconds)     tool_figure(TOOL_SECONDS, seconds).text
#define SIZE(bytes)       tool_figure(TOOL_BYTES, bytes).text
#define RATE(bytes_per_s) tool_figure(TOOL_BYTES_PER_S, bytes_per_s).text

static const double nearly = 0.9; /* a link that is this busy is like the busiest */

/* The hop that is blamed, and its narrowest link. */
struct blame {
    const struct model_hop *hop;
    uint32_t link;      /* of the topology */
    uint32_t n_shared;  /* hops that cross it */
    size_t n_like;      /* links that are as busy, itself included */
    size_t n_used;      /* links that carry anything */
    double bytes_per_s; /* of that link, for all that crosses it: predicted, what it can; measured, what it
                           did */
};

const char *tool_verdict_lazy(const struct model_ring *ring)
{
    const struct ring_plan *plan = ring->plan;
    for (uint32_t i = 0; i < ring->hop_first[plan->n_ranks]; i++) {
        const struct model_hop *hop = &ring->hops[i];
        if (!hop->lazy)
            continue;
        if (ring->progress == MODEL_PROGRESS_NONE)
            return "Nothing moves while a rank computes (progress: none)";
        return "The receiving core copies each block itself and cannot compute meanwhile";
    }
    return NULL;
}

static uint32_t count_sharing(const struct model_ring *ring, uint32_t link)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < ring->hop_first[ring->plan->n_ranks]; i++)
        for (uint32_t j = 0; j < ring->hops[i].n_links; j++)
            n += ring->hops[i].links[j] == link;
    return n;
}

/* How long each link of the topology was in use, by what the result says: of a measured run that is what
 * really happened. The result's links are those that carry something, in the topology's order. */
static double *find_busy(const struct tool_result *result, const struct model_ring *ring)
{
    const struct model_topology *topology = ring->topology;
    double *busy_s = calloc(topology->n_links + 1, sizeof *busy_s);
    size_t next = 0;
    for (size_t i = 0; busy_s != NULL && i < topology->n_links && next < result->n_links; i++)
        if (strcmp(topology->links[i].name, result->links[next].name) == 0)
            busy_s[i] = result->links[next++].busy_s;
    return busy_s;
}

/* Blames the hop whose messages need longest: the ring is coupled, so that one sets the pace wherever the
 * time is lost. Its narrow place is the busiest link on its way. */
static void find_blame(const struct model_ring *ring, const double *busy_s, double block_bytes,
                       struct blame *blame)
{
    double worst_s = -1;
    for (uint32_t i = 0; i < ring->hop_first[ring->plan->n_ranks]; i++) {
        const struct model_hop *hop = &ring->hops[i];
        uint32_t busiest = hop->n_links > 0 ? hop->links[0] : 0;
        for (uint32_t j = 1; j < hop->n_links; j++)
            if (busy_s[hop->links[j]] > busy_s[busiest])
                busiest = hop->links[j];
        double latency_s = hop->latency_s * hop->bytes / block_bytes;
        double now_s = latency_s + (hop->n_links > 0 ? busy_s[busiest] : 0);
        /* a whisker more is noise, and the first of equals is the same every time */
        if (now_s <= worst_s * (1 + 1e-9))
            continue;
        worst_s = now_s;
        blame->hop = hop;
        blame->link = busiest;
    }
    for (size_t i = 0; i < ring->topology->n_links; i++) {
        blame->n_used += busy_s[i] > 0;
        blame->n_like += busy_s[i] > 0 && busy_s[i] >= nearly * busy_s[blame->link];
    }
    if (blame->hop == NULL)
        return;
    blame->bytes_per_s = blame->hop->bytes_per_s;
    if (blame->hop->n_links > 0 && busy_s[blame->link] > 0) {
        blame->n_shared = count_sharing(ring, blame->link);
        blame->bytes_per_s = ring->link_bytes[blame->link] / busy_s[blame->link];
    }
}

/* What a step of the pass that is exposed most moves over a hop, and computes meanwhile. */
struct load {
    const char *what; /* moves */
    double bytes, block_s;
};

static struct load find_load(struct tool_result *result, const struct model_ring *ring,
                             const struct tool_losses *losses)
{
    const struct ring_plan *plan = ring->plan;
    const struct tool_pass *worst = &result->passes[0];
    double compute_s = 0;
    for (uint32_t i = 0; i < result->n_passes; i++) {
        compute_s += result->passes[i].compute_s;
        if (result->passes[i].exposed_s > worst->exposed_s)
            worst = &result->passes[i];
    }
    double share = compute_s > 0 ? worst->compute_s / compute_s : 1;
    struct load load = {.block_s = losses->compute_s * share / plan->n_ranks};
    uint64_t bytes = ring_plan_block_bytes(plan, losses->exposed);
    if (worst->pass == RING_PASS_BACKWARD)
        bytes = (plan->keep_kv ? 0 : bytes) + ring_plan_payload_bytes(plan, RING_GRADIENT, losses->exposed);
    load.bytes = (double)bytes;
    load.what =
        worst->pass == RING_PASS_FORWARD
            ? tool_result_keep(result, "a block of %s", SIZE(load.bytes))
            : tool_result_keep(result, "what moves in a step of the backward pass (%s)", SIZE(load.bytes));
    return load;
}

/* How many times the tokens a device would need, so that computing on a block (which grows with their square)
 * takes as long as moving it. */
static double hiding_tokens(double block_s, double latency_s, double move_s)
{
    return (move_s + sqrt(move_s * move_s + 4 * block_s * latency_s)) / (2 * block_s);
}

/* What would hide the hop behind computing on a block, or why nothing can. */
static const char *advice(struct tool_result *result, const struct model_ring *ring,
                          const struct blame *blame, double block_s, double bytes)
{
    const struct model_hop *hop = blame->hop;
    double n_shared = blame->n_shared > 1 ? blame->n_shared : 1;
    double move_s = isinf(blame->bytes_per_s) ? 0 : n_shared * bytes / blame->bytes_per_s;
    bool fixed = ring->compute.block_s > 0;
    const char *lazy = tool_verdict_lazy(ring);
    if (lazy != NULL)
        return tool_result_keep(result, "%s%s.", lazy,
                                ring->progress == MODEL_PROGRESS_NONE
                                    ? "; with progress: poll it could"
                                    : "; larger blocks make its share smaller");
    if (!(block_s > 0))
        return "";
    double times = hiding_tokens(block_s, hop->latency_s, move_s);
    if (block_s <= hop->latency_s)
        return fixed ? "No bandwidth hides that latency behind so short a block."
                     : tool_result_keep(
                           result,
                           "No bandwidth hides that latency behind so short a block; about %.1f x the "
                           "tokens would.",
                           times);
    double needed = n_shared * bytes / (block_s - hop->latency_s);
    const char *together =
        n_shared > 1 ? " Neighbours of the ring that sit together would send fewer hops over it." : "";
    if (fixed || times <= 1)
        return tool_result_keep(result, "To hide behind computing it would need %s.%s", RATE(needed),
                                together);
    return tool_result_keep(result,
                            "To hide behind computing it would need %s, or about %.1f x the tokens.%s",
                            RATE(needed), times, together);
}

/* The start of the second sentence, up to what needs so long. */
static const char *where(struct tool_result *result, const struct model_ring *ring, const struct blame *blame,
                         bool alike)
{
    if (blame->hop->n_links == 0)
        return "Its messages do not leave the device:";
    if (alike)
        return "All hops are alike:";
    return tool_result_keep(result, "The narrow place is %s%s%s:", ring->topology->links[blame->link].name,
                            blame->n_like > 1 ? ", with others like it" : "",
                            blame->n_shared > 1 ? ", which several hops share" : "");
}

void tool_verdict_network(struct tool_result *result, const struct model_ring *ring,
                          const struct tool_losses *losses)
{
    double block_bytes = (double)ring_plan_slot_bytes(ring->plan, losses->exposed, 1);
    struct blame blame = {.hop = NULL};
    double *busy_s = find_busy(result, ring);
    if (busy_s != NULL)
        find_blame(ring, busy_s, block_bytes, &blame);
    free(busy_s);
    if (blame.hop == NULL) {
        result->verdict = (struct tool_verdict){TOOL_LIMIT_NETWORK, NULL, "Messages hold the ranks up."};
        return;
    }
    struct load load = find_load(result, ring, losses);
    bool alike = blame.hop->n_links == 0 || 2 * blame.n_like >= blame.n_used;
    double move_s = isinf(blame.bytes_per_s)
                        ? 0
                        : (blame.n_shared > 1 ? blame.n_shared : 1) * load.bytes / blame.bytes_per_s;
    const char *culprit =
        alike ? NULL : tool_result_keep(result, "%s", ring->topology->links[blame.link].name);
    const char *shared =
        blame.n_shared > 1 ? tool_result_keep(result, ", shared by %" PRIu32 " hops", blame.n_shared) : "";
    const char *latency = blame.hop->latency_s > 0
                              ? tool_result_keep(result, "%s latency, then ", TIME(blame.hop->latency_s))
                              : "";
    const char *text = tool_result_keep(
        result,
        "Rank %" PRIu32 " stands still for %s of the %s step while blocks move. %s %s "
        "needs %s (%s%s%s), and computing on a block takes %s. %s",
        losses->exposed, TIME(result->ranks[losses->exposed].transfer_s), TIME(result->time_s),
        where(result, ring, &blame, alike), load.what, TIME(blame.hop->latency_s + move_s),
        latency == NULL ? "" : latency, RATE(blame.bytes_per_s), shared == NULL ? "" : shared,
        TIME(load.block_s), advice(result, ring, &blame, load.block_s, load.bytes));
    result->verdict = (struct tool_verdict){
        blame.hop->latency_s > move_s ? TOOL_LIMIT_LATENCY : TOOL_LIMIT_NETWORK, culprit, text};
}
