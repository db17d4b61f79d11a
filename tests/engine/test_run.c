/* SPDX-License-Identifier: MIT
 *
 * What the loop asks of a transport, call by call, and that it stops at the first call that fails. */
#include "engine/run.h"

#include <string.h>

#include "engine/recording.h"
#include "engine/trace.h"
#include "tests/support/cmocka_all.h"

enum { MOST_CALLS = 256 };

static struct ring_plan plan_of(uint32_t n_ranks, uint32_t n_buffers)
{
    struct ring_plan_spec spec = {
        .strategy = "ring",
        .problem = {.tokens = 4 * (uint64_t)n_ranks,
                    .batch = 1,
                    .heads = 1,
                    .kv_heads = 1,
                    .head_dim = 8,
                    .dtype = RING_FP32,
                    .mask = RING_MASK_CAUSAL},
        .layout = RING_LAYOUT_CONTIGUOUS,
        .pass = RING_PASS_FORWARD,
        .n_ranks = n_ranks,
        .n_buffers = n_buffers,
    };
    struct ring_plan plan;

    assert_int_equal(ring_plan_init(&plan, &spec, NULL), RING_OK);
    return plan;
}

/* Runs a rank over transport with slots that have sizes but no data. */
static enum ring_status run_over(struct ring_transport *transport, const struct ring_plan *plan,
                                 uint32_t rank)
{
    struct ring_buffer slots[1 + RING_MAX_BUFFERS];
    struct ring_memory memory = {slots, plan->n_slots};

    for (uint32_t slot = 0; slot < plan->n_slots; slot++)
        slots[slot] = (struct ring_buffer){NULL, ring_plan_slot_bytes(plan, rank, slot)};
    return ring_run(plan, rank, &memory, transport);
}

/* One letter a call and the hop or step behind it: the script of a rank. */
static void script(const struct ring_recording *recording, char *out, size_t size)
{
    static const char *const names[] = {"send", "recv", "compute", "-send", "-recv", "-compute"};
    size_t length = 0;

    out[0] = '\0';
    for (size_t i = 0; i < recording->n_calls && length < size; i++)
        length += (size_t)snprintf(out + length, size - length, "%s%s%u", i ? " " : "",
                                   names[recording->calls[i].kind], recording->calls[i].step);
}

static void each_step_posts_everything_before_it_waits_for_anything(void **state)
{
    struct ring_recorded calls[MOST_CALLS];
    struct ring_recording recording;
    struct ring_plan plan = plan_of(3, 2);
    char text[512];

    (void)state;
    ring_recording_init(&recording, calls, MOST_CALLS);
    assert_int_equal(run_over(&recording.base, &plan, 2), RING_OK);
    script(&recording, text, sizeof text);
    assert_string_equal(text, "recv0 send0 compute0 -recv0 -compute0 -send0 "
                              "recv1 send1 compute1 -recv1 -compute1 -send1 compute2 -compute2");
}

static void a_rank_that_sees_nothing_only_forwards(void **state)
{
    struct ring_recorded calls[MOST_CALLS];
    struct ring_recording recording;
    struct ring_plan plan = plan_of(3, 2);
    char text[512];

    (void)state;
    ring_recording_init(&recording, calls, MOST_CALLS);
    assert_int_equal(run_over(&recording.base, &plan, 0), RING_OK);
    script(&recording, text, sizeof text);
    assert_string_equal(text, "recv0 send0 compute0 -recv0 -compute0 -send0 recv1 send1 -recv1 -send1");
}

static void a_third_buffer_posts_one_receive_further_ahead(void **state)
{
    struct ring_recorded calls[MOST_CALLS];
    struct ring_recording recording;
    struct ring_plan plan = plan_of(4, 3);
    char text[512];

    (void)state;
    ring_recording_init(&recording, calls, MOST_CALLS);
    assert_int_equal(run_over(&recording.base, &plan, 3), RING_OK);
    script(&recording, text, sizeof text);
    assert_string_equal(text, "recv0 recv1 send0 compute0 -recv0 -compute0 -send0 "
                              "recv2 send1 compute1 -recv1 -compute1 -send1 "
                              "send2 compute2 -recv2 -compute2 -send2 compute3 -compute3");
}

static void a_backward_step_adds_after_all_its_waits(void **state)
{
    struct ring_recorded calls[MOST_CALLS];
    struct ring_recording recording;
    struct ring_plan plan = plan_of(2, 2);
    char text[512];

    (void)state;
    plan.pass = RING_PASS_BACKWARD;
    assert_int_equal(plan.kind->init(&plan, NULL), RING_OK);
    ring_recording_init(&recording, calls, MOST_CALLS);
    assert_int_equal(run_over(&recording.base, &plan, 1), RING_OK);
    script(&recording, text, sizeof text);
    assert_string_equal(text, "recv0 send0 compute0 -recv0 -compute0 -send0 compute0 -compute0 "
                              "recv1 send1 compute1 -recv1 -compute1 -send1 compute1 -compute1 "
                              "recv2 send2 -recv2 -send2");
}

static void a_failure_of_any_call_ends_the_run_there_with_its_line(void **state)
{
    struct ring_recorded calls[MOST_CALLS];
    struct ring_recording recording;
    struct ring_plan plan = plan_of(4, 3);
    struct ring_trace trace;
    struct ring_tracing tracing;
    size_t n_calls;

    (void)state;
    ring_recording_init(&recording, calls, MOST_CALLS);
    assert_int_equal(run_over(&recording.base, &plan, 3), RING_OK);
    n_calls = recording.n_calls;
    for (size_t fail_at = 1; fail_at <= n_calls; fail_at++) {
        ring_trace_init(&trace);
        ring_recording_init(&recording, calls, MOST_CALLS);
        recording.fail_at = fail_at;
        ring_tracing_init(&tracing, 3, &recording.base, &trace);
        assert_int_equal(run_over(&tracing.base, &plan, 3), RING_WORLD);
        assert_int_equal(recording.n_calls, fail_at);
        assert_string_equal(tracing.base.error.text, recording.base.error.text);
        ring_trace_fini(&trace);
    }
}

static void the_compute_gets_the_block_in_hand_and_its_real_size(void **state)
{
    struct ring_recorded calls[MOST_CALLS];
    struct ring_recording recording;
    struct ring_plan plan = plan_of(2, 2);

    (void)state;
    ring_recording_init(&recording, calls, MOST_CALLS);
    assert_int_equal(run_over(&recording.base, &plan, 1), RING_OK);
    for (size_t i = 0; i < recording.n_calls; i++) {
        if (calls[i].kind != RING_RECORDED_COMPUTE)
            continue;
        assert_int_equal(calls[i].block, 1 - calls[i].step);
        assert_int_equal(calls[i].buffer.bytes, 2 * 4 * 8 * 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_step_posts_everything_before_it_waits_for_anything),
        cmocka_unit_test(a_rank_that_sees_nothing_only_forwards),
        cmocka_unit_test(a_third_buffer_posts_one_receive_further_ahead),
        cmocka_unit_test(a_backward_step_adds_after_all_its_waits),
        cmocka_unit_test(a_failure_of_any_call_ends_the_run_there_with_its_line),
        cmocka_unit_test(the_compute_gets_the_block_in_hand_and_its_real_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
