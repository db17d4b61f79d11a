/* SPDX-License-Identifier: MIT
 *
 * Single calls of cuda_block.h where the answer is known without arithmetic: what is hidden, what is empty,
 * what is refused, and what the CPU's functions round to. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exec/kernels/gradient.h"
#include "tests/cuda/device_ring.h"
#include "tests/cuda/memory.h"
#include "tests/support/cmocka_all.h"

static const struct data_spec noise = {.kind = DATA_RANDOM, .seed = 7};
static const enum ring_dtype dtypes[] = {RING_BF16, RING_FP16, RING_FP32};
enum { N_DTYPES = 3 };

static void must(enum ring_status status, const struct ring_error *error)
{
    if (status != RING_OK)
        fail_msg("%s", error->text);
}

/* Copies of device arrays, on the host; the caller frees them. */
static float *got(const float *device, size_t n)
{
    float *host = calloc(n, sizeof(float));
    assert_non_null(host);
    memory_get(host, device, n * sizeof(float));
    return host;
}

static void assert_all(const float *device, size_t n, float wanted)
{
    float *host = got(device, n);
    for (size_t i = 0; i < n; i++)
        if (memcmp(&host[i], &wanted, sizeof(wanted)) != 0)
            fail_msg("number %zu of %zu is %g, wanted %g", i, n, (double)host[i], (double)wanted);
    free(host);
}

/* A contiguous ring of two under a causal mask: rank 0 sees nothing of block 1. */
static void open_two(struct device_ring *ring, enum ring_dtype dtype, uint32_t head_dim)
{
    struct ring_plan_spec spec = device_ring_spec(2, 70, 2, 1, head_dim, dtype);
    spec.layout = RING_LAYOUT_CONTIGUOUS;
    device_ring_open(ring, &spec, &noise);
}

static void a_block_that_no_query_sees_changes_no_bit_and_contributes_zeros(void **state)
{
    (void)state;
    for (int i = 0; i < N_DTYPES; i++) {
        struct device_ring ring;
        struct ring_error error = {{0}};
        open_two(&ring, dtypes[i], 64);
        struct device_rank *rank = &ring.ranks[0];
        struct cuda_block own = device_ring_block(&ring, 0, 0), hidden = device_ring_block(&ring, 0, 1);
        must(cuda_block_forward(&own, true, NULL, &error), &error);
        must(cuda_block_prepare(&own, NULL, &error), &error);
        must(cuda_block_backward(&own, true, NULL, &error), &error);
        float *m = got(rank->m, rank->n_rows), *l = got(rank->l, rank->n_rows), *o = got(rank->o, rank->n_q);
        float *d_q = got(rank->d_q, rank->n_q);
        must(cuda_block_forward(&hidden, false, NULL, &error), &error);
        must(cuda_block_backward(&hidden, false, NULL, &error), &error);
        float *after[] = {got(rank->m, rank->n_rows), got(rank->l, rank->n_rows), got(rank->o, rank->n_q),
                          got(rank->d_q, rank->n_q)};
        assert_memory_equal(after[0], m, rank->n_rows * sizeof(float));
        assert_memory_equal(after[1], l, rank->n_rows * sizeof(float));
        assert_memory_equal(after[2], o, rank->n_q * sizeof(float));
        assert_memory_equal(after[3], d_q, rank->n_q * sizeof(float));
        assert_all(rank->contribution, 2 * ring.ranks[1].n_kv, 0.0f);
        float *all[] = {m, l, o, d_q, after[0], after[1], after[2], after[3]};
        for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++)
            free(all[k]);
        device_ring_close(&ring);
    }
}

static void assert_empty(const struct device_rank *rank)
{
    assert_all(rank->m, rank->n_rows, -INFINITY);
    assert_all(rank->l, rank->n_rows, 0.0f);
    assert_all(rank->o, rank->n_q, 0.0f);
}

static void a_row_that_saw_no_key_gives_zero_and_minus_infinity_and_no_gradient(void **state)
{
    static const uint32_t head_dims[] = {64, 128, 256};
    (void)state;
    for (int i = 0; i < 3 * N_DTYPES; i++) {
        struct device_ring ring;
        struct ring_error error = {{0}};
        open_two(&ring, dtypes[i % 3], head_dims[i / 3]);
        struct device_rank *rank = &ring.ranks[0];
        struct cuda_block hidden = device_ring_block(&ring, 0, 1);
        must(cuda_block_clear(&hidden, NULL, &error), &error);
        assert_empty(rank);
        must(cuda_block_forward(&hidden, false, NULL, &error), &error);
        assert_empty(rank);
        memory_give(rank->m); /* NaN again */
        hidden.m = rank->m = memory_take(rank->n_rows * sizeof(float));
        must(cuda_block_forward(&hidden, true, NULL, &error), &error);
        assert_empty(rank);
        must(cuda_block_finish(&hidden, rank->out, NULL, &error), &error);
        assert_all(rank->out, rank->n_q, 0.0f);
        assert_all(rank->lse, rank->n_rows, -INFINITY);
        must(cuda_block_prepare(&hidden, NULL, &error), &error);
        assert_all(rank->lse, rank->n_rows, -INFINITY);
        assert_all(rank->delta, rank->n_rows, 0.0f);
        must(cuda_block_backward(&hidden, true, NULL, &error), &error);
        assert_all(rank->d_q, rank->n_q, 0.0f);
        assert_all(rank->contribution, 2 * ring.ranks[1].n_kv, 0.0f);
        device_ring_close(&ring);
    }
}

