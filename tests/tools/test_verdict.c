/* SPDX-License-Identifier: MIT
 *
 * Losses by hand. The sentences are held by the golden tests in tests/cli. */
#include "tools/verdict.h"

#include <string.h>

#include "tests/support/cmocka_all.h"

/* Sets up a result of so many ranks, each computing 10 s on 100 pairs; time 10 s. */
static void even_result(struct tool_result *result, uint32_t n)
{
    struct ring_error error;
    tool_result_init(result);
    assert_int_equal(tool_result_allocate(result, n, n, false, &error), RING_OK);
    for (uint32_t i = 0; i < n; i++)
        result->ranks[i] =
            (struct tool_rank){.device = "d", .compute_s = 10, .end_s = 10, .visible_pairs = 100};
    result->time_s = 10;
}

static void assert_near(double value, double wanted)
{
    assert_true(value > wanted - 1e-12 && value < wanted + 1e-12);
}

static void an_even_ring_loses_nothing(void **state)
{
    (void)state;
    struct tool_result result;
    even_result(&result, 4);
    struct tool_losses losses = tool_losses_of(&result);
    assert_near(losses.compute_s, 10);
    assert_near(losses.straggler_s, 0);
    assert_near(losses.imbalance_s, 0);
    assert_near(losses.network_s, 0);
    assert_near(losses.overhead_s, 0);
    tool_result_fini(&result);
}

static void twice_as_long_for_the_same_work_is_a_straggler(void **state)
{
    (void)state;
    struct tool_result result;
    even_result(&result, 4);
    result.ranks[2].compute_s = result.ranks[2].end_s = result.time_s = 20;
    struct tool_losses losses = tool_losses_of(&result);
    assert_int_equal(losses.busiest, 2);
    assert_near(losses.straggler_s, 10);
    assert_near(losses.imbalance_s, 0);
    tool_result_fini(&result);
}

static void twice_as_long_for_twice_the_work_is_imbalance(void **state)
{
    (void)state;
    struct tool_result result;
    even_result(&result, 4);
    result.ranks[3].visible_pairs = 200;
    result.ranks[3].compute_s = result.ranks[3].end_s = result.time_s = 20;
    struct tool_losses losses = tool_losses_of(&result);
    assert_near(losses.straggler_s, 0);
    assert_near(losses.compute_s, 12.5);  /* (3 * 10 + 20) / 4 */
    assert_near(losses.imbalance_s, 7.5); /* 20 - 12.5 */
    tool_result_fini(&result);
}

static void standing_still_while_bytes_move_is_the_network(void **state)
{
    (void)state;
    struct tool_result result;
    even_result(&result, 3);
    for (uint32_t i = 0; i < 3; i++)
        result.ranks[i].end_s = 18;
    result.ranks[0].transfer_s = 2;
    result.ranks[0].wait_s = 6;
    result.ranks[1].transfer_s = 8;
    result.ranks[2].transfer_s = 3;
    result.ranks[2].wait_s = 5;
    result.time_s = 18;
    struct tool_losses losses = tool_losses_of(&result);
    assert_int_equal(losses.exposed, 1);
    assert_near(losses.network_s, 8);
    assert_near(losses.imbalance_s, 0);
    tool_result_fini(&result);
}

/* All computing 1, all hops 2: steps of 2, 2 and 1. With rank 1 computing for 4 it alone counts: it begins
 * its steps at 4 and 8, since blocks come at 2 and 6. */
static void a_measured_ring_plays_again_as_it_was(void **state)
{
    (void)state;
    double compute_s[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1}, hop_s[3] = {2, 2, 2};
    struct tool_replay replay = {.n_ranks = 3, .n_steps = 3, .compute_s = compute_s, .hop_s = hop_s};
    assert_near(tool_replay_s(&replay), 5);
    for (int i = 3; i < 6; i++)
        compute_s[i] = 4;
    assert_near(tool_replay_s(&replay), 12);
}

/* Ranks computing 5 and hops of 2, but rank 2 computing 6 and its hop taking 7: 7 + 7 + 6 = 20. With the
 * rank repaired 7 + 7 + 5 = 19; with the hop repaired 6 + 6 + 6 = 18, so the hop is to blame. A hop of 6
 * costs nothing beside it. */
