/* SPDX-License-Identifier: MIT
 *
 * Names, sizes and sanity of a problem's shapes. */
#include "engine/problem.h"

#include <inttypes.h>
#include <stddef.h>

#define RING_NAME(name, text) text,
const char *const ring_dtype_names[RING_N_DTYPES] = {RING_DTYPES(RING_NAME)};
const char *const ring_mask_names[RING_N_MASKS] = {RING_MASKS(RING_NAME)};
const char *const ring_pass_names[RING_N_PASSES] = {RING_PASSES(RING_NAME)};
#undef RING_NAME

/* Far above any real sequence, and low enough that pair counts (tokens^2) and byte counts stay exact in 64
 * bits. */
#define MAX_TOKENS   (UINT64_C(1) << 31)
#define MAX_BATCH    (1u << 16)
#define MAX_HEADS    (1u << 12)
#define MAX_HEAD_DIM (1u << 12)

/* Each of Q, K, V and out: so many elements that the bytes of everything a rank holds, moves or counts stay
 * far below 2^64, and far above what any cluster holds. */
#define MAX_ELEMENTS 0x1p50

uint32_t ring_dtype_bytes(enum ring_dtype dtype)
{
    switch (dtype) {
    case RING_FP64:
        return 8;
    case RING_FP32:
        return 4;
    case RING_BF16:
    case RING_FP16:
    case RING_N_DTYPES:
        break;
    }
    return 2;
}

static enum ring_status in_range(const char *name, uint64_t value, uint64_t most, struct ring_error *error)
{
    if (value >= 1 && value <= most)
        return RING_OK;
    return ring_fail(error, RING_BAD_INPUT, "%s is %" PRIu64 ", wanted 1 to %" PRIu64, name, value, most);
}

enum ring_status ring_problem_check(const struct ring_problem *problem, struct ring_error *error)
{
    const struct {
        const char *name;
        uint64_t value, most;
    } fields[] = {
        {"tokens", problem->tokens, MAX_TOKENS},       {"batch", problem->batch, MAX_BATCH},
        {"heads", problem->heads, MAX_HEADS},          {"kv_heads", problem->kv_heads, MAX_HEADS},
        {"head_dim", problem->head_dim, MAX_HEAD_DIM},
    };
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        enum ring_status status = in_range(fields[i].name, fields[i].value, fields[i].most, error);
        if (status != RING_OK)
            return status;
    }
    if (problem->heads % problem->kv_heads != 0)
        return ring_fail(error, RING_BAD_INPUT,
                         "heads is %" PRIu32 ", which is not a multiple of kv_heads %" PRIu32
                         ": each K/V head serves the same number of query heads",
                         problem->heads, problem->kv_heads);
    double n_elements = (double)problem->tokens * problem->batch * problem->heads * problem->head_dim;
    if (n_elements > MAX_ELEMENTS)
        return ring_fail(error, RING_BAD_INPUT,
                         "tokens * batch * heads * head_dim is %.3g elements, wanted at most %.3g (2^50)",
                         n_elements, MAX_ELEMENTS);
    return RING_OK;
}

uint64_t ring_problem_kv_bytes(const struct ring_problem *problem, uint64_t tokens)
{
    return 2 * tokens * problem->batch * problem->kv_heads * problem->head_dim *
           ring_dtype_bytes(problem->dtype);
}
