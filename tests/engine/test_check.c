/* SPDX-License-Identifier: MIT
 *
 * The plan checker: it passes every ring, and finds each fault that a broken schedule can have. The broken
 * ones are the ring with one thing changed. */
#include "engine/check.h"

#include <string.h>

#include "engine/plans/plans.h"
#include "tests/support/cmocka_all.h"

static struct ring_plan_spec spec_of(enum ring_layout_kind layout, uint64_t tokens, uint32_t n_ranks,
                                     uint32_t n_buffers)
{
    return (struct ring_plan_spec){
        .strategy = "ring",
        .problem = {.tokens = tokens,
                    .batch = 1,
                    .heads = 1,
                    .kv_heads = 1,
                    .head_dim = 8,
                    .dtype = RING_BF16,
                    .mask = RING_MASK_CAUSAL},
        .layout = layout,
        .pass = RING_PASS_FORWARD,
        .n_ranks = n_ranks,
        .n_buffers = n_buffers,
    };
}

/* Every pass, and with pass N_PASSES both while keeping K/V. */
static void check_ring(struct ring_plan_spec spec, int pass)
{
    struct ring_plan plan;
    struct ring_error error;

    spec.keep_kv = pass == RING_N_PASSES;
    spec.pass = spec.keep_kv ? RING_PASS_BOTH : (enum ring_pass)pass;
    spec.gradient_dtype = spec.problem.tokens % 2 ? RING_FP32 : RING_BF16;
    assert_int_equal(ring_plan_init(&plan, &spec, NULL), RING_OK);
    if (ring_plan_check(&plan, &error) != RING_OK)
        fail_msg("N=%u buffers=%u S=%u pass=%d: %s", spec.n_ranks, spec.n_buffers,
                 (unsigned)spec.problem.tokens, pass, error.text);
}

static void every_ring_passes(void **state)
{
    (void)state;
    for (int layout = 0; layout < RING_N_LAYOUTS; layout++)
        for (uint32_t n_ranks = 1; n_ranks <= 9; n_ranks++)
            for (uint32_t n_buffers = 2; n_buffers <= 5; n_buffers++)
                for (uint64_t tokens = n_ranks; tokens < 40; tokens += 7)
                    for (int pass = 0; pass <= RING_N_PASSES; pass++)
                        check_ring(spec_of((enum ring_layout_kind)layout, tokens, n_ranks, n_buffers), pass);
}

/* The ring of 4, with one step of rank 2 changed by the fault under test. */
static void (*change)(struct ring_plan_step *step);
static uint32_t changed_step;

static void broken_step(const struct ring_plan *plan, uint32_t rank, uint32_t step,
                        struct ring_plan_step *out)
{
    ring_plan_ring.step(plan, rank, step, out);
    if (rank == 2 && step == changed_step)
        change(out);
}

static void skip_compute(struct ring_plan_step *step)
{
    step->computes = false;
}
static void wrong_block(struct ring_plan_step *step)
{
    step->block = 0;
}
static void wrong_slot(struct ring_plan_step *step)
{
    step->slot = RING_HOME_SLOT;
}
static void wrong_pairs(struct ring_plan_step *step)
{
    step->work.visible_pairs++;
}
static void receive_into_the_slot_in_hand(struct ring_plan_step *step)
{
    step->receives[0].slot = step->slot;
}
static void receive_into_home(struct ring_plan_step *step)
{
    step->receives[0].slot = RING_HOME_SLOT;
}
static void send_what_it_has_not(struct ring_plan_step *step)
{
    step->sends[0].block = 3;
}
static void wrong_tag(struct ring_plan_step *step)
{
    step->sends[0].tag = 9;
}
static void huge_tag(struct ring_plan_step *step)
{
    step->sends[0].tag = RING_TAG_LIMIT;
}
static void short_message(struct ring_plan_step *step)
{
    step->sends[0].bytes--;
}
static void never_wait_for_the_send(struct ring_plan_step *step)
{
    step->n_await_sends = 0;
}
static void wait_for_nothing_posted(struct ring_plan_step *step)
{
    step->await_receive_slots[0] = RING_HOME_SLOT;
}
static void forget_the_send(struct ring_plan_step *step)
{
    step->n_sends = step->n_await_sends = 0;
}
static void send_backwards(struct ring_plan_step *step)
{
    step->sends[0].peer = 1;
}

