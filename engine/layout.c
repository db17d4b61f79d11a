/* SPDX-License-Identifier: MIT
 *
 * Dealing tokens to ranks. Every layout is runs of evenly spaced positions, so counting work (work.c) and
 * finding a token need no tables. */
#include "engine/layout.h"

#include <inttypes.h>

#define RING_NAME(name, text) text,
const char *const ring_layout_names[RING_N_LAYOUTS] = {RING_LAYOUTS(RING_NAME)};
#undef RING_NAME

/* Piece i of tokens cut into n_pieces as evenly as whole tokens allow, the longer pieces first. */
static struct ring_run even_piece(uint64_t tokens, uint64_t n_pieces, uint64_t i)
{
    uint64_t length = tokens / n_pieces, n_longer = tokens % n_pieces;

    return (struct ring_run){
        .first = i * length + (i < n_longer ? i : n_longer),
        .count = length + (i < n_longer ? 1 : 0),
        .stride = 1,
    };
}

enum ring_status ring_layout_check(const struct ring_layout *layout, struct ring_error *error)
{
    if (layout->n_ranks < 1)
        return ring_fail(error, RING_BAD_INPUT, "devices is 0, wanted at least 1");
    if (layout->tokens < layout->n_ranks)
        return ring_fail(error, RING_BAD_INPUT,
                         "%" PRIu64 " tokens on %" PRIu32
                         " devices leave some device without a token: at most %" PRIu64 " devices fit",
                         layout->tokens, layout->n_ranks, layout->tokens);
    return RING_OK;
}

struct ring_shard ring_layout_shard(const struct ring_layout *layout, uint32_t rank)
{
    uint64_t n_ranks = layout->n_ranks;
    struct ring_shard shard = {.n_runs = 1};

    switch (layout->kind) {
    case RING_LAYOUT_ZIGZAG:
        shard.runs[0] = even_piece(layout->tokens, 2 * n_ranks, rank);
        shard.runs[1] = even_piece(layout->tokens, 2 * n_ranks, 2 * n_ranks - 1 - rank);
        shard.n_runs = shard.runs[1].count > 0 ? 2 : 1;
        break;
    case RING_LAYOUT_STRIPED:
        shard.runs[0] = (struct ring_run){
            .first = rank,
            .count = (layout->tokens - rank + n_ranks - 1) / n_ranks,
            .stride = n_ranks,
        };
        break;
    case RING_LAYOUT_CONTIGUOUS:
    case RING_N_LAYOUTS:
        shard.runs[0] = even_piece(layout->tokens, n_ranks, rank);
        break;
    }
    shard.tokens = shard.runs[0].count + (shard.n_runs == 2 ? shard.runs[1].count : 0);
    return shard;
}

uint64_t ring_layout_max_tokens(const struct ring_layout *layout)
{
    /* The longer pieces come first, so rank 0 has the first longer one; under zigzag its late chunk is the
     * last of all, and a rank whose two chunks are both longer has more: rank n_ranks - 1 owns the middle
     * two. */
    uint64_t first = ring_layout_shard(layout, 0).tokens;
    uint64_t last = ring_layout_shard(layout, layout->n_ranks - 1).tokens;

    return first > last ? first : last;
}

uint64_t ring_shard_position(const struct ring_shard *shard, uint64_t index)
{
    const struct ring_run *run = &shard->runs[0];

    if (index >= run->count) {
        index -= run->count;
        run = &shard->runs[1];
    }
    return run->first + index * run->stride;
}
