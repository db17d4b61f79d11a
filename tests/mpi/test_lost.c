/* SPDX-License-Identifier: MIT
 *
 * Ranks that die or hang in the middle of a run: the others end within the time limit, not with 0, one of
 * them says where, and nothing is left running. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/mpi/support.h"
#include "tests/support/cmocka_all.h"

static struct tool_launch_outcome outcome;
static struct ring_error error;

/* Four ranks with a fault in rank 2 at hop 1; limit_s is the time limit of a hop. */
static enum ring_status run_with(const char *fault, const char *limit, const char *progress, double timeout_s)
{
    static char token[64];
    char set[64], look[64];

    snprintf(token, sizeof token, "RINGLAB_TEST_TOKEN=%d-%s", (int)getpid(), fault);
    snprintf(set, sizeof set, "measure.timeout=%s", limit);
    snprintf(look, sizeof look, "progress=%s", progress);
    putenv(token);
    setenv(fault, "2:1", 1);
    const char *words[] = {"measure", SCENARIO, "--set", "ring.devices=4", "--set", set, "--set", look, NULL};
    enum ring_status status = run_ranks(4, timeout_s, words, &outcome, &error);
    unsetenv(fault);
    assert_int_equal(count_processes(token), 0);
    assert_int_not_equal(outcome.exit_code, 0);
    return status;
}

static void assert_says(const char *words)
{
    if (!strstr(error.text, words))
        fail_msg("'%s' does not say '%s'", error.text, words);
}

/* Rank 3 waits for rank 2's block of hop 1. Rank 1 waits for rank 2 to take one: that of hop 2, if MPI had
 * taken the one of hop 1 already. */
static void assert_names_the_neighbourhood(void)
{
    bool receiver = strstr(error.text, "rank 3: hop 1: block 1 from rank 2") != NULL;
    bool sender = strstr(error.text, "rank 1: hop 1: block 0 to rank 2") != NULL ||
                  strstr(error.text, "rank 1: hop 2: block 3 to rank 2") != NULL;

    if (!receiver && !sender)
        fail_msg("'%s' does not name rank, hop and peer", error.text);
}

static void a_killed_rank_ends_the_run_and_is_named(void **state)
{
    (void)state;
    assert_int_equal(run_with("RINGLAB_TEST_KILL", "20 s", "poll", 60), RING_WORLD);
    assert_true(outcome.seconds < 20);
    assert_says("rank 2 was killed by signal 9 (Killed); rank "); /* mpirun decides who of the rest speaks */
}

static void a_hung_rank_ends_the_run_within_the_time_limit_of_a_hop(void **state)
{
    (void)state;
    assert_int_equal(run_with("RINGLAB_TEST_STOP", "1 s", "poll", 60), RING_WORLD);
    assert_true(outcome.seconds < 20);
    assert_false(outcome.timed_out);
    assert_names_the_neighbourhood();
    assert_says("after 1 s");
}

static void a_hung_run_ends_at_the_launchers_time_limit(void **state)
{
    (void)state;
    assert_int_equal(run_with("RINGLAB_TEST_STOP", "100 s", "poll", 2), RING_TIMED_OUT);
    assert_true(outcome.timed_out);
    assert_true(outcome.seconds < 20);
    assert_says("4 ranks were not done after 2 s");
}

static void a_thread_that_looks_after_messages_changes_none_of_that(void **state)
{
    (void)state;
    assert_int_equal(run_with("RINGLAB_TEST_KILL", "20 s", "thread", 60), RING_WORLD);
    assert_true(outcome.seconds < 20);
    assert_says("rank 2 was killed by signal 9 (Killed); rank ");
    assert_int_equal(run_with("RINGLAB_TEST_STOP", "1 s", "thread", 60), RING_WORLD);
    assert_true(outcome.seconds < 20);
    assert_false(outcome.timed_out);
    assert_names_the_neighbourhood();
    assert_says("after 1 s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_rank_ends_the_run_and_is_named),
        cmocka_unit_test(a_hung_rank_ends_the_run_within_the_time_limit_of_a_hop),
        cmocka_unit_test(a_hung_run_ends_at_the_launchers_time_limit),
        cmocka_unit_test(a_thread_that_looks_after_messages_changes_none_of_that),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
