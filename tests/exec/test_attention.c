/* SPDX-License-Identifier: MIT
 *
 * Whole rings, rank after rank, against closed forms and the fp64 oracle. */
#include "exec/kernels/attention.h"

#include <math.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exec/kernels/oracle.h"
#include "tests/exec/ring_by_hand.h"
#include "tests/support/cmocka_all.h"

static const uint32_t rank_counts[] = {1, 2, 3, 4, 5, 7, 8};
enum { N_RANK_COUNTS = sizeof rank_counts / sizeof *rank_counts };

static const struct data_spec ramp = {.kind = DATA_RAMP, .seed = 3};
static const struct data_spec noise = {.kind = DATA_RANDOM, .seed = 1};

/* A forward ring of n ranks; heads 8 : kv_heads. */
static struct ring_plan_spec forward_ring(uint64_t tokens, uint32_t n_ranks, uint32_t kv_heads,
                                          enum ring_dtype dtype, enum ring_layout_kind layout,
                                          enum ring_mask mask)
{
    return (struct ring_plan_spec){
        .strategy = "ring",
        .problem = {.tokens = tokens,
                    .batch = 1,
                    .heads = 8,
                    .kv_heads = kv_heads,
                    .head_dim = 16,
                    .dtype = dtype,
                    .mask = mask},
        .layout = layout,
        .pass = RING_PASS_FORWARD,
        .n_ranks = n_ranks,
        .n_buffers = RING_MIN_BUFFERS,
    };
}

/* For each layout and number of ranks: run, check, close. Returns the largest relative error. */
static double assert_exact(uint64_t tokens, uint32_t kv_heads, uint32_t head_dim, uint32_t batch,
                           enum ring_dtype dtype, const char *kernel, uint64_t max_rows)
{
    double worst = 0.0;
    for (int layout = 0; layout < RING_N_LAYOUTS; layout++)
        for (int mask = 0; mask < RING_N_MASKS; mask++)
            for (size_t n = 0; n < N_RANK_COUNTS; n++) {
                struct ring_plan_spec spec =
                    forward_ring(tokens, rank_counts[n], kv_heads, dtype, (enum ring_layout_kind)layout,
                                 (enum ring_mask)mask);
                struct ring_by_hand ring;
                spec.problem.head_dim = head_dim;
                spec.problem.batch = batch;
                ring_by_hand_open(&ring, &spec, kernel, &noise);
                ring_by_hand_run(&ring, false);
                worst = fmax(worst, ring_by_hand_verify(&ring, &noise, max_rows));
                ring_by_hand_close(&ring);
            }
    return worst;
}

static void a_ramp_under_uniform_weights_has_its_closed_form_in_any_ring(void **state)
{
    (void)state;
    for (int layout = 0; layout < RING_N_LAYOUTS; layout++)
        for (int mask = 0; mask < RING_N_MASKS; mask++)
            for (size_t n = 0; n < N_RANK_COUNTS; n++) {
                const uint64_t tokens = 37;
                struct ring_plan_spec spec =
                    forward_ring(tokens, rank_counts[n], 2, RING_FP32, (enum ring_layout_kind)layout,
                                 (enum ring_mask)mask);
                struct ring_by_hand ring;
                ring_by_hand_open(&ring, &spec, "auto", &ramp);
                ring_by_hand_run(&ring, false);
                for (uint64_t i = 0; i < tokens; i++) {
                    double n_seen = mask == RING_MASK_CAUSAL ? (double)i + 1.0 : (double)tokens;
                    for (uint32_t head = 0; head < 8; head++) {
                        assert_true(fabs(ring_by_hand_out(&ring, 0, head, i, 15) - (n_seen - 1.0) / 2.0) <
                                    2e-6 * 18);
                        assert_true(fabs(ring_by_hand_lse(&ring, 0, head, i) - log(n_seen)) < 2e-6);
                    }
                }
                ring_by_hand_close(&ring);
            }
}

