/* SPDX-License-Identifier: MIT
 *
 * What ranks really hold in memory while they are measured, against the sum that anyone can do: blocks of 64
 * MiB, both passes. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/support.h"
#include "tests/support/cmocka_all.h"

#define MIB (UINT64_C(1) << 20)

/* Two ranks of 256 tokens, 256 heads of 128, fp32: 8 Mi elements of q a rank, twice as many of K and V. */
static uint64_t expected_bytes(void)
{
    uint64_t rows = 256 * 256;
    return 32 * MIB               /* queries */
           + 2 * 64 * MIB         /* K and V: home and one travelling */
           + rows * (128 + 2) * 4 /* m, l, o */
           + 32 * MIB             /* dO */
           + rows * (128 + 2) * 4 /* dQ, lse, delta */
           + 64 * MIB             /* dK and dV of the block in hand */
           + 2 * 64 * MIB         /* travelling dK and dV */
           + 64 * MIB;            /* the own ones, come home */
}

static void read_pair(const char *text, const char *key, uint64_t *values)
{
    const char *at = strstr(text, key);
    assert_non_null(at);
    assert_int_equal(sscanf(at + strlen(key), " %" SCNu64 " %" SCNu64, &values[0], &values[1]), 2);
}

static void what_lies_in_memory_is_within_5_percent_of_the_sum(void **state)
{
    char path[128];
    const char *words[] = {"measure", SCENARIO,
                           "--out",   path,
                           "--set",   "ring.pass=both",
                           "--set",   "problem={tokens: 512, heads: 256, head_dim: 128}",
                           "--set",   "measure={repeats: 1, warmups: 0}",
                           NULL};
    struct tool_launch_outcome outcome;
    struct ring_error error;
    uint64_t peak[2], baseline[2];

    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip(); /* its own memory is not counted */
#endif
    snprintf(path, sizeof path, "%s", result_path("memory"));
    if (run_ranks(2, 100, words, &outcome, &error) != RING_OK)
        fail_msg("%s", error.text);
    char *text = read_text(path);
    read_pair(text, "\npeak_rss_bytes", peak);
    read_pair(text, "\nbaseline_rss_bytes", baseline);
    free(text);
    for (int rank = 0; rank < 2; rank++) {
        double held = (double)(peak[rank] - baseline[rank]), expected = (double)expected_bytes();
        print_message("rank %d: %.1f MiB where %.1f are expected\n", rank, held / (double)MIB,
                      expected / (double)MIB);
        assert_true(held > 0.95 * expected && held < 1.05 * expected);
    }
}

static int clean_up(void **state)
{
    (void)state;
    remove_results();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_lies_in_memory_is_within_5_percent_of_the_sum),
    };
    return cmocka_run_group_tests(tests, NULL, clean_up);
}
