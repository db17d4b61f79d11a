/* SPDX-License-Identifier: MIT
 *
 * The generator against an independent computation and its statistics, and the number formats against their
 * definitions. */
#include "exec/kernels/data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_all.h"

static const struct data_spec noise = {.kind = DATA_RANDOM, .seed = 1};

/* The recipe of data.c, redone in Python with big integers and numpy's doubles. */
static void values_are_those_of_the_recipe_computed_elsewhere(void **state)
{
    struct data_spec other = {.kind = DATA_RANDOM, .seed = 99};
    (void)state;
    assert_true(data_value(&noise, DATA_Q, 0, 0, 0, 0) == 0x1.1ec2e8d312d9cp+0);
    assert_true(data_value(&noise, DATA_V, 1, 3, 65535, 127) == -0x1.b1956276e8fbbp+0);
    assert_true(data_value(&other, DATA_K, 0, 7, 1ull << 40, 5) == 0x1.934f142011a18p+0);
}

static void random_values_have_mean_0_and_variance_1(void **state)
{
    double sum = 0.0, sum2 = 0.0, across = 0.0, before = 0.0;
    const double n = 200000.0;
    (void)state;
    for (uint64_t position = 0; position < 2000; position++)
        for (uint32_t dim = 0; dim < 100; dim++) {
            double x = data_value(&noise, DATA_K, 0, 1, position, dim);
            assert_true(fabs(x) < 1.7320508075688773);
            sum += x;
            sum2 += x * x;
            across += x * before;
            before = x;
        }
    /* four standard deviations: of x 1, of x^2 0.894, of a product of neighbours 1; each over sqrt(n) */
    assert_true(fabs(sum / n) < 4.0 / sqrt(n));
    assert_true(fabs(sum2 / n - 1.0) < 4.0 * 0.8944 / sqrt(n));
    assert_true(fabs(across / n) < 4.0 / sqrt(n));
}

static void every_coordinate_changes_the_value(void **state)
{
    struct data_spec other = {.kind = DATA_RANDOM, .seed = 2};
    double x = data_value(&noise, DATA_K, 1, 1, 1, 1);
    (void)state;
    assert_true(x != data_value(&other, DATA_K, 1, 1, 1, 1));
    assert_true(x != data_value(&noise, DATA_V, 1, 1, 1, 1));
    assert_true(x != data_value(&noise, DATA_K, 0, 1, 1, 1));
    assert_true(x != data_value(&noise, DATA_K, 1, 0, 1, 1));
    assert_true(x != data_value(&noise, DATA_K, 1, 1, 0, 1));
    assert_true(x != data_value(&noise, DATA_K, 1, 1, 1, 0));
    assert_true(x == data_value(&noise, DATA_K, 1, 1, 1, 1));
}

static void a_ramp_is_zero_in_q_its_position_in_v_one_in_do_and_noise_in_k(void **state)
{
    struct data_spec ramp = {.kind = DATA_RAMP, .seed = 1};
    (void)state;
    assert_true(data_value(&ramp, DATA_Q, 2, 3, 41, 5) == 0.0);
    assert_true(data_value(&ramp, DATA_V, 2, 3, 41, 5) == 41.0);
    assert_true(data_value(&ramp, DATA_DO, 2, 3, 41, 5) == 1.0);
    assert_true(data_value(&ramp, DATA_K, 2, 3, 41, 5) == data_value(&noise, DATA_K, 2, 3, 41, 5));
    assert_string_equal(data_kind_names[DATA_RAMP], "ramp");
}

/* Whoever owns a token, its numbers are the same: element by element against data_value. */
static void a_shard_is_filled_with_the_values_of_its_positions(void **state)
{
    static const struct ring_problem problem = {
        .tokens = 22, .batch = 2, .heads = 4, .kv_heads = 2, .head_dim = 3, .dtype = RING_FP32};
    struct ring_layout layout = {RING_LAYOUT_ZIGZAG, 22, 3};
    (void)state;
    for (int kind = 0; kind < DATA_N_KINDS; kind++)
        for (int tensor = DATA_Q; tensor <= DATA_DO; tensor++)
            for (uint32_t rank = 0; rank < 3; rank++) {
                struct data_spec spec = {(enum data_kind)kind, 7};
                struct ring_shard shard = ring_layout_shard(&layout, rank);
                uint32_t heads = tensor == DATA_K || tensor == DATA_V ? 2 : 4;
                float *filled = malloc(2 * heads * shard.tokens * 3 * sizeof(float));
                size_t at = 0;
                data_fill(&spec, &problem, (enum data_tensor)tensor, &shard, filled);
                for (uint32_t batch = 0; batch < 2; batch++)
                    for (uint32_t head = 0; head < heads; head++)
                        for (uint64_t i = 0; i < shard.tokens; i++)
                            for (uint32_t dim = 0; dim < 3; dim++) {
                                double wanted = data_value(&spec, (enum data_tensor)tensor, batch, head,
                                                           ring_shard_position(&shard, i), dim);
                                assert_true(filled[at++] == (float)wanted);
                            }
                free(filled);
            }
}

