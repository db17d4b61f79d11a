/* SPDX-License-Identifier: MIT
 *
 * Whole rings over MPI, whatever the number of ranks (odd ones break tricks that even ones forgive; at two,
 * both neighbours are one peer) and the size of the block. Each block is a pattern that says whose it is, and
 * the computation is a look at every word of the block in hand: right means that each rank saw each block
 * once, whole. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/run.h"
#include "exec/clock.h"
#include "exec/memory.h"
#include "tests/mpi/ranks.h"

/* 2 (K and V) * tokens * heads * 8 (head_dim) * 4 bytes. */
struct size {
    uint64_t bytes;
    uint64_t tokens; /* of a rank */
    uint32_t heads;
    int max_ranks; /* memory of a big block, and time */
};
static const struct size sizes[] = {
    {1024, 16, 1, 7},
    {65536, 1024, 1, 7},
    {67108864, 65536, 16, 3},
};

/* A rank's account of the blocks it was shown. */
struct witness {
    uint32_t seen[8];
    enum { ONE_PIECE = 1, MANY_PIECES = 16 } n_pieces;
};

static uint64_t word_of(uint32_t block, uint64_t index)
{
    return (((uint64_t)block + 1) << 40) ^ (index * UINT64_C(0x9e3779b97f4a7c15));
}

static uint32_t n_pieces(void *context, const struct ring_task *task)
{
    (void)task;
    return ((struct witness *)context)->n_pieces;
}

/* Each piece looks at its share of the words. */
static enum ring_status look(void *context, const struct ring_task *task, uint32_t piece,
                             struct ring_error *error)
{
    struct witness *witness = context;
    const uint64_t *words = task->kv.data;
    uint64_t n_words = task->kv.bytes / sizeof *words, share = n_words / witness->n_pieces;

    for (uint64_t i = piece * share; i < (piece + 1) * share; i++)
        if (words[i] != word_of(task->block, i))
            return ring_fail(error, RING_WORLD,
                             "rank %" PRIu32 ", step %" PRIu32 ": block %" PRIu32
                             " is wrong at word %" PRIu64,
                             task->rank, task->step, task->block, i);
    witness->seen[task->block] += piece == 0;
    return RING_OK;
}

static enum ring_status run_ring(const struct seat *seat, const struct ring_plan *plan,
                                 enum model_progress progress, struct ring_buffer *slots,
                                 struct ring_error *error)
{
    struct witness witness = {.n_pieces = MANY_PIECES};
    struct ring_compute compute = {.n_pieces = n_pieces, .run_piece = look, .context = &witness};
    struct exec_compute kernel = {.kernel = &compute};
    struct ring_memory memory = {slots, plan->n_slots};
    struct exec_transport *transport = NULL;
    uint64_t *home = slots[RING_HOME_SLOT].data;

    for (uint64_t i = 0; i < slots[RING_HOME_SLOT].bytes / sizeof *home; i++)
        home[i] = word_of((uint32_t)seat->rank, i);
    for (uint32_t slot = 1; slot < plan->n_slots; slot++)
        memset(slots[slot].data, 0xee, slots[slot].bytes);
    enum ring_status status = open_transport(seat, progress, &kernel, &transport, error);
    if (status != RING_OK)
        return status;
    status = ring_run(plan, (uint32_t)seat->rank, &memory, exec_transport_base(transport));
    if (status != RING_OK)
        *error = exec_transport_base(transport)->error;
    for (int block = 0; block < seat->n_ranks && status == RING_OK; block++)
        if (witness.seen[block] != 1)
            status = ring_fail(error, RING_WORLD, "rank %d saw block %d %" PRIu32 " times", seat->rank, block,
                               witness.seen[block]);
    if (status == RING_OK &&
        exec_transport_bytes_sent(transport) != slots[0].bytes * (uint64_t)(seat->n_ranks - 1))
        status = ring_fail(error, RING_WORLD, "rank %d sent %" PRIu64 " bytes", seat->rank,
                           exec_transport_bytes_sent(transport));
    exec_transport_close(transport);
    return status;
}

static enum ring_status ring_of(const struct seat *seat, const struct size *size, uint32_t n_buffers,
                                enum model_progress progress, struct ring_error *error)
{
    struct ring_plan_spec spec = {
        .strategy = "ring",
        .problem = {.tokens = size->tokens * (uint64_t)seat->n_ranks,
                    .batch = 1,
                    .heads = size->heads,
                    .kv_heads = size->heads,
                    .head_dim = 8,
                    .dtype = RING_FP32,
                    .mask = RING_MASK_FULL},
        .layout = RING_LAYOUT_CONTIGUOUS,
        .pass = RING_PASS_FORWARD,
        .n_ranks = (uint32_t)seat->n_ranks,
        .n_buffers = n_buffers,
    };
    struct ring_plan plan;
    struct ring_buffer slots[1 + RING_MAX_BUFFERS] = {{NULL, 0}};

    enum ring_status status = ring_plan_init(&plan, &spec, error);
    if (status == RING_OK && ring_plan_block_bytes(&plan, 0) != size->bytes)
        status =
            ring_fail(error, RING_WORLD, "the block has %" PRIu64 " bytes", ring_plan_block_bytes(&plan, 0));
    for (uint32_t slot = 0; status == RING_OK && slot < plan.n_slots; slot++) {
        slots[slot] = (struct ring_buffer){exec_memory_alloc(size->bytes), size->bytes};
        if (!slots[slot].data)
            status = ring_fail(error, RING_NO_MEMORY, "no memory for %" PRIu64 " bytes", size->bytes);
    }
    double begun_s = exec_clock_s();
    if (status == RING_OK)
        status = run_ring(seat, &plan, progress, slots, error);
    report(seat, "%d ranks, %" PRIu64 " bytes a block, %" PRIu32 " buffers, %s: %.1f ms", seat->n_ranks,
           size->bytes, n_buffers, model_progress_names[progress], 1e3 * (exec_clock_s() - begun_s));
    for (uint32_t slot = 0; slot < 1 + RING_MAX_BUFFERS; slot++)
        exec_memory_free(slots[slot].data);
    return status;
}

enum ring_status test_rings(const struct seat *seat, struct ring_error *error)
{
    enum ring_status status = RING_OK;

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (seat->n_ranks > sizes[i].max_ranks)
            continue;
        if (status == RING_OK)
            status = ring_of(seat, &sizes[i], 2, MODEL_PROGRESS_POLL, error);
        if (status == RING_OK && sizes[i].bytes <= 65536)
            status = ring_of(seat, &sizes[i], 3, MODEL_PROGRESS_NONE, error);
    }
    return status;
}
