/* SPDX-License-Identifier: MIT
 *
 * A blind check against a public measurement, on 8 x H800 and on 8 x A100: how much faster zigzag is than a
 * contiguous ring, and how much longer forward and backward take than forward alone. Only the one-GPU figures
 * of the same table enter the prediction; everything else is from other sources. docs/MODEL.md, "A blind
 * check", has the working and the figures that come out.
 *
 * The measurement: zhuzilin/ring-flash-attention, README at 8996282, batch API, iterations a second, of a
 * forward pass, and of a forward and a backward pass. 8192 tokens a GPU, 32 heads, 8 K/V heads, head_dim 128,
 * bf16, causal; 8 GPUs of one node. */
#include <math.h>
#include <stdio.h>

#include "tests/models/ring_case.h"

struct machine {
    const char *name;
    /* measured: one GPU on 8192 tokens, then 8 GPUs on 65536 */
    double one_gpu, contiguous, zigzag, striped;
    double one_gpu_both, both[RING_N_LAYOUTS]; /* by layout */
    /* FlashAttention-2, head_dim 128, TFLOP/s at 512, 1024 ... 16384 tokens; index 4 is 8192 */
    double full[6], causal[6];
    /* the same, backward; at backward_tokens, index of 8192 */
    double backward_tokens[6], backward_full[6], backward_causal[6];
    int backward_8192;
    double memory_bytes_per_s, link_bytes_per_s, latency_s;
};

static const struct machine machines[] = {
    {
        .name = "8 x H800",
        .one_gpu = 591.5,
        .contiguous = 38.5,
        .zigzag = 63.0,
        .striped = 55.0,
        .one_gpu_both = 154.7,
        .both = {10.4, 17.4, 16.0},
        /* the same chip as an H100: arXiv 2407.08608, figure labels, FA2 on H100 80GB SXM5 */
        .full = {309, 350, 362, 368, 370, 370},
        .causal = {191, 260, 298, 319, 333, 335},
        /* SandAI-org/MagiAttention docs/source/blog/cp_benchmark.md at 2c64135, FA2 on H100, digitised */
        .backward_tokens = {1024, 2048, 4096, 8192, 16384, 32768},
        .backward_full = {224.1, 277.0, 309.8, 320.8, 331.6, 335.7},
        .backward_causal = {140.4, 209.4, 266.0, 302.9, 323.3, 330.7},
        .backward_8192 = 3,
        /* 92 % of 3.35 TB/s: pytorch/ao torchao/testing/training/roofline_utils.py */
        .memory_bytes_per_s = 3.08e12,
        /* one way, as measured: deepseek-ai/DeepSeek-V3 issue 28 */
        .link_bytes_per_s = 160e9,
        /* small send and receive in a node: microsoft/vidur at 7d47513, h100_dgx/send_recv.csv */
        .latency_s = 5e-6,
    },
    {
        .name = "8 x A100",
        .one_gpu = 373.4,
        .contiguous = 24.0,
        .zigzag = 38.2,
        .striped = 32.5,
        .one_gpu_both = 94.7,
        .both = {6.2, 10.6, 9.75},
        /* arXiv 2307.08691, figure labels, FA2 on A100 80GB SXM4 */
        .full = {209, 224, 227, 222, 224, 223},
        .causal = {132, 168, 187, 198, 200, 197},
        .backward_tokens = {512, 1024, 2048, 4096, 8192, 16384},
        .backward_full = {136, 159, 175, 187, 193, 196},
        .backward_causal = {90, 122, 145, 165, 176, 186},
        .backward_8192 = 4,
        /* STREAM triad: te42kyfo/gpu-benches cuda-stream/a100_80.txt at cdcc732 */
        .memory_bytes_per_s = 1.759e12,
        /* achievable over NVLink 3: NVIDIA/nccl-tests issue 149 */
        .link_bytes_per_s = 230e9,
        /* microsoft/vidur at 7d47513, a100_dgx/send_recv.csv */
        .latency_s = 8e-6,
    },
};

static const double curve_tokens[] = {512, 1024, 2048, 4096, 8192, 16384};

/* Three fp32 passes, out = a * out + b * block: 8 + 8 + 12 bytes an element; three kernels of 2 us, as the
 * same file of pytorch/ao has it. */
static const double merge_bytes = 28, step_s = 6e-6;

/* The curves keep their shape; their level is set by the one-GPU figures: backward is what the second has
 * beyond the first. */
static void fit_device(const struct machine *machine, double (*rates)[6], struct model_curve *curves,
                       struct model_device *device)
{
    double pairs = 8192.0 * 8193 / 2, flops = 4.0 * 128 * 32 * pairs;
    double backward_s = 1 / machine->one_gpu_both - 1 / machine->one_gpu;
    double level = machine->one_gpu * flops / (machine->causal[4] * 1e12);
    double backward_level =
        2.5 * flops / backward_s / (machine->backward_causal[machine->backward_8192] * 1e12);

