/* SPDX-License-Identifier: MIT
 *
 * The bandwidth at which messages just hide behind blocks: by hand, and confirmed by sweeping the bandwidth
 * through it with the recurrence. */
#include <math.h>
#include <stdlib.h>

#include "tests/models/ring_case.h"

/* Every hop at this bandwidth, 5 us of latency: a star of 8, 65536 tokens, on an H100 as far as the blocks of
 * sections 4 and 10 of docs/MODEL.md go: its rates at 8192 x 4096 tokens. */
struct question {
    enum ring_pass pass;
    enum ring_mask mask;
    enum ring_dtype gradients;
    enum ring_layout_kind layout;
    double block_s, backward_block_s; /* 0: by a device */
};

static const double one_token[] = {1}, rates[2] = {673.7e12, 536.15e12};
static const struct model_curve curves[] = {{.pass = RING_PASS_FORWARD,
                                             .dtype = RING_BF16,
                                             .head_dim = 128,
                                             .square = true,
                                             .n_q = 1,
                                             .q_tokens = one_token,
                                             .rates_flop_per_s = &rates[0]},
                                            {.pass = RING_PASS_BACKWARD,
                                             .dtype = RING_BF16,
                                             .head_dim = 128,
                                             .square = true,
                                             .n_q = 1,
                                             .q_tokens = one_token,
                                             .rates_flop_per_s = &rates[1]}};

static void build(struct ring_case *that, const struct question *question, double bytes_per_s)
{
    ring_case_init(that);
    that->spec.n_ranks = 8;
    that->spec.pass = question->pass;
    that->spec.layout = question->layout;
    that->spec.gradient_dtype = question->gradients;
    that->spec.problem = (struct ring_problem){.tokens = 65536,
                                               .batch = 1,
                                               .heads = 32,
                                               .kv_heads = 8,
                                               .head_dim = 128,
                                               .dtype = RING_BF16,
                                               .mask = question->mask};
    that->compute =
        (struct model_compute){.block_s = question->block_s, .backward_block_s = question->backward_block_s};
    that->cluster.device = (struct model_device){.name = "flat",
                                                 .memory_bytes_per_s = 3.08e12,
                                                 .step_s = 6e-6,
                                                 .merge_bytes_per_element = 28,
                                                 .curves = curves,
                                                 .n_curves = 2};
    topology_builder_star(&that->cluster, 8, bytes_per_s, 5e-6);
    ring_case_build(that);
}

/* What the ring takes, without what the last gradient takes on its way home. */
static double time_s(const struct question *question, double bytes_per_s)
{
    struct ring_case that;
    double end_s = 0;

    build(&that, question, bytes_per_s);
    ring_case_play(&that);
    for (uint32_t rank = 0; rank < 8; rank++)
        end_s = fmax(end_s, that.ends_s[rank]);
    if (question->pass != RING_PASS_FORWARD)
        end_s -= (double)ring_plan_payload_bytes(&that.plan, RING_GRADIENT, 0) / bytes_per_s + 5e-6;
    ring_case_fini(&that);
    return end_s;
}

static double crossover(const struct question *question)
{
    struct ring_case that;

    build(&that, question, 1e12);
    double bytes_per_s = model_ring_crossover(&that.ring, question->pass);
    ring_case_fini(&that);
    return bytes_per_s;
}

/* From a quarter to four times the crossover: nothing is exposed from it on, and the less there is the more
 * is. */
static void sweep_through(const struct question *question)
{
    double bytes_per_s = crossover(question), unbound_s = time_s(question, 1e18), last_s = INFINITY;

    for (int i = -20; i <= 20; i++) {
        double fraction = pow(4, i / 20.0);
        double exposed_s = time_s(question, bytes_per_s * fraction) - unbound_s;
        if (i >= 0)
            assert_true(fabs(exposed_s) <= 1e-9 * unbound_s);
        else
            assert_true(exposed_s > 1e-3 * (1 - fraction) * unbound_s && exposed_s < last_s);
        last_s = exposed_s;
    }
    assert_true(time_s(question, bytes_per_s * (1 - 1e-5)) - unbound_s > 1e-7 * unbound_s);
    assert_true(fabs(time_s(question, bytes_per_s * (1 + 1e-5)) - unbound_s) <= 1e-9 * unbound_s);
}

static void bytes_over_a_block_less_its_latency(void **state)
{
    /* Blocks of 1 ms and 2.5 ms; 33554432 B of K/V, twice that of gradients. Forward: 33554432 / 0.995 ms =
     * 33.72 GB/s. Backward: 3 * 33554432 / 2.495 ms = 40.35 GB/s; with bf16 gradients 2 * 33554432 / 2.495 ms
     * = 26.90 GB/s. */
    struct question question = {.pass = RING_PASS_FORWARD, .block_s = 1e-3, .layout = RING_LAYOUT_ZIGZAG};

    (void)state;
    assert_ms(crossover(&question) * 1e-12, 33554432 / 0.995 * 1e-6);
    question.pass = RING_PASS_BACKWARD;
    assert_ms(crossover(&question) * 1e-12, 3 * 33554432 / 2.495 * 1e-6);
    question.gradients = RING_BF16;
    assert_ms(crossover(&question) * 1e-12, 2 * 33554432 / 2.495 * 1e-6);
    question.backward_block_s = 4e-6; /* shorter than the latency */
    assert_true(isinf(crossover(&question)));
}

static void a_sweep_of_fixed_blocks_crosses_where_it_should(void **state)
{
    (void)state;
    sweep_through(&(struct question){.pass = RING_PASS_FORWARD, .block_s = 1e-3});
    sweep_through(&(struct question){.pass = RING_PASS_BACKWARD, .block_s = 1e-3});
    sweep_through(&(struct question){.pass = RING_PASS_BACKWARD, .block_s = 1e-3, .gradients = RING_BF16});
}

static void a_sweep_of_priced_blocks_crosses_where_it_should(void **state)
{
    struct question question = {
        .pass = RING_PASS_FORWARD, .mask = RING_MASK_CAUSAL, .layout = RING_LAYOUT_ZIGZAG};

    (void)state;
    /* an earlier rank's block: 1.1271 ms forward, 2.6784 ms backward */
    assert_true(fabs(crossover(&question) / 29.90e9 - 1) < 1e-3);
    sweep_through(&question);
    question.pass = RING_PASS_BACKWARD;
    assert_true(fabs(crossover(&question) / 37.65e9 - 1) < 1e-3);
    sweep_through(&question);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_over_a_block_less_its_latency),
        cmocka_unit_test(a_sweep_of_fixed_blocks_crosses_where_it_should),
        cmocka_unit_test(a_sweep_of_priced_blocks_crosses_where_it_should),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
