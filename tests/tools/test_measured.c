/* SPDX-License-Identifier: MIT
 *
 * What ringlab-rank leaves becomes a result; what it would never leave is an error in one line. */
#include "tools/measured.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/cmocka_all.h"
#include "tools/report.h"

static char path[] = "/tmp/ringlab-test-XXXXXX";
static struct tool_setup setup;

/* Two ranks and two steps of 1 ms, core free. */
static int open_all(void **state)
{
    (void)state;
    static const char *const files[] = {"tests/cli/data/scenarios/quickstart.yaml"};
    struct tool_options options = {.files = files, .n_files = 1, .world = "auto"};
    struct ring_error error = {""};
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    if (tool_setup_open(&setup, &options, &error) != RING_OK)
        fail_msg("%s", error.text);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    tool_setup_close(&setup);
    return unlink(path);
}

static void add(struct ring_trace *trace, struct ring_trace_row row)
{
    assert_int_equal(ring_trace_append(trace, &row), RING_OK);
}

/* Each rank computes 0 .. 1 ms, has the other's block at 1.2 ms, and computes until 2.2 ms. The clock shows
 * 10 s at the start. */
static void add_rank(struct ring_trace *trace, uint32_t rank)
{
    uint32_t peer = 1 - rank;
    add(trace, (struct ring_trace_row){.kind = RING_TRACE_RECV,
                                       .rank = rank,
                                       .peer = peer,
                                       .block = peer,
                                       .amount = 524288,
                                       .post_s = 10,
                                       .wait_begin_s = 10,
                                       .wait_end_s = 10.0012,
                                       .begun_s = 10,
                                       .ended_s = 10.0012});
    add(trace, (struct ring_trace_row){.kind = RING_TRACE_SEND,
                                       .rank = rank,
                                       .peer = peer,
                                       .block = rank,
                                       .amount = 524288,
                                       .post_s = 10,
                                       .wait_begin_s = 10.0012,
                                       .wait_end_s = 10.0012,
                                       .begun_s = 10,
                                       .ended_s = 10.0012});
    add(trace, (struct ring_trace_row){.kind = RING_TRACE_COMPUTE,
                                       .rank = rank,
                                       .peer = rank,
                                       .block = rank,
                                       .post_s = 10,
                                       .wait_begin_s = 10,
                                       .wait_end_s = 10.001,
                                       .begun_s = 10,
                                       .ended_s = 10.001});
    add(trace, (struct ring_trace_row){.kind = RING_TRACE_COMPUTE,
                                       .rank = rank,
                                       .peer = rank,
                                       .step = 1,
                                       .block = peer,
                                       .post_s = 10.0012,
                                       .wait_begin_s = 10.0012,
                                       .wait_end_s = 10.0022,
                                       .begun_s = 10.0012,
                                       .ended_s = 10.0022});
}

static void write_file(const char *head, bool with_rows)
{
    struct ring_trace trace;
    struct ring_error error;
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(head, file);
    ring_trace_init(&trace);
    for (uint32_t rank = 0; with_rows && rank < 2; rank++)
        add_rank(&trace, rank);
    if (with_rows)
        assert_int_equal(ring_trace_write(&trace, file, &error), RING_OK);
    ring_trace_fini(&trace);
    fclose(file);
}

static const char good_head[] =
    "ringlab-measure 1\nranks 2\nsteps 2\nkernel timed\ntransport Open MPI 4.1.4, poll\n"
    "something_new 7\nfirst_s 10\nrepeats_s 0.0021 0.0022 0.0030\n"
    "peak_rss_bytes 1000000 2000000\nbaseline_rss_bytes 400000 500000\ntrace\n";

static void assert_near(double value, double wanted)
{
    assert_true(value > wanted - 1e-9 && value < wanted + 1e-9);
}

