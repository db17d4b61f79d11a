/* SPDX-License-Identifier: MIT
 *
 * See ring_turn.h; the plain loops are in plain_gradients.c. */
#include "tests/exec/ring_turn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_all.h"
#include "tests/support/ring_spec.h"

struct ring_plan_spec ring_turn_spec(uint32_t n_ranks, uint64_t tokens, uint32_t heads, uint32_t kv_heads,
                                     uint32_t head_dim, enum ring_dtype dtype)
{
    return usual_ring(n_ranks, tokens, heads, kv_heads, head_dim, dtype);
}

static void *take(size_t bytes)
{
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    assert_non_null(memory);
    memset(memory, 0xff, bytes); /* NaN in every type */
    return memory;
}

static bool of_queries(enum ring_turn_tensor tensor)
{
    return tensor == TURN_Q || tensor == TURN_D_OUT || tensor == TURN_D_Q;
}

size_t ring_turn_size(const struct ring_turn *turn, enum ring_turn_tensor tensor, uint32_t rank)
{
    const struct ring_problem *problem = &turn->plan.problem;
    size_t heads = of_queries(tensor) ? problem->heads : problem->kv_heads;
    return problem->batch * heads * ring_layout_shard(&turn->plan.layout, rank).tokens * problem->head_dim;
}

static void open_rank(struct ring_turn *turn, uint32_t rank, const struct data_spec *data)
{
    const struct ring_problem *problem = &turn->plan.problem;
    struct ring_shard shard = ring_layout_shard(&turn->plan.layout, rank);
    struct ring_error error;
    size_t bytes = ring_turn_size(turn, TURN_Q, rank) * ring_dtype_bytes(problem->dtype);
    turn->q[rank] = take(bytes);
    turn->d_out[rank] = take(bytes);
    turn->slots[rank] = take(turn->plan.n_slots * sizeof(void *));
    for (uint32_t slot = 0; slot < turn->plan.n_slots; slot++)
        turn->slots[rank][slot] = take(ring_plan_slot_bytes(&turn->plan, rank, slot));
    char *home = turn->slots[rank][RING_HOME_SLOT];
    data_fill(data, problem, DATA_Q, &shard, turn->q[rank]);
    data_fill(data, problem, DATA_DO, &shard, turn->d_out[rank]);
    data_fill(data, problem, DATA_K, &shard, home);
    data_fill(data, problem, DATA_V, &shard, home + ring_plan_block_bytes(&turn->plan, rank) / 2);
    if (attention_open(&turn->attention[rank], &turn->plan, rank, turn->kernel, turn->q[rank], false,
                       &error) != RING_OK ||
        (turn->plan.pass != RING_PASS_FORWARD &&
         attention_open_backward(turn->attention[rank], turn->d_out[rank], &error) != RING_OK))
        fail_msg("%s", error.text);
}

void ring_turn_open(struct ring_turn *turn, const struct ring_plan_spec *spec, const char *kernel,
                    const struct data_spec *data)
{
    struct ring_error error;
    if (ring_plan_init(&turn->plan, spec, &error) != RING_OK)
        fail_msg("%s", error.text);
    turn->kernel = block_kernel_find(kernel, spec->problem.dtype, spec->problem.head_dim);
    assert_non_null(turn->kernel);
    turn->gradient = spec->problem.dtype == RING_FP64 ? RING_FP64 : spec->gradient_dtype;
    turn->q = take(spec->n_ranks * sizeof(void *));
    turn->d_out = take(spec->n_ranks * sizeof(void *));
    turn->slots = take(spec->n_ranks * sizeof(void *));
    turn->attention = take(spec->n_ranks * sizeof(void *));
    for (uint32_t rank = 0; rank < spec->n_ranks; rank++)
        open_rank(turn, rank, data);
}

void ring_turn_close(struct ring_turn *turn)
{
    for (uint32_t rank = 0; rank < turn->plan.n_ranks; rank++) {
        for (uint32_t slot = 0; slot < turn->plan.n_slots; slot++)
            free(turn->slots[rank][slot]);
        free(turn->slots[rank]);
        free(turn->q[rank]);
        free(turn->d_out[rank]);
        attention_close(turn->attention[rank]);
    }
    free(turn->slots);
    free(turn->q);
    free(turn->d_out);
    free(turn->attention);
}

