/* SPDX-License-Identifier: MIT
 *
 * Traces and the split of a step into compute, transfer, wait and overhead, on small rings worked out by
 * hand. */
#include "engine/parts.h"

#include <string.h>

#include "tests/support/cmocka_all.h"

static void append(struct ring_trace *trace, struct ring_trace_row row)
{
    assert_int_equal(ring_trace_append(trace, &row), RING_OK);
}

static void add_compute(struct ring_trace *trace, uint32_t rank, uint32_t step, double begin_s, double end_s)
{
    append(trace, (struct ring_trace_row){.kind = RING_TRACE_COMPUTE,
                                          .rank = rank,
                                          .peer = rank,
                                          .step = step,
                                          .post_s = begin_s,
                                          .wait_begin_s = begin_s,
                                          .wait_end_s = end_s,
                                          .begun_s = begin_s,
                                          .ended_s = end_s});
}

static void add_message(struct ring_trace *trace, enum ring_trace_kind kind, uint32_t rank, uint32_t peer,
                        double post_s, double wait_begin_s, double wait_end_s)
{
    append(trace, (struct ring_trace_row){.kind = kind,
                                          .rank = rank,
                                          .peer = peer,
                                          .post_s = post_s,
                                          .wait_begin_s = wait_begin_s,
                                          .wait_end_s = wait_end_s,
                                          .begun_s = post_s,
                                          .ended_s = wait_end_s});
}

/* Rank 0 computes 0..4 and its message to rank 1 moves 1..6, because rank 1 comes only at 1; rank 1
 * computes 1..3 and its message to rank 0 moves 1..5. Rank 0 waits for its receive until 5 and its send until
 * 6; rank 1 starts at 0 but posts at 1, waits for its receive until 6 and its send (over at 5) no longer. */
static struct ring_trace two_ranks(void)
{
    struct ring_trace trace;

    ring_trace_init(&trace);
    add_message(&trace, RING_TRACE_RECV, 0, 1, 0, 0, 5);
    add_message(&trace, RING_TRACE_SEND, 0, 1, 0, 5, 6);
    add_compute(&trace, 0, 0, 0, 4);
    add_message(&trace, RING_TRACE_RECV, 1, 0, 1, 1, 6);
    add_message(&trace, RING_TRACE_SEND, 1, 0, 1, 6, 6);
    add_compute(&trace, 1, 0, 1, 3);
    return trace;
}

static void a_step_is_split_into_the_hand_worked_parts(void **state)
{
    struct ring_trace trace = two_ranks();
    struct ring_parts parts[2];

    (void)state;
    assert_int_equal(ring_parts_from_trace(&trace, 2, 1, 0, parts, NULL), RING_OK);
    assert_true(parts[0].end_s == 6 && parts[0].compute_s == 4 && parts[0].transfer_s == 2);
    assert_true(parts[0].wait_s == 0 && parts[0].overhead_s == 0);
    assert_true(parts[1].end_s == 6 && parts[1].compute_s == 2 && parts[1].transfer_s == 3);
    assert_true(parts[1].wait_s == 0 && parts[1].overhead_s == 1); /* 0..1, before it posted anything */
    ring_trace_fini(&trace);
}

static void time_before_the_peer_posts_is_wait_and_not_transfer(void **state)
{
    struct ring_trace trace;
    struct ring_parts parts[2];

    (void)state;
    ring_trace_init(&trace);
    add_message(&trace, RING_TRACE_RECV, 0, 1, 0, 0, 10); /* the peer sends at 7; 3 to move */
    add_message(&trace, RING_TRACE_SEND, 1, 0, 7, 7, 10);
    assert_int_equal(ring_parts_from_trace(&trace, 2, 1, 0, parts, NULL), RING_OK);
    assert_true(parts[0].wait_s == 7 && parts[0].transfer_s == 3);
    assert_true(parts[1].overhead_s == 7 && parts[1].transfer_s == 3);
    ring_trace_fini(&trace);
}

static void a_send_without_a_receive_is_refused(void **state)
{
    struct ring_trace trace;
    struct ring_parts parts[2];
    struct ring_error error;

    (void)state;
    ring_trace_init(&trace);
    add_message(&trace, RING_TRACE_SEND, 1, 0, 7, 7, 10);
    assert_int_equal(ring_parts_from_trace(&trace, 2, 1, 0, parts, &error), RING_BAD_INPUT);
    assert_non_null(strstr(error.text, "1 sends but 0 receives"));
    ring_trace_fini(&trace);
}

static void rows_outside_the_run_are_refused(void **state)
{
    struct ring_trace trace = two_ranks();
    struct ring_parts parts[2];
    struct ring_error error;

    (void)state;
    trace.rows[3].step = 9;
    assert_int_equal(ring_parts_from_trace(&trace, 2, 1, 0, parts, &error), RING_BAD_INPUT);
    assert_non_null(strstr(error.text, "step 9"));
    ring_trace_fini(&trace);
}

static void a_trace_survives_its_text_form_bit_for_bit(void **state)
{
    struct ring_trace trace = two_ranks(), back;
    FILE *file = tmpfile();

    (void)state;
    trace.rows[2].ended_s = 1.0 / 3;
    assert_int_equal(ring_trace_write(&trace, file, NULL), RING_OK);
    rewind(file);
    ring_trace_init(&back);
    assert_int_equal(ring_trace_read(&back, file, NULL), RING_OK);
    assert_int_equal(back.n_rows, trace.n_rows);
    assert_true(back.rows[2].ended_s == 1.0 / 3);
    for (size_t i = 0; i < back.n_rows; i++) {
        assert_int_equal(back.rows[i].kind, trace.rows[i].kind);
        assert_int_equal(back.rows[i].peer, trace.rows[i].peer);
        assert_true(back.rows[i].wait_end_s == trace.rows[i].wait_end_s);
    }
    fclose(file);
    ring_trace_fini(&trace);
    ring_trace_fini(&back);
}

static void a_broken_trace_is_refused_with_its_line(void **state)
{
    struct ring_trace trace;
    struct ring_error error;
    FILE *file = tmpfile();

    (void)state;
    fputs("rank kind what peer step block amount post_s wait_begin_s wait_end_s begun_s ended_s\n"
          "0 compute forward 0 0 0 10 0 0 1 0 1\n"
          "0 compute guess 0 0 0 10 0 0 1 0 1\n",
          file);
    rewind(file);
    ring_trace_init(&trace);
    assert_int_equal(ring_trace_read(&trace, file, &error), RING_BAD_INPUT);
    assert_non_null(strstr(error.text, "trace:3"));
    fclose(file);
    ring_trace_fini(&trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_is_split_into_the_hand_worked_parts),
        cmocka_unit_test(time_before_the_peer_posts_is_wait_and_not_transfer),
        cmocka_unit_test(a_send_without_a_receive_is_refused),
        cmocka_unit_test(rows_outside_the_run_are_refused),
        cmocka_unit_test(a_trace_survives_its_text_form_bit_for_bit),
        cmocka_unit_test(a_broken_trace_is_refused_with_its_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
