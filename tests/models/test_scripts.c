/* SPDX-License-Identifier: MIT
 *
 * Single messages by hand, and schedules that no ring makes: the recurrence plays any plan or says why not.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/models/clockwork.h"
#include "tests/models/ring_case.h"
#include "tests/models/script.h"

/* n devices with a cable between each two, 25 GB/s and 1 us; a block takes 1 ms. */
static void build_mesh(struct ring_case *that, uint32_t n)
{
    ring_case_init(that);
    ring_case_set_block(that, n, 8000);
    for (uint32_t i = 0; i < n; i++)
        topology_builder_device(&that->cluster, "g%u", i);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < i; j++)
            topology_builder_cable(&that->cluster, i, j, 25e9, 1e-6);
    that->compute.block_s = 1e-3;
    topology_builder_finish(&that->cluster);
    assert_int_equal(ring_plan_init(&that->plan, &that->spec, NULL), RING_OK);
}

static enum ring_status play(struct ring_case *that, const struct script *script, struct ring_error *error)
{
    struct model_ring_spec spec = {.plan = &that->plan,
                                   .topology = &that->cluster.topology,
                                   .device_of_rank = that->placement,
                                   .compute = that->compute,
                                   .progress = that->progress};

    script_into_plan(script, &that->plan);
    enum ring_status status = model_ring_init(&that->ring, &spec, error);
    return status == RING_OK ? model_recurrence(&that->ring, that->ends_s, that->totals, that->steps, error)
                             : status;
}

static void one_flow_of_64_MB_over_25_GB_s_and_1_us_takes_2_561_ms(void **state)
{
    const struct script script = {
        .n_ranks = 2, .n_steps = 1, .n_messages = 1, .messages = {{.from = 0, .to = 1, .bytes = 64000000}}};
    struct ring_case that;

    (void)state;
    build_mesh(&that, 2);
    assert_int_equal(play(&that, &script, NULL), RING_OK);
    assert_ms(that.ends_s[0], 2.560); /* the sender is rid of it when the bytes have moved */
    assert_ms(that.ends_s[1], 2.561);
    assert_ms(that.totals[1].transfer_s, 2.561);
    ring_case_fini(&that);
}

static void a_message_waits_for_the_later_of_its_two_ends(void **state)
{
    /* Rank 1 posts its receive at step 1, after 1 ms of computing: 1..3.56, received at 3.561. */
    const struct script script = {.n_ranks = 2,
                                  .n_steps = 2,
                                  .n_messages = 1,
                                  .messages = {{.from = 0,
                                                .to = 1,
                                                .send_await_step = 1,
                                                .receive_step = 1,
                                                .receive_await_step = 1,
                                                .bytes = 64000000}},
                                  .computes = {[1] = {true}}};
    struct ring_case that;

    (void)state;
    build_mesh(&that, 2);
    assert_int_equal(play(&that, &script, NULL), RING_OK);
    assert_ms(that.ends_s[0], 3.560);
    assert_ms(that.ends_s[1], 3.561);
    assert_ms(that.totals[0].wait_s, 1);
    assert_ms(that.totals[0].transfer_s, 2.56);
    assert_ms(that.totals[1].wait_s, 0);
    ring_case_fini(&that);
}

static void a_message_received_long_ago_costs_nothing_when_it_is_awaited(void **state)
{
    /* Moved at 2.56 while rank 1 computes 3 blocks; a second message of the pair follows from 3 on. */
    const struct script script = {
        .n_ranks = 2,
        .n_steps = 4,
        .n_messages = 2,
        .messages = {{.from = 0, .to = 1, .receive_await_step = 3, .bytes = 64000000},
                     {.from = 0,
                      .to = 1,
                      .send_step = 3,
                      .send_await_step = 3,
                      .receive_await_step = 3,
                      .bytes = 25000000}},
        .computes = {{false, true, false}, {true, true, true}}};
    struct ring_case that;

    (void)state;
    build_mesh(&that, 2);
    assert_int_equal(play(&that, &script, NULL), RING_OK);
    /* rank 0: 2.56, + 1 = 3.56, then 1 ms for 25 MB */
    assert_ms(that.ends_s[0], 4.56);
    assert_ms(that.ends_s[1], 4.561);
    assert_ms(that.totals[1].wait_s, 0.56);
    assert_ms(that.totals[1].transfer_s, 1.001);
    ring_case_fini(&that);
}