/* S = 16 over 3 ranks is 6, 5, 5 tokens; the mean of 0..15 is 7.5. */
static void sixteen_tokens_on_three_ranks_end_at_7_and_a_half(void **state)
{
    struct ring_by_hand ring;
    struct ring_plan_spec spec = forward_ring(16, 3, 8, RING_FP32, RING_LAYOUT_CONTIGUOUS, RING_MASK_CAUSAL);
    (void)state;
    ring_by_hand_open(&ring, &spec, "auto", &ramp);
    ring_by_hand_run(&ring, false);
    assert_true(fabs(ring_by_hand_out(&ring, 0, 0, 15, 0) - 7.5) < 1e-5);
    ring_by_hand_close(&ring);
}

static void fp32_is_within_its_bounds_for_gqa_and_mqa_in_any_ring(void **state)
{
    (void)state;
    assert_true(assert_exact(299, 2, 16, 1, RING_FP32, "auto", 12) <= 2e-6);
    assert_true(assert_exact(299, 1, 16, 1, RING_FP32, "auto", 12) <= 2e-6);
    assert_true(assert_exact(64, 8, 8, 3, RING_FP32, "auto", 0) <= 2e-6);
    assert_true(assert_exact(331, 2, 64, 1, RING_FP32, "auto", 3) <= 2e-6);
}

static void a_sequence_that_does_not_divide_is_exact_on_every_row(void **state)
{
    struct ring_plan_spec spec = forward_ring(2999, 4, 1, RING_FP32, RING_LAYOUT_ZIGZAG, RING_MASK_CAUSAL);
    struct ring_by_hand ring;
    (void)state;
    spec.problem.heads = 1;
    ring_by_hand_open(&ring, &spec, "auto", &noise);
    ring_by_hand_run(&ring, false);
    assert_true(ring_by_hand_verify(&ring, &noise, 0) <= 2e-6);
    ring_by_hand_close(&ring);
}

static void every_tiled_kernel_is_within_the_bounds_in_any_ring(void **state)
{
    (void)state;
    for (size_t i = 0; block_kernels[i] != NULL; i++)
        if (block_kernels[i]->supports(24) && block_kernels[i]->state == RING_FP32)
            assert_exact(130, 2, 24, 1, block_kernels[i]->dtype, block_kernels[i]->name, 7);
}

static void the_fp64_reference_is_exact_to_1e_12_in_any_ring(void **state)
{
    (void)state;
    assert_true(assert_exact(150, 2, 16, 1, RING_FP64, "reference", 10) <= 1e-12);
}

static void bf16_is_within_the_bounds_of_the_rounded_inputs(void **state)
{
    (void)state;
    assert_true(assert_exact(299, 2, 32, 1, RING_BF16, "tiled", 7) <= 2e-6);
    assert_true(assert_exact(299, 2, 32, 1, RING_BF16, "auto", 7) <= 2e-3);
}

/* Relative Frobenius error of every 16th position's rows: the same rows in whatever ring. */
static double error_of_some_rows(const struct ring_by_hand *ring, const struct oracle *oracle)
{
    double error2 = 0.0, norm2 = 0.0, lse, t;
    const struct ring_problem *problem = &ring->plan.problem;
    for (uint32_t head = 0; head < problem->heads; head++)
        for (uint64_t position = 15; position < problem->tokens; position += 16) {
            const double *wanted = oracle_row(oracle, 0, head, position, &lse, &t);
            for (uint32_t dim = 0; dim < problem->head_dim; dim++) {
                double apart = ring_by_hand_out(ring, 0, head, position, dim) - wanted[dim];
                error2 += apart * apart;
                norm2 += wanted[dim] * wanted[dim];
            }
        }
    return sqrt(error2 / norm2);
}

