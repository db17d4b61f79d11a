/* SPDX-License-Identifier: MIT
 *
 * A rank's queries and running state, and the cutting of a forward task into pieces; backward tasks are
 * attention_backward.c's. A piece is one tile of queries of one head against one span of keys of its kv head.
 * The keys that a tile sees are the first so many of the block, as positions ascend, so leaving out what the
 * mask hides is: fewer spans. Arithmetic is the kernel's.
 */
#include "exec/kernels/attention.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <math.h>

#include "exec/kernels/attention_parts.h"
#include "exec/kernels/pages.h"

uint64_t attention_state_bytes(const struct ring_plan *plan, uint32_t rank, enum ring_dtype state)
{
    uint64_t tokens = ring_layout_shard(&plan->layout, rank).tokens;
    return attention_rows(plan, tokens) * (plan->problem.head_dim + 2ull) * ring_dtype_bytes(state);
}

/* Tables for a block: where its keys are, and which pieces its work is. */
static void prepare(struct attention *attention, uint32_t block)
{
    if (attention->ready && attention->block == block)
        return;
    struct ring_shard keys = ring_layout_shard(&attention->plan.layout, block);
    attention_fill_positions(attention->k_position, &keys);
    attention->k_tokens = keys.tokens;
    bool causal = attention->plan.problem.mask == RING_MASK_CAUSAL;
    uint64_t span = attention->kernel->k_span;
    uint32_t n_pieces = 0;
    for (size_t tile = 0; tile < attention->n_tiles; tile++) {
        size_t end = (tile + 1) * attention->kernel->q_tile;
        uint64_t last = attention->q_position[(end < attention->q_tokens ? end : attention->q_tokens) - 1];
        uint64_t n_visible =
            causal ? block_count_up_to(attention->k_position, 0, keys.tokens, last) : keys.tokens;
        attention->n_visible[tile] = n_visible;
        attention->first_piece[tile] = n_pieces;
        n_pieces += (uint32_t)((n_visible + span - 1) / span);
    }
    attention->first_piece[attention->n_tiles] = n_pieces;
    attention->pieces_a_head = n_pieces;
    attention->block = block;
    attention->ready = true;
}

uint32_t attention_forward_pieces(struct attention *attention, const struct ring_task *task)
{
    prepare(attention, task->block);
    return (uint32_t)attention_rows(&attention->plan, 1) * attention->pieces_a_head;
}

enum ring_status attention_forward_run(struct attention *attention, const struct ring_task *task,
                                       uint32_t piece, void *scratch, struct ring_error *error)
{
    const struct ring_problem *problem = &attention->plan.problem;
    const struct block_kernel *kernel = attention->kernel;
    prepare(attention, task->block);
    uint64_t wanted = ring_problem_kv_bytes(problem, attention->k_tokens);
    if (task->kv.data == NULL || task->kv.bytes < wanted)
        return ring_fail(error, RING_BAD_INPUT, "block %u at step %u: %llu bytes of K and V, wanted %llu",
                         task->block, task->step,
                         task->kv.data == NULL ? 0ull : (unsigned long long)task->kv.bytes,
                         (unsigned long long)wanted);

    size_t element = ring_dtype_bytes(problem->dtype), real = ring_dtype_bytes(kernel->state),
           d = problem->head_dim;
    size_t sequence_head = piece / attention->pieces_a_head; /* batch * heads + head */
    uint32_t in_head = piece % attention->pieces_a_head;
    size_t tile = attention_find(attention->first_piece, attention->n_tiles, in_head);
    size_t q_first = tile * kernel->q_tile, q_left = attention->q_tokens - q_first;
    size_t k_first = (in_head - attention->first_piece[tile]) * kernel->k_span;
    size_t k_left = attention->n_visible[tile] - k_first;
    size_t row = sequence_head * attention->q_tokens + q_first;
    size_t batch = sequence_head / problem->heads, head = sequence_head % problem->heads;
    size_t kv_head = batch * problem->kv_heads + head / (problem->heads / problem->kv_heads);
    const char *k = (const char *)task->kv.data + (kv_head * attention->k_tokens + k_first) * d * element;

    struct block_forward block = {
        .q = attention->q + row * d * element,
        .k = k,
        .v = k + wanted / 2,
        .q_position = attention->q_position + q_first,
        .k_position = attention->k_position + k_first,
        .q_tokens = q_left < kernel->q_tile ? q_left : kernel->q_tile,
        .k_tokens = k_left < kernel->k_span ? k_left : kernel->k_span,
        .head_dim = d,
        .causal = problem->mask == RING_MASK_CAUSAL,
        .scale = 1.0 / sqrt((double)d),
        .m = (char *)attention->m + row * real,
        .l = (char *)attention->l + row * real,
        .o = attention->o + row * d * real,
    };
    kernel->forward(&block, scratch);
    return RING_OK;
}

static uint32_t n_pieces(void *context, const struct ring_task *task)
{
    struct attention *attention = context;
    switch (task->job) {
    case RING_JOB_FORWARD:
        return attention_forward_pieces(attention, task);
    case RING_JOB_BACKWARD:
        return attention_backward_pieces(attention, task);
    case RING_JOB_ADD:
        return attention_add_pieces(attention, task);
    }
    return 0;
}

static enum ring_status run_piece(void *context, const struct ring_task *task, uint32_t piece,
                                  struct ring_error *error)
{
    struct attention *attention = context;
    switch (task->job) {
    case RING_JOB_FORWARD:
        return attention_forward_run(attention, task, piece, attention->scratch, error);
    case RING_JOB_BACKWARD:
        return attention_backward_run(attention, task, piece, attention->backward.scratch, error);
    case RING_JOB_ADD:
        return attention_add_run(attention, task, piece, error);
    }
    return RING_OK;
}

