/* SPDX-License-Identifier: MIT
 *
 * One rank's tasks shared by several threads. Pieces that must follow each other in one working memory are a
 * strand: forward, the spans of a tile of queries of one head; backward, the pieces of a span of keys of one
 * kv head. Each hand takes the next strand that nobody has, and does its pieces in order.
 *
 * Sums have the order that they have with one hand. Forward, a strand's rows are its own. Backward, dK and dV
 * are a strand's own too, but dQ is summed over spans: a piece waits until the span before it in its kv head
 * is through with the same tile of the same head, so strands of a kv head follow each other a piece apart.
 * Strands are taken in order, so what is waited for is always in somebody's hands. Threads are the caller's.
 * */
#include <stdatomic.h>
#include <stdlib.h>

#include "exec/kernels/attention_parts.h"
#include "exec/kernels/pages.h"

struct hand {
    bool busy;
    uint32_t strand, next, end; /* pieces of the task */
    void *scratch;
};

struct attention_hands {
    uint32_t n_hands;
    struct hand *hands;
    atomic_uint
        *n_done; /* [kv heads of the batch * largest n_spans], pieces of each strand of a backward task */
    uint32_t n_strands; /* of the task in hand; those that prepare come first */
    uint32_t n_prepare; /* of them */
    atomic_uint next, n_prepared;
};

static uint32_t forward_strands(const struct attention *attention)
{
    return (uint32_t)(attention_rows(&attention->plan, 1) * attention->n_tiles);
}

static uint32_t backward_strands(const struct attention *attention)
{
    const struct ring_problem *problem = &attention->plan.problem;
    return (uint32_t)(problem->batch * problem->kv_heads * attention->backward.n_spans);
}

static void share(void *context, const struct ring_task *task)
{
    struct attention *attention = context;
    struct attention_hands *hands = attention->hands;
    hands->n_prepare = 0;
    if (task->job == RING_JOB_FORWARD) {
        attention_forward_pieces(attention, task);
        hands->n_strands = forward_strands(attention);
    } else if (task->job == RING_JOB_BACKWARD && attention->backward.kernel != NULL) {
        attention_backward_pieces(attention, task);
        uint32_t n = backward_strands(attention);
        for (uint32_t i = 0; i < n; i++)
            atomic_store(&hands->n_done[i], 0);
        hands->n_prepare = attention_prepare_pieces(attention, task);
        hands->n_strands = hands->n_prepare + n;
    } else { /* a backward task that cannot be done has one piece, which says so */
        hands->n_strands = task->job == RING_JOB_ADD ? attention_add_pieces(attention, task) : 1;
    }
    atomic_store(&hands->n_prepared, 0);
    atomic_store(&hands->next, 0);
    for (uint32_t i = 0; i < hands->n_hands; i++)
        hands->hands[i].busy = false;
}

/* Heads ascending; of each the last tile first, which sees most keys, so that little is left at the end. */
static void take_forward(const struct attention *attention, uint32_t strand, struct hand *hand)
{
    uint32_t n_tiles = (uint32_t)attention->n_tiles, first = strand / n_tiles * attention->pieces_a_head;
    uint32_t tile = n_tiles - 1 - strand % n_tiles;
    hand->next = first + attention->first_piece[tile];
    hand->end = first + attention->first_piece[tile + 1];
}

static void take_backward(const struct attention *attention, uint32_t strand, struct hand *hand)
{
    const struct attention_backward *backward = &attention->backward;
    uint32_t n_prepare = attention->hands->n_prepare, n_spans = (uint32_t)backward->n_spans;
    if (strand < n_prepare || backward->kernel == NULL) {
        hand->next = strand;
        hand->end = strand + 1;
        return;
    }
    uint32_t kv = (strand - n_prepare) / n_spans, span = (strand - n_prepare) % n_spans;
    uint32_t first = n_prepare + kv * backward->pieces_a_kv_head;
    hand->next = first + backward->first_piece[span];
    hand->end = first + backward->first_piece[span + 1];
}

/* False if there is none left. */
static bool take_strand(struct attention *attention, const struct ring_task *task, struct hand *hand)
{
    hand->strand = atomic_fetch_add(&attention->hands->next, 1);
    if (hand->strand >= attention->hands->n_strands)
        return false;
    if (task->job == RING_JOB_FORWARD)
        take_forward(attention, hand->strand, hand);
    else if (task->job == RING_JOB_BACKWARD)
        take_backward(attention, hand->strand, hand);
    else {
        hand->next = hand->strand;
        hand->end = hand->strand + 1;
    }
    hand->busy = hand->next < hand->end;
    return true;
}

