/* SPDX-License-Identifier: MIT
 *
 * A rank's backward tasks: what they need beside the forward state, and their cutting into pieces. A piece is
 * one tile of queries of one head against one span of keys of its kv head. All pieces of a span follow each
 * other, heads and tiles ascending, and sum into the same rows of dK and dV, which stay in the kernel's
 * working memory meanwhile; the first begins that sum and the last ends it. The queries that see a span are
 * the last so many, as positions ascend, so leaving out what the mask hides is: fewer tiles. Before the first
 * of a pass come pieces that turn the forward pass's state into lse and delta. Arithmetic is gradient.h's. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exec/kernels/attention_parts.h"
#include "exec/kernels/pages.h"

/* Numbers in a piece of the two jobs that only stream: a fraction of a millisecond. */
enum { PREPARED = 1 << 17, ADDED = 1 << 18 };

uint64_t attention_backward_bytes(const struct ring_plan *plan, uint32_t rank, enum ring_dtype state)
{
    return attention_state_bytes(plan, rank, state); /* dQ for o, lse for m, delta for l */
}

static size_t prepared_rows(const struct attention *attention)
{
    size_t rows = PREPARED / attention->plan.problem.head_dim;
    return rows > 0 ? rows : 1;
}

uint32_t attention_prepare_pieces(const struct attention *attention, const struct ring_task *task)
{
    uint64_t rows = attention_rows(&attention->plan, attention->q_tokens);
    size_t a_piece = prepared_rows(attention);
    return task->first ? (uint32_t)((rows + a_piece - 1) / a_piece) : 0;
}

/* Query heads that share a kv head. */
static uint32_t group(const struct attention *attention)
{
    return attention->plan.problem.heads / attention->plan.problem.kv_heads;
}

/* Tables for a block: where its keys are, and which pieces its work is. */
static void find_pieces(struct attention *attention, uint32_t block)
{
    struct attention_backward *backward = &attention->backward;
    if (backward->ready && backward->block == block)
        return;
    struct ring_shard keys = ring_layout_shard(&attention->plan.layout, block);
    attention_fill_positions(backward->k_position, &keys);
    bool causal = attention->plan.problem.mask == RING_MASK_CAUSAL;
    size_t span = backward->kernel->k_span;
    uint32_t n_pieces = 0;
    backward->k_tokens = keys.tokens;
    backward->n_spans = (keys.tokens + span - 1) / span;
    for (size_t i = 0; i < backward->n_spans; i++) {
        uint64_t first = backward->k_position[i * span];
        size_t n_blind = causal && first > 0
                             ? block_count_up_to(attention->q_position, 0, attention->q_tokens, first - 1)
                             : 0;
        bool seen = n_blind < attention->q_tokens;
        backward->first_tile[i] = seen ? n_blind / backward->kernel->q_tile : backward->n_tiles;
        backward->first_piece[i] = n_pieces;
        n_pieces += seen ? group(attention) * (uint32_t)(backward->n_tiles - backward->first_tile[i]) : 1;
    }
    backward->first_piece[backward->n_spans] = n_pieces;
    backward->pieces_a_kv_head = n_pieces;
    backward->block = block;
    backward->ready = true;
}

uint32_t attention_backward_pieces(struct attention *attention, const struct ring_task *task)
{
    const struct ring_problem *problem = &attention->plan.problem;
    if (attention->backward.kernel == NULL)
        return 1; /* which says so */
    find_pieces(attention, task->block);
    return attention_prepare_pieces(attention, task) +
           problem->batch * problem->kv_heads * attention->backward.pieces_a_kv_head;
}

static void run_prepare(struct attention *attention, uint32_t piece)
{
    const struct ring_problem *problem = &attention->plan.problem;
    size_t rows = attention_rows(&attention->plan, attention->q_tokens), a_piece = prepared_rows(attention);
    size_t first = piece * a_piece, left = rows - first, d = problem->head_dim;
    size_t element = ring_dtype_bytes(problem->dtype), real = ring_dtype_bytes(attention->kernel->state);
    struct block_state state = {
        .state = attention->kernel->state,
        .rows = left < a_piece ? left : a_piece,
        .head_dim = d,
        .m = (char *)attention->m + first * real,
        .l = (char *)attention->l + first * real,
        .o = attention->o + first * d * real,
    };
    block_gradient_prepare(&state, problem->dtype, attention->backward.d_out + first * d * element,
                           attention->backward.lse + first * real, attention->backward.delta + first * real);
}

