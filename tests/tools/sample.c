/* SPDX-License-Identifier: MIT
 *
 * See sample.h. */
#include "tests/tools/sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_all.h"

static void fill_question(struct tool_result *result)
{
    result->question = (struct tool_question){
        .name = "a sample with \"quotes\"",
        .path = "sample.yaml",
        .cluster = "/somewhere/two.yaml",
        .plan = {.strategy = "ring",
                 .problem = {4096, 2, 8, 2, 64, RING_BF16, RING_MASK_CAUSAL},
                 .layout = RING_LAYOUT_STRIPED,
                 .pass = RING_PASS_FORWARD,
                 .n_ranks = 2,
                 .n_buffers = 3},
        .natural = true,
        .compute = {.block_s = 0.0013744, .core_free = true},
        .progress = MODEL_PROGRESS_NONE,
        .data = {"ramp", 77},
        .measure = {3, 1, 12.5, "auto"},
    };
}

void sample_result(struct tool_result *result)
{
    struct ring_error error;
    tool_result_init(result);
    fill_question(result);
    result->world = "mpi";
    result->world_detail = "Open MPI, poll";
    result->kernel = "tiled-avx2";
    assert_int_equal(tool_result_allocate(result, 2, 2, true, &error), RING_OK);
    result->ranks[0] =
        (struct tool_rank){"core0", 5, 1, 0.5, 0, 6.5, 1000, 40, 1 << 20, 1 << 30, 1 << 19, 600000};
    result->ranks[1] = (struct tool_rank){"core1", 6, 0, 0, 0.25, 6.25, 1000, 40, 1 << 20, 0, 1 << 19, 0};
    result->steps[0] = (struct ring_parts){0, 4.5, 3, 1, 0.5, 0};
    result->steps[1] = (struct ring_parts){4.5, 6.5, 2, 0, 0, 0};
    result->steps[2] = (struct ring_parts){0, 3.125, 3, 0, 0, 0.125};
    result->steps[3] = (struct ring_parts){3.125, 6.25, 3, 0, 0, 0.125};
    result->time_s = 6.5;
    result->passes[0] = (struct tool_pass){RING_PASS_FORWARD, 0, 1, 4.5, 3, 1, 1000, 5e9};
    result->passes[1] = (struct tool_pass){RING_PASS_BACKWARD, 1, 1, 2, 3, 0, 2000, (double)INFINITY};
    result->n_passes = 2;
    result->fit = (struct model_fit){.fits = true,
                                     .rank = 1,
                                     .n_sharing = 1,
                                     .needed_bytes = 1 << 20,
                                     .capacity_bytes = 1 << 30,
                                     .memory = {.q_bytes = 1000, .d_q_bytes = 7, .total_bytes = 1007},
                                     .largest_tokens = 4096};
    result->repeats_s = malloc(3 * sizeof *result->repeats_s);
    assert_non_null(result->repeats_s);
    memcpy(result->repeats_s, (const double[]){7, 6.25, 6.5}, 3 * sizeof *result->repeats_s);
    result->n_repeats = 3;
    result->links = calloc(1, sizeof *result->links);
    assert_non_null(result->links);
    result->links[0] = (struct tool_link){"core0 -> core1", 1000, 2, 500};
    result->n_links = 1;
    result->bound = (struct model_bound){6, 2, 6};
    result->flops = 1e12;
    result->moving_s = 4;
    result->verdict = (struct tool_verdict){TOOL_LIMIT_NETWORK, "core0 -> core1", "It is the network."};
    tool_result_note(result, "a note");
}