static void rows_become_the_parts_of_a_result(void **state)
{
    (void)state;
    struct tool_result result;
    struct ring_error error = {""};
    write_file(good_head, true);
    if (tool_measure_read(&setup, path, &result, &error) != RING_OK)
        fail_msg("%s", error.text);
    assert_string_equal(result.world, "mpi");
    assert_string_equal(result.kernel, "timed");
    assert_string_equal(result.world_detail, "Open MPI 4.1.4, poll");
    assert_near(result.time_s, 0.0022);
    assert_int_equal(result.n_repeats, 3);
    for (int rank = 0; rank < 2; rank++) {
        assert_near(result.ranks[rank].compute_s, 0.002);
        assert_near(result.ranks[rank].transfer_s, 0.0002);
        assert_near(result.ranks[rank].wait_s, 0);
        assert_int_equal(result.ranks[rank].bytes_sent, 524288);
    }
    assert_int_equal(result.ranks[0].resident_bytes, 600000); /* above what was there before */
    assert_int_equal(result.ranks[1].resident_bytes, 1500000);
    assert_int_equal(result.ranks[1].run_bytes, 2 * 524288); /* timed: the two blocks alone */
    assert_int_equal(result.n_passes, 1);
    assert_near(result.passes[0].time_s, 0.0022);
    assert_near(result.steps[1].begin_s, 0.0012); /* from the start, not on the machine's clock */
    assert_near(result.moving_s, 0.0024);         /* two messages of 1.2 ms */
    assert_int_equal(result.n_links, 4);          /* core to switch to core, both ways */
    for (size_t i = 0; i < 4; i++) {
        assert_near(result.links[i].busy_s, 0.0012);
        assert_true(result.links[i].bytes == 524288);
    }
    assert_non_null(result.verdict.text);
    tool_result_fini(&result);
}

static void what_was_taken_of_a_device_is_what_a_rank_holds(void **state)
{
    (void)state;
    static const char head[] =
        "ringlab-measure 1\nranks 2\nsteps 2\nkernel cuda\nfirst_s 10\nrepeats_s 0.0022\n"
        "peak_rss_bytes 1000000 2000000\nbaseline_rss_bytes 400000 500000\n"
        "device_bytes 4194304 6291456\ntrace\n";
    struct tool_result result;
    struct ring_error error = {""};
    char text[8192] = "";
    write_file(head, true);
    if (tool_measure_read(&setup, path, &result, &error) != RING_OK)
        fail_msg("%s", error.text);
    assert_true(result.on_device);
    assert_int_equal(result.ranks[0].resident_bytes, 4194304); /* whatever the host's processes have */
    assert_int_equal(result.ranks[1].resident_bytes, 6291456);
    FILE *file = fmemopen(text, sizeof text, "w");
    assert_non_null(file);
    assert_int_equal(tool_report(&result, file, &error), RING_OK);
    fclose(file);
    assert_non_null(strstr(text, "\n  device memory  6.291 MB    on the fullest rank, "));
    tool_result_fini(&result);
}

static void what_is_no_such_file_is_an_error(void **state)
{
    (void)state;
    static const char *const heads[] = {
        "",
        "ringlab-measure 2\nranks 2\n",
        "something else\n",
        "ringlab-measure 1\nranks 2\nsteps 2\nrepeats_s 1\n",        /* no trace */
        "ringlab-measure 1\nranks 3\nsteps 2\nrepeats_s 1\ntrace\n", /* another run */
        "ringlab-measure 1\nranks 2\nsteps 9\nrepeats_s 1\ntrace\n",
        "ringlab-measure 1\nranks 2\nsteps 2\nrepeats_s\ntrace\n", /* no repeats */
        "ringlab-measure 1\nranks -2\nsteps 99999999999\nrepeats_s x\ntrace\n",
    };
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        struct tool_result result;
        struct ring_error error = {""};
        write_file(heads[i], i >= 4);
        assert_int_not_equal(tool_measure_read(&setup, path, &result, &error), RING_OK);
        assert_true(error.text[0] != '\0');
        tool_result_fini(&result);
    }
    struct tool_result result;
    struct ring_error error = {""};
    write_file(good_head, false); /* no rows */
    assert_int_not_equal(tool_measure_read(&setup, path, &result, &error), RING_OK);
    tool_result_fini(&result);
    assert_int_equal(tool_measure_read(&setup, "/nowhere", &result, &error), RING_WORLD);
    tool_result_fini(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_become_the_parts_of_a_result),
        cmocka_unit_test(what_was_taken_of_a_device_is_what_a_rank_holds),
        cmocka_unit_test(what_is_no_such_file_is_an_error),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