/* S = 2048, H = 4, D = 64, N = 1, 2, 4 ... 32. */
static void the_error_does_not_grow_with_the_number_of_ranks(void **state)
{
    static const struct {
        enum ring_dtype dtype;
        const char *kernel;
        double bound;
    } kinds[] = {{RING_BF16, "tiled", 2e-6}, {RING_FP32, "auto", 2e-6}, {RING_BF16, "auto", 2e-3}};
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct ring_plan_spec spec =
            forward_ring(2048, 1, 4, kinds[i].dtype, RING_LAYOUT_CONTIGUOUS, RING_MASK_CAUSAL);
        struct oracle *oracle;
        struct ring_error oracle_error;
        double alone = 0.0;
        spec.problem.heads = 4;
        spec.problem.head_dim = 64;
        assert_int_equal(oracle_open(&oracle, &spec.problem, &noise, &oracle_error), RING_OK);
        for (spec.n_ranks = 1; spec.n_ranks <= 32; spec.n_ranks *= 2) {
            struct ring_by_hand ring;
            ring_by_hand_open(&ring, &spec, kinds[i].kernel, &noise);
            ring_by_hand_run(&ring, false);
            double error = error_of_some_rows(&ring, oracle);
            ring_by_hand_close(&ring);
            alone = spec.n_ranks == 1 ? error : alone;
            assert_true(error <= kinds[i].bound);
            assert_true(error <= 1.05 * alone);
        }
        oracle_close(oracle);
    }
}

/* Hq = 8, Hkv = 2, V of kv head h = h: query heads 0..3 read kv head 0. */
static void query_heads_read_the_kv_head_of_their_group(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= 4; n++) {
        struct ring_plan_spec spec = forward_ring(40, n, 2, RING_FP32, RING_LAYOUT_ZIGZAG, RING_MASK_CAUSAL);
        struct ring_by_hand ring;
        ring_by_hand_open(&ring, &spec, "auto", &noise);
        for (uint32_t rank = 0; rank < n; rank++) {
            size_t half = ring_plan_block_bytes(&ring.plan, rank) / sizeof(float) / 2;
            for (size_t i = 0; i < half; i++)
                ((float *)ring.kv[rank])[half + i] = i < half / 2 ? 0.0f : 1.0f;
        }
        ring_by_hand_run(&ring, false);
        for (uint32_t head = 0; head < 8; head++)
            for (uint64_t i = 0; i < 40; i++)
                assert_true(fabs(ring_by_hand_out(&ring, 0, head, i, 7) - (head < 4 ? 0.0 : 1.0)) < 1e-6);
        ring_by_hand_close(&ring);
    }
}

/* The parts of opening that a caller can get wrong, and a block without data. */
static void what_does_not_fit_is_refused(void **state)
{
    struct ring_by_hand ring;
    struct ring_plan_spec spec = forward_ring(40, 2, 2, RING_FP32, RING_LAYOUT_CONTIGUOUS, RING_MASK_FULL);
    struct attention *attention = NULL;
    struct ring_error error;
    (void)state;
    ring_by_hand_open(&ring, &spec, "auto", &noise);
    assert_int_equal(attention_open(&attention, &ring.plan, 0, block_kernel_find("reference", RING_FP64, 16),
                                    ring.q[0], false, &error),
                     RING_UNSUPPORTED);
    assert_non_null(strstr(error.text, "reference-fp64"));
    assert_null(attention);
    assert_int_equal(attention_open(&attention, &ring.plan, 0, ring.kernel, ring.q[0], false, &error),
                     RING_OK);
    struct ring_compute compute = attention_compute(attention);
    struct ring_task task = {.block = 1, .step = 1, .kv = {.data = NULL, .bytes = 1 << 20}};
    assert_true(compute.n_pieces(compute.context, &task) >= 8);
    assert_int_equal(compute.run_piece(compute.context, &task, 0, &error), RING_BAD_INPUT);
    task.kv = (struct ring_buffer){ring.kv[1], ring_plan_block_bytes(&ring.plan, 1) - 1};
    assert_int_equal(compute.run_piece(compute.context, &task, 0, &error), RING_BAD_INPUT);
    attention_close(attention);
    attention_close(NULL);
    ring_by_hand_close(&ring);
}