static void a_slow_hop_and_a_slow_rank_are_told_apart_by_their_repair(void **state)
{
    (void)state;
    double compute_s[9] = {5, 5, 5, 5, 5, 5, 6, 6, 6}, hop_s[3] = {2, 2, 7};
    struct tool_replay replay = {.n_ranks = 3, .n_steps = 3, .compute_s = compute_s, .hop_s = hop_s};
    assert_near(tool_replay_s(&replay), 20);
    compute_s[6] = compute_s[7] = compute_s[8] = 5;
    assert_near(tool_replay_s(&replay), 19);
    compute_s[6] = compute_s[7] = compute_s[8] = 6;
    hop_s[2] = 2;
    assert_near(tool_replay_s(&replay), 18);
    hop_s[2] = 6;
    assert_near(tool_replay_s(&replay), 18);
}

static void an_idle_rank_does_not_blame_the_network(void **state)
{
    (void)state;
    struct tool_result result;
    even_result(&result, 2);
    /* rank 0 has little to do and watches blocks come in: nothing that the step loses */
    result.ranks[0] = (struct tool_rank){
        .device = "d", .compute_s = 1, .transfer_s = 5, .wait_s = 4, .end_s = 10, .visible_pairs = 10};
    struct tool_losses losses = tool_losses_of(&result);
    assert_near(losses.network_s, 0);
    assert_near(losses.imbalance_s, 4.5);
    tool_result_fini(&result);
}

static void polling_and_launching_are_overhead(void **state)
{
    (void)state;
    struct tool_result result;
    even_result(&result, 2);
    result.ranks[1].overhead_s = 3;
    result.ranks[1].end_s = result.time_s = 13;
    struct tool_losses losses = tool_losses_of(&result);
    assert_near(losses.overhead_s, 3);
    assert_near(losses.network_s, 0);
    tool_result_fini(&result);
}

static void time_without_a_core_is_no_overhead(void **state)
{
    (void)state;
    struct tool_result result;
    even_result(&result, 2); /* 10 s of computing, and 10 s that nobody knows of */
    for (int i = 0; i < 2; i++) {
        result.ranks[i].overhead_s = 10;
        result.ranks[i].end_s = 20;
    }
    result.n_steps = 2;
    result.time_s = 20;
    result.fit.fits = true;
    result.core_share = 1;
    tool_verdict_find(&result, NULL);
    assert_int_equal(result.verdict.limit, TOOL_LIMIT_OVERHEAD);
    result.core_share = 0.5; /* which somebody else had */
    tool_verdict_find(&result, NULL);
    assert_int_equal(result.verdict.limit, TOOL_LIMIT_BUSY);
    assert_non_null(strstr(result.verdict.text, "had 50 % of a core each, and 10.00 s of the 20.00 s step"));
    result.question.compute.block_s = 5; /* or which a timed block does not want */
    result.question.compute.core_free = true;
    tool_verdict_find(&result, NULL);
    assert_int_equal(result.verdict.limit, TOOL_LIMIT_OVERHEAD);
    tool_result_fini(&result);
}

static void nobody_computing_is_no_division_by_zero(void **state)
{
    (void)state;
    struct tool_result result;
    even_result(&result, 2);
    for (uint32_t i = 0; i < 2; i++)
        result.ranks[i] = (struct tool_rank){.device = "d"};
    result.time_s = 0;
    struct tool_losses losses = tool_losses_of(&result);
    assert_near(losses.compute_s, 0);
    assert_near(losses.straggler_s, 0);
    assert_near(losses.imbalance_s, 0);
    tool_result_fini(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_even_ring_loses_nothing),
        cmocka_unit_test(twice_as_long_for_the_same_work_is_a_straggler),
        cmocka_unit_test(twice_as_long_for_twice_the_work_is_imbalance),
        cmocka_unit_test(standing_still_while_bytes_move_is_the_network),
        cmocka_unit_test(a_measured_ring_plays_again_as_it_was),
        cmocka_unit_test(a_slow_hop_and_a_slow_rank_are_told_apart_by_their_repair),
        cmocka_unit_test(an_idle_rank_does_not_blame_the_network),
        cmocka_unit_test(polling_and_launching_are_overhead),
        cmocka_unit_test(time_without_a_core_is_no_overhead),
        cmocka_unit_test(nobody_computing_is_no_division_by_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
