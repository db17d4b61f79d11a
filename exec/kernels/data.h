/* SPDX-License-Identifier: MIT
 *
 * The numbers that go in. Every element is a pure function of (seed, tensor, batch, head, global position,
 * dim), so any rank can make any token's data, in any order, on any machine, bit for bit the same. */
#ifndef DATA_H
#define DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/layout.h"
#include "engine/problem.h"

#define DATA_KINDS(X)              X(RANDOM, "random") X(RAMP, "ramp")
#define DATA_KIND_ENUM(name, text) DATA_##name,
enum data_kind { DATA_KINDS(DATA_KIND_ENUM) DATA_N_KINDS };
#undef DATA_KIND_ENUM
extern const char *const data_kind_names[DATA_N_KINDS];

enum data_tensor { DATA_Q, DATA_K, DATA_V, DATA_DO };

/* random: all tensors uniform-based with unit variance; ramp: Q = 0, K random, V[j] = j, dO = 1 (closed form:
 * causal out[i] = i/2, lse[i] = ln(i+1); full out = (S-1)/2, lse = ln S). */
struct data_spec {
    enum data_kind kind;
    uint64_t seed;
};

/* One element before rounding to the problem's dtype. */
double data_value(const struct data_spec *spec, enum data_tensor tensor, uint32_t batch, uint32_t head,
                  uint64_t position, uint32_t dim);

/* Fills out [batch][heads or kv_heads][shard tokens][head_dim] of dtype with a shard's tokens of one tensor,
 * rounded to nearest even. */
void data_fill(const struct data_spec *spec, const struct ring_problem *problem, enum data_tensor tensor,
               const struct ring_shard *shard, void *out);

/* Conversions, element by element; dtype of the memory. */
double data_load(enum ring_dtype dtype, const void *array, size_t index);
void data_store(enum ring_dtype dtype, void *array, size_t index, double value);

#endif