static void ranks_that_wait_for_each_other_are_a_deadlock_that_names_them(void **state)
{
    /* Each receives in step 0 what the other sends in step 1. */
    const struct script script = {
        .n_ranks = 3,
        .n_steps = 2,
        .n_messages = 2,
        .messages = {{.from = 0, .to = 1, .send_step = 1, .send_await_step = 1, .bytes = 8},
                     {.from = 1, .to = 0, .send_step = 1, .send_await_step = 1, .bytes = 8}}};
    struct ring_case that;
    struct ring_error error;

    (void)state;
    build_mesh(&that, 3);
    assert_int_equal(play(&that, &script, &error), RING_DEADLOCK);
    assert_string_equal(error.text,
                        "nobody can go on: rank 0 waits for block 0 from rank 1 at hop 1; rank 1 waits for "
                        "block 0 from rank 0 at hop 1");
    ring_case_fini(&that);
}

static void two_messages_on_one_hop_have_half_of_it_each_until_the_shorter_is_through(void **state)
{
    /* 25 MB and 75 MB at 25 GB/s: alone 1 and 3 ms. Together from 0 on: 25 MB each by 2, the other 50 MB
     * by 4. If the short one's receive is posted only after 2 ms of computing: 50 of 75 MB are through at 2,
     * then 25 MB each at half the rate: both at 4. */
    struct script script = {.n_ranks = 2,
                            .n_steps = 3,
                            .n_messages = 2,
                            .messages = {{.from = 0, .to = 1, .send_await_step = 1, .bytes = 25000000},
                                         {.from = 0, .to = 1, .bytes = 75000000}}};
    struct ring_case that;

    (void)state;
    build_mesh(&that, 2);
    assert_int_equal(play(&that, &script, NULL), RING_OK);
    assert_ms(that.ends_s[0], 4);
    assert_ms(that.ends_s[1], 4.001);
    model_ring_fini(&that.ring);

    script.messages[0] = (struct script_message){.from = 0, .to = 1, .send_await_step = 1, .bytes = 75000000};
    script.messages[1] = (struct script_message){
        .from = 0, .to = 1, .receive_step = 1, .receive_await_step = 1, .bytes = 25000000};
    script.messages[0].receive_await_step = 2;
    script.computes[1][0] = true;
    that.compute.block_s = 2e-3;
    assert_int_equal(play(&that, &script, NULL), RING_OK);
    assert_ms(ring_case_step(&that, 0, 0)->end_s, 4);
    assert_ms(that.ends_s[0], 4);
    assert_ms(that.ends_s[1], 4.001);
    ring_case_fini(&that);
}

static void a_second_message_that_comes_when_the_first_is_through_has_the_hop_for_itself(void **state)
{
    /* The receiver posts the second receive only when it has the first: nobody can go on until the first is
     * given its time, alone: 1 ms, received at 1.001; then 3 ms more. */
    struct script script = {
        .n_ranks = 2,
        .n_steps = 2,
        .n_messages = 2,
        .messages = {{.from = 0, .to = 1, .bytes = 25000000},
                     {.from = 0, .to = 1, .receive_step = 1, .receive_await_step = 1, .bytes = 75000000}}};
    struct ring_case that;

    (void)state;
    build_mesh(&that, 2);
    assert_int_equal(play(&that, &script, NULL), RING_OK);
    assert_ms(that.ends_s[0], 4.001);
    assert_ms(that.ends_s[1], 4.002);
    ring_case_fini(&that);
}

static void three_messages_on_one_hop_at_once_are_left_to_the_simulator(void **state)
{
    struct script script = {.n_ranks = 2,
                            .n_steps = 2,
                            .n_messages = 3,
                            .messages = {{.from = 0, .to = 1, .bytes = 8},
                                         {.from = 0, .to = 1, .bytes = 8},
                                         {.from = 0, .to = 1, .bytes = 8}}};
    struct ring_case that;
    struct ring_error error;

    (void)state;
    build_mesh(&that, 2);
    assert_int_equal(play(&that, &script, &error), RING_UNSUPPORTED);
    assert_true(that.ring.shared);
    assert_string_equal(that.ring.shared_what, "g0 -> g1");
    model_ring_fini(&that.ring);

    /* two, one step apart, but the first is not waited for until then */
    script.n_messages = 2;
    script.messages[0].send_await_step = script.messages[1].send_step = script.messages[1].send_await_step =
        1;
    assert_int_equal(play(&that, &script, &error), RING_UNSUPPORTED);
    assert_non_null(strstr(error.text, "two sends to rank 1"));
    ring_case_fini(&that);
}

