/* SPDX-License-Identifier: MIT
 *
 * Which blocks are timed: those of the tables, and those that are held out of them. */
#include "exec/calibrate_shapes.h"

const struct exec_wanted exec_wanted[EXEC_N_BENCHES] = {
    {RING_PASS_FORWARD, RING_FP32, 64},  {RING_PASS_FORWARD, RING_FP32, 128},
    {RING_PASS_FORWARD, RING_BF16, 64},  {RING_PASS_FORWARD, RING_BF16, 128},
    {RING_PASS_BACKWARD, RING_FP32, 64}, {RING_PASS_BACKWARD, RING_FP32, 128},
    {RING_PASS_BACKWARD, RING_BF16, 64}, {RING_PASS_BACKWARD, RING_BF16, 128},
    {RING_PASS_FORWARD, RING_FP32, 96},  {RING_PASS_FORWARD, RING_BF16, 96},
    {RING_PASS_BACKWARD, RING_FP32, 96},
};

/* Off the grid, and of a ring's making: zigzag's halves, sequences that are no power of 2. */
static const struct {
    size_t q, k;
    bool causal;
} held_out[] = {
    {96, 96, false},    {160, 640, false},  {640, 160, false},   {384, 384, false}, {384, 768, false},
    {1536, 768, false}, {768, 1536, false}, {3072, 1536, false}, {96, 96, true},    {384, 384, true},
    {768, 768, true},   {1536, 1536, true}, {3072, 3072, true},
};
static const struct {
    size_t q, k;
    bool causal;
} other_head_dim[] = {{512, 512, false}, {384, 768, false}, {512, 512, true}, {1024, 1024, true}};

static void add(struct exec_calibration *c, struct exec_block_shape shape)
{
    size_t largest = c->tokens[c->n_tokens - 1];

    if (shape.q_tokens <= largest && shape.k_tokens <= largest && c->n_shapes < EXEC_MAX_SHAPES)
        c->shapes[c->n_shapes++] = shape;
}

static void list_table(struct exec_calibration *c, struct exec_block_shape shape)
{
    for (size_t q = 0; q < c->n_tokens; q++)
        for (size_t k = 0; k < c->n_tokens; k++) {
            shape.q = q;
            shape.k = k;
            shape.q_tokens = c->tokens[q];
            shape.k_tokens = c->tokens[k];
            shape.causal = false;
            add(c, shape);
            shape.causal = true;
            if (q == k)
                add(c, shape);
        }
}

void exec_list_shapes(struct exec_calibration *c, size_t bench, const struct exec_wanted *wanted)
{
    struct exec_block_shape shape = {
        .table = bench, .pass = wanted->pass, .dtype = wanted->dtype, .head_dim = wanted->head_dim};
    bool in_table = bench < c->n_tables;

    if (in_table)
        list_table(c, shape);
    shape.held_out = true;
    for (size_t i = 0; i < sizeof held_out / sizeof *held_out && in_table; i++) {
        shape.q_tokens = held_out[i].q;
        shape.k_tokens = held_out[i].k;
        shape.causal = held_out[i].causal;
        add(c, shape);
    }
    for (size_t i = 0; i < sizeof other_head_dim / sizeof *other_head_dim && !in_table; i++) {
        shape.q_tokens = other_head_dim[i].q;
        shape.k_tokens = other_head_dim[i].k;
        shape.causal = other_head_dim[i].causal;
        add(c, shape);
    }
}
