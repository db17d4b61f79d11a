/* SPDX-License-Identifier: MIT
 *
 * Device files, field by field. */
#include "tests/config/support.h"

static const struct model_device *read_device(struct config_reader *reader, const char *path)
{
    static struct ring_error error;

    assert_int_equal(config_reader_open(reader, &error), RING_OK);
    const struct config_node *root = config_load_tree(reader, path, NULL);
    const struct model_device *device = root ? config_read_device(reader, root) : NULL;
    if (!device)
        fail_msg("%s", error.text);
    return device;
}

static void every_figure_comes_out_in_si(void **state)
{
    struct config_reader reader;
    const struct model_device *device = read_device(&reader, FILES "gpu.yaml");

    (void)state;
    assert_string_equal(device->name, "test-gpu");
    assert_string_equal(device->source, "made up");
    assert_true(device->memory_bytes == UINT64_C(80000000000));
    assert_true(device->memory_bytes_per_s == 2e12);
    assert_true(device->peak_flop_per_s[RING_BF16] == 400e12);
    assert_true(device->peak_flop_per_s[RING_FP32] == 20e12);
    assert_true(device->peak_flop_per_s[RING_FP64] == 0);
    assert_true(device->step_s == 10e-6);
    assert_true(device->merge_bytes_per_element == 28);
    assert_int_equal(device->n_curves, 2);
    config_reader_close(&reader);
}

static void what_a_calibration_says_of_itself_comes_out(void **state)
{
    struct config_reader reader;
    const struct model_device *device = read_device(&reader, FILES "gpu.yaml");

    (void)state;
    assert_true(device->add_bytes_per_s[RING_FP32] == 1.5e12 && device->add_bytes_per_s[RING_BF16] == 1e12);
    assert_true(device->prepare_bytes_per_s[RING_BF16] == 3e12 &&
                device->prepare_bytes_per_s[RING_FP32] == 0);
    assert_true(device->poll_s == 2e-6);
    assert_true(device->curves[0].reference_tokens == 2048 && device->curves[0].reference_s == 4e-3);
    assert_true(device->curves[1].reference_tokens == 0 && device->curves[1].reference_s == 0);
    const struct model_grade *forward = &device->grades[MODEL_GRADE_FORWARD];
    assert_int_equal(forward->n, 52);
    assert_true(forward->median == 0.015 && forward->p95 == 0.04 && forward->worst == 0.08);
    assert_true(forward->bias == -0.005);
    assert_int_equal(device->grades[MODEL_GRADE_BACKWARD].n, 0);
    assert_true(device->grades[MODEL_GRADE_HOPS].bias == 0.01);
    config_reader_close(&reader);
}

static void a_square_curve_has_one_column(void **state)
{
    struct config_reader reader;
    const struct model_curve *curve = &read_device(&reader, FILES "gpu.yaml")->curves[0];

    (void)state;
    assert_int_equal(curve->pass, RING_PASS_FORWARD);
    assert_int_equal(curve->dtype, RING_BF16);
    assert_int_equal(curve->head_dim, 128);
    assert_true(curve->causal);
    assert_true(curve->square);
    assert_int_equal(curve->n_q, 3);
    assert_int_equal(curve->n_k, 1);
    assert_null(curve->k_tokens);
    assert_true(curve->q_tokens[0] == 1024 && curve->q_tokens[2] == 16384);
    assert_true(curve->rates_flop_per_s[0] == 100e12 && curve->rates_flop_per_s[2] == 300e12);
    assert_string_equal(curve->source, "made up");
    config_reader_close(&reader);
}

static void a_table_has_a_row_a_query_size(void **state)
{
    struct config_reader reader;
    const struct model_curve *curve = &read_device(&reader, FILES "gpu.yaml")->curves[1];

    (void)state;
    assert_false(curve->square);
    assert_false(curve->causal);
    assert_int_equal(curve->n_q, 2);
    assert_int_equal(curve->n_k, 3);
    assert_true(curve->k_tokens[1] == 512);
    assert_true(curve->rates_flop_per_s[0 * 3 + 2] == 42e9);
    assert_true(curve->rates_flop_per_s[1 * 3 + 0] == 43e9);
    config_reader_close(&reader);
}

static void a_device_may_have_nothing_but_a_name(void **state)
{
    static const char text[] = "device: {name: \"two\\nlines\"}";
    struct config_reader reader;
    const struct model_device *device = read_device(&reader, test_file("d.yaml", text, sizeof text - 1));

    (void)state;
    assert_string_equal(device->name, "two lines");
    assert_null(device->source);
    assert_true(device->memory_bytes == 0);
    assert_int_equal(device->n_curves, 0);
    config_reader_close(&reader);
}

static void a_table_that_claims_to_be_huge_is_refused_before_it_is_made(void **state)
{
    char *text = malloc(1 << 20);
    struct config_summary summary;
    struct ring_error error = {""};

    (void)state;
    assert_non_null(text);
    size_t n = (size_t)sprintf(
        text, "device:\n  name: d\n  curves:\n    - {dtype: bf16, head_dim: 64, blocks: full,\n"
              "       q_tokens: &sizes [");
    for (int i = 1; i <= 100000; i++)
        n += (size_t)sprintf(text + n, "%d%s", i, i < 100000 ? "," : "],\n");
    n += (size_t)sprintf(text + n, "       k_tokens: *sizes,\n       rates: [[1 FLOP/s]]}\n");
    assert_int_equal(config_check(test_file("d.yaml", text, n), &summary, &error), RING_BAD_INPUT);
    assert_non_null(strstr(error.text, "rates: found 1, accepted: 100000"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_figure_comes_out_in_si),
        cmocka_unit_test(what_a_calibration_says_of_itself_comes_out),
        cmocka_unit_test(a_square_curve_has_one_column),
        cmocka_unit_test(a_table_has_a_row_a_query_size),
        cmocka_unit_test(a_device_may_have_nothing_but_a_name),
        cmocka_unit_test(a_table_that_claims_to_be_huge_is_refused_before_it_is_made),
    };
    return cmocka_run_group_tests(tests, NULL, test_remove_folder);
}
