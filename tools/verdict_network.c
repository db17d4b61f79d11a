/* SPDX-License-Identifier: MIT
 *
 * When messages are to blame: which hop stands a rank still, which link of its way is the narrow one, whether
 * it is bandwidth or latency, and what it would take to hide it. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "tools/units.h"
#include "tools/verdict.h"

#define TIME(seconds)     tool_figure(TOOL_SECONDS, seconds).text
#define SIZE(bytes)       tool_figure(TOOL_BYTES, bytes).text
#define RATE(bytes_per_s) tool_figure(TOOL_BYTES_PER_S, bytes_per_s).text

/* The hop that is blamed, and its narrowest link. */
struct blame {
    const struct model_hop *hop;
    uint32_t link;     /* of the topology */
    double busy_s;     /* of that link, for all that crosses it */
    uint32_t n_shared; /* hops that cross it */
    size_t n_like;     /* links that are as busy, itself included */
    size_t n_used;     /* links that carry anything */
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
        return "Each block is copied by the receiving core itself, which cannot compute meanwhile";
    }
    return NULL;
}

/* Seconds of a block of so many bytes alone on the hop. */
static double alone_s(const struct model_hop *hop, double bytes)
{
    return hop->latency_s + (isinf(hop->bytes_per_s) ? 0 : bytes / hop->bytes_per_s);
}

/* The slowest of the hops that end at rank; NULL if nothing ever arrives there. */
static const struct model_hop *slowest_into(const struct model_ring *ring, uint32_t rank, double bytes)
{
    const struct model_hop *slowest = NULL;
    for (uint32_t i = 0; i < ring->hop_first[ring->plan->n_ranks]; i++) {
        const struct model_hop *hop = &ring->hops[i];
        if (hop->target == rank && (slowest == NULL || alone_s(hop, bytes) > alone_s(slowest, bytes)))
            slowest = hop;
    }
    return slowest;
}

static uint32_t count_sharing(const struct model_ring *ring, uint32_t link)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < ring->hop_first[ring->plan->n_ranks]; i++)
        for (uint32_t j = 0; j < ring->hops[i].n_links; j++)
            n += ring->hops[i].links[j] == link;
    return n;
}

/* Fills the link of the blamed hop: the busiest on its way. Needs a hop with links. */
static void find_link(const struct model_ring *ring, struct blame *blame)
{
    size_t n_links = ring->topology->n_links;
    double *bytes = calloc(n_links + 1, sizeof *bytes);
    if (bytes == NULL)
        return;
    model_ring_link_bytes(ring, bytes);
    blame->busy_s = -1;
    for (uint32_t i = 0; i < blame->hop->n_links; i++) {
        uint32_t link = blame->hop->links[i];
        double busy_s = bytes[link] / ring->link_bytes_per_s[link];
        if (busy_s > blame->busy_s) {
            blame->busy_s = busy_s;
            blame->link = link;
        }
    }
    for (size_t i = 0; i < n_links; i++) {
        blame->n_used += bytes[i] > 0;
        blame->n_like += bytes[i] > 0 && bytes[i] / ring->link_bytes_per_s[i] >= 0.99 * blame->busy_s;
    }
    blame->n_shared = count_sharing(ring, blame->link);
    free(bytes);
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
    double move_s = isinf(hop->bytes_per_s) ? 0 : n_shared * bytes / hop->bytes_per_s;
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
    if (fixed || times <= 1)
        return tool_result_keep(result, "To hide behind computing it would need %s.", RATE(needed));
    return tool_result_keep(result, "To hide behind computing it would need %s, or about %.1f x the tokens.",
                            RATE(needed), times);
}

static const char *where(struct tool_result *result, const struct model_ring *ring, const struct blame *blame)
{
    if (blame->hop->n_links == 0)
        return "the device itself";
    if (2 * blame->n_like >= blame->n_used)
        return "every hop alike";
    return tool_result_keep(result, "%s%s%s", ring->topology->links[blame->link].name,
                            blame->n_like > 1 ? " and links like it" : "",
                            blame->n_shared > 1 ? ", which hops share" : "");
}

void tool_verdict_network(struct tool_result *result, const struct model_ring *ring,
                          const struct tool_losses *losses)
{
    double bytes = (double)ring_plan_slot_bytes(ring->plan, losses->exposed, 1);
    double block_s = losses->compute_s / (result->n_steps > 0 ? result->n_steps : 1);
    struct blame blame = {.hop = slowest_into(ring, losses->exposed, bytes)};
    const struct tool_rank *rank = &result->ranks[losses->exposed];
    if (blame.hop == NULL) { /* a message from outside the plan: only a foreign trace could do that */
        result->verdict = (struct tool_verdict){TOOL_LIMIT_NETWORK, NULL, "Messages hold the ranks up."};
        return;
    }
    if (blame.hop->n_links > 0)
        find_link(ring, &blame);
    bool alike = blame.hop->n_links == 0 || 2 * blame.n_like >= blame.n_used;
    double rate = blame.hop->n_links == 0 ? blame.hop->bytes_per_s : ring->link_bytes_per_s[blame.link];
    double move_s = isinf(rate) ? 0 : (blame.n_shared > 1 ? blame.n_shared : 1) * bytes / rate;
    bool latency = blame.hop->latency_s > move_s;
    const char *culprit =
        alike ? NULL : tool_result_keep(result, "%s", ring->topology->links[blame.link].name);
    const char *shared =
        blame.n_shared > 1 ? tool_result_keep(result, ", shared by %" PRIu32 " hops", blame.n_shared) : "";
    const char *text = tool_result_keep(
        result,
        "Rank %" PRIu32
        " stands still for %s of the %s step while blocks move. The narrow place is %s: a block of "
        "%s needs %s there (%s latency, then %s%s), and computing on one takes %s. %s",
        losses->exposed, TIME(rank->transfer_s), TIME(result->time_s), where(result, ring, &blame),
        SIZE(bytes), TIME(blame.hop->latency_s + move_s), TIME(blame.hop->latency_s), RATE(rate),
        shared == NULL ? "" : shared, TIME(block_s), advice(result, ring, &blame, block_s, bytes));
    result->verdict = (struct tool_verdict){latency ? TOOL_LIMIT_LATENCY : TOOL_LIMIT_NETWORK, culprit, text};
}
