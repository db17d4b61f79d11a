/* SPDX-License-Identifier: MIT
 *
 * Messages from rows: who moved when, by hand. */
#include "tools/traffic.h"

#include <string.h>

#include "tests/support/cmocka_all.h"

static void add(struct ring_trace *trace, enum ring_trace_kind kind, uint32_t rank, uint32_t peer,
                uint32_t step, double post_s, double begun_s, double ended_s)
{
    struct ring_trace_row row = {.kind = kind,
                                 .rank = rank,
                                 .peer = peer,
                                 .step = step,
                                 .block = step,
                                 .post_s = post_s,
                                 .wait_begin_s = post_s,
                                 .wait_end_s = ended_s,
                                 .begun_s = begun_s,
                                 .ended_s = ended_s};
    assert_int_equal(ring_trace_append(trace, &row), RING_OK);
}

static void a_message_moves_from_the_later_post_to_its_end(void **state)
{
    (void)state;
    struct ring_trace trace;
    struct ring_error error;
    double moving_s;
    ring_trace_init(&trace);
    add(&trace, RING_TRACE_SEND, 0, 1, 0, 1, 1, 6);
    add(&trace, RING_TRACE_RECV, 0, 1, 0, 0, 2, 7); /* from 1: posted at 0 and 3, ends at 7: 4 s */
    add(&trace, RING_TRACE_SEND, 1, 0, 0, 3, 3, 7);
    add(&trace, RING_TRACE_RECV, 1, 0, 0, 0, 4, 6); /* from 0: posted at 1 and 0, begun at 4: 2 s */
    add(&trace, RING_TRACE_COMPUTE, 0, 0, 0, 0, 0, 9);
    assert_int_equal(tool_traffic_moving(&trace, &moving_s, &error), RING_OK);
    assert_true(moving_s == 6);
    ring_trace_fini(&trace);
}

static void two_messages_at_once_between_the_same_two_count_once(void **state)
{
    (void)state;
    struct ring_trace trace;
    struct ring_error error;
    double moving_s;
    ring_trace_init(&trace);
    add(&trace, RING_TRACE_SEND, 0, 1, 0, 0, 0, 4);
    add(&trace, RING_TRACE_SEND, 0, 1, 1, 0, 0, 6);
    add(&trace, RING_TRACE_SEND, 0, 2, 0, 0, 0, 3);
    add(&trace, RING_TRACE_RECV, 1, 0, 0, 0, 0, 4); /* 0 to 4 */
    add(&trace, RING_TRACE_RECV, 1, 0, 1, 1, 1, 6); /* 1 to 6: 2 s more */
    add(&trace, RING_TRACE_RECV, 2, 0, 0, 0, 0, 3); /* to another rank: 3 s */
    assert_int_equal(tool_traffic_moving(&trace, &moving_s, &error), RING_OK);
    assert_true(moving_s == 9);
    ring_trace_fini(&trace);
}

static void equal_messages_are_joined_in_the_order_posted(void **state)
{
    (void)state;
    struct ring_trace trace;
    struct ring_error error;
    double moving_s;
    ring_trace_init(&trace);
    add(&trace, RING_TRACE_SEND, 0, 1, 0, 5, 5, 9); /* rows of a rank in another order than time */
    add(&trace, RING_TRACE_SEND, 0, 1, 0, 0, 0, 2);
    add(&trace, RING_TRACE_RECV, 1, 0, 0, 0, 0, 2); /* 2 s */
    add(&trace, RING_TRACE_RECV, 1, 0, 0, 1, 1, 9); /* 4 s */
    assert_int_equal(tool_traffic_moving(&trace, &moving_s, &error), RING_OK);
    assert_true(moving_s == 6);
    ring_trace_fini(&trace);
}

static void a_receive_that_nobody_sends_is_an_error(void **state)
{
    (void)state;
    struct ring_trace trace;
    struct ring_error error;
    double moving_s;
    ring_trace_init(&trace);
    add(&trace, RING_TRACE_SEND, 0, 1, 0, 0, 0, 1);
    assert_int_equal(tool_traffic_moving(&trace, &moving_s, &error), RING_BAD_INPUT);
    add(&trace, RING_TRACE_RECV, 2, 0, 0, 0, 0, 1);
    assert_int_equal(tool_traffic_moving(&trace, &moving_s, &error), RING_BAD_INPUT);
    assert_non_null(strstr(error.text, "rank 2"));
    ring_trace_fini(&trace);
}

static void no_messages_move_for_no_time(void **state)
{
    (void)state;
    struct ring_trace trace;
    struct ring_error error;
    double moving_s = 1;
    ring_trace_init(&trace);
    assert_int_equal(tool_traffic_moving(&trace, &moving_s, &error), RING_OK);
    assert_true(moving_s == 0);
    ring_trace_fini(&trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_moves_from_the_later_post_to_its_end),
        cmocka_unit_test(two_messages_at_once_between_the_same_two_count_once),
        cmocka_unit_test(equal_messages_are_joined_in_the_order_posted),
        cmocka_unit_test(a_receive_that_nobody_sends_is_an_error),
        cmocka_unit_test(no_messages_move_for_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