static void pieces_that_would_see_no_key_do_not_exist(void **state)
{
    struct ring_by_hand ring;
    struct ring_plan_spec spec = forward_ring(400, 2, 2, RING_FP32, RING_LAYOUT_CONTIGUOUS, RING_MASK_CAUSAL);
    struct attention *attention;
    struct ring_error error;
    (void)state;
    ring_by_hand_open(&ring, &spec, "reference", &noise); /* tiles of 64 queries, spans of 128 keys */
    assert_int_equal(attention_open(&attention, &ring.plan, 0, ring.kernel, ring.q[0], false, &error),
                     RING_OK);
    struct ring_compute compute = attention_compute(attention);
    /* 200 queries are 4 tiles that see up to 64, 128, 192, 200 keys: 1 + 1 + 2 + 2 spans, for 8 heads */
    assert_int_equal(compute.n_pieces(compute.context, &(struct ring_task){.block = 0}), 48);
    assert_int_equal(compute.n_pieces(compute.context, &(struct ring_task){.block = 1}), 0);
    attention_close(attention);
    ring_by_hand_close(&ring);
}

/* m, l and 16 numbers of o, 4 bytes each, for 8 heads and 20 of 40 tokens. */
static void the_state_takes_18_numbers_a_row(void **state)
{
    struct ring_plan plan;
    struct ring_error error;
    struct ring_plan_spec spec = forward_ring(40, 2, 2, RING_BF16, RING_LAYOUT_ZIGZAG, RING_MASK_FULL);
    (void)state;
    assert_int_equal(ring_plan_init(&plan, &spec, &error), RING_OK);
    assert_int_equal(attention_state_bytes(&plan, 1, RING_FP32), 8 * 20 * 18 * 4);
    assert_int_equal(attention_state_bytes(&plan, 1, RING_FP64), 8 * 20 * 18 * 8);
}

/* A child computes, its parent reads; where the state is not shared the parent's stays empty. */
static void a_shared_state_carries_a_childs_work_to_its_parent(void **state)
{
    struct ring_by_hand ring;
    struct ring_plan_spec spec = forward_ring(33, 1, 8, RING_FP32, RING_LAYOUT_CONTIGUOUS, RING_MASK_FULL);
    (void)state;
    ring_by_hand_open(&ring, &spec, "auto", &ramp);
    for (int shared = 0; shared < 2; shared++) {
        struct attention *attention;
        struct ring_error error;
        assert_int_equal(
            attention_open(&attention, &ring.plan, 0, ring.kernel, ring.q[0], shared == 1, &error), RING_OK);
        struct ring_compute compute = attention_compute(attention);
        struct ring_task task = {.kv = {ring.kv[0], ring_plan_block_bytes(&ring.plan, 0)}};
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            uint32_t n_pieces = compute.n_pieces(compute.context, &task);
            for (uint32_t piece = 0; piece < n_pieces; piece++)
                compute.run_piece(compute.context, &task, piece, &error);
            _exit(0);
        }
        assert_int_equal(waitpid(child, NULL, 0), child);
        attention_finish(attention, ring.out[0], ring.lse[0]);
        assert_true(fabs(ring_by_hand_out(&ring, 0, 3, 20, 5) - (shared == 1 ? 16.0 : 0.0)) < 1e-5);
        attention_close(attention);
    }
    ring_by_hand_close(&ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ramp_under_uniform_weights_has_its_closed_form_in_any_ring),
        cmocka_unit_test(sixteen_tokens_on_three_ranks_end_at_7_and_a_half),
        cmocka_unit_test(fp32_is_within_its_bounds_for_gqa_and_mqa_in_any_ring),
        cmocka_unit_test(a_sequence_that_does_not_divide_is_exact_on_every_row),
        cmocka_unit_test(every_tiled_kernel_is_within_the_bounds_in_any_ring),
        cmocka_unit_test(the_fp64_reference_is_exact_to_1e_12_in_any_ring),
        cmocka_unit_test(bf16_is_within_the_bounds_of_the_rounded_inputs),
        cmocka_unit_test(the_error_does_not_grow_with_the_number_of_ranks),
        cmocka_unit_test(query_heads_read_the_kv_head_of_their_group),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(pieces_that_would_see_no_key_do_not_exist),
        cmocka_unit_test(the_state_takes_18_numbers_a_row),
        cmocka_unit_test(a_shared_state_carries_a_childs_work_to_its_parent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
