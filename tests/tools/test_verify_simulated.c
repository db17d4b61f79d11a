/* SPDX-License-Identifier: MIT
 *
 * Both passes on real data through the simulated cluster: every layout and mask, grouped heads, even and
 * uneven shares, each rank's every row and gradient within its bound of the fp64 single shot. (The same over
 * MPI is in tests/mpi/passes.c; that the bits are equal, in tests/cli.) */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_all.h"
#include "tools/verify.h"

enum { MAX_SETS = 12 };

/* A cluster of twenty devices; 16 tokens a rank or five more in all, 4 heads of 8 over 2 kv heads. */
static void run(const char *const *sets, size_t n_sets, struct tool_verified *verified)
{
    static const char *const files[] = {"tests/cli/verify.yaml"};
    struct tool_options options = {
        .files = files, .n_files = 1, .sets = (const char **)sets, .n_sets = n_sets, .world = "simgrid"};
    struct tool_setup setup;
    struct ring_error error = {""};
    if (tool_setup_open(&setup, &options, &error) != RING_OK)
        fail_msg("%s", error.text);
    enum ring_status status = tool_verify_simulated(&setup, 0, NULL, verified, &error);
    tool_setup_close(&setup);
    if (status == RING_UNSUPPORTED) {
        print_message("SKIPPED: %s\n", error.text);
        skip();
    }
    if (status != RING_OK)
        fail_msg("%s", error.text);
}

static void verify(uint32_t n_ranks, enum ring_pass pass, enum ring_layout_kind layout, enum ring_mask mask,
                   const char *types)
{
    char texts[6][64];
    const char *sets[MAX_SETS] = {"problem.head_dim=8", "measure.kernel=auto"};
    struct tool_verified verified = {.n_ranks = 0};
    snprintf(texts[0], 64, "ring.devices=%" PRIu32, n_ranks);
    snprintf(texts[1], 64, "problem.tokens=%" PRIu32, 16 * n_ranks + (mask == RING_MASK_CAUSAL ? 5 : 0));
    snprintf(texts[2], 64, "ring.layout=%s", ring_layout_names[layout]);
    snprintf(texts[3], 64, "problem.mask=%s", ring_mask_names[mask]);
    snprintf(texts[4], 64, "ring.pass=%s", ring_pass_names[pass]);
    snprintf(texts[5], 64, "problem.dtype=%s", types);
    for (size_t i = 0; i < 6; i++)
        sets[2 + i] = texts[i];
    run(sets, 8, &verified);
    assert_int_equal(verified.n_ranks, n_ranks);
    assert_true((verified.gradients != NULL) == (pass != RING_PASS_FORWARD));
    for (uint32_t rank = 0; rank < n_ranks; rank++) {
        const struct verify_report *report = &verified.reports[rank];
        assert_int_equal(report->rows_checked, report->rows_total);
        assert_int_equal(report->n_bad, 0);
        if (verified.gradients == NULL)
            continue;
        const struct verify_gradient_report *gradients = &verified.gradients[rank];
        assert_int_equal(gradients->keys_checked, gradients->keys_total);
        if (gradients->n_bad > 0)
            fail_msg("rank %" PRIu32 " of %" PRIu32 ": %s, %s, %s", rank, n_ranks, ring_pass_names[pass],
                     ring_layout_names[layout], ring_mask_names[mask]);
    }
    tool_verified_fini(&verified);
}

static void any_number_of_ranks_is_exact_in_every_layout_and_mask(void **state)
{
    static const uint32_t counts[] = {1, 2, 3, 4, 5, 7, 8};
    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        for (int layout = 0; layout < RING_N_LAYOUTS; layout++)
            for (int mask = 0; mask < RING_N_MASKS; mask++)
                verify(counts[i], RING_PASS_BOTH, (enum ring_layout_kind)layout, (enum ring_mask)mask,
                       "fp32");
}

static void each_pass_alone_is_exact_in_every_type(void **state)
{
    static const char *const types[] = {"fp32", "bf16", "fp64"};
    (void)state;
    for (size_t i = 0; i < 3; i++)
        for (int pass = 0; pass < RING_N_PASSES; pass++)
            verify(3, (enum ring_pass)pass, RING_LAYOUT_ZIGZAG, RING_MASK_CAUSAL, types[i]);
}

/* The state that a backward pass alone begins from is the one that a forward pass leaves, so not a bit of the
 * gradients differs. */
static void backward_alone_has_the_bits_of_both(void **state)
{
    const char *sets[] = {"ring.pass=both", "problem.dtype=fp32", "measure.kernel=auto"};
    struct tool_verified both = {.n_ranks = 0}, alone = {.n_ranks = 0};
    (void)state;
    run(sets, 3, &both);
    sets[0] = "ring.pass=backward";
    run(sets, 3, &alone);
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_true(both.gradients[rank].checksum == alone.gradients[rank].checksum);
        assert_true(both.reports[rank].checksum == alone.reports[rank].checksum);
    }
    tool_verified_fini(&both);
    tool_verified_fini(&alone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_ranks_is_exact_in_every_layout_and_mask),
        cmocka_unit_test(each_pass_alone_is_exact_in_every_type),
        cmocka_unit_test(backward_alone_has_the_bits_of_both),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