/* Every finite number of a 16-bit format survives, a number just off the middle of two goes to the nearer
 * one, and the middle itself to the even one. */
static void assert_rounds_to_nearest_even(enum ring_dtype dtype, uint16_t infinity)
{
    for (uint16_t bits = 0; bits < infinity; bits++) {
        uint16_t next = (uint16_t)(bits + 1), found;
        double low = data_load(dtype, &bits, 0), high = data_load(dtype, &next, 0);
        data_store(dtype, &found, 0, low);
        assert_int_equal(found, bits);
        data_store(dtype, &found, 0, -low);
        assert_int_equal(found, bits | 0x8000);
        if (next == infinity)
            high =
                2.0 * low - data_load(dtype, &(uint16_t){(uint16_t)(bits - 1)}, 0); /* were there one more */
        double middle = low + (high - low) / 2.0;
        data_store(dtype, &found, 0, middle);
        assert_int_equal(found, bits % 2 == 0 ? bits : next);
        data_store(dtype, &found, 0, nextafter(middle, 0.0));
        assert_int_equal(found, bits);
        data_store(dtype, &found, 0, nextafter(middle, INFINITY));
        assert_int_equal(found, next);
    }
}

static void bf16_and_fp16_round_to_nearest_even(void **state)
{
    (void)state;
    assert_rounds_to_nearest_even(RING_BF16, 0x7f80);
    assert_rounds_to_nearest_even(RING_FP16, 0x7c00);
}

static void sixteen_bit_formats_have_their_infinities_and_nans(void **state)
{
    static const enum ring_dtype dtypes[] = {RING_BF16, RING_FP16};
    static const uint16_t infinities[] = {0x7f80, 0x7c00};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        uint16_t found;
        data_store(dtypes[i], &found, 0, INFINITY);
        assert_int_equal(found, infinities[i]);
        data_store(dtypes[i], &found, 0, -1e300);
        assert_int_equal(found, infinities[i] | 0x8000);
        assert_true(data_load(dtypes[i], &found, 0) == -INFINITY);
        data_store(dtypes[i], &found, 0, 5e-324);
        assert_int_equal(found, 0);
        data_store(dtypes[i], &found, 0, NAN);
        assert_true(isnan(data_load(dtypes[i], &found, 0)));
    }
}

/* From the formats' definitions: bf16 is 8 exponent and 7 fraction bits, fp16 5 and 10. */
static void known_numbers_have_their_known_bits(void **state)
{
    uint16_t found;
    (void)state;
    data_store(RING_BF16, &found, 0, 1.0);
    assert_int_equal(found, 0x3f80);
    data_store(RING_BF16, &found, 0, -3.140625);
    assert_int_equal(found, 0xc049);
    data_store(RING_FP16, &found, 0, 1.0);
    assert_int_equal(found, 0x3c00);
    data_store(RING_FP16, &found, 0, 65504.0);
    assert_int_equal(found, 0x7bff);
    data_store(RING_FP16, &found, 0, 0x1p-24);
    assert_int_equal(found, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_those_of_the_recipe_computed_elsewhere),
        cmocka_unit_test(random_values_have_mean_0_and_variance_1),
        cmocka_unit_test(every_coordinate_changes_the_value),
        cmocka_unit_test(a_ramp_is_zero_in_q_its_position_in_v_one_in_do_and_noise_in_k),
        cmocka_unit_test(a_shard_is_filled_with_the_values_of_its_positions),
        cmocka_unit_test(bf16_and_fp16_round_to_nearest_even),
        cmocka_unit_test(sixteen_bit_formats_have_their_infinities_and_nans),
        cmocka_unit_test(known_numbers_have_their_known_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