    for (int i = 0; i < 6; i++) {
        rates[0][i] = machine->full[i] * 1e12 * level;
        rates[1][i] = machine->causal[i] * 1e12 * level;
        rates[2][i] = machine->backward_full[i] * 1e12 * backward_level;
        rates[3][i] = machine->backward_causal[i] * 1e12 * backward_level;
    }
    for (int i = 0; i < 4; i++)
        curves[i] = (struct model_curve){.pass = i < 2 ? RING_PASS_FORWARD : RING_PASS_BACKWARD,
                                         .dtype = RING_BF16,
                                         .head_dim = 128,
                                         .causal = i % 2,
                                         .square = true,
                                         .n_q = 6,
                                         .q_tokens = i < 2 ? curve_tokens : machine->backward_tokens,
                                         .rates_flop_per_s = rates[i]};
    *device = (struct model_device){.name = machine->name,
                                    .memory_bytes_per_s = machine->memory_bytes_per_s,
                                    .step_s = step_s,
                                    .merge_bytes_per_element = merge_bytes,
                                    .curves = curves,
                                    .n_curves = 4};
}

/* Iterations a second. dK and dV travel in fp32, as in the benchmark. */
static double predict(const struct machine *machine, enum ring_layout_kind layout, enum ring_pass pass)
{
    struct ring_case that;
    double rates[4][6], end_s = 0;
    struct model_curve curves[4];

    ring_case_init(&that);
    that.spec.n_ranks = 8;
    that.spec.layout = layout;
    that.spec.pass = pass;
    that.spec.problem = (struct ring_problem){.tokens = 65536,
                                              .batch = 1,
                                              .heads = 32,
                                              .kv_heads = 8,
                                              .head_dim = 128,
                                              .dtype = RING_BF16,
                                              .mask = RING_MASK_CAUSAL};
    fit_device(machine, rates, curves, &that.cluster.device);
    topology_builder_star(&that.cluster, 8, machine->link_bytes_per_s, machine->latency_s);
    ring_case_build(&that);
    ring_case_play(&that);
    for (uint32_t rank = 0; rank < 8; rank++)
        end_s = fmax(end_s, that.ends_s[rank]);
    ring_case_fini(&that);
    return 1 / end_s;
}

static void assert_ratio(const struct machine *machine)
{
    double contiguous = predict(machine, RING_LAYOUT_CONTIGUOUS, RING_PASS_FORWARD),
           zigzag = predict(machine, RING_LAYOUT_ZIGZAG, RING_PASS_FORWARD);
    double striped = predict(machine, RING_LAYOUT_STRIPED, RING_PASS_FORWARD);
    double predicted = zigzag / contiguous, measured = machine->zigzag / machine->contiguous;

    print_message("%s, iterations/s, predicted (measured, error):\n", machine->name);
    print_message(
        "  contiguous %.2f (%.2f, %+.1f %%)  zigzag %.2f (%.2f, %+.1f %%)  striped %.2f (%.2f, %+.1f %%)\n",
        contiguous, machine->contiguous, (contiguous / machine->contiguous - 1) * 100, zigzag,
        machine->zigzag, (zigzag / machine->zigzag - 1) * 100, striped, machine->striped,
        (striped / machine->striped - 1) * 100);
    print_message("  zigzag/contiguous %.3f (%.3f, %+.1f %%)  striped/contiguous %.3f (%.3f, %+.1f %%)\n",
                  predicted, measured, (predicted / measured - 1) * 100, striped / contiguous,
                  machine->striped / machine->contiguous,
                  (striped / contiguous / (machine->striped / machine->contiguous) - 1) * 100);
    assert_true(fabs(predicted / measured - 1) < 0.10);
}

static void zigzag_over_contiguous_on_8_h800_is_within_10_percent(void **state)
{
    (void)state;
    assert_ratio(&machines[0]);
}

static void zigzag_over_contiguous_on_8_a100_is_within_10_percent(void **state)
{
    (void)state;
    assert_ratio(&machines[1]);
}

/* How much longer forward and backward take than forward alone; returns the error of the ratio. */
static double print_backward(const struct machine *machine, enum ring_layout_kind layout)
{
    const double forward_measured[] = {machine->contiguous, machine->zigzag, machine->striped};
    double forward = predict(machine, layout, RING_PASS_FORWARD),
           both = predict(machine, layout, RING_PASS_BOTH);
    double predicted = forward / both, measured = forward_measured[layout] / machine->both[layout];

    print_message("  %-10s both %.2f/s (%.2f, %+.1f %%)  both/forward %.3f (%.3f, %+.1f %%)\n",
                  ring_layout_names[layout], both, machine->both[layout],
                  (both / machine->both[layout] - 1) * 100, predicted, measured,
                  (predicted / measured - 1) * 100);
    return predicted / measured - 1;
}

static void assert_both_over_forward(const struct machine *machine)
{
    print_message("%s, forward and backward, predicted (measured, error):\n", machine->name);
    for (int layout = 0; layout < RING_N_LAYOUTS; layout++)
        assert_true(fabs(print_backward(machine, (enum ring_layout_kind)layout)) < 0.10);
}

static void both_passes_over_forward_on_8_h800_are_within_10_percent(void **state)
{
    (void)state;
    assert_both_over_forward(&machines[0]);
}

static void both_passes_over_forward_on_8_a100_are_within_10_percent(void **state)
{
    (void)state;
    assert_both_over_forward(&machines[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zigzag_over_contiguous_on_8_h800_is_within_10_percent),
        cmocka_unit_test(zigzag_over_contiguous_on_8_a100_is_within_10_percent),
        cmocka_unit_test(both_passes_over_forward_on_8_h800_are_within_10_percent),
        cmocka_unit_test(both_passes_over_forward_on_8_a100_are_within_10_percent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
