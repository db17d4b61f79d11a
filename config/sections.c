/* SPDX-License-Identifier: MIT
 *
 * The tables of a scenario's sections. Ranges here only keep numbers sane; what makes sense together is
 * decided by the engine (ring_problem_check, ring_plan_init). */
#include "config/scenario.h"

enum { MANY = 1 << 20 };

#define PROBLEM(member) offsetof(struct ring_problem, member)

static const struct config_field problem_fields[] = {
    {.key = "tokens",
     .kind = CONFIG_COUNT64,
     .offset = PROBLEM(tokens),
     .least = 1,
     .most = UINT64_C(1) << 31},
    {.key = "batch", .kind = CONFIG_COUNT32, .offset = PROBLEM(batch), .least = 1, .most = 1 << 16},
    {.key = "heads", .kind = CONFIG_COUNT32, .offset = PROBLEM(heads), .least = 1, .most = 1 << 12},
    {.key = "kv_heads", .kind = CONFIG_COUNT32, .offset = PROBLEM(kv_heads), .least = 1, .most = 1 << 12},
    {.key = "head_dim", .kind = CONFIG_COUNT32, .offset = PROBLEM(head_dim), .least = 1, .most = 1 << 12},
    {.key = "dtype",
     .kind = CONFIG_WORD,
     .offset = PROBLEM(dtype),
     .words = ring_dtype_names,
     .n_words = RING_N_DTYPES},
    {.key = "mask",
     .kind = CONFIG_WORD,
     .offset = PROBLEM(mask),
     .words = ring_mask_names,
     .n_words = RING_N_MASKS},
};

static const char *strategy(size_t index)
{
    return ring_plan_kinds[index] ? ring_plan_kinds[index]->name : NULL;
}

#define RING(member) offsetof(struct config_ring_section, member)

static const struct config_field ring_fields[] = {
    {.key = "devices", .kind = CONFIG_COUNT32, .offset = RING(devices), .least = 1, .most = MANY},
    {.key = "layout",
     .kind = CONFIG_WORD,
     .offset = RING(layout),
     .words = ring_layout_names,
     .n_words = RING_N_LAYOUTS},
    {.key = "pass",
     .kind = CONFIG_WORD,
     .offset = RING(pass),
     .words = ring_pass_names,
     .n_words = RING_N_PASSES},
    {.key = "gradients",
     .kind = CONFIG_WORD,
     .offset = RING(gradients),
     .words = ring_dtype_names,
     .n_words = RING_N_DTYPES},
    {.key = "keep_kv", .kind = CONFIG_BOOL, .offset = RING(keep_kv)},
    {.key = "strategy", .kind = CONFIG_CHOICE, .offset = RING(strategy), .word = strategy},
    {.key = "buffers",
     .kind = CONFIG_COUNT32,
     .offset = RING(buffers),
     .least = RING_MIN_BUFFERS,
     .most = RING_MAX_BUFFERS},
    {.key = "placement", .kind = CONFIG_NODE, .offset = RING(placement)},
};

static const char *const cores[] = {"busy", "free"};

static const struct config_field compute_fields[] = {
    {.key = "block",
     .kind = CONFIG_QUANTITY,
     .offset = offsetof(struct config_compute_section, block_s),
     .required = true,
     .positive = true,
     .unit = CONFIG_SECONDS,
     .hint = "the time of each block, e.g. 40 ms"},
    {.key = "core",
     .kind = CONFIG_WORD,
     .offset = offsetof(struct config_compute_section, core),
     .words = cores,
     .n_words = CONFIG_N(cores)},
};

/* As in exec/kernels/data.h, which this folder does not see. */
static const char *const data_kinds[] = {"random", "ramp"};

static const struct config_field data_fields[] = {
    {.key = "kind",
     .kind = CONFIG_CHOICE,
     .offset = offsetof(struct config_data, kind),
     .words = data_kinds,
     .n_words = CONFIG_N(data_kinds)},
    {.key = "seed", .kind = CONFIG_COUNT64, .offset = offsetof(struct config_data, seed), .most = UINT64_MAX},
};

#define MEASURE(member) offsetof(struct config_measure, member)

static const struct config_field measure_fields[] = {
    {.key = "repeats", .kind = CONFIG_COUNT32, .offset = MEASURE(repeats), .least = 1, .most = MANY},
    {.key = "warmups", .kind = CONFIG_COUNT32, .offset = MEASURE(warmups), .least = 0, .most = MANY},
    {.key = "timeout",
     .kind = CONFIG_QUANTITY,
     .offset = MEASURE(timeout_s),
     .unit = CONFIG_SECONDS,
     .positive = true},
    {.key = "kernel", .kind = CONFIG_TEXT, .offset = MEASURE(kernel)},
};

#define SECTION(name)                                                                                        \
    {                                                                                                        \
#name, name##_fields, CONFIG_N(name##_fields)                                                        \
    }
const struct config_section config_problem_section = SECTION(problem);
const struct config_section config_ring_section = SECTION(ring);
const struct config_section config_compute_section = SECTION(compute);
const struct config_section config_data_section = SECTION(data);
const struct config_section config_measure_section = SECTION(measure);
