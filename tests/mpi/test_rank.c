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

#include "config/config.h"
#include "engine/trace.h"
#include "exec/calibration.h"
#include "exec/kernels/npy.h"
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

/* Every row of every rank within its bound, and as many ranks as there were. Kernels that round their weights
 * to bf16 have a larger one. */
static void assert_good(const char *text, uint32_t n_ranks)
{
    const char *at = strstr(text, "\nrank ");
    uint32_t n_rows = 0;
    bool exact = strstr(text, "\nkernel tiled") || strstr(text, "\nkernel reference");

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
        assert_true(sqrt(e2 / n2) < (exact ? 2e-6 : 2e-3));
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

static void threads_and_a_thread_for_messages_change_no_bit(void **state)
{
    (void)state;
    char *one = verified(2, "ring.pass=both", "problem.mask=causal");
    char *looking = verified(2, "ring.pass=both", "progress=thread");
    char *rest = strchr(strstr(looking, "\ntransport ") + 1, '\n');
    assert_string_equal(strchr(strstr(one, "\ntransport ") + 1, '\n'), rest);
    free(one);
    free(looking);
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
        return;
    one = verified(0, "ring.pass=both", "threads=1");
    char *two = verified(0, "ring.pass=both", "threads=2");
    assert_string_equal(one, two);
    free(one);
    free(two);
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

/* Two steps of 5 ms each on every rank; on a free core nothing hides them. */
static void a_timed_block_takes_its_time(void **state)
{
    char path[128];
    const char *words[] = {"measure", SCENARIO, "--out", path, "--set", "compute={block: 5 ms, core: free}",
                           NULL};

    (void)state;
    snprintf(path, sizeof path, "%s", result_path("timed"));
    if (run_ranks(2, 60, words, &outcome, &error) != RING_OK)
        fail_msg("%s", error.text);
    char *text = read_text(path);
    double time_s = 0;
    assert_non_null(strstr(text, "\nkernel timed\n"));
    assert_int_equal(sscanf(strstr(text, "\nrepeats_s ") + 1, "repeats_s %lf", &time_s), 1);
    assert_true(time_s >= 10e-3);
    free(text);
}

static void read_tensor(const char *name, uint32_t n_dims, struct npy_array *array)
{
    char path[160];

    snprintf(path, sizeof path, "%s", result_path(name));
    if (npy_read(path, array, &error) != RING_OK)
        fail_msg("%s", error.text);
    unlink(path);
    assert_int_equal(array->n_dims, n_dims);
    assert_int_equal(array->dtype, RING_FP32);
}

/* Q = 0 makes all weights equal, and V[j] = j: out[i] = i / 2, lse[i] = ln(i + 1), in the order of the
 * sequence, however the tokens were dealt. */
static void a_dump_is_in_the_order_of_the_whole_sequence(void **state)
{
    char folder[128];
    const char *words[] = {"verify", SCENARIO,
                           "--set",  "data.kind=ramp",
                           "--set",  "ring.devices=3",
                           "--set",  "ring.layout=zigzag",
                           "--set",  "problem.tokens=1000",
                           "--dump", folder,
                           "--out",  "/dev/null",
                           NULL};
    struct npy_array out, lse, v;

    (void)state;
    snprintf(folder, sizeof folder, "%s", result_path(""));
    words[13] = result_path("report");
    if (run_ranks(3, 60, words, &outcome, &error) != RING_OK)
        fail_msg("%s", error.text);
    read_tensor("out.npy", 4, &out);
    read_tensor("lse.npy", 3, &lse);
    read_tensor("v.npy", 4, &v);
    const uint64_t out_shape[] = {1, 4, 1000, 32}, v_shape[] = {1, 2, 1000, 32};
    assert_memory_equal(out.shape, out_shape, sizeof out_shape);
    assert_memory_equal(lse.shape, out_shape, 3 * sizeof *out_shape);
    assert_memory_equal(v.shape, v_shape, sizeof v_shape);
    for (int head = 0; head < 4; head++) {
        for (int i = 0; i < 1000; i++) {
            float row = ((const float *)out.data)[(head * 1000 + i) * 32 + 31];
            float log_sum = ((const float *)lse.data)[head * 1000 + i];
            assert_true(fabs(row - i / 2.0) <= 1e-3);
            assert_true(fabs(log_sum - log(i + 1.0)) <= 1e-5);
        }
    }
    assert_true(((const float *)v.data)[999 * 32] == 999.0f);
    npy_free(&out);
    npy_free(&lse);
    npy_free(&v);
}

/* Both files load, and the topology finds its device. */
static void a_calibration_can_be_read_back(void **state)
{
    char path[128], core[128];
    const char *words[] = {"calibrate", "--seconds", "0.5", "--stamp", "calibration of a test",
                           "--out",     path,        NULL};
    struct config_summary summary;

    (void)state;
    snprintf(core, sizeof core, "%s", result_path("machine-core.yaml"));
    snprintf(path, sizeof path, "%s", result_path("machine.yaml"));
    if (run_ranks(2, 60, words, &outcome, &error) != RING_OK ||
        config_check(path, &summary, &error) != RING_OK)
        fail_msg("%s", error.text);
    assert_int_equal(summary.kind, CONFIG_TOPOLOGY);
    assert_non_null(strstr(summary.text, "2 devices"));
    if (config_check(core, &summary, &error) != RING_OK)
        fail_msg("%s", error.text);
    assert_int_equal(summary.kind, CONFIG_DEVICE);
    char *text = read_text(core);
    assert_non_null(strstr(text, "\n  poll: "));
    assert_non_null(strstr(text, "\n  add: {fp32: "));
    assert_non_null(strstr(text, "\n    forward: {n: "));
    assert_non_null(strstr(text, "\n      reference: {tokens: "));
    free(text);
    text = read_text(path);
    assert_non_null(strstr(text, "# calibration of a test\n"));
    free(text);
}

/* Two spikes and a tie, by hand; 48 kB at 50 GB/s are 0.98304 us. */
static void a_larger_message_never_takes_less(void **state)
{
    const uint64_t sizes[] = {1024, 4096, 16384, 65536};
    double hop_s[] = {4e-6, 70e-6, 8e-6, 8e-6};

    (void)state;
    exec_calibration_level(sizes, hop_s, 4);
    assert_true(hop_s[0] == 4e-6 && hop_s[1] == 8e-6);
    assert_true(fabs(hop_s[2] - 8.24576e-6) < 1e-12);
    assert_true(fabs(hop_s[3] - 9.2288e-6) < 1e-12);
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

static void more_threads_than_cores_are_one_line(void **state)
{
    (void)state;
    assert_refused(2, (const char *const[]){"measure", SCENARIO, "--set", "threads=4096", NULL},
                   "--set threads: found 4096 threads a rank, accepted: 1 to ");
}

static void a_result_that_cannot_be_written_is_one_line(void **state)
{
    (void)state;
    assert_refused(2,
                   (const char *const[]){"calibrate", "--seconds", "0.1", "--out", "/nowhere/m.yaml", NULL},
                   "/nowhere/m");
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
        cmocka_unit_test(threads_and_a_thread_for_messages_change_no_bit),
        cmocka_unit_test(a_measurement_leaves_the_rows_of_every_rank),
        cmocka_unit_test(a_timed_block_takes_its_time),
        cmocka_unit_test(a_dump_is_in_the_order_of_the_whole_sequence),
        cmocka_unit_test(a_calibration_can_be_read_back),
        cmocka_unit_test(a_larger_message_never_takes_less),
        cmocka_unit_test(a_wrong_number_of_ranks_is_one_line),
        cmocka_unit_test(a_bad_scenario_is_one_line),
        cmocka_unit_test(more_threads_than_cores_are_one_line),
        cmocka_unit_test(a_result_that_cannot_be_written_is_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, clean_up);
}