/* Whether all that the hand's next piece of a backward task builds on is done. */
static bool may_go_on(const struct attention *attention, const struct hand *hand)
{
    const struct attention_backward *backward = &attention->backward;
    struct attention_hands *hands = attention->hands;
    if (hand->strand < hands->n_prepare || backward->kernel == NULL)
        return true;
    if (atomic_load(&hands->n_prepared) < hands->n_prepare)
        return false;
    uint32_t strand = hand->strand - hands->n_prepare, span = strand % (uint32_t)backward->n_spans;
    size_t first_tile = backward->first_tile[span], n_tiles = backward->n_tiles - first_tile;
    if (span == 0 || n_tiles == 0)
        return true;
    size_t n_left = hand->end - hand->next;
    size_t n = backward->first_piece[span + 1] - backward->first_piece[span], in_span = n - n_left;
    /* the span before sees no fewer tiles, and the last ones are the same */
    size_t tiles_before = backward->n_tiles - backward->first_tile[span - 1];
    size_t wanted = in_span / n_tiles * tiles_before + tiles_before - n_tiles + in_span % n_tiles;
    return atomic_load_explicit(&hands->n_done[strand - 1], memory_order_acquire) > wanted;
}

static void note_done(struct attention_hands *hands, const struct hand *hand, enum ring_job job)
{
    if (job != RING_JOB_BACKWARD)
        return;
    if (hand->strand < hands->n_prepare)
        atomic_fetch_add(&hands->n_prepared, 1);
    else
        atomic_fetch_add_explicit(&hands->n_done[hand->strand - hands->n_prepare], 1, memory_order_release);
}

static enum ring_status run_piece(struct attention *attention, const struct ring_task *task,
                                  const struct hand *hand, struct ring_error *error)
{
    switch (task->job) {
    case RING_JOB_FORWARD:
        return attention_forward_run(attention, task, hand->next, hand->scratch, error);
    case RING_JOB_BACKWARD:
        return attention_backward_run(attention, task, hand->next, hand->scratch, error);
    case RING_JOB_ADD:
        return attention_add_run(attention, task, hand->next, error);
    }
    return RING_OK;
}

static enum ring_status lend(void *context, const struct ring_task *task, uint32_t index,
                             enum ring_lent *lent, struct ring_error *error)
{
    struct attention *attention = context;
    struct hand *hand = &attention->hands->hands[index];
    *lent = RING_LENT_ALL;
    while (!hand->busy)
        if (!take_strand(attention, task, hand))
            return RING_OK;
    *lent = RING_LENT_WAITING;
    if (task->job == RING_JOB_BACKWARD && !may_go_on(attention, hand))
        return RING_OK;
    *lent = RING_LENT_WORK;
    enum ring_status status = run_piece(attention, task, hand, error);
    if (status == RING_OK)
        note_done(attention->hands, hand, task->job);
    hand->busy = ++hand->next < hand->end;
    return status;
}

void attention_hands_offer(struct attention *attention, struct ring_compute *compute)
{
    if (attention->hands == NULL)
        return;
    compute->n_hands = attention->hands->n_hands;
    compute->share = share;
    compute->lend = lend;
}

/* The most strands that a backward task can have. */
static size_t most_backward_strands(const struct attention *attention)
{
    const struct ring_plan *plan = &attention->plan;
    const struct block_gradient_kernel *kernel = attention->backward.kernel;
    if (kernel == NULL)
        return 0;
    size_t n_spans = (ring_layout_max_tokens(&plan->layout) + kernel->k_span - 1) / kernel->k_span;
    return (size_t)plan->problem.batch * plan->problem.kv_heads * n_spans;
}

enum ring_status attention_open_hands(struct attention *attention, uint32_t n_hands, struct ring_error *error)
{
    const struct block_gradient_kernel *backward = attention->backward.kernel;
    size_t d = attention->plan.problem.head_dim, bytes = attention->kernel->scratch_bytes(d);
    if (backward != NULL && backward->scratch_bytes(d) > bytes)
        bytes = backward->scratch_bytes(d);
    struct attention_hands *hands = calloc(1, sizeof *hands);
    attention->hands = hands;
    if (hands != NULL) {
        hands->n_hands = n_hands;
        hands->hands = calloc(n_hands, sizeof *hands->hands);
        hands->n_done = calloc(most_backward_strands(attention) + 1, sizeof *hands->n_done);
    }
    bool enough = hands != NULL && hands->hands != NULL && hands->n_done != NULL;
    for (uint32_t i = 0; enough && i < n_hands; i++) {
        hands->hands[i].scratch = block_take_pages(bytes);
        enough = hands->hands[i].scratch != NULL;
    }
    if (enough)
        return RING_OK;
    attention_hands_close(attention);
    return ring_fail(error, RING_NO_MEMORY, "attention: working memory of %u threads", n_hands);
}

void attention_hands_close(struct attention *attention)
{
    struct attention_hands *hands = attention->hands;
    if (hands == NULL)
        return;
    for (uint32_t i = 0; hands->hands != NULL && i < hands->n_hands; i++)
        free(hands->hands[i].scratch);
    free(hands->hands);
    free(hands->n_done);
    free(hands);
    attention->hands = NULL;
}
