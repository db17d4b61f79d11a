/* SPDX-License-Identifier: MIT
 *
 * Whole rings on the CUDA kernels, forward and backward, against attention in one shot in fp64. Inputs of 16
 * bits are rounded again inside (probabilities, ds), which is nearly all of the error: held to
 * 2e-3 in relative Frobenius norm from head_dim 64 on, whatever the number of blocks. */
#include <math.h>
#include <stdio.h>

#include "tests/cuda/device_ring.h"
#include "tests/cuda/memory.h"
#include "tests/support/cmocka_all.h"

static const struct data_spec noise = {.kind = DATA_RANDOM, .seed = 41};
static const double BOUND_16_BITS = 2e-3;

/* For head_dim below 64: short rows average their roundings less, and the error of their norm scatters. */
static const double BOUND_SHORT_ROWS = 2.5e-3;

/* Runs and verifies a ring. */
static struct device_ring_errors errors_of(const struct ring_plan_spec *spec)
{
    struct device_ring ring;
    device_ring_open(&ring, spec, &noise);
    device_ring_run(&ring);
    struct device_ring_errors errors = device_ring_verify(&ring, &noise);
    device_ring_close(&ring);
    printf("%s d=%u %s %s N=%u: out %.2e dQ %.2e dK %.2e dV %.2e, %llu over fp32's bounds\n",
           ring_dtype_names[spec->problem.dtype], spec->problem.head_dim, ring_layout_names[spec->layout],
           ring_mask_names[spec->problem.mask], spec->n_ranks, errors.out, errors.d_q, errors.d_k, errors.d_v,
           (unsigned long long)errors.n_bad);
    return errors;
}

static void must_be_exact_enough(const struct ring_plan_spec *spec)
{
    struct device_ring_errors errors = errors_of(spec);
    double worst = device_ring_worst(&errors),
           bound = spec->problem.head_dim < 64 ? BOUND_SHORT_ROWS : BOUND_16_BITS;
    if (spec->problem.dtype == RING_FP32)
        assert_int_equal(errors.n_bad, 0);
    else
        assert_true(worst > 0.0 && worst <= bound);
}

static void the_error_in_bf16_is_flat_in_the_number_of_blocks(void **state)
{
    double first[4] = {0};
    (void)state;
    for (uint32_t n = 1; n <= 8; n *= 2) {
        struct ring_plan_spec spec = device_ring_spec(n, 256, 2, 1, 64, RING_BF16);
        struct device_ring_errors errors = errors_of(&spec);
        double found[4] = {errors.out, errors.d_q, errors.d_k, errors.d_v};
        assert_true(device_ring_worst(&errors) <= BOUND_16_BITS);
        for (int i = 0; i < 4; i++) {
            first[i] = n == 1 ? found[i] : first[i];
            assert_true(found[i] <= 1.05 * first[i]);
        }
    }
}

static void every_layout_and_mask_is_exact_with_odd_shards(void **state)
{
    (void)state;
    for (int layout = 0; layout < RING_N_LAYOUTS; layout++)
        for (int mask = 0; mask < RING_N_MASKS; mask++) {
            struct ring_plan_spec spec = device_ring_spec(3, 151, 2, 1, 64, RING_BF16);
            spec.layout = (enum ring_layout_kind)layout;
            spec.problem.mask = (enum ring_mask)mask;
            must_be_exact_enough(&spec);
            spec.problem.dtype = RING_FP32;
            must_be_exact_enough(&spec);
        }
}

static void eight_query_heads_share_two_kv_heads_in_two_sequences(void **state)
{
    (void)state;
    struct ring_plan_spec spec = device_ring_spec(2, 90, 8, 2, 64, RING_FP16);
    spec.problem.batch = 2;
    must_be_exact_enough(&spec);
    spec.problem.dtype = RING_FP32;
    must_be_exact_enough(&spec);
}

