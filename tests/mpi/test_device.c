/* SPDX-License-Identifier: MIT
 *
 * ringlab-rank and devices, as far as they go where there may be none: one line and exit status 3 where one
 * is asked for in vain, the CPU where any will do, and the words that the options take. What a device does is
 * device-ranks' (tests/cuda) and the tests' with label gpu. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/support.h"
#include "tests/support/cmocka_all.h"

static struct tool_launch_outcome outcome;
static struct ring_error error;

static void without_a_device_cuda_ends_in_one_line(void **state)
{
    const char *words[] = {"measure", SCENARIO, "--out", result_path("device"), "--device", "cuda", NULL};

    (void)state;
    if (run_ranks(2, 60, words, &outcome, &error) == RING_OK) {
        print_message("skipped: there is a CUDA device\n");
        return;
    }
    assert_int_equal(outcome.exit_code, 3);
    assert_ptr_equal(strstr(error.text, "no usable CUDA device is there: "), error.text);
    assert_null(strchr(error.text, '\n'));
}

static void auto_runs_everywhere(void **state)
{
    char path[128];

    (void)state;
    snprintf(path, sizeof path, "%s", result_path("auto"));
    const char *words[] = {"verify", SCENARIO, "--out", path, "--device", "auto", NULL};
    if (run_ranks(2, 60, words, &outcome, &error) != RING_OK)
        fail_msg("%s", error.text);
    free(read_text(path));
}

static void other_words_are_refused(void **state)
{
    static const char *const options[] = {"--device", "--move"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const char *words[] = {"measure", SCENARIO, options[i], "carrier-pigeon", NULL};
        assert_int_not_equal(run_ranks(1, 60, words, &outcome, &error), RING_OK);
        assert_int_equal(outcome.exit_code, 2);
        assert_non_null(strstr(error.text, "carrier-pigeon"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_device_cuda_ends_in_one_line),
        cmocka_unit_test(auto_runs_everywhere),
        cmocka_unit_test(other_words_are_refused),
    };
    int n_failed = cmocka_run_group_tests(tests, NULL, NULL);

    remove_results();
    return n_failed;
}
