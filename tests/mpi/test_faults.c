/* SPDX-License-Identifier: MIT
 *
 * Faults on real ranks. Blocks of fixed length that leave the core free, so that the least that a step can
 * take is known whatever else the machine does; nothing here is too slow to pass. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/mpi/support.h"
#include "tests/support/cmocka_all.h"

static struct tool_launch_outcome outcome;
static struct ring_error error;

/* Two ranks, two blocks of 5 ms each, one hop; the shortest of the repeats. */
static double shortest_s(const char *faults)
{
    char path[128], item[256];
    double least_s = INFINITY, repeat_s;
    int length;

    snprintf(path, sizeof path, "%s", result_path("faults"));
    snprintf(item, sizeof item, "faults=%s", faults);
    const char *words[] = {"measure", SCENARIO, "--out", path, "--set", "compute={block: 5 ms, core: free}",
                           "--set",   item,     NULL};
    if (run_ranks(2, 60, words, &outcome, &error) != RING_OK)
        fail_msg("%s", error.text);
    char *text = read_text(path), *at = strstr(text, "\nrepeats_s");
    assert_non_null(at);
    for (at += strlen("\nrepeats_s"); sscanf(at, " %lf%n", &repeat_s, &length) == 1 && repeat_s < 10;
         at += length)
        least_s = fmin(least_s, repeat_s);
    free(text);
    unlink(path);
    return least_s;
}

static void a_slow_device_computes_longer(void **state)
{
    (void)state;
    assert_true(shortest_s("[{device: host.core1, slow: 4x}]") >= 2 * 4 * 5e-3);
}

/* The second block can only begin when the first message has come: 30 ms late, then 5 ms. */
static void a_late_link_holds_its_messages_back(void **state)
{
    (void)state;
    assert_true(shortest_s("[{link: host.core0 -> host.core1, latency: 30 ms}]") >= 35e-3);
}

/* 2 x 512 tokens x 2 heads x 32 x 4 B = 262144 B at 10 GB/s take 26.2 us, and at a thousandth of it 26.2 ms.
 */
static void a_thin_link_holds_them_back_by_what_they_lose(void **state)
{
    (void)state;
    assert_true(shortest_s("[{link: host.core0 -> host.core1, bandwidth: 0.1 %}]") >= 31e-3);
}

static void jitter_only_delays(void **state)
{
    (void)state;
    assert_true(shortest_s("[{device: host.core0, jitter: 50 %}]") >= 2 * 5e-3);
}

static void numbers_are_right_under_hardship(void **state)
{
    char path[128];

    (void)state;
    snprintf(path, sizeof path, "%s", result_path("hard"));
    const char *words[] = {"verify",
                           SCENARIO,
                           "--out",
                           path,
                           "--set",
                           "ring.devices=3",
                           "--set",
                           "faults=[{device: host.core1, slow: 3x}, {device: host.core2, jitter: 20 %}, "
                           "{link: host.core0 -> host.core1, latency: 2 ms}]",
                           NULL};
    if (run_ranks(3, 60, words, &outcome, &error) != RING_OK)
        fail_msg("%s", error.text);
    unlink(path);
}

static void what_dies_is_refused(void **state)
{
    const char *words[] = {"measure", SCENARIO, "--set", "faults=[{device: host.core1, dies: 1 ms}]", NULL};

    (void)state;
    assert_int_not_equal(run_ranks(2, 60, words, &outcome, &error), RING_OK);
    assert_non_null(strstr(error.text, "host.core1: dies cannot be had on a real machine"));
}

static int clear(void **state)
{
    (void)state;
    remove_results();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slow_device_computes_longer),
        cmocka_unit_test(a_late_link_holds_its_messages_back),
        cmocka_unit_test(a_thin_link_holds_them_back_by_what_they_lose),
        cmocka_unit_test(jitter_only_delays),
        cmocka_unit_test(numbers_are_right_under_hardship),
        cmocka_unit_test(what_dies_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, clear);
}