static void rows_without_a_key_stand_beside_rows_with_some(void **state)
{
    (void)state;
    for (int i = 0; i < N_DTYPES; i++) {
        struct device_ring ring;
        struct ring_error error = {{0}};
        open_two(&ring, dtypes[i], 64);
        struct device_rank *rank = &ring.ranks[0];
        struct cuda_block block = device_ring_block(&ring, 0, 0);
        block.keys.runs[0].first = 20; /* as if the block's first key were the 20th token */
        must(cuda_block_forward(&block, true, NULL, &error), &error);
        must(cuda_block_finish(&block, rank->out, NULL, &error), &error);
        must(cuda_block_prepare(&block, NULL, &error), &error);
        must(cuda_block_backward(&block, true, NULL, &error), &error);
        float *out = got(rank->out, rank->n_q), *lse = got(rank->lse, rank->n_rows);
        float *d_q = got(rank->d_q, rank->n_q);
        float *d_kv = got(rank->contribution, 2 * rank->n_kv);
        for (size_t row = 0; row < rank->n_rows; row++)
            for (size_t c = 0; c < 64; c++) {
                bool empty = row % rank->shard.tokens < 20;
                assert_true(empty ? isinf(lse[row]) && out[row * 64 + c] == 0.0f && d_q[row * 64 + c] == 0.0f
                                  : isfinite(lse[row]) && out[row * 64 + c] != 0.0f &&
                                        isfinite(d_q[row * 64 + c]));
            }
        for (size_t k = 0; k < 2 * rank->n_kv; k++) /* keys 15 on are at 35 on: after every query */
            assert_true(k % rank->n_kv / 64 >= 15 ? d_kv[k] == 0.0f : isfinite(d_kv[k]));
        free(out);
        free(lse);
        free(d_q);
        free(d_kv);
        device_ring_close(&ring);
    }
}

static void weights_sum_to_one_however_large_the_logits(void **state)
{
    (void)state;
    for (int i = 0; i < N_DTYPES; i++) {
        struct ring_plan_spec spec = device_ring_spec(1, 90, 2, 1, 64, dtypes[i]);
        struct device_ring ring;
        struct ring_error error = {{0}};
        device_ring_open(&ring, &spec, &noise);
        struct device_rank *rank = &ring.ranks[0];
        size_t element = ring_dtype_bytes(dtypes[i]);
        void *ones = calloc(rank->n_kv, element);
        for (size_t k = 0; k < rank->n_kv; k++)
            data_store(dtypes[i], ones, k, 1.0);
        memory_put((char *)rank->kv + rank->n_kv * element, ones, rank->n_kv * element);
        free(ones);
        struct cuda_block block = device_ring_block(&ring, 0, 0);
        block.scale = 30.0; /* logits of several hundred, apart by as much */
        must(cuda_block_forward(&block, true, NULL, &error), &error);
        must(cuda_block_finish(&block, rank->out, NULL, &error), &error);
        float *out = got(rank->out, rank->n_q);
        for (size_t k = 0; k < rank->n_q; k++) /* a weight is rounded by at most 2^-8 of itself in bf16 */
            assert_true(fabs((double)out[k] - 1.0) <= (dtypes[i] == RING_FP32 ? 1e-6 : 0x1p-8));
        free(out);
        device_ring_close(&ring);
    }
}

static unsigned long long instructions_of_forward(enum ring_mask mask, uint32_t head_dim)
{
    struct ring_plan_spec spec = device_ring_spec(1, 512, 1, 1, head_dim, RING_BF16);
    struct device_ring ring;
    spec.problem.mask = mask;
    spec.pass = RING_PASS_FORWARD;
    unsigned long long before = memory_instructions();
    device_ring_open(&ring, &spec, &noise);
    device_ring_run(&ring);
    device_ring_close(&ring);
    return memory_instructions() - before;
}