/* What a rank has posted to receive and nobody has sent yet. */
struct awaited {
    uint32_t n;
    struct ring_message messages[4 * RING_MAX_POSTS];
};

static void deliver(struct ring_turn *turn, const struct ring_message *sent, uint32_t sender,
                    struct awaited *awaited)
{
    uint32_t i = 0;
    while (i < awaited->n && (awaited->messages[i].peer != sender || awaited->messages[i].tag != sent->tag))
        i++;
    assert_true(i < awaited->n);
    assert_int_equal(awaited->messages[i].bytes, sent->bytes);
    assert_int_equal(awaited->messages[i].block, sent->block);
    memcpy(turn->slots[sent->peer][awaited->messages[i].slot], turn->slots[sender][sent->slot], sent->bytes);
    awaited->messages[i] = awaited->messages[--awaited->n];
}

/* Which hand comes next is anyone's guess: some do much, some little, and some come when nothing is left. */
static void do_by_hands(const struct ring_compute *compute, const struct ring_task *task)
{
    unsigned random = 4711 + task->step;
    struct ring_error error;
    enum ring_lent lent;
    compute->share(compute->context, task);
    for (unsigned idle = 0;;) {
        random = random * 1664525u + 1013904223u;
        uint32_t hand = (random >> 8) % compute->n_hands;
        if (compute->lend(compute->context, task, hand, &lent, &error) != RING_OK)
            fail_msg("%s", error.text);
        idle = lent == RING_LENT_WORK ? 0 : idle + 1;
        if (idle > 1000 * compute->n_hands && lent == RING_LENT_WAITING)
            fail_msg("hand %u of %u waits for nobody", hand, compute->n_hands);
        if (lent == RING_LENT_ALL && idle > 100 * compute->n_hands)
            return; /* all of them have come in vain since */
    }
}

static void do_task(struct ring_turn *turn, const struct ring_task *task)
{
    struct ring_compute compute = attention_compute(turn->attention[task->rank]);
    struct ring_error error;
    if (compute.n_hands > 1) {
        do_by_hands(&compute, task);
        return;
    }
    uint32_t n_pieces = compute.n_pieces(compute.context, task);
    for (uint32_t piece = 0; piece < n_pieces; piece++)
        if (compute.run_piece(compute.context, task, piece, &error) != RING_OK)
            fail_msg("%s", error.text);
}

static struct ring_buffer buffer_of(const struct ring_turn *turn, uint32_t rank, uint32_t slot,
                                    enum ring_payload payload, uint32_t block)
{
    return (struct ring_buffer){turn->slots[rank][slot],
                                ring_plan_payload_bytes(&turn->plan, payload, block)};
}

static void compute(struct ring_turn *turn, uint32_t rank, uint32_t s, const struct ring_plan_step *step)
{
    struct ring_task task = {.job = step->job,
                             .rank = rank,
                             .step = s,
                             .block = step->block,
                             .first = step->first,
                             .work = step->work,
                             .kv = buffer_of(turn, rank, step->slot, RING_KV, step->block)};
    if (step->job == RING_JOB_BACKWARD)
        task.contribution = buffer_of(turn, rank, step->contribution_slot, RING_CONTRIBUTION, step->block);
    if (step->computes)
        do_task(turn, &task);
    if (!step->adds)
        return;
    task.job = RING_JOB_ADD;
    task.first = step->begins;
    task.gradient = buffer_of(turn, rank, step->gradient_slot, RING_GRADIENT, step->block);
    do_task(turn, &task);
}

