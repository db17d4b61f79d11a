/* SPDX-License-Identifier: MIT
 *
 * Lanes by themselves: who follows whom when nobody waits in between, which an engine that keeps its promises
 * never shows. Each at every pace of the test device. */
#include <string.h>

#include "exec/cuda/lanes.h"
#include "tests/cuda/device_stream.h"
#include "tests/support/cmocka_all.h"

enum { N = 64, ROUNDS = 20 };

static struct exec_lanes lanes;
static struct ring_error error;
static char slot[N], seen[N], old_bytes[N], new_bytes[N];
static struct ring_buffer buffer = {slot, N};

static void must(enum ring_status status)
{
    if (status != RING_OK)
        fail_msg("%s", error.text);
}

static void read_slot(void *context)
{
    (void)context;
    memcpy(seen, slot, N);
}

static void write_slot(void *context)
{
    (void)context;
    memcpy(slot, new_bytes, N);
}

/* Uses the slot in a lane, by a copy or by a call of the compute lane. */
static void use(enum exec_lane lane, enum exec_touch touch)
{
    void *stream = lanes.streams[lane];

    must(exec_lanes_before(&lanes, lane, touch, buffer, &error));
    if (lane == EXEC_LANE_COMPUTE)
        must(device_stream_call(stream, touch == EXEC_READS ? read_slot : write_slot, NULL, &error));
    else
        must(lanes.runtime->copy(touch == EXEC_READS ? seen : slot, touch == EXEC_READS ? slot : new_bytes, N,
                                 stream, &error));
    must(exec_lanes_after(&lanes, lane, touch, buffer, &error));
}

static void settle(enum exec_lane lane)
{
    must(lanes.runtime->settle(lanes.streams[lane], &error));
}

/* Two lanes use the slot one after the other; the second is settled first. */
static void turn(enum exec_lane first, enum exec_touch first_touch, enum exec_lane second,
                 enum exec_touch second_touch)
{
    for (uint32_t i = 0; i < ROUNDS; i++) {
        device_stream_set((enum device_stream_pace)(i % DEVICE_STREAM_N_PACES), i);
        must(exec_lanes_open(&lanes, &device_stream_runtime, 0, &error));
        memset(old_bytes, 1, N);
        memset(new_bytes, 2, N);
        memset(seen, 0, N);
        memcpy(slot, old_bytes, N);
        use(first, first_touch);
        use(second, second_touch);
        settle(second);
        settle(first);
        assert_memory_equal(slot, new_bytes, N);
        assert_memory_equal(seen, first_touch == EXEC_READS ? old_bytes : new_bytes, N);
        exec_lanes_close(&lanes);
    }
}

static void nothing_lands_before_the_last_reader_is_done(void **state)
{
    (void)state;
    turn(EXEC_LANE_COMPUTE, EXEC_READS, EXEC_LANE_IN, EXEC_WRITES);
    turn(EXEC_LANE_OUT, EXEC_READS, EXEC_LANE_IN, EXEC_WRITES);
    turn(EXEC_LANE_OUT, EXEC_READS, EXEC_LANE_COMPUTE, EXEC_WRITES);
}

static void nothing_is_read_before_it_was_written(void **state)
{
    (void)state;
    turn(EXEC_LANE_IN, EXEC_WRITES, EXEC_LANE_COMPUTE, EXEC_READS);
    turn(EXEC_LANE_IN, EXEC_WRITES, EXEC_LANE_OUT, EXEC_READS);
    turn(EXEC_LANE_COMPUTE, EXEC_WRITES, EXEC_LANE_OUT, EXEC_READS);
}

static void who_has_no_lane_is_told_when_a_buffer_is_clear(void **state)
{
    bool clear = true;

    (void)state;
    device_stream_set(DEVICE_STREAM_LATE, 1);
    must(exec_lanes_open(&lanes, &device_stream_runtime, 0, &error));
    use(EXEC_LANE_COMPUTE, EXEC_READS);
    must(exec_lanes_clear(&lanes, EXEC_WRITES, buffer, &clear, &error));
    assert_false(clear);
    must(exec_lanes_clear(&lanes, EXEC_READS, buffer, &clear, &error)); /* two may read */
    assert_true(clear);
    settle(EXEC_LANE_COMPUTE);
    must(exec_lanes_clear(&lanes, EXEC_WRITES, buffer, &clear, &error));
    assert_true(clear);
    exec_lanes_close(&lanes);
}

/* A buffer that overlaps is the same memory; one beside it is not. */
static void a_part_of_a_buffer_is_guarded_and_its_neighbour_is_not(void **state)
{
    struct ring_buffer part = {slot + N / 2, N / 4}, beside = {slot + N, N};
    bool clear = true;

    (void)state;
    device_stream_set(DEVICE_STREAM_LATE, 2);
    must(exec_lanes_open(&lanes, &device_stream_runtime, 0, &error));
    use(EXEC_LANE_OUT, EXEC_READS);
    must(exec_lanes_clear(&lanes, EXEC_WRITES, part, &clear, &error));
    assert_false(clear);
    must(exec_lanes_clear(&lanes, EXEC_WRITES, beside, &clear, &error));
    assert_true(clear);
    exec_lanes_close(&lanes);
}

static void all_events_and_streams_are_given_back(void **state)
{
    struct device_stream_counts counts = device_stream_counts();

    (void)state;
    assert_int_equal(counts.events, 0);
    assert_int_equal(counts.streams, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_lands_before_the_last_reader_is_done),
        cmocka_unit_test(nothing_is_read_before_it_was_written),
        cmocka_unit_test(who_has_no_lane_is_told_when_a_buffer_is_clear),
        cmocka_unit_test(a_part_of_a_buffer_is_guarded_and_its_neighbour_is_not),
        cmocka_unit_test(all_events_and_streams_are_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