struct ring_compute attention_compute(struct attention *attention)
{
    struct ring_compute compute = {.n_pieces = n_pieces, .run_piece = run_piece, .context = attention};
    attention_hands_offer(attention, &compute);
    return compute;
}

static struct block_state whole_state(const struct attention *attention)
{
    return (struct block_state){
        .state = attention->kernel->state,
        .rows = attention_rows(&attention->plan, attention->q_tokens),
        .head_dim = attention->plan.problem.head_dim,
        .m = attention->m,
        .l = attention->l,
        .o = attention->o,
    };
}

void attention_clear_state(struct attention *attention)
{
    struct block_state state = whole_state(attention);
    block_state_clear(&state);
}

void attention_reset(struct attention *attention)
{
    if (attention->plan.pass != RING_PASS_BACKWARD)
        attention_clear_state(attention);
    attention_backward_reset(attention);
}

void attention_finish(const struct attention *attention, void *out, void *lse)
{
    struct block_state state = whole_state(attention);
    block_state_finish(&state, out, lse);
}

/* The largest shard's pieces, all heads; the numbers of pieces of any task stay below. */
static uint64_t most_pieces(const struct ring_plan *plan, size_t n_tiles, const struct block_kernel *kernel)
{
    uint64_t spans = (ring_layout_max_tokens(&plan->layout) + kernel->k_span - 1) / kernel->k_span;
    return attention_rows(plan, 1) * spans * n_tiles;
}

void *attention_take_results(uint64_t bytes, bool shared)
{
    if (!shared)
        return block_take_pages(bytes);
    void *memory = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void attention_free_results(void *memory, uint64_t bytes, bool shared)
{
    if (!shared)
        free(memory);
    else if (memory != NULL)
        munmap(memory, (size_t)bytes);
}

/* All memory of an attention whose sizes are set. False if some of it is not to be had. */
static bool take_memory(struct attention *attention)
{
    const struct ring_plan *plan = &attention->plan;
    size_t d = plan->problem.head_dim, rows = attention_rows(plan, attention->q_tokens);
    size_t real = ring_dtype_bytes(attention->kernel->state);
    attention->state = attention_take_results(attention->state_bytes, attention->shared);
    attention->scratch = block_take_pages(attention->kernel->scratch_bytes(d));
    attention->q_position = calloc(attention->q_tokens, sizeof(uint64_t));
    attention->k_position = calloc(ring_layout_max_tokens(&plan->layout), sizeof(uint64_t));
    attention->first_piece = calloc(attention->n_tiles + 1, sizeof(uint32_t));
    attention->n_visible = calloc(attention->n_tiles, sizeof(uint64_t));
    if (attention->state == NULL)
        return false;
    attention->o = attention->state; /* first: it is the part that vectors are loaded from */
    attention->m = attention->o + rows * d * real;
    attention->l = attention->o + rows * (d + 1) * real;
    return attention->scratch != NULL && attention->q_position != NULL && attention->k_position != NULL &&
           attention->first_piece != NULL && attention->n_visible != NULL;
}

enum ring_status attention_open(struct attention **out, const struct ring_plan *plan, uint32_t rank,
                                const struct block_kernel *kernel, const void *q, bool shared,
                                struct ring_error *error)
{
    const struct ring_problem *problem = &plan->problem;
    if (kernel->dtype != problem->dtype || !kernel->supports(problem->head_dim))
        return ring_fail(error, RING_UNSUPPORTED, "kernel %s: does not serve %s with head_dim %u here",
                         kernel->name, ring_dtype_names[problem->dtype], problem->head_dim);
    struct ring_shard queries = ring_layout_shard(&plan->layout, rank);
    size_t n_tiles = (size_t)((queries.tokens + kernel->q_tile - 1) / kernel->q_tile);
    if (most_pieces(plan, n_tiles, kernel) > UINT32_MAX)
        return ring_fail(error, RING_UNSUPPORTED,
                         "kernel %s: %llu tokens a rank make over 2^32 pieces; use more ranks", kernel->name,
                         (unsigned long long)queries.tokens);

    struct attention *attention = calloc(1, sizeof(*attention));
    if (attention == NULL)
        return ring_fail(error, RING_NO_MEMORY, "attention of rank %u", rank);
    attention->plan = *plan;
    attention->kernel = kernel;
    attention->q = q;
    attention->shared = shared;
    attention->q_tokens = queries.tokens;
    attention->n_tiles = n_tiles;
    attention->state_bytes = attention_state_bytes(plan, rank, kernel->state);
    if (!take_memory(attention)) {
        attention_close(attention);
        return ring_fail(error, RING_NO_MEMORY, "attention of rank %u: %llu bytes of running state", rank,
                         (unsigned long long)attention_state_bytes(plan, rank, kernel->state));
    }
    attention_fill_positions(attention->q_position, &queries);
    attention_clear_state(attention);
    *out = attention;
    return RING_OK;
}

void attention_close(struct attention *attention)
{
    if (attention == NULL)
        return;
    attention_hands_close(attention);
    attention_backward_close(attention);
    attention_free_results(attention->state, attention->state_bytes, attention->shared);
    free(attention->scratch);
    free(attention->q_position);
    free(attention->k_position);
    free(attention->first_piece);
    free(attention->n_visible);
    free(attention);
}