void ring_turn_run(struct ring_turn *turn)
{
    uint32_t n = turn->plan.n_ranks;
    struct ring_plan_step *steps = take(n * sizeof(*steps));
    struct awaited *awaited = take(n * sizeof(*awaited));
    for (uint32_t rank = 0; rank < n; rank++) {
        attention_reset(turn->attention[rank]);
        awaited[rank].n = 0;
    }
    for (uint32_t s = 0; s < turn->plan.n_steps; s++) {
        for (uint32_t rank = 0; rank < n; rank++) {
            ring_plan_step(&turn->plan, rank, s, &steps[rank]);
            for (uint32_t i = 0; i < steps[rank].n_receives; i++)
                awaited[rank].messages[awaited[rank].n++] = steps[rank].receives[i];
        }
        for (uint32_t rank = 0; rank < n; rank++)
            for (uint32_t i = 0; i < steps[rank].n_sends; i++)
                deliver(turn, &steps[rank].sends[i], rank, &awaited[steps[rank].sends[i].peer]);
        for (uint32_t rank = 0; rank < n; rank++)
            compute(turn, rank, s, &steps[rank]);
    }
    for (uint32_t rank = 0; rank < n; rank++)
        assert_int_equal(awaited[rank].n, 0);
    free(steps);
    free(awaited);
}

/* Where a rank's part of a tensor begins, and its type. */
static char *part_of(const struct ring_turn *turn, enum ring_turn_tensor tensor, uint32_t rank,
                     enum ring_dtype *dtype)
{
    bool gradient = tensor == TURN_D_K || tensor == TURN_D_V;
    *dtype = gradient ? turn->gradient : tensor == TURN_D_Q ? turn->kernel->state : turn->plan.problem.dtype;
    if (tensor == TURN_Q || tensor == TURN_D_OUT)
        return tensor == TURN_Q ? turn->q[rank] : turn->d_out[rank];
    if (tensor == TURN_D_Q) {
        union {
            const void *read;
            char *write;
        } d_q = {.read = attention_d_q(turn->attention[rank])};
        return d_q.write;
    }
    char *k = turn->slots[rank][gradient ? ring_plan_own_gradient_slot(&turn->plan) : RING_HOME_SLOT];
    bool second = tensor == TURN_V || tensor == TURN_D_V;
    return k + (second ? ring_turn_size(turn, tensor, rank) * ring_dtype_bytes(*dtype) : 0);
}

void ring_turn_scale(struct ring_turn *turn, enum ring_turn_tensor tensor, uint32_t rank, size_t index,
                     double factor)
{
    enum ring_dtype dtype;
    char *part = part_of(turn, tensor, rank, &dtype);
    data_store(dtype, part, index, factor * data_load(dtype, part, index));
}

/* Where element i of a rank's part is in global order. */
static size_t global_index(const struct ring_turn *turn, const struct ring_shard *shard, size_t i)
{
    size_t d = turn->plan.problem.head_dim, row = i / d, head = row / shard->tokens;
    return (head * turn->plan.problem.tokens + ring_shard_position(shard, row % shard->tokens)) * d + i % d;
}

double *ring_turn_gather(const struct ring_turn *turn, enum ring_turn_tensor tensor)
{
    const struct ring_problem *problem = &turn->plan.problem;
    size_t heads = of_queries(tensor) ? problem->heads : problem->kv_heads;
    double *all = take(problem->batch * heads * problem->tokens * problem->head_dim * sizeof(double));
    for (uint32_t rank = 0; rank < turn->plan.n_ranks; rank++) {
        struct ring_shard shard = ring_layout_shard(&turn->plan.layout, rank);
        enum ring_dtype dtype;
        const char *part = part_of(turn, tensor, rank, &dtype);
        for (size_t i = 0; i < ring_turn_size(turn, tensor, rank); i++)
            all[global_index(turn, &shard, i)] = data_load(dtype, part, i);
    }
    return all;
}

double ring_turn_error(const struct ring_turn *turn, enum ring_turn_tensor tensor, uint32_t rank,
                       const double *reference)
{
    struct ring_shard shard = ring_layout_shard(&turn->plan.layout, rank);
    enum ring_dtype dtype;
    const char *part = part_of(turn, tensor, rank, &dtype);
    double error2 = 0.0, norm2 = 0.0;
    for (size_t i = 0; i < ring_turn_size(turn, tensor, rank); i++) {
        double wanted = reference[global_index(turn, &shard, i)], apart = data_load(dtype, part, i) - wanted;
        error2 += apart * apart;
        norm2 += wanted * wanted;
    }
    return sqrt(error2 / norm2);
}