/* A piece after those that prepare, with kv its place among the batch's kv heads, and in_head among the
 * pieces of that. */
static void run_attention(struct attention *attention, const struct ring_task *task, size_t kv,
                          uint32_t in_head, void *scratch)
{
    struct attention_backward *backward = &attention->backward;
    const struct ring_problem *problem = &attention->plan.problem;
    const struct block_gradient_kernel *kernel = backward->kernel;
    size_t span = attention_find(backward->first_piece, backward->n_spans, in_head),
           in_span = in_head - backward->first_piece[span];
    size_t n_tiles = backward->n_tiles - backward->first_tile[span];
    size_t tile = n_tiles > 0 ? backward->first_tile[span] + in_span % n_tiles : 0;
    size_t sequence_head = kv * group(attention) + (n_tiles > 0 ? in_span / n_tiles : 0);
    size_t q_first = tile * kernel->q_tile, q_left = n_tiles > 0 ? attention->q_tokens - q_first : 0;
    size_t k_first = span * kernel->k_span, k_left = backward->k_tokens - k_first;

    size_t d = problem->head_dim, element = ring_dtype_bytes(problem->dtype);
    size_t real = ring_dtype_bytes(kernel->state);
    size_t row = sequence_head * attention->q_tokens + q_first, key = kv * backward->k_tokens + k_first;
    size_t n_half = (size_t)problem->batch * problem->kv_heads * backward->k_tokens * d; /* of K and V */
    const char *k = (const char *)task->kv.data + key * d * element;
    char *d_k = (char *)task->contribution.data + key * d * real;
    struct block_backward block = {
        .q = attention->q + row * d * element,
        .k = k,
        .v = k + n_half * element,
        .d_out = backward->d_out + row * d * element,
        .lse = backward->lse + row * real,
        .delta = backward->delta + row * real,
        .q_position = attention->q_position + q_first,
        .k_position = backward->k_position + k_first,
        .q_tokens = q_left < kernel->q_tile ? q_left : kernel->q_tile,
        .k_tokens = k_left < kernel->k_span ? k_left : kernel->k_span,
        .head_dim = d,
        .causal = problem->mask == RING_MASK_CAUSAL,
        .begin = in_span == 0,
        .end = in_head + 1 == backward->first_piece[span + 1],
        .scale = 1.0 / sqrt((double)d),
        .d_q = backward->d_q + row * d * real,
        .d_k = d_k,
        .d_v = d_k + n_half * real,
    };
    kernel->backward(&block, scratch);
}

/* A buffer that is not there, or too small, is the caller's mistake; better said than crashed on. */
static enum ring_status check_buffer(const char *what, const struct ring_task *task,
                                     struct ring_buffer buffer, uint64_t wanted, struct ring_error *error)
{
    if (buffer.data != NULL && buffer.bytes >= wanted)
        return RING_OK;
    return ring_fail(error, RING_BAD_INPUT, "block %u at step %u: %llu bytes of %s, wanted %llu", task->block,
                     task->step, buffer.data == NULL ? 0ull : (unsigned long long)buffer.bytes, what,
                     (unsigned long long)wanted);
}

enum ring_status attention_backward_run(struct attention *attention, const struct ring_task *task,
                                        uint32_t piece, void *scratch, struct ring_error *error)
{
    const struct ring_plan *plan = &attention->plan;
    if (attention->backward.kernel == NULL)
        return ring_fail(error, RING_BAD_INPUT, "block %u at step %u: a backward task, but no dO was given",
                         task->block, task->step);
    enum ring_status status =
        check_buffer("K and V", task, task->kv, ring_plan_block_bytes(plan, task->block), error);
    if (status == RING_OK)
        status = check_buffer("contribution", task, task->contribution,
                              ring_plan_payload_bytes(plan, RING_CONTRIBUTION, task->block), error);
    if (status != RING_OK)
        return status;
    uint32_t n_prepare = attention_prepare_pieces(attention, task);
    find_pieces(attention, task->block);
    if (piece < n_prepare)
        run_prepare(attention, piece);
    else
        run_attention(attention, task, (piece - n_prepare) / attention->backward.pieces_a_kv_head,
                      (piece - n_prepare) % attention->backward.pieces_a_kv_head, scratch);
    return RING_OK;
}

static uint64_t n_added(const struct attention *attention, const struct ring_task *task)
{
    const struct ring_plan *plan = &attention->plan;
    return ring_plan_block_bytes(plan, task->block) / ring_dtype_bytes(plan->problem.dtype);
}

