/* SPDX-License-Identifier: MIT
 *
 * What holds of any fault: communication takes twice as long at half the bandwidth, and a seed means the same
 * bits again. What single faults cost is in test_blame.c and tests/sim/. */
#include <string.h>

#include "tests/models/eight.h"

/* Blocks of 10 us, hops of 1.342 ms: seven hops, then the last block. */
static void halving_every_bandwidth_doubles_the_communication(void **state)
{
    struct ring_case that;
    uint32_t links[16];
    double whole_ms;

    (void)state;
    ring_of_eight(&that);
    that.compute.block_s = 10e-6;
    ring_case_build(&that);
    ring_case_play(&that);
    whole_ms = end_ms(&that);
    assert_ms(whole_ms / 1e3, 7 * hop_ms + 0.01);
    for (uint32_t i = 0; i < 16; i++)
        links[i] = i;
    const struct model_fault items[] = {
        {.kind = MODEL_FAULT_BANDWIDTH,
         .subject = "all",
         .links = links,
         .n_links = 16,
         .amount = 0.5,
         .to_s = INFINITY},
        {.kind = MODEL_FAULT_LATENCY,
         .subject = "all",
         .links = links,
         .n_links = 16,
         .amount = 1e-6,
         .to_s = INFINITY},
    };
    const struct model_faults faults = {.items = items, .n = 2};
    strike(&that, &faults);
    ring_case_play(&that);
    assert_ms((end_ms(&that) - 0.01) / 1e3, 2 * (whole_ms - 0.01));
    ring_case_fini(&that);
}

static void one_seed_gives_the_same_bits_and_another_one_others(void **state)
{
    struct ring_case that;
    double first_s[8];
    const struct model_fault fault = {
        .kind = MODEL_FAULT_JITTER, .subject = "d2", .device = 2, .amount = 0.05, .to_s = INFINITY};
    struct model_faults faults = {.items = &fault, .n = 1, .seed = 7};

    (void)state;
    ring_of_eight(&that);
    ring_case_build(&that);
    strike(&that, &faults);
    ring_case_play(&that);
    memcpy(first_s, that.ends_s, sizeof first_s);
    assert_true(end_ms(&that) > 8 * block_ms && end_ms(&that) < 8 * block_ms * 1.25);
    ring_case_play(&that);
    assert_memory_equal(first_s, that.ends_s, sizeof first_s);
    faults.seed = 8;
    strike(&that, &faults);
    ring_case_play(&that);
    assert_memory_not_equal(first_s, that.ends_s, sizeof first_s);
    ring_case_fini(&that);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halving_every_bandwidth_doubles_the_communication),
        cmocka_unit_test(one_seed_gives_the_same_bits_and_another_one_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
