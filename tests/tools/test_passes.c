/* SPDX-License-Identifier: MIT
 *
 * A step that runs forward and then backward is split into its passes, and bytes are held to the plan. */
#include "tools/passes.h"

#include <math.h>
#include <stdlib.h>

#include "tests/support/cmocka_all.h"

/* Two ranks of 8 tokens each, 1 head of 4, fp32: K and V of a block are 2 * 8 * 4 * 4 = 256 bytes, and so are
 * dK and dV. Steps: 2 forward, 3 backward. */
static void make_plan(struct ring_plan *plan, enum ring_pass pass)
{
    const struct ring_plan_spec spec = {.strategy = "ring",
                                        .problem = {16, 1, 1, 1, 4, RING_FP32, RING_MASK_FULL},
                                        .layout = RING_LAYOUT_CONTIGUOUS,
                                        .pass = pass,
                                        .n_ranks = 2,
                                        .n_buffers = 2,
                                        .gradient_dtype = RING_FP32};
    assert_int_equal(ring_plan_init(plan, &spec, NULL), RING_OK);
}

/* Rank 0 ends its forward steps at 5 and rank 1 at 6; all is over at 16. */
static const struct ring_parts steps[2][5] = {
    {{0, 2, 2, 0, 0, 0}, {2, 5, 2, 1, 0, 0}, {5, 9, 4, 0, 0, 0}, {9, 14, 4, 1, 0, 0}, {14, 16, 0, 2, 0, 0}},
    {{0, 3, 3, 0, 0, 0}, {3, 6, 3, 0, 0, 0}, {6, 9, 3, 0, 0, 0}, {9, 12, 3, 0, 0, 0}, {12, 15, 0, 1, 2, 0}},
};

static void each_pass_has_its_time_its_transfer_and_its_bytes(void **state)
{
    struct tool_result result;
    struct ring_plan plan;
    struct ring_error error;
    (void)state;
    make_plan(&plan, RING_PASS_BOTH);
    tool_result_init(&result);
    assert_int_equal(tool_result_allocate(&result, 2, 5, false, &error), RING_OK);
    tool_passes_init(&result, &plan);
    tool_passes_of_steps(&result, &steps[0][0]);
    assert_int_equal(result.n_passes, 2);
    assert_true(result.passes[0].time_s == 6 && result.passes[1].time_s == 10);
    assert_true(result.passes[0].compute_s == 6 && result.passes[1].compute_s == 8);
    assert_true(result.passes[0].exposed_s == 1 && result.passes[1].exposed_s == 3);
    assert_true(result.passes[0].bytes_sent == 256);           /* one block */
    assert_true(result.passes[1].bytes_sent == 256 + 2 * 256); /* one block, and two hops of a gradient */
    assert_true(tool_passes_ratio(&result) == 10.0 / 6);
    tool_result_fini(&result);
}

static void sums_give_the_same_as_steps(void **state)
{
    const struct ring_parts forward[] = {{0, 5, 4, 1, 0, 0}, {0, 6, 6, 0, 0, 0}};
    struct tool_result result;
    struct ring_plan plan;
    struct ring_error error;
    (void)state;
    make_plan(&plan, RING_PASS_BOTH);
    tool_result_init(&result);
    assert_int_equal(tool_result_allocate(&result, 2, 5, false, &error), RING_OK);
    result.time_s = 16;
    result.ranks[0] = (struct tool_rank){.compute_s = 12, .transfer_s = 4, .end_s = 16};
    result.ranks[1] = (struct tool_rank){.compute_s = 12, .transfer_s = 1, .wait_s = 2, .end_s = 15};
    tool_passes_init(&result, &plan);
    tool_passes_of_totals(&result, forward);
    assert_true(result.passes[0].time_s == 6 && result.passes[1].time_s == 10);
    assert_true(result.passes[0].compute_s == 6 && result.passes[1].compute_s == 8);
    assert_true(result.passes[0].exposed_s == 1 && result.passes[1].exposed_s == 3);
    tool_result_fini(&result);
}

static void one_pass_alone_is_the_whole_step(void **state)
{
    struct tool_result result;
    struct ring_plan plan;
    struct ring_error error;
    (void)state;
    make_plan(&plan, RING_PASS_BACKWARD);
    tool_result_init(&result);
    assert_int_equal(tool_result_allocate(&result, 2, 3, false, &error), RING_OK);
    result.time_s = 10;
    result.ranks[0] = (struct tool_rank){.compute_s = 8, .transfer_s = 2, .end_s = 10};
    tool_passes_init(&result, &plan);
    tool_passes_of_totals(&result, NULL);
    assert_int_equal(result.n_passes, 1);
    assert_int_equal(result.passes[0].pass, RING_PASS_BACKWARD);
    assert_int_equal(result.passes[0].n_steps, 3);
    assert_true(result.passes[0].time_s == 10 && result.passes[0].exposed_s == 2);
    assert_true(isnan(tool_passes_ratio(&result)));
    tool_result_fini(&result);
}

/* All that a rank sends: its block at step 0; the other's block at step 2; gradients at steps 3 and 4. */
static void add_sends(struct ring_trace *rows, uint32_t rank, uint64_t last_bytes)
{
    const uint32_t at[] = {0, 2, 3, 4};
    for (int i = 0; i < 4; i++) {
        struct ring_trace_row row = {.kind = RING_TRACE_SEND,
                                     .payload = i < 2 ? RING_KV : RING_GRADIENT,
                                     .rank = rank,
                                     .peer = 1 - rank,
                                     .step = at[i],
                                     .amount = i < 3 ? 256 : last_bytes};
        assert_int_equal(ring_trace_append(rows, &row), RING_OK);
    }
}

static void bytes_that_the_plan_does_not_have_are_an_error(void **state)
{
    struct ring_trace rows;
    struct ring_plan plan;
    struct ring_error error;
    (void)state;
    make_plan(&plan, RING_PASS_BOTH);
    ring_trace_init(&rows);
    add_sends(&rows, 0, 256);
    add_sends(&rows, 1, 256);
    assert_int_equal(tool_passes_check(&plan, &rows, &error), RING_OK);
    ring_trace_fini(&rows);
    ring_trace_init(&rows);
    add_sends(&rows, 0, 256);
    add_sends(&rows, 1, 128); /* as if it had travelled in 16 bits */
    assert_int_equal(tool_passes_check(&plan, &rows, &error), RING_WORLD);
    assert_string_equal(error.text, "rank 1 sent 640 bytes in the backward pass, its plan says 768");
    ring_trace_fini(&rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_pass_has_its_time_its_transfer_and_its_bytes),
        cmocka_unit_test(sums_give_the_same_as_steps),
        cmocka_unit_test(one_pass_alone_is_the_whole_step),
        cmocka_unit_test(bytes_that_the_plan_does_not_have_are_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
