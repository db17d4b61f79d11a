/* SPDX-License-Identifier: MIT
 *
 * What the model says a rank holds against what the kernels that really run take: their own counts byte for
 * byte, and the heap, which also has tables and scratch. */
#include <malloc.h>
#include <stdlib.h>

#include "exec/kernels/attention.h"
#include "models/memory.h"
#include "tests/support/cmocka_all.h"

/* Large enough that what arrays lose to whole large pages is little. */
static void make_plan(struct ring_plan *plan, enum ring_pass pass, enum ring_dtype dtype, bool keep_kv)
{
    const struct ring_plan_spec spec = {.strategy = "ring",
                                        .problem = {.tokens = 131120,
                                                    .batch = 1,
                                                    .heads = 8,
                                                    .kv_heads = 2,
                                                    .head_dim = 64,
                                                    .dtype = dtype,
                                                    .mask = RING_MASK_CAUSAL},
                                        .layout = RING_LAYOUT_ZIGZAG,
                                        .pass = pass,
                                        .n_ranks = 4,
                                        .n_buffers = 2,
                                        .gradient_dtype = RING_FP32,
                                        .keep_kv = keep_kv};

    assert_int_equal(ring_plan_init(plan, &spec, NULL), RING_OK);
}

static void assert_counts(enum ring_pass pass, enum ring_dtype dtype, bool keep_kv)
{
    struct ring_plan plan;

    make_plan(&plan, pass, dtype, keep_kv);
    const struct block_kernel *kernel = block_kernel_find(NULL, dtype, 64);
    assert_non_null(kernel);
    for (uint32_t rank = 0; rank < plan.n_ranks; rank++) {
        struct model_memory memory = model_ring_memory(&plan, rank);
        uint64_t slot_bytes = 0;
        for (uint32_t slot = 0; slot < plan.n_slots; slot++)
            slot_bytes += ring_plan_slot_bytes(&plan, rank, slot);
        assert_int_equal(memory.kv_bytes + memory.buffer_bytes + memory.contribution_bytes +
                             memory.gradient_bytes + memory.own_gradient_bytes,
                         slot_bytes);
        assert_int_equal(memory.state_bytes, attention_state_bytes(&plan, rank, kernel->state));
        if (pass != RING_PASS_FORWARD)
            assert_int_equal(memory.d_q_bytes + memory.lse_bytes + memory.delta_bytes,
                             attention_backward_bytes(&plan, rank, kernel->state));
    }
}

static void the_kernels_count_the_same_bytes(void **state)
{
    const enum ring_dtype dtypes[] = {RING_FP64, RING_FP32, RING_BF16};

    (void)state;
    for (int pass = 0; pass < RING_N_PASSES; pass++)
        for (int i = 0; i < 3; i++)
            assert_counts((enum ring_pass)pass, dtypes[i], false);
    assert_counts(RING_PASS_BOTH, RING_BF16, true);
}

#ifndef __SANITIZE_ADDRESS__
static size_t heap_bytes(void)
{
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

/* Everything that a rank of a measured run opens, as exec/ opens it; how much the heap grew. */
static double opened_bytes(const struct ring_plan *plan, uint32_t rank)
{
    uint64_t q_bytes = model_ring_memory(plan, rank).q_bytes;
    void *slots[32], *q, *d_out = NULL;
    struct attention *attention;
    struct ring_error error;
    size_t before = heap_bytes();

    assert_true(plan->n_slots <= 32);
    for (uint32_t slot = 0; slot < plan->n_slots; slot++)
        slots[slot] = calloc(1, ring_plan_slot_bytes(plan, rank, slot));
    q = calloc(1, q_bytes);
    const struct block_kernel *kernel = block_kernel_find(NULL, plan->problem.dtype, plan->problem.head_dim);
    assert_int_equal(attention_open(&attention, plan, rank, kernel, q, false, &error), RING_OK);
    if (plan->pass != RING_PASS_FORWARD) {
        d_out = calloc(1, q_bytes);
        assert_int_equal(attention_open_backward(attention, d_out, &error), RING_OK);
    }
    size_t after = heap_bytes();
    attention_close(attention);
    for (uint32_t slot = 0; slot < plan->n_slots; slot++)
        free(slots[slot]);
    free(q);
    free(d_out);
    return (double)(after - before);
}

static void the_heap_grows_by_what_the_model_says_and_some_tables(void **state)
{
    (void)state;
    for (int pass = 0; pass < RING_N_PASSES; pass++) {
        struct ring_plan plan;
        make_plan(&plan, (enum ring_pass)pass, RING_BF16, false);
        double said = (double)model_ring_memory(&plan, 2).run_bytes, opened = opened_bytes(&plan, 2);
        print_message("%s: %.0f bytes said, %.0f opened\n", ring_pass_names[pass], said, opened);
        assert_true(opened >= said);
        assert_true(opened <= 1.05 * said);
    }
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kernels_count_the_same_bytes),
#ifndef __SANITIZE_ADDRESS__
        cmocka_unit_test(the_heap_grows_by_what_the_model_says_and_some_tables),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
