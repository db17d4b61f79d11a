/* SPDX-License-Identifier: MIT
 *
 * What is to be computed: the shapes of one attention layer over one long sequence. Who computes which part
 * is the layout's business (layout.h), when is the plan's (plan.h), and what it costs is not the engine's at
 * all. */
#ifndef RING_PROBLEM_H
#define RING_PROBLEM_H

#include <stdint.h>

#include "engine/status.h"

/* Each list is (NAME, "name in files and output"); the arrays of names below follow the same order. */
#define RING_DTYPES(X) X(FP32, "fp32") X(BF16, "bf16") X(FP16, "fp16") X(FP64, "fp64")
#define RING_MASKS(X)  X(FULL, "full") X(CAUSAL, "causal")
#define RING_PASSES(X) X(FORWARD, "forward") X(BACKWARD, "backward") X(BOTH, "both")

#define RING_DTYPE_ENUM(name, text) RING_##name,
#define RING_MASK_ENUM(name, text)  RING_MASK_##name,
#define RING_PASS_ENUM(name, text)  RING_PASS_##name,
enum ring_dtype { RING_DTYPES(RING_DTYPE_ENUM) RING_N_DTYPES };
enum ring_mask { RING_MASKS(RING_MASK_ENUM) RING_N_MASKS };
enum ring_pass { RING_PASSES(RING_PASS_ENUM) RING_N_PASSES };
#undef RING_DTYPE_ENUM
#undef RING_MASK_ENUM
#undef RING_PASS_ENUM

extern const char *const ring_dtype_names[RING_N_DTYPES];
extern const char *const ring_mask_names[RING_N_MASKS];
extern const char *const ring_pass_names[RING_N_PASSES];

struct ring_problem {
    uint64_t tokens;       /* S, of the whole sequence */
    uint32_t batch;        /* independent sequences of that length */
    uint32_t heads;        /* query heads */
    uint32_t kv_heads;     /* divides heads; 1 is MQA, heads is MHA, between is GQA */
    uint32_t head_dim;     /* elements of one head's vector, the same for Q, K and V */
    enum ring_dtype dtype; /* of Q, K and V, in memory and on the wire; accumulators are fp32 or wider */
    enum ring_mask mask;   /* causal: query i sees keys 0..i */
};

/* Bytes of one element of Q, K or V. */
uint32_t ring_dtype_bytes(enum ring_dtype dtype);

/* RING_BAD_INPUT, naming the field, what it is and what would fit, where the shapes make no sense. */
enum ring_status ring_problem_check(const struct ring_problem *problem, struct ring_error *error);

/* Bytes of K and V together for so many tokens of all kv heads and the whole batch: what one hop carries.
 * 2 * batch * tokens * kv_heads * head_dim * sizeof(dtype); never expanded to the query heads. */
uint64_t ring_problem_kv_bytes(const struct ring_problem *problem, uint64_t tokens);

#endif
