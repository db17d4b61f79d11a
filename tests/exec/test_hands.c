/* SPDX-License-Identifier: MIT
 *
 * A rank's tasks shared by several threads: whoever comes when, the result has the bits that one thread's
 * has. */
#include <stdlib.h>
#include <string.h>

#include "tests/exec/ring_turn.h"
#include "tests/support/cmocka_all.h"

static const struct data_spec noise = {.kind = DATA_RANDOM, .seed = 31};

static void run_with(struct ring_turn *turn, const struct ring_plan_spec *spec, const char *kernel,
                     uint32_t n_hands)
{
    struct ring_error error;
    ring_turn_open(turn, spec, kernel, &noise);
    for (uint32_t rank = 0; rank < spec->n_ranks && n_hands > 1; rank++)
        if (attention_open_hands(turn->attention[rank], n_hands, &error) != RING_OK)
            fail_msg("%s", error.text);
    ring_turn_run(turn);
}

static void assert_same_output(const struct ring_turn *a, const struct ring_turn *b, uint32_t rank)
{
    const struct ring_problem *problem = &a->plan.problem;
    size_t rows = problem->batch * problem->heads * ring_layout_shard(&a->plan.layout, rank).tokens;
    size_t real = ring_dtype_bytes(a->kernel->state), bytes = rows * problem->head_dim * real;
    char *out[2], *lse[2];
    for (int i = 0; i < 2; i++) {
        out[i] = malloc(bytes);
        lse[i] = malloc(rows * real);
        assert_true(out[i] != NULL && lse[i] != NULL);
        attention_finish((i == 0 ? a : b)->attention[rank], out[i], lse[i]);
    }
    assert_memory_equal(out[0], out[1], bytes);
    assert_memory_equal(lse[0], lse[1], rows * real);
    for (int i = 0; i < 2; i++) {
        free(out[i]);
        free(lse[i]);
    }
}

static void assert_same_bits(const struct ring_turn *a, const struct ring_turn *b)
{
    const struct ring_problem *problem = &a->plan.problem;
    for (uint32_t rank = 0; rank < a->plan.n_ranks; rank++)
        assert_same_output(a, b, rank);
    for (int tensor = TURN_D_Q; tensor < TURN_N_TENSORS && a->plan.pass != RING_PASS_FORWARD; tensor++) {
        size_t heads = tensor == TURN_D_Q ? problem->heads : problem->kv_heads;
        double *one = ring_turn_gather(a, (enum ring_turn_tensor)tensor),
               *many = ring_turn_gather(b, (enum ring_turn_tensor)tensor);
        assert_memory_equal(one, many,
                            problem->batch * heads * problem->tokens * problem->head_dim * sizeof(double));
        free(one);
        free(many);
    }
}

static void compare(const struct ring_plan_spec *spec, const char *kernel)
{
    static const uint32_t counts[] = {2, 3, 8};
    struct ring_turn one, many;
    run_with(&one, spec, kernel, 1);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        run_with(&many, spec, kernel, counts[i]);
        assert_same_bits(&one, &many);
        ring_turn_close(&many);
    }
    ring_turn_close(&one);
}

static void both_passes_have_the_same_bits_with_any_number_of_hands(void **state)
{
    (void)state;
    for (int layout = 0; layout < RING_N_LAYOUTS; layout++)
        for (int mask = 0; mask < RING_N_MASKS; mask++) {
            struct ring_plan_spec spec = ring_turn_spec(2, 1100, 2, 1, 16, RING_FP32);
            spec.layout = (enum ring_layout_kind)layout;
            spec.problem.mask = (enum ring_mask)mask;
            compare(&spec, "auto");
        }
}

static void spans_of_one_head_follow_each_other(void **state)
{
    (void)
        state; /* several spans of keys in a block, one kv head: dQ is summed over what different hands do */
    struct ring_plan_spec spec = ring_turn_spec(1, 2300, 3, 1, 8, RING_BF16);
    compare(&spec, "auto");
    spec.problem.mask = RING_MASK_FULL;
    compare(&spec, "auto");
    spec.problem.heads = spec.problem.kv_heads = 1;
    compare(&spec, "auto");
}

static void the_reference_is_shared_alike(void **state)
{
    (void)state;
    struct ring_plan_spec spec = ring_turn_spec(3, 301, 4, 2, 6, RING_FP64);
    spec.problem.batch = 2;
    compare(&spec, "reference");
}

static void a_backward_task_without_a_gradient_to_start_from_fails_with_its_line(void **state)
{
    (void)state;
    struct ring_plan_spec spec = ring_turn_spec(1, 32, 1, 1, 8, RING_FP32);
    struct ring_turn turn;
    struct ring_error error = {""};
    enum ring_lent lent;
    spec.pass = RING_PASS_FORWARD;
    ring_turn_open(&turn, &spec, "auto", &noise);
    assert_int_equal(attention_open_hands(turn.attention[0], 2, &error), RING_OK);
    struct ring_compute compute = attention_compute(turn.attention[0]);
    struct ring_task task = {.job = RING_JOB_BACKWARD};
    compute.share(compute.context, &task);
    assert_int_equal(compute.lend(compute.context, &task, 1, &lent, &error), RING_BAD_INPUT);
    assert_non_null(strstr(error.text, "no dO was given"));
    ring_turn_close(&turn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_passes_have_the_same_bits_with_any_number_of_hands),
        cmocka_unit_test(spans_of_one_head_follow_each_other),
        cmocka_unit_test(the_reference_is_shared_alike),
        cmocka_unit_test(a_backward_task_without_a_gradient_to_start_from_fails_with_its_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
