/* SPDX-License-Identifier: MIT
 *
 * Eight devices in a ring, 64 k tokens in bf16, whose blocks of 1.3744 ms hide hops of 1.3432 ms (33 554 432
 * B at 25 GB/s and 1 us): what a fault makes of that, who is blamed, for how much, through whom the time
 * passes and how the delay travels. Every figure is worked out beside its test. */
#include <math.h>
#include <string.h>

#include "models/blame.h"
#include "models/path.h"
#include "tests/models/eight.h"

static void judge(const struct ring_case *that, struct model_blame *blame)
{
    struct model_stage stage = model_stage_recurrence();
    struct ring_error error = {""};

    if (model_blame_find(&that->ring, &stage, blame, &error) != RING_OK)
        fail_msg("%s", error.text);
}

static void a_healthy_ring_has_nobody_to_blame(void **state)
{
    struct ring_case that;
    struct model_blame blame;

    (void)state;
    ring_of_eight(&that);
    ring_case_build(&that);
    ring_case_play(&that);
    judge(&that, &blame);
    print_message("expect 8 x 1.3744 = 10.9952 ms, got %.6f ms\n", end_ms(&that));
    assert_ms(end_ms(&that) / 1e3, 8 * block_ms);
    assert_int_equal(blame.n_culprits, 0);
    model_blame_fini(&blame);
    ring_case_fini(&that);
}

/* d5 computes 8 x 2.7488 ms, and everything else hides behind that. */
static void a_device_at_half_speed_is_named_with_the_half_that_it_costs(void **state)
{
    struct ring_case that;
    struct model_blame blame;
    struct model_path path;
    struct ring_error error;
    const struct model_fault fault = slow(5, 2);
    const struct model_faults faults = {.items = &fault, .n = 1};

    (void)state;
    ring_of_eight(&that);
    ring_case_build(&that);
    strike(&that, &faults);
    ring_case_play(&that);
    judge(&that, &blame);
    print_message("expect 8 x 2.7488 = 21.9904 ms, got %.6f ms\n", end_ms(&that));
    assert_ms(end_ms(&that) / 1e3, 16 * block_ms);
    assert_int_equal(blame.n_culprits, 1);
    assert_true(blame.culprits[0].device && blame.culprits[0].index == 5);
    assert_ms(blame.culprits[0].saves_s, 8 * block_ms);
    assert_ms(blame.culprits[0].alone_s, 8 * block_ms);
    assert_ms(blame.healed_s, 8 * block_ms);
    assert_int_equal(blame.healed.n, 0);
    assert_int_equal(model_path_find(&that.ring, that.steps, &path, &error), RING_OK);
    assert_int_equal(path.n_parts, 1);
    assert_true(path.parts[0].kind == MODEL_PATH_COMPUTE && path.parts[0].rank == 5);
    assert_int_equal(path.parts[0].first_step, 0);
    assert_int_equal(path.parts[0].last_step, 7);
    assert_ms(path.parts[0].end_s - path.parts[0].begin_s, 16 * block_ms);
    model_path_fini(&path);
    model_blame_fini(&blame);
    ring_case_fini(&that);
}

/* The hop takes 33 554 432 B / 12.5 GB/s + 1 us = 2.685355 ms. Device 4 gets its eighth block after seven of
 * them, each posted when the one before has arrived, and then computes: 7 x 2.685355 + 1.3744 = 20.1719 ms.
 */