uint32_t attention_add_pieces(const struct attention *attention, const struct ring_task *task)
{
    return (uint32_t)((n_added(attention, task) + ADDED - 1) / ADDED);
}

enum ring_status attention_add_run(const struct attention *attention, const struct ring_task *task,
                                   uint32_t piece, struct ring_error *error)
{
    const struct ring_plan *plan = &attention->plan;
    uint64_t n = n_added(attention, task), first = (uint64_t)piece * ADDED, left = n - first;
    enum ring_dtype real = attention->kernel->state, dtype = plan->gradient_dtype;
    if (plan->problem.dtype == RING_FP64)
        dtype = RING_FP64; /* as ring_plan_payload_bytes has it */
    size_t real_bytes = ring_dtype_bytes(real), bytes = ring_dtype_bytes(dtype);
    enum ring_status status = check_buffer("contribution", task, task->contribution, n * real_bytes, error);
    if (status == RING_OK)
        status = check_buffer("gradient", task, task->gradient, n * bytes, error);
    if (status == RING_OK)
        block_gradient_add(dtype, (char *)task->gradient.data + first * bytes, real,
                           (const char *)task->contribution.data + first * real_bytes,
                           left < ADDED ? left : ADDED, task->first);
    return status;
}

/* All memory of a backward pass whose sizes are set. False if some of it is not to be had. */
static bool take_memory(struct attention *attention)
{
    struct attention_backward *backward = &attention->backward;
    const struct ring_plan *plan = &attention->plan;
    size_t d = plan->problem.head_dim, rows = attention_rows(plan, attention->q_tokens);
    size_t real = ring_dtype_bytes(attention->kernel->state), most = ring_layout_max_tokens(&plan->layout);
    size_t n_spans = (most + backward->kernel->k_span - 1) / backward->kernel->k_span;
    backward->memory = attention_take_results(backward->bytes, attention->shared);
    backward->scratch = block_take_pages(backward->kernel->scratch_bytes(d));
    backward->k_position = calloc(most, sizeof(uint64_t));
    backward->first_piece = calloc(n_spans + 1, sizeof(uint32_t));
    backward->first_tile = calloc(n_spans, sizeof(size_t));
    if (backward->memory == NULL)
        return false;
    backward->d_q = backward->memory;
    backward->lse = backward->d_q + rows * d * real;
    backward->delta = backward->lse + rows * real;
    return backward->scratch != NULL && backward->k_position != NULL && backward->first_piece != NULL &&
           backward->first_tile != NULL;
}

enum ring_status attention_open_backward(struct attention *attention, const void *d_out,
                                         struct ring_error *error)
{
    struct attention_backward *backward = &attention->backward;
    const struct ring_plan *plan = &attention->plan;
    backward->kernel = block_gradient_find(attention->kernel);
    backward->d_out = d_out;
    backward->n_tiles = (attention->q_tokens + backward->kernel->q_tile - 1) / backward->kernel->q_tile;
    uint64_t real = ring_dtype_bytes(attention->kernel->state);
    uint64_t rows = attention_rows(plan, attention->q_tokens);
    backward->bytes = rows * (plan->problem.head_dim + 2ull) * real;
    uint64_t spans =
        (ring_layout_max_tokens(&plan->layout) + backward->kernel->k_span - 1) / backward->kernel->k_span;
    enum ring_status status = RING_OK;
    if (attention_rows(plan, 1) * spans * backward->n_tiles + rows > UINT32_MAX)
        status = ring_fail(error, RING_UNSUPPORTED,
                           "kernel %s: %zu tokens a rank make over 2^32 pieces; use more ranks",
                           backward->kernel->name, attention->q_tokens);
    else if (!take_memory(attention))
        status = ring_fail(error, RING_NO_MEMORY, "backward attention: %llu bytes of dQ, lse and delta",
                           (unsigned long long)backward->bytes);
    if (status == RING_OK)
        attention_backward_reset(attention);
    else
        attention_backward_close(attention);
    return status;
}

void attention_backward_reset(struct attention *attention)
{
    if (attention->backward.memory != NULL)
        memset(attention->backward.memory, 0, attention->backward.bytes);
}

void attention_backward_close(struct attention *attention)
{
    struct attention_backward *backward = &attention->backward;
    attention_free_results(backward->memory, backward->bytes, attention->shared);
    free(backward->scratch);
    free(backward->k_position);
    free(backward->first_piece);
    free(backward->first_tile);
    *backward = (struct attention_backward){.kernel = NULL};
}

const void *attention_d_q(const struct attention *attention)
{
    return attention->backward.d_q;
}
