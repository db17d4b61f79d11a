/* SPDX-License-Identifier: MIT
 *
 * A result goes to a file and comes back the same; what is not a result is refused in one line, whatever was
 * done to it. */
#include "tools/result.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/cmocka_all.h"
#include "tests/tools/sample.h"
#include "tools/file.h"

static char path[] = "/tmp/ringlab-test-XXXXXX";

static int make_path(void **state)
{
    (void)state;
    strcpy(strrchr(path, '-') + 1, "XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    return close(fd);
}

static int remove_path(void **state)
{
    (void)state;
    return unlink(path);
}

static void write_text(const char *text, size_t size)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    fclose(file);
}

/* The sample as a document, freed by the caller. */
static char *sample_text(size_t *size)
{
    struct tool_result result;
    struct ring_error error;
    char *text;
    sample_result(&result);
    assert_int_equal(tool_result_save(&result, true, path, &error), RING_OK);
    tool_result_fini(&result);
    assert_int_equal(tool_file_read(path, 1 << 20, &text, size, &error), RING_OK);
    return text;
}

static void what_was_written_is_read(void **state)
{
    (void)state;
    struct tool_result wrote, result;
    struct ring_error error = {""};
    sample_result(&wrote);
    assert_int_equal(tool_result_save(&wrote, true, path, &error), RING_OK);
    if (tool_result_load(&result, path, &error) != RING_OK)
        fail_msg("%s", error.text);
    assert_string_equal(result.world, "mpi");
    assert_string_equal(result.kernel, "tiled-avx2");
    assert_string_equal(result.question.name, "a sample with \"quotes\"");
    assert_string_equal(result.question.cluster, "/somewhere/two.yaml");
    assert_memory_equal(&result.question.plan.problem, &wrote.question.plan.problem,
                        sizeof result.question.plan.problem);
    assert_int_equal(result.question.plan.layout, RING_LAYOUT_STRIPED);
    assert_int_equal(result.question.plan.n_buffers, 3);
    assert_int_equal(result.question.progress, MODEL_PROGRESS_NONE);
    assert_true(result.question.compute.block_s == 0.0013744); /* to the last bit */
    assert_true(result.question.compute.core_free);
    assert_int_equal(result.question.data.seed, 77);
    assert_true(result.question.measure.timeout_s == 12.5);
    assert_memory_equal(result.steps, wrote.steps, 4 * sizeof *result.steps);
    assert_string_equal(result.ranks[1].device, "core1");
    assert_true(result.ranks[0].wait_s == 0.5);
    assert_int_equal(result.ranks[0].device_memory_bytes, 1 << 30);
    assert_true(result.time_s == 6.5);
    assert_int_equal(result.ranks[0].resident_bytes, 600000);
    assert_int_equal(result.ranks[1].resident_bytes, 0);
    assert_int_equal(result.n_passes, 2);
    assert_int_equal(result.passes[1].pass, RING_PASS_BACKWARD);
    assert_int_equal(result.passes[1].first_step, 1);
    assert_true(result.passes[1].time_s == 2 && result.passes[0].exposed_s == 1);
    assert_true(result.passes[1].bytes_sent == 2000);
    assert_true(result.passes[0].crossover_bytes_per_s == 5e9);
    assert_true(isnan(result.passes[1].crossover_bytes_per_s)); /* null */
    assert_true(result.fit.fits);
    assert_int_equal(result.fit.memory.d_q_bytes, 7);
    assert_int_equal(result.fit.memory.total_bytes, 1007);
    assert_int_equal(result.fit.largest_tokens, 4096);
    assert_int_equal(result.fit.smallest_ranks, 0);
    assert_int_equal(result.n_repeats, 3);
    assert_true(result.repeats_s[1] == 6.25);
    assert_true(result.links[0].bytes_per_s == 500);
    assert_true(result.bound.network_s == 2);
    assert_int_equal(result.verdict.limit, TOOL_LIMIT_NETWORK);
    assert_string_equal(result.verdict.culprit, "core0 -> core1");
    assert_string_equal(result.notes[0], "a note");
    tool_result_fini(&result);
    tool_result_fini(&wrote);
}

static void sums_are_those_of_the_sample(void **state)
{
    (void)state;
    struct tool_result result;
    sample_result(&result);
    assert_true(tool_result_exposed_s(&result) == 1);
    assert_true(tool_result_overlap(&result) == 0.75); /* 1 of 4 s stood exposed */
    assert_true(tool_result_tokens_per_s(&result) == 2 * 4096 / 6.5);
    struct tool_spread spread = tool_result_spread(&result);
    assert_true(spread.min_s == 6.25 && spread.median_s == 6.5 && spread.max_s == 7);
    result.moving_s = 0;
    assert_true(isnan(tool_result_overlap(&result)));
    tool_result_fini(&result);
}