static void add_to_nothing(struct ring_plan_step *step)
{
    step->block = 3;
}
static void forget_to_add(struct ring_plan_step *step)
{
    step->adds = false;
}
static void begin_again(struct ring_plan_step *step)
{
    step->begins = true;
}
static void add_to_what_is_being_sent(struct ring_plan_step *step)
{
    step->gradient_slot = step->sends[step->n_sends - 1].slot;
    step->n_await_sends--;
}
static void contribute_into_a_gradient(struct ring_plan_step *step)
{
    step->contribution_slot = step->gradient_slot;
}

/* The same for the backward pass of a ring of 4 whose ranks all see each other. */
static void each_fault_of_a_gradient_is_found_and_named(void **state)
{
    const struct {
        void (*change)(struct ring_plan_step *step);
        uint32_t step;
        const char *says;
    } faults[] = {
        {add_to_nothing, 1, "does not hold it"},
        {forget_to_add, 1, "before it is added"},
        {begin_again, 1, "3 ranks added to the gradient, 4 see the block"},
        {add_to_what_is_being_sent, 1, "while it is in flight"},
        {contribute_into_a_gradient, 1, "not for it"},
    };
    struct ring_plan_kind broken = ring_plan_ring;
    struct ring_plan_spec spec = spec_of(RING_LAYOUT_ZIGZAG, 16, 4, 2);
    struct ring_plan plan;
    struct ring_error error;

    (void)state;
    broken.step = broken_step;
    spec.pass = RING_PASS_BACKWARD;
    assert_int_equal(ring_plan_init(&plan, &spec, NULL), RING_OK);
    plan.kind = &broken;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        change = faults[i].change;
        changed_step = faults[i].step;
        enum ring_status status = ring_plan_check(&plan, &error);
        if (status != RING_BAD_INPUT || !strstr(error.text, faults[i].says))
            fail_msg("fault %zu: wanted '%s', found: %s", i, faults[i].says,
                     status ? error.text : "no fault");
    }
}

static void each_fault_is_found_and_named(void **state)
{
    const struct {
        void (*change)(struct ring_plan_step *step);
        uint32_t step;
        enum ring_status status;
        const char *says;
    } faults[] = {
        {skip_compute, 1, RING_BAD_INPUT, "block 1 is never computed"},
        {wrong_block, 1, RING_BAD_INPUT, "does not hold it"},
        {wrong_slot, 1, RING_BAD_INPUT, "does not hold it"},
        {wrong_pairs, 1, RING_BAD_INPUT, "visible pairs"},
        {receive_into_the_slot_in_hand, 1, RING_BAD_INPUT, "being computed on"},
        {receive_into_home, 1, RING_BAD_INPUT, "own block"},
        {send_what_it_has_not, 1, RING_BAD_INPUT, "does not hold it"},
        {wrong_tag, 1, RING_BAD_INPUT, "meets a receive"},
        {huge_tag, 1, RING_BAD_INPUT, "tag 32768"},
        {short_message, 1, RING_BAD_INPUT, "not that block's size"},
        {never_wait_for_the_send, 1, RING_BAD_INPUT, "while it is being sent"},
        {wait_for_nothing_posted, 1, RING_BAD_INPUT, "never posted"},
        {forget_the_send, 2, RING_DEADLOCK, "rank 3 waits for rank 2 at hop 2"},
        {send_backwards, 1, RING_DEADLOCK, "rank 2 waits for rank 1 at hop 1"},
    };
    struct ring_plan_kind broken = ring_plan_ring;
    struct ring_plan_spec spec = spec_of(RING_LAYOUT_CONTIGUOUS, 16, 4, 2);
    struct ring_plan plan;
    struct ring_error error;

    (void)state;
    broken.step = broken_step;
    assert_int_equal(ring_plan_init(&plan, &spec, NULL), RING_OK);
    plan.kind = &broken;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        change = faults[i].change;
        changed_step = faults[i].step;
        enum ring_status status = ring_plan_check(&plan, &error);
        if (status != faults[i].status || !strstr(error.text, faults[i].says))
            fail_msg("fault %zu: wanted '%s', found: %s", i, faults[i].says,
                     status ? error.text : "no fault");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_ring_passes),
        cmocka_unit_test(each_fault_is_found_and_named),
        cmocka_unit_test(each_fault_of_a_gradient_is_found_and_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