static void a_link_at_half_rate_is_named_and_no_device(void **state)
{
    struct ring_case that;
    struct model_blame blame;
    struct model_path path;
    struct ring_error error;
    const double thin_ms = 2 * (hop_ms - 1e-3) + 1e-3, expected_ms = 7 * thin_ms + block_ms;

    (void)state;
    ring_of_eight(&that);
    ring_case_build(&that);
    const uint32_t link = model_ring_hop(&that.ring, 3, 4)->links[0];
    const struct model_fault fault = thin(&link, 0.5);
    const struct model_faults faults = {.items = &fault, .n = 1};
    strike(&that, &faults);
    ring_case_play(&that);
    judge(&that, &blame);
    print_message("expect %.4f ms, got %.6f ms\n", expected_ms, end_ms(&that));
    assert_ms(end_ms(&that) / 1e3, expected_ms);
    assert_int_equal(blame.n_culprits, 1);
    assert_false(blame.culprits[0].device);
    assert_int_equal(blame.culprits[0].index, link);
    assert_ms(blame.culprits[0].saves_s, expected_ms - 8 * block_ms);
    assert_int_equal(model_path_find(&that.ring, that.steps, &path, &error), RING_OK);
    assert_int_equal(path.n_parts, 2);
    assert_true(path.parts[0].kind == MODEL_PATH_MESSAGE && path.parts[0].rank == 3 &&
                path.parts[0].peer == 4);
    assert_ms(path.parts[0].end_s - path.parts[0].begin_s, 7 * thin_ms);
    assert_true(path.parts[1].kind == MODEL_PATH_COMPUTE && path.parts[1].rank == 4);
    assert_ms(path.parts[1].end_s - path.parts[1].begin_s, block_ms);
    model_path_fini(&path);
    model_blame_fini(&blame);
    ring_case_fini(&that);
}

/* The same two without any fault listed: the cluster's own data differ. */
static void what_is_wrong_in_the_clusters_own_data_is_found_as_well(void **state)
{
    struct ring_case that;
    struct model_blame blame;

    (void)state;
    ring_of_eight(&that);
    that.compute.block_s = 0;
    for (uint32_t i = 0; i < 8; i++)
        ring_case_set_block_time(&that, i, i == 5 ? 4 * block_ms / 1e3 : 2 * block_ms / 1e3);
    ring_case_build(&that);
    judge(&that, &blame);
    assert_int_equal(blame.n_culprits, 1);
    assert_true(blame.culprits[0].device);
    assert_string_equal(blame.culprits[0].name, "d5");
    model_blame_fini(&blame);
    ring_case_fini(&that);

    ring_of_eight(&that);
    for (size_t i = 0; i < that.cluster.topology.n_links; i++)
        if (strcmp(that.cluster.topology.links[i].name, "d3 -> d4") == 0)
            ((struct model_size_class *)that.cluster.topology.links[i].classes)->bytes_per_s /= 2;
    ring_case_build(&that);
    judge(&that, &blame);
    assert_int_equal(blame.n_culprits, 1);
    assert_false(blame.culprits[0].device);
    assert_string_equal(blame.culprits[0].name, "d3 -> d4");
    assert_ms(blame.healed_s, 8 * block_ms);
    model_blame_fini(&blame);
    ring_case_fini(&that);
}

/* At 50 % from 3 ms to 8 ms: later than never, earlier than always. By hand, with p the pace of a whole ring
 * (1.3744 ms a step) and the hop of step s from 3 to 4 posted at s x p as long as nothing is late:
 *   hop 2 is posted at 2.7488: 0.2512 ms at 25 GB/s move 6.28 MB, the other 27.274432 MB at 12.5 GB/s take
 *   2.18195 ms, then 1 us: it arrives at 5.1829546 ms, where step 3 begins at both ends;
 *   hop 3 moves 2.8170454 ms at half rate (35.2 MB: enough): 5.1829546 + 2.68435456 + 0.001 = 7.8683091;
 *   hop 4 is posted then: 0.1316909 ms at half rate move 1.646136 MB, the rest 31.908296 MB takes 1.27633 ms:
 *   8 + 1.2763318 + 0.001 = 9.2773318 ms; computing of step 4 is over at 7.8683091 + 1.3744 = 9.2427091;
 *   step 5, 6 and 7 are whole: 9.2773318 + 3 x 1.3744 = 13.4005318 ms. */
static void a_link_that_is_thin_for_a_time_costs_less_than_one_that_always_is(void **state)
{
    struct ring_case that;
    struct model_blame blame;

    (void)state;
    ring_of_eight(&that);
    ring_case_build(&that);
    const uint32_t link = model_ring_hop(&that.ring, 3, 4)->links[0];
    struct model_fault fault = thin(&link, 0.5);
    const struct model_faults faults = {.items = &fault, .n = 1};
    fault.from_s = 3e-3;
    fault.to_s = 8e-3;
    strike(&that, &faults);
    ring_case_play(&that);
    print_message("expect 13.4005318 ms, got %.7f ms\n", end_ms(&that));
    assert_true(fabs(end_ms(&that) - 13.4005318) < 1e-6);
    judge(&that, &blame);
    assert_int_equal(blame.n_culprits, 1);
    assert_string_equal(blame.culprits[0].name, "thin one");
    assert_ms(blame.culprits[0].saves_s, end_ms(&that) - 8 * block_ms);
    model_blame_fini(&blame);
    ring_case_fini(&that);
}

