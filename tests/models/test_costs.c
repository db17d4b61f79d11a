/* SPDX-License-Identifier: MIT
 *
 * What a CPU does beside its kernels: looking at messages, and streams through memory. */
#include "tests/models/ring_case.h"

static double first_step_s(struct ring_case *that)
{
    struct ring_plan_step step;

    ring_case_build(that);
    ring_plan_step(&that->plan, 0, 0, &step);
    double seconds = model_ring_step_s(&that->ring, 0, &step);
    ring_case_fini(that);
    return seconds;
}

/* Blocks of 20 MB are looked after every 20e6 / 10 GB/s / 10 = 0.2 ms. Over 10 GB/s they move for 2 ms; with
 * two looks more, 2.4 ms or 12 looks of 4 us beside a block of 5 ms, all of a block of 1 ms: 5. A receiver
 * that copies needs the two alone. */
static void looking_at_messages_costs_a_block_its_looks(void **state)
{
    static const struct {
        enum model_progress progress;
        bool copied;
        double block_ms, expected_ms;
    } cases[] = {{MODEL_PROGRESS_POLL, false, 5, 5.048},
                 {MODEL_PROGRESS_POLL, false, 1, 1.020},
                 {MODEL_PROGRESS_POLL, true, 5, 5.008},
                 {MODEL_PROGRESS_NONE, false, 5, 5}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ring_case that;
        ring_case_init(&that);
        uint32_t a = topology_builder_device(&that.cluster, "a");
        uint32_t b = topology_builder_device(&that.cluster, "b");
        topology_builder_link(&that.cluster, a, b, 10e9, 0);
        topology_builder_link(&that.cluster, b, a, 10e9, 0);
        for (size_t link = 0; link < 2 && cases[i].copied; link++)
            that.cluster.topology.links[link].mover = MODEL_MOVED_BY_RECEIVER;
        ring_case_set_block(&that, 2, 20000000);
        for (uint32_t rank = 0; rank < 2; rank++) {
            ring_case_set_block_time(&that, rank, 1e-3 * cases[i].block_ms);
            that.devices[rank].poll_s = 4e-6;
        }
        that.progress = cases[i].progress;
        assert_ms(first_step_s(&that), cases[i].expected_ms);
    }
}

/* 6 MB at 3 GB/s, 2 ms; at 1.5 GB/s, 4 ms; and where nothing was measured, at what memory does: 6 GB/s. */
static void adding_and_preparing_have_rates_of_their_own(void **state)
{
    const struct model_device that = {.memory_bytes_per_s = 6e9,
                                      .add_bytes_per_s[RING_FP32] = 3e9,
                                      .prepare_bytes_per_s[RING_BF16] = 1.5e9};

    (void)state;
    assert_ms(model_device_add_s(&that, RING_FP32, 6e6), 2);
    assert_ms(model_device_add_s(&that, RING_BF16, 6e6), 1);
    assert_ms(model_device_prepare_s(&that, RING_BF16, 6e6), 4);
    assert_ms(model_device_prepare_s(&that, RING_FP32, 6e6), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(looking_at_messages_costs_a_block_its_looks),
        cmocka_unit_test(adding_and_preparing_have_rates_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