static void the_document_has_the_keys_that_others_rely_on(void **state)
{
    (void)state;
    size_t size;
    char *text = sample_text(&size);
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    static const char *const keys[] = {"schema", "world", "scenario", "time_s", "repeats",
                                       "steps",  "ranks", "links",    "bound",  "verdict"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        assert_non_null(json_object_get(root, keys[i]));
    json_t *repeats = json_object_get(root, "repeats");
    assert_true(json_real_value(json_object_get(repeats, "median")) == 6.5);
    json_t *rank = json_array_get(json_object_get(root, "ranks"), 0);
    assert_int_equal(json_integer_value(json_object_get(rank, "bytes_sent")), 1000);
    json_t *verdict = json_object_get(root, "verdict");
    assert_string_equal(json_string_value(json_object_get(verdict, "limit")), "network");
    json_decref(root);
    free(text);
}

static void a_document_cut_anywhere_is_refused(void **state)
{
    (void)state;
    size_t size;
    char *text = sample_text(&size);
    for (size_t cut = 0; cut + 2 < size;
         cut += cut % 7 + 1) { /* the last two are the brace and the newline */
        struct tool_result result;
        struct ring_error error = {""};
        write_text(text, cut);
        assert_int_equal(tool_result_load(&result, path, &error), RING_BAD_INPUT);
        assert_non_null(strstr(error.text, path));
        assert_null(strchr(error.text, '\n'));
    }
    free(text);
}

/* Loads the document; whatever comes back, nothing may be read that is not there. */
static enum ring_status try_document(const json_t *root)
{
    struct tool_result result;
    struct ring_error error = {""};
    char *text = json_dumps(root, 0);
    write_text(text, strlen(text));
    free(text);
    enum ring_status status = tool_result_load(&result, path, &error);
    if (status == RING_OK)
        tool_result_fini(&result);
    else
        assert_null(strchr(error.text, '\n'));
    return status;
}

/* Puts each kind of wrong value in place of a member, takes it out, and puts it back. */
static void spoil_member(json_t *root, json_t *node, const char *key, size_t *n_refused)
{
    json_t *kept = json_incref(json_object_get(node, key));
    json_t *wrong[] = {json_null(),  json_integer(-1), json_string("odd"),
                       json_array(), json_object(),    json_real(1e308),
                       NULL};
    for (size_t i = 0; wrong[i] != NULL; i++) {
        json_object_set_new(node, key, wrong[i]);
        *n_refused += try_document(root) != RING_OK;
    }
    json_object_del(node, key);
    *n_refused += try_document(root) != RING_OK;
    json_object_set_new(node, key, kept);
}

/* Does so with every member below node, and with those of the first row of each list. */
static void spoil(json_t *root, json_t *node, size_t *n_refused)
{
    char keys[40][32];
    size_t n = 0;
    for (void *at = json_object_iter(node); at != NULL && n < 40; at = json_object_iter_next(node, at))
        snprintf(keys[n++], sizeof keys[0], "%s", json_object_iter_key(at));
    for (size_t i = 0; i < n; i++) {
        json_t *value = json_object_get(node, keys[i]);
        if (json_is_object(value))
            spoil(root, value, n_refused);
        if (json_is_object(json_array_get(value, 0)))
            spoil(root, json_array_get(value, 0), n_refused);
        spoil_member(root, node, keys[i], n_refused);
    }
}

static void a_document_with_any_wrong_value_never_crashes(void **state)
{
    (void)state;
    size_t size, n_refused = 0;
    char *text = sample_text(&size);
    json_t *root = json_loads(text, 0, NULL);
    spoil(root, root, &n_refused);
    assert_true(n_refused > 200);
    assert_int_equal(try_document(root), RING_OK); /* all put back */
    json_decref(root);
    free(text);
}

static void control_characters_do_not_survive_in_names(void **state)
{
    (void)state;
    struct tool_result result;
    tool_result_init(&result);
    assert_string_equal(tool_result_keep(&result, "a\033[2Jb\n"), "a?[2Jb?");
    tool_result_fini(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_read),
        cmocka_unit_test(sums_are_those_of_the_sample),
        cmocka_unit_test(the_document_has_the_keys_that_others_rely_on),
        cmocka_unit_test(a_document_cut_anywhere_is_refused),
        cmocka_unit_test(a_document_with_any_wrong_value_never_crashes),
        cmocka_unit_test(control_characters_do_not_survive_in_names),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
