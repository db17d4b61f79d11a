/* SPDX-License-Identifier: MIT
 *
 * ringlab-rank as a program: right results on any number of ranks, the same bits twice, a file that is whole,
 * and one line where something is wrong. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/trace.h"
#include "tests/mpi/support.h"
#include "tests/support/cmocka_all.h"

static struct tool_launch_outcome outcome;
static struct ring_error error;

/* Runs verify and hands back its report. */
static char *verified(uint32_t n_ranks, const char *set, const char *other)
{
    char devices[64], path[128];

    snprintf(devices, sizeof devices, "ring.devices=%" PRIu32, n_ranks ? n_ranks : 1);
    snprintf(path, sizeof path, "%s", result_path("report"));
    const char *words[] = {"verify", SCENARIO, "--out", path,  "--set", devices,
                           "--set",  set,      "--set", other, NULL};
    if (run_ranks(n_ranks, 60, words, &outcome, &error) != RING_OK)
        fail_msg("%s", error.text);
    char *text = read_text(path);
    unlink(path);
    return text;
}

/* Every row of every rank within its bound, and as many ranks as there were. */
static void assert_good(const char *text, uint32_t n_ranks)
{
    const char *at = strstr(text, "\nrank ");
    uint32_t n_rows = 0;

    assert_non_null(at);
    for (at = strchr(at + 1, '\n'); at && at[1]; at = strchr(at + 1, '\n'), n_rows++) {
        uint32_t rank;
        uint64_t checked, total, n_bad;
        double e2, n2, out_worst, out_bound, lse_worst, lse_bound;
        assert_int_equal(
            sscanf(at + 1, "%" SCNu32 " %" SCNu64 " %" SCNu64 " %lf %lf %lf %lf %lf %lf %" SCNu64, &rank,
                   &checked, &total, &e2, &n2, &out_worst, &out_bound, &lse_worst, &lse_bound, &n_bad),
            10);
        assert_int_equal(rank, n_rows);
        assert_int_equal(checked, total);
        assert_int_equal(n_bad, 0);
        assert_true(out_worst <= out_bound && lse_worst <= lse_bound);
        assert_true(sqrt(e2 / n2) < 2e-6);
    }
    assert_int_equal(n_rows, n_ranks);
}

static void any_number_of_ranks_agrees_with_the_single_shot(void **state)
{
    static const struct {
        uint32_t n_ranks;
        const char *set, *other;
    } runs[] = {
        {1, "ring.layout=zigzag", "problem.mask=causal"},
        {2, "ring.layout=striped", "problem.mask=causal"},
        {3, "problem.tokens=1000", "ring.layout=contiguous"}, /* 334, 333, 333 */
        {5, "problem.mask=full", "ring.buffers=3"},
        {7, "problem.kv_heads=1", "problem.dtype=bf16"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        char *text = verified(runs[i].n_ranks, runs[i].set, runs[i].other);
        assert_good(text, runs[i].n_ranks);
        free(text);
    }
}

static void one_rank_needs_no_mpirun(void **state)
{
    (void)state;
    char *text = verified(0, "problem.mask=causal", "ring.layout=zigzag");
    assert_good(text, 1);
    free(text);
}

static void the_same_run_twice_has_the_same_bits(void **state)
{
    (void)state;
    char *first = verified(3, "data.seed=7", "problem.mask=causal");
    char *second = verified(3, "data.seed=7", "problem.mask=causal");
    assert_string_equal(first, second);
    char *other = verified(3, "data.seed=8", "problem.mask=causal");
    assert_string_not_equal(first, other);
    free(first);
    free(second);
    free(other);
}

/* Steps 2, so each rank has one receive, one send, and computes twice; K and V of 512 tokens, 2 heads of 32
 * fp32: 2 * 512 * 2 * 32 * 4 = 262144 bytes. */
static void a_measurement_leaves_the_rows_of_every_rank(void **state)
{
    char path[128], key[64], rest[256];
    const char *words[] = {"measure", SCENARIO, "--out", path, NULL};
    struct ring_trace trace;
    bool in_trace = false;
    uint32_t n_sends = 0, n_computes = 0;
    double times_s[3] = {0};

    (void)state;
    snprintf(path, sizeof path, "%s", result_path("measured"));
    if (run_ranks(2, 60, words, &outcome, &error) != RING_OK)
        fail_msg("%s", error.text);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    char line[4096];
    while (!in_trace && fgets(line, sizeof line, file)) {
        rest[0] = '\0';
        assert_true(sscanf(line, "%63s %255[^\n]", key, rest) >= 1);
        if (strcmp(key, "bytes_sent") == 0)
            assert_string_equal(rest, "262144 262144");
        if (strcmp(key, "repeats_s") == 0)
            assert_int_equal(sscanf(rest, "%lf %lf %lf", &times_s[0], &times_s[1], &times_s[2]), 3);
        in_trace = strcmp(key, "trace") == 0;
    }
    assert_true(in_trace);
    assert_true(times_s[0] > 0 && times_s[1] > 0 && times_s[2] > 0);
    ring_trace_init(&trace);
    assert_int_equal(ring_trace_read(&trace, file, &error), RING_OK);
    fclose(file);
    assert_int_equal(trace.n_rows, 8);
    for (size_t i = 0; i < trace.n_rows; i++) {
        const struct ring_trace_row *row = &trace.rows[i];
        n_sends += row->kind == RING_TRACE_SEND;
        n_computes += row->kind == RING_TRACE_COMPUTE;
        assert_true(row->post_s >= 0 && row->post_s <= row->wait_begin_s &&
                    row->wait_begin_s <= row->wait_end_s);
        assert_true(row->begun_s <= row->ended_s && row->ended_s <= row->wait_end_s);
    }
    assert_int_equal(n_sends, 2);
    assert_int_equal(n_computes, 4);
    ring_trace_fini(&trace);
}

static void assert_refused(uint32_t n_ranks, const char *const *words, const char *reason)
{
    enum ring_status status = run_ranks(n_ranks, 60, words, &outcome, &error);

    assert_int_equal(status, RING_BAD_INPUT);
    assert_int_equal(outcome.exit_code, 1);
    if (!strstr(error.text, reason))
        fail_msg("'%s' does not say '%s'", error.text, reason);
}

static void a_wrong_number_of_ranks_is_one_line(void **state)
{
    (void)state;
    assert_refused(3, (const char *const[]){"measure", SCENARIO, NULL},
                   "ring.devices is 2, but 3 ranks were started");
}

static void a_bad_scenario_is_one_line(void **state)
{
    (void)state;
    assert_refused(2, (const char *const[]){"measure", "tests/mpi/none.yaml", NULL}, "tests/mpi/none.yaml");
    assert_refused(2, (const char *const[]){"measure", SCENARIO, "--set", "problem.heads=3", NULL}, "heads");
}

static void a_result_that_cannot_be_written_is_one_line(void **state)
{
    (void)state;
    assert_refused(2, (const char *const[]){"measure", SCENARIO, "--out", "/nowhere/result", NULL},
                   "/nowhere/result");
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
        cmocka_unit_test(any_number_of_ranks_agrees_with_the_single_shot),
        cmocka_unit_test(one_rank_needs_no_mpirun),
        cmocka_unit_test(the_same_run_twice_has_the_same_bits),
        cmocka_unit_test(a_measurement_leaves_the_rows_of_every_rank),
        cmocka_unit_test(a_wrong_number_of_ranks_is_one_line),
        cmocka_unit_test(a_bad_scenario_is_one_line),
        cmocka_unit_test(a_result_that_cannot_be_written_is_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, clean_up);
}