/* Mending one of two that are equally slow saves nothing; mending both saves the half. */
static void two_who_hide_each_other_are_both_named(void **state)
{
    struct ring_case that;
    struct model_blame blame;
    const struct model_fault items[] = {slow(1, 2), slow(6, 2)};
    const struct model_faults faults = {.items = items, .n = 2};

    (void)state;
    ring_of_eight(&that);
    ring_case_build(&that);
    strike(&that, &faults);
    judge(&that, &blame);
    assert_int_equal(blame.n_culprits, 2);
    assert_int_equal(blame.culprits[0].index + blame.culprits[1].index, 7);
    assert_ms(blame.culprits[0].saves_s, 0);
    assert_ms(blame.culprits[1].saves_s, 8 * block_ms);
    assert_ms(blame.culprits[0].alone_s, 8 * block_ms);
    model_blame_fini(&blame);
    ring_case_fini(&that);
}

/* 0.5 % slower costs less than a hundredth of the step. */
static void what_costs_next_to_nothing_is_nobodys_fault(void **state)
{
    struct ring_case that;
    struct model_blame blame;
    const struct model_fault fault = slow(5, 1.005);
    const struct model_faults faults = {.items = &fault, .n = 1};

    (void)state;
    ring_of_eight(&that);
    ring_case_build(&that);
    strike(&that, &faults);
    judge(&that, &blame);
    assert_ms(blame.time_s, 8 * block_ms * 1.005);
    assert_int_equal(blame.n_culprits, 0);
    model_blame_fini(&blame);
    ring_case_fini(&that);
}

/* Half of the devices are of an older kind: that is how the cluster is, and no one of them is at fault. */
static void half_of_a_cluster_is_nobody(void **state)
{
    struct ring_case that;
    struct model_blame blame;

    (void)state;
    ring_of_eight(&that);
    that.compute.block_s = 0;
    for (uint32_t i = 0; i < 8; i++)
        ring_case_set_block_time(&that, i, i % 2 ? 4e-3 : 2e-3);
    ring_case_build(&that);
    judge(&that, &blame);
    assert_int_equal(blame.n_culprits, 0);
    model_blame_fini(&blame);
    ring_case_fini(&that);
}

/* d5's neighbours feel it in its first step or the next (4 cannot get rid of its block, 6 gets none), and
 * each rank further away a step later. */
static void a_delay_travels_one_hop_a_step(void **state)
{
    struct ring_case healthy, that;
    uint32_t first_steps[8];
    const struct model_fault fault = slow(5, 2);
    const struct model_faults faults = {.items = &fault, .n = 1};

    (void)state;
    ring_of_eight(&healthy);
    ring_case_build(&healthy);
    ring_case_play(&healthy);
    ring_of_eight(&that);
    ring_case_build(&that);
    strike(&that, &faults);
    ring_case_play(&that);
    model_wave_find(8, 8, that.steps, healthy.steps, first_steps);
    assert_int_equal(first_steps[5], 0);
    for (uint32_t away = 1; away < 4; away++) {
        assert_int_equal(first_steps[(5 + away) % 8], away);
        assert_int_equal(first_steps[(5 + 8 - away) % 8], away);
    }
    assert_int_equal(first_steps[1], 4);
    ring_case_fini(&that);
    ring_case_fini(&healthy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_healthy_ring_has_nobody_to_blame),
        cmocka_unit_test(a_device_at_half_speed_is_named_with_the_half_that_it_costs),
        cmocka_unit_test(a_link_at_half_rate_is_named_and_no_device),
        cmocka_unit_test(what_is_wrong_in_the_clusters_own_data_is_found_as_well),
        cmocka_unit_test(a_link_that_is_thin_for_a_time_costs_less_than_one_that_always_is),
        cmocka_unit_test(two_who_hide_each_other_are_both_named),
        cmocka_unit_test(what_costs_next_to_nothing_is_nobodys_fault),
        cmocka_unit_test(half_of_a_cluster_is_nobody),
        cmocka_unit_test(a_delay_travels_one_hop_a_step),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
