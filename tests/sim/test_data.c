/* SPDX-License-Identifier: MIT
 *
 * Real data through the simulated world: each block arrives whole at each rank that computes on it, whatever
 * shares the wires and however late somebody is, and each computation is run once, on the block it is meant
 * for. */
#include "tests/support/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/child.h"
#include "tests/sim/scene.h"

enum { MAX_RANKS = 8 };

/* What the ranks' computations saw; shared with the child. */
struct seen {
    uint32_t n_computed[MAX_RANKS][MAX_RANKS]; /* [rank][block] */
    uint32_t n_wrong;                          /* pieces that found something else than their block */
    uint64_t n_pieces;
};

struct rank_context {
    struct seen *seen;
    uint32_t rank;
};

static unsigned char pattern(uint32_t block, uint64_t at)
{
    return (unsigned char)(block * 37 + at * 11 + (at >> 8));
}

static uint32_t n_pieces(void *context, const struct ring_task *task)
{
    (void)context;
    return 1 + task->block % 3;
}

static enum ring_status run_piece(void *context, const struct ring_task *task, uint32_t piece,
                                  struct ring_error *error)
{
    struct rank_context *rank = context;
    const unsigned char *data = task->kv.data;

    (void)error;
    rank->seen->n_pieces++;
    if (task->rank != rank->rank)
        rank->seen->n_wrong++;
    for (uint64_t i = 0; i < task->kv.bytes; i++) {
        if (data[i] != pattern(task->block, i)) {
            rank->seen->n_wrong++;
            break;
        }
    }
    if (piece == 0)
        rank->seen->n_computed[rank->rank][task->block]++;
    return RING_OK;
}

/* Plays the scene with every slot a real buffer, home filled with the rank's own pattern and the others with
 * 0xee. */
static void play_with_data(const struct scene *scene)
{
    const struct ring_plan *plan = &scene->plan;
    struct ring_memory memory[MAX_RANKS];
    struct ring_compute compute[MAX_RANKS];
    struct rank_context contexts[MAX_RANKS];
    struct ring_error error = {""};
    double ends_s[MAX_RANKS], expected_s[MAX_RANKS];
    struct seen *seen = sim_shared_alloc(sizeof *seen);

    assert_non_null(seen);
    for (uint32_t rank = 0; rank < plan->n_ranks; rank++) {
        memory[rank] = (struct ring_memory){calloc(plan->n_slots, sizeof *memory->slots), plan->n_slots};
        for (uint32_t slot = 0; slot < plan->n_slots; slot++) {
            uint64_t bytes = ring_plan_slot_bytes(plan, rank, slot);
            unsigned char *data = malloc(bytes);
            assert_non_null(data);
            for (uint64_t i = 0; i < bytes; i++)
                data[i] = slot == RING_HOME_SLOT ? pattern(rank, i) : 0xee;
            memory[rank].slots[slot] = (struct ring_buffer){data, bytes};
        }
        contexts[rank] = (struct rank_context){seen, rank};
        compute[rank] =
            (struct ring_compute){.n_pieces = n_pieces, .run_piece = run_piece, .context = &contexts[rank]};
    }
    struct sim_spec spec = {.ring = &scene->ring, .memory = memory, .compute = compute};
    if (sim_run(&spec, ends_s, NULL, &error) != RING_OK)
        fail_msg("%s", error.text);
    scene_play(scene, expected_s);
    assert_memory_equal(ends_s, expected_s,
                        plan->n_ranks * sizeof *ends_s); /* data takes no simulated time */
    assert_int_equal(seen->n_wrong, 0);
    for (uint32_t rank = 0; rank < plan->n_ranks; rank++) {
        for (uint32_t block = 0; block < plan->n_ranks; block++) {
            bool visible = ring_plan_work(plan, rank, block).visible_pairs > 0;
            assert_int_equal(seen->n_computed[rank][block], visible);
        }
        for (uint32_t slot = 0; slot < plan->n_slots; slot++)
            free(memory[rank].slots[slot].data);
        free(memory[rank].slots);
    }
    sim_shared_free(seen, sizeof *seen);
}

static void blocks_arrive_whole_in_a_ring_of_any_size(void **state)
{
    static const uint32_t sizes[] = {1, 2, 3, 5, 8};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct scene scene;
        scene_init(&scene);
        topology_builder_star(&scene.cluster, sizes[i], 25e9, 1e-6);
        scene.spec.n_ranks = sizes[i];
        scene.spec.problem.tokens = 1003;
        scene_build(&scene);
        play_with_data(&scene);
        scene_fini(&scene);
    }
}

/* Shared wires, a shared device, a slow link that makes everybody wait, blocks of different sizes and some
 * that are not computed at all: with 2, 3 and 4 buffers, with and without progress. */
static void blocks_arrive_whole_where_everything_is_shared(void **state)
{
    static const uint32_t crowded[7] = {0, 4, 1, 5, 2, 6, 1};

    (void)state;
    for (uint32_t i = 0; i < 6; i++) {
        struct scene scene;
        scene_init(&scene);
        topology_builder_nodes(&scene.cluster, 2, 4, 1, 3e9, 0.25e9);
        scene.spec.n_ranks = 7;
        scene.spec.n_buffers = 2 + i % 3;
        scene.spec.layout = i % 2 ? RING_LAYOUT_ZIGZAG : RING_LAYOUT_CONTIGUOUS;
        scene.spec.problem.tokens = 2999;
        scene.spec.problem.mask = RING_MASK_CAUSAL;
        scene.progress = i < 3 ? MODEL_PROGRESS_POLL : MODEL_PROGRESS_NONE;
        scene.compute.block_s = 20e-6 * (i + 1);
        memcpy(scene.placement, crowded, sizeof crowded);
        scene_build(&scene);
        play_with_data(&scene);
        scene_fini(&scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_arrive_whole_in_a_ring_of_any_size),
        cmocka_unit_test(blocks_arrive_whole_where_everything_is_shared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