static void every_head_dim_is_served_in_every_dtype(void **state)
{
    static const enum ring_dtype dtypes[] = {RING_BF16, RING_FP16, RING_FP32};
    static const uint32_t head_dims[] = {8, 64, 72, 128, 200, 256};
    (void)state;
    for (size_t d = 0; d < sizeof(head_dims) / sizeof(head_dims[0]); d++)
        for (size_t i = 0; i < sizeof(dtypes) / sizeof(dtypes[0]); i++) {
            struct ring_plan_spec spec = device_ring_spec(2, 77, 2, 1, head_dims[d], dtypes[i]);
            must_be_exact_enough(&spec);
        }
}

static void gradients_may_travel_in_16_bits(void **state)
{
    static const enum ring_dtype dtypes[] = {RING_BF16, RING_FP16};
    (void)state;
    for (size_t i = 0; i < sizeof(dtypes) / sizeof(dtypes[0]); i++) {
        struct ring_plan_spec spec = device_ring_spec(2, 80, 2, 1, 64, dtypes[i]);
        spec.gradient_dtype = dtypes[i];
        struct device_ring_errors errors = errors_of(&spec);
        /* two roundings of dK and dV more, each of at most 2^-8 or 2^-11, and under half of that in the
         * root mean square */
        double each = dtypes[i] == RING_BF16 ? 0x1p-9 : 0x1p-12;
        assert_true(errors.out <= BOUND_16_BITS && errors.d_q <= BOUND_16_BITS);
        assert_true(fmax(errors.d_k, errors.d_v) <= BOUND_16_BITS + 2.0 * each);
    }
}

static void uniform_weights_give_the_mean_of_what_is_visible(void **state)
{
    static const struct data_spec ramp = {.kind = DATA_RAMP, .seed = 3};
    (void)state;
    struct ring_plan_spec spec = device_ring_spec(4, 100, 2, 1, 64, RING_FP32);
    struct device_ring ring;
    device_ring_open(&ring, &spec, &ramp);
    device_ring_run(&ring);
    for (uint32_t r = 0; r < 4; r++)
        for (size_t i = 0; i < ring.ranks[r].shard.tokens; i++) {
            double at = (double)ring_shard_position(&ring.ranks[r].shard, i);
            assert_true(fabs(ring.ranks[r].host_out[i * 64] - at / 2.0) <= 1e-5 * (1.0 + at));
            assert_true(fabs(ring.ranks[r].host_lse[i] - log(at + 1.0)) <= 1e-5);
        }
    device_ring_close(&ring);
}

/* Four tiles of keys at the least, so that every buffer is filled again after it was read: under the shim a
 * missing barrier or wait changes what comes out. */
static void the_same_bits_come_out_every_time_and_in_every_order_of_warps_and_copies(void **state)
{
    static const struct {
        enum ring_dtype dtype;
        uint32_t head_dim;
    } cases[] = {{RING_BF16, 64}, {RING_BF16, 128}, {RING_FP16, 256}, {RING_FP32, 64}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ring_plan_spec spec = device_ring_spec(1, 203, 1, 1, cases[i].head_dim, cases[i].dtype);
        struct device_ring ring;
        uint64_t first = 0;
        device_ring_open(&ring, &spec, &noise);
        unsigned n_turns = memory_n_ways() > 1 ? memory_n_ways() : 100;
        for (unsigned turn = 0; turn < n_turns; turn++) {
            memory_way(turn % memory_n_ways());
            device_ring_run(&ring);
            first = turn == 0 ? device_ring_checksum(&ring) : first;
            assert_int_equal(device_ring_checksum(&ring), first);
        }
        memory_way(0);
        device_ring_close(&ring);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_error_in_bf16_is_flat_in_the_number_of_blocks),
        cmocka_unit_test(every_layout_and_mask_is_exact_with_odd_shards),
        cmocka_unit_test(eight_query_heads_share_two_kv_heads_in_two_sequences),
        cmocka_unit_test(every_head_dim_is_served_in_every_dtype),
        cmocka_unit_test(gradients_may_travel_in_16_bits),
        cmocka_unit_test(uniform_weights_give_the_mean_of_what_is_visible),
        cmocka_unit_test(the_same_bits_come_out_every_time_and_in_every_order_of_warps_and_copies),
    };
    memory_way(0);
    return device_ring_main(tests);
}
