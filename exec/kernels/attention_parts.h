/* SPDX-License-Identifier: MIT
 *
 * What attention.c, attention_backward.c and attention_hands.c share: a rank's memory, and the tables that
 * cut a task into pieces. Private to those. */
#ifndef ATTENTION_PARTS_H
#define ATTENTION_PARTS_H

#include "exec/kernels/attention.h"
#include "exec/kernels/block_mask.h"
#include "exec/kernels/gradient.h"

/* The backward pass's part of an attention; absent until attention_open_backward. */
struct attention_backward {
    const struct block_gradient_kernel *kernel; /* NULL: absent */
    const char *d_out;
    size_t n_tiles, n_spans; /* of own queries; of the block in hand */
    uint64_t bytes;
    void *memory;      /* dQ, then lse, then delta */
    char *d_q;         /* [batch][heads][q_tokens][head_dim] */
    char *lse, *delta; /* [batch][heads][q_tokens] */
    void *scratch;
    uint64_t *k_position; /* [largest shard], of the block that the tables below are for */

    bool ready;
    uint32_t block;
    size_t k_tokens;
    uint32_t pieces_a_kv_head;
    uint32_t *first_piece; /* [largest n_spans + 1], within a kv head */
    size_t *first_tile; /* [largest n_spans], the first that sees a key of the span; n_tiles if none does */
};

struct attention_hands;

struct attention {
    struct ring_plan plan;
    const struct block_kernel *kernel;
    const char *q;
    bool shared;
    size_t q_tokens, n_tiles;
    uint64_t state_bytes;
    void *state; /* m, then l, then o */
    void *m, *l; /* [batch][heads][q_tokens] */
    char *o;     /* [batch][heads][q_tokens][head_dim] */
    void *scratch;
    uint64_t *q_position; /* [q_tokens] */
    uint64_t *k_position; /* [largest shard], of the block that the tables below are for */

    bool ready;
    uint32_t block;
    size_t k_tokens;
    uint32_t pieces_a_head;
    uint32_t *first_piece; /* [n_tiles + 1], within a head */
    uint64_t *n_visible;   /* [n_tiles], keys that the tile's last query sees */

    struct attention_backward backward;
    struct attention_hands *hands; /* NULL: one thread does it all */
};

/* Query rows of all heads and the whole batch. */
static inline uint64_t attention_rows(const struct ring_plan *plan, uint64_t tokens)
{
    return (uint64_t)plan->problem.batch * plan->problem.heads * tokens;
}

/* The tile or span, of n, that a piece belongs to: the last one that begins at or before it. */
static inline size_t attention_find(const uint32_t *first_piece, size_t n, uint32_t piece)
{
    size_t low = 0;
    while (n - low > 1) {
        size_t middle = low + (n - low) / 2;
        if (first_piece[middle] <= piece)
            low = middle;
        else
            n = middle;
    }
    return low;
}

/* Positions of a shard's tokens. */
static inline void attention_fill_positions(uint64_t *positions, const struct ring_shard *shard)
{
    for (uint64_t i = 0; i < shard->tokens; i++)
        positions[i] = ring_shard_position(shard, i);
}

/* Memory of a rank's results, zero or not: attention_free_results gives it back. NULL if there is none. */
void *attention_take_results(uint64_t bytes, bool shared);
void attention_free_results(void *memory, uint64_t bytes, bool shared);

/* (m, l, o) to the empty state. */
void attention_clear_state(struct attention *attention);

/* A forward task: how many pieces, and one of them in this working memory. */
uint32_t attention_forward_pieces(struct attention *attention, const struct ring_task *task);
enum ring_status attention_forward_run(struct attention *attention, const struct ring_task *task,
                                       uint32_t piece, void *scratch, struct ring_error *error);

/* The two kinds of task that attention_backward.c does: how many pieces, of which so many prepare, and one of
 * them. */
uint32_t attention_backward_pieces(struct attention *attention, const struct ring_task *task);
uint32_t attention_prepare_pieces(const struct attention *attention, const struct ring_task *task);
enum ring_status attention_backward_run(struct attention *attention, const struct ring_task *task,
                                        uint32_t piece, void *scratch, struct ring_error *error);
uint32_t attention_add_pieces(const struct attention *attention, const struct ring_task *task);
enum ring_status attention_add_run(const struct attention *attention, const struct ring_task *task,
                                   uint32_t piece, struct ring_error *error);
void attention_backward_reset(struct attention *attention);
void attention_backward_close(struct attention *attention);

/* attention_hands.c: the calls that several threads share a task by. */
void attention_hands_offer(struct attention *attention, struct ring_compute *compute);
void attention_hands_close(struct attention *attention);

#endif