static void tiles_that_the_mask_hides_cost_nothing(void **state)
{
    (void)state;
    /* Of 512 x 512 pairs 50.1 % are visible; 16- or 32-row strips that stop at a whole tile of 64 or 32 keys
     * see at most 59 %. */
    unsigned long long full = instructions_of_forward(RING_MASK_FULL, 64);
    assert_true(instructions_of_forward(RING_MASK_CAUSAL, 64) * 100 <= full * 60);
}

static void an_addition_rounds_as_the_cpu_does(void **state)
{
    enum { N = 1003 };
    static float contribution[N];
    (void)state;
    for (int i = 0; i < N; i++)
        contribution[i] = (float)data_value(&noise, DATA_V, 0, 0, (uint64_t)i, 0);
    for (int i = 0; i < 2 * N_DTYPES; i++) {
        enum ring_dtype dtype = dtypes[i / 2];
        struct ring_error error = {{0}};
        size_t bytes = N * ring_dtype_bytes(dtype);
        void *wanted = calloc(N, 4), *found = calloc(N, 4);
        void *on_device = memory_take(bytes);
        float *added = memory_take(sizeof(contribution));
        for (size_t k = 0; k < N; k++)
            data_store(dtype, wanted, k, data_value(&noise, DATA_K, 0, 0, k, 0));
        memory_put(on_device, wanted, bytes);
        memory_put(added, contribution, sizeof(contribution));
        block_gradient_add(dtype, wanted, RING_FP32, contribution, N, i % 2 == 0);
        must(cuda_block_add(dtype, on_device, added, N, i % 2 == 0, NULL, &error), &error);
        memory_get(found, on_device, bytes);
        assert_memory_equal(found, wanted, bytes);
        memory_give(on_device);
        memory_give(added);
        free(wanted);
        free(found);
    }
}

/* Each change to a good block must be refused with a line that has these words. */
static void assert_refused(const struct cuda_block *block, enum ring_status status, const char *words)
{
    struct ring_error error = {{0}};
    assert_int_equal(cuda_block_forward(block, true, NULL, &error), status);
    if (strstr(error.text, words) == NULL)
        fail_msg("found \"%s\", wanted \"%s\" in it", error.text, words);
}

static void what_the_kernels_do_not_serve_is_refused_in_one_line(void **state)
{
    (void)state;
    struct device_ring ring;
    open_two(&ring, RING_BF16, 64);
    struct cuda_block good = device_ring_block(&ring, 0, 0), bad = good;
    bad.dtype = RING_FP64;
    assert_refused(&bad, RING_UNSUPPORTED, "fp64 with head_dim 64");
    bad = good, bad.head_dim = 12;
    assert_refused(&bad, RING_UNSUPPORTED,
                   "head_dim 12; they serve bf16, fp16 and fp32 with a multiple of 8");
    bad = good, bad.head_dim = 264;
    assert_refused(&bad, RING_UNSUPPORTED, "head_dim 264");
    bad = good, bad.kv_heads = 3;
    assert_refused(&bad, RING_UNSUPPORTED, "2 heads, 3 kv heads");
    bad = good, bad.batch = 70000;
    assert_refused(&bad, RING_UNSUPPORTED, "batch 70000");
    bad = good, bad.scale = 0.0;
    assert_refused(&bad, RING_BAD_INPUT, "a scale of 0");
    bad = good, bad.keys.runs[0].first = 1ull << 31;
    assert_refused(&bad, RING_UNSUPPORTED, "positions below 2^30");
    bad = good, bad.k = NULL;
    assert_refused(&bad, RING_BAD_INPUT, "forward block: k is ");
    bad = good, bad.q = (const char *)good.q + 2;
    assert_refused(&bad, RING_BAD_INPUT, "a multiple of 16");
    struct ring_error error = {{0}};
    assert_int_equal(cuda_block_add(RING_FP64, good.o, good.o, 1, true, NULL, &error), RING_UNSUPPORTED);
    assert_true(cuda_block_supports(RING_FP16, 8) && !cuda_block_supports(RING_FP16, 0));
    device_ring_close(&ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_that_no_query_sees_changes_no_bit_and_contributes_zeros),
        cmocka_unit_test(a_row_that_saw_no_key_gives_zero_and_minus_infinity_and_no_gradient),
        cmocka_unit_test(rows_without_a_key_stand_beside_rows_with_some),
        cmocka_unit_test(weights_sum_to_one_however_large_the_logits),
        cmocka_unit_test(tiles_that_the_mask_hides_cost_nothing),
        cmocka_unit_test(an_addition_rounds_as_the_cpu_does),
        cmocka_unit_test(what_the_kernels_do_not_serve_is_refused_in_one_line),
    };
    memory_way(0);
    return device_ring_main(tests);
}
