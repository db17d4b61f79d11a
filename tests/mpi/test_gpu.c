/* SPDX-License-Identifier: MIT
 *
 * ringlab-rank on a real CUDA device, which several ranks share: right results on any number of ranks, and
 * the same bits however blocks are moved and however late a rank is. Skipped, aloud, where there is none. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/mpi/support.h"
#include "tests/support/cmocka_all.h"

enum { SKIPPED = 77 };

static struct tool_launch_outcome outcome;
static struct ring_error error;

/* What verify leaves, from the rows on: everything in it is of the results, nothing of how they came about.
 * repeats: runs that must all come to the same. */
static char *verified(uint32_t n_ranks, const char *move, const char *dtype, const char *layout,
                      const char *faults, const char *repeats)
{
    char devices[64], path[128], type[64], place[64], troubles[256];

    snprintf(devices, sizeof devices, "ring.devices=%" PRIu32, n_ranks);
    snprintf(type, sizeof type, "problem.dtype=%s", dtype);
    snprintf(place, sizeof place, "ring.layout=%s", layout);
    snprintf(troubles, sizeof troubles, "faults=[%s]", faults);
    snprintf(path, sizeof path, "%s", result_path("gpu"));
    const char *words[] = {"verify",   SCENARIO,
                           "--out",    path,
                           "--device", "cuda",
                           "--move",   move,
                           "--repeat", repeats,
                           "--set",    devices,
                           "--set",    type,
                           "--set",    place,
                           "--set",    troubles,
                           "--set",    "ring.pass=both",
                           "--set",    "problem.head_dim=64",
                           NULL};
    if (run_ranks(n_ranks, 100, words, &outcome, &error) != RING_OK)
        fail_msg("%s", error.text);
    char *text = read_text(path);
    unlink(path);
    char *rows = strstr(text, "\nrows\n");
    assert_non_null(rows);
    memmove(text, rows, strlen(rows) + 1);
    return text;
}

/* The last but one word of each line that begins with a number. */
static void assert_nothing_bad(const char *text)
{
    uint32_t n_lines = 0;

    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        const char *end = strchr(line, '\n');
        if (*line < '0' || *line > '9' || !end)
            continue;
        while (*--end != ' ')
            ;
        while (*--end != ' ')
            ;
        assert_int_equal(strtoull(end, NULL, 10), 0);
        n_lines++;
    }
    assert_true(n_lines > 0);
}

static void any_number_of_ranks_agrees_with_the_single_shot(void **state)
{
    static const char *const layouts[] = {"contiguous", "zigzag", "striped"};
    static const char *const dtypes[] = {"bf16", "fp16", "fp32"};

    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        char *text = verified(1u << i, "auto", dtypes[i % 3], layouts[i % 3], "", "1");
        assert_nothing_bad(text);
        free(text);
    }
}

static void the_bits_do_not_depend_on_how_blocks_move(void **state)
{
    (void)state;
    char *staged = verified(4, "staged", "bf16", "zigzag", "", "1"),
         *peer = verified(4, "peer", "bf16", "zigzag", "", "1");
    assert_string_equal(staged, peer);
    free(staged);
    free(peer);
}

static void nor_on_who_is_late(void **state)
{
    (void)state;
    char *good = verified(3, "auto", "bf16", "zigzag", "", "1"),
         *late = verified(3, "auto", "bf16", "zigzag",
                          "{device: host.core1, slow: 5x}, {device: host.core2, jitter: 50 %}", "100");
    assert_string_equal(good, late);
    free(late);
    free(good);
}

static bool there_is_a_device(void)
{
    const char *words[] = {"measure",  SCENARIO, "--out", result_path("there"), "--set", "ring.devices=1",
                           "--device", "cuda",   NULL};

    return run_ranks(0, 60, words, &outcome, &error) == RING_OK;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_ranks_agrees_with_the_single_shot),
        cmocka_unit_test(the_bits_do_not_depend_on_how_blocks_move),
        cmocka_unit_test(nor_on_who_is_late),
    };
    int n_failed = SKIPPED;

    if (there_is_a_device())
        n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    else
        printf("SKIPPED: no usable CUDA device (standard error has the reason)\n");
    remove_results();
    return n_failed;
}