static void a_plan_that_makes_no_sense_is_refused(void **state)
{
    const struct script good = {
        .n_ranks = 2, .n_steps = 2, .n_messages = 1, .messages = {{.from = 0, .to = 1, .bytes = 8}}};
    struct script script = good;
    struct ring_case that;
    struct ring_error error;

    (void)state;
    build_mesh(&that, 2);
    script.messages[0].send_step = 1; /* awaited at step 0, before it is posted */
    assert_int_equal(play(&that, &script, &error), RING_BAD_INPUT);
    assert_non_null(strstr(error.text, "rank 0 at step 0 waits for a send"));
    model_ring_fini(&that.ring);
    script = good;
    script.messages[0].receive_step = 1;
    assert_int_equal(play(&that, &script, &error), RING_BAD_INPUT);
    assert_non_null(strstr(error.text, "waits for a receive"));
    ring_case_fini(&that);
}

/* Random messages among 2 to 5 ranks, so random that some of them deadlock. */
static void make_script(struct script *script, unsigned *seed)
{
    *script = (struct script){.n_ranks = 2 + (uint32_t)rand_r(seed) % 4, .n_steps = SCRIPT_STEPS};
    uint32_t n_messages = 1 + (uint32_t)rand_r(seed) % 24;

    for (uint32_t i = 0; i < n_messages; i++) {
        struct script_message *message = &script->messages[i];
        uint32_t base = i * (SCRIPT_STEPS - 2) / n_messages; /* later messages are posted later */
        message->from = (uint32_t)rand_r(seed) % script->n_ranks;
        message->to = (message->from + 1 + (uint32_t)rand_r(seed) % (script->n_ranks - 1)) % script->n_ranks;
        message->send_step = base + (uint32_t)(rand_r(seed) % 3 == 0);
        message->send_await_step = message->send_step + (uint32_t)(rand_r(seed) % 4 == 0);
        message->receive_step = base;
        message->receive_await_step = base + (uint32_t)(rand_r(seed) % 3 == 0);
        message->bytes = 8000 * (1 + (uint64_t)rand_r(seed) % 8000);
    }
    script->n_messages = n_messages;
    for (uint32_t rank = 0; rank < SCRIPT_RANKS; rank++)
        for (uint32_t step = 0; step < SCRIPT_STEPS; step++)
            script->computes[rank][step] = rand_r(seed) % 2;
}

/* Two messages of a pair must be posted in the same order at both ends for the sizes to fit. */
static bool keeps_order(const struct script *script)
{
    for (uint32_t i = 0; i < script->n_messages; i++)
        for (uint32_t j = i + 1; j < script->n_messages; j++) {
            const struct script_message *a = &script->messages[i], *b = &script->messages[j];
            if (a->from == b->from && a->to == b->to &&
                (a->send_step > b->send_step || a->receive_step > b->receive_step))
                return false;
        }
    return true;
}

static void random_schedules_end_when_a_naive_clock_says(void **state)
{
    unsigned seed = 7;
    int n_played = 0, n_deadlocked = 0;

    (void)state;
    for (int i = 0; i < 3000; i++) {
        struct ring_case that;
        struct script script;
        struct ring_error error;
        double step_ends_s[SCRIPT_RANKS * SCRIPT_STEPS];
        make_script(&script, &seed);
        if (!keeps_order(&script))
            continue;
        build_mesh(&that, script.n_ranks);
        that.progress = i % 2 ? MODEL_PROGRESS_NONE : MODEL_PROGRESS_POLL;
        enum ring_status status = play(&that, &script, &error);
        if (status == RING_UNSUPPORTED) {
            ring_case_fini(&that);
            continue;
        }
        bool ends = clockwork_play(&that.ring, step_ends_s);
        assert_int_equal(status, ends ? RING_OK : RING_DEADLOCK);
        for (uint32_t k = 0; k < script.n_ranks * SCRIPT_STEPS && ends; k++)
            assert_true(fabs(that.steps[k].end_s - step_ends_s[k]) <= 1e-12);
        n_played += ends;
        n_deadlocked += !ends;
        ring_case_fini(&that);
    }
    assert_true(n_played > 200);
    assert_true(n_deadlocked > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_flow_of_64_MB_over_25_GB_s_and_1_us_takes_2_561_ms),
        cmocka_unit_test(a_message_waits_for_the_later_of_its_two_ends),
        cmocka_unit_test(a_message_received_long_ago_costs_nothing_when_it_is_awaited),
        cmocka_unit_test(ranks_that_wait_for_each_other_are_a_deadlock_that_names_them),
        cmocka_unit_test(two_messages_on_one_hop_have_half_of_it_each_until_the_shorter_is_through),
        cmocka_unit_test(a_second_message_that_comes_when_the_first_is_through_has_the_hop_for_itself),
        cmocka_unit_test(three_messages_on_one_hop_at_once_are_left_to_the_simulator),
        cmocka_unit_test(a_plan_that_makes_no_sense_is_refused),
        cmocka_unit_test(random_schedules_end_when_a_naive_clock_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
