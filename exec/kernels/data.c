/* SPDX-License-Identifier: MIT
 *
 * Numbers from coordinates, and the four element types. The generator is the finaliser of SplitMix64 (Steele,
 * Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014, section 3) used as a hash: a
 * row's key comes from all coordinates but the last, and the row's elements are the SplitMix64 sequence that
 * starts there. */
#include "exec/kernels/data.h"

#include <math.h>
#include <string.h>

#define DATA_KIND_NAME(name, text) text,
const char *const data_kind_names[DATA_N_KINDS] = {DATA_KINDS(DATA_KIND_NAME)};
#undef DATA_KIND_NAME

static const uint64_t golden = 0x9e3779b97f4a7c15u; /* 2^64 / golden ratio, odd */

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* The key of one row of one tensor. */
static uint64_t row_key(const struct data_spec *spec, enum data_tensor tensor, uint32_t batch, uint32_t head,
                        uint64_t position)
{
    uint64_t key = mix(spec->seed + golden);
    key = mix(key ^ ((uint64_t)tensor + golden));
    key = mix(key ^ ((uint64_t)batch << 32 | head));
    return mix(key ^ (position + golden));
}

/* Uniform in (-sqrt 3, sqrt 3), the interval with mean 0 and variance 1: 52 bits, centred so that 0 is the
 * mean. */
static double uniform(uint64_t key, uint32_t dim)
{
    uint64_t bits = mix(key + golden * ((uint64_t)dim + 1)) >> 12;
    double unit = ((double)bits + 0.5) * 0x1p-52;
    return (2.0 * unit - 1.0) * 1.7320508075688772;
}

/* The value that a ramp gives a whole row, or NaN where its elements are random. */
static double ramp(enum data_tensor tensor, uint64_t position)
{
    switch (tensor) {
    case DATA_Q:
        return 0.0;
    case DATA_V:
        return (double)position;
    case DATA_DO:
        return 1.0;
    case DATA_K:
        break;
    }
    return NAN;
}

double data_value(const struct data_spec *spec, enum data_tensor tensor, uint32_t batch, uint32_t head,
                  uint64_t position, uint32_t dim)
{
    if (spec->kind == DATA_RAMP && tensor != DATA_K)
        return ramp(tensor, position);
    return uniform(row_key(spec, tensor, batch, head, position), dim);
}

void data_fill(const struct data_spec *spec, const struct ring_problem *problem, enum data_tensor tensor,
               const struct ring_shard *shard, void *out)
{
    uint32_t heads = tensor == DATA_K || tensor == DATA_V ? problem->kv_heads : problem->heads;
    bool random = spec->kind == DATA_RANDOM || tensor == DATA_K;
    size_t at = 0;
    for (uint32_t batch = 0; batch < problem->batch; batch++)
        for (uint32_t head = 0; head < heads; head++)
            for (uint64_t token = 0; token < shard->tokens; token++) {
                uint64_t position = ring_shard_position(shard, token);
                uint64_t key = row_key(spec, tensor, batch, head, position);
                for (uint32_t dim = 0; dim < problem->head_dim; dim++)
                    data_store(problem->dtype, out, at++,
                               random ? uniform(key, dim) : ramp(tensor, position));
            }
}

/* value rounded to nearest even in a 16-bit format of so many exponent and fraction bits, straight from the
 * double so that nothing is rounded twice. NaN stays NaN (quiet), what is too large becomes infinity, what is
 * small is rounded among the subnormals. */
static uint16_t round_to_16(double value, unsigned exponent_bits, unsigned fraction_bits)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    uint64_t sign = bits >> 63 << 15;
    uint64_t infinity = ((1u << exponent_bits) - 1u) << fraction_bits;
    uint64_t fraction = bits & ((1ull << 52) - 1);
    int exponent = (int)(bits >> 52 & 0x7ff);
    if (exponent == 0x7ff)
        return (uint16_t)(sign | infinity | (fraction != 0 ? 1u << (fraction_bits - 1) : 0u));

    int target = exponent - 1023 + (1 << (exponent_bits - 1)) - 1; /* biased exponent in the new format */
    unsigned shift = 52 - fraction_bits;
    uint64_t whole; /* exponent and fraction as one number, so that a carry moves from one to the other */
    if (target >= 1) {
        whole = (uint64_t)target << 52 | fraction;
    } else {
        whole = 1ull << 52 | fraction;
        shift += (unsigned)(1 - target);
        if (exponent == 0 || shift > 54)
            return (uint16_t)sign;
    }
    whole = (whole + ((1ull << (shift - 1)) - 1) + (whole >> shift & 1)) >> shift;
    return (uint16_t)(sign | (whole < infinity ? whole : infinity));
}

static double from_fp16(uint16_t bits)
{
    double sign = bits >> 15 ? -1.0 : 1.0;
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    if (exponent == 31)
        return fraction != 0 ? NAN : sign * INFINITY;
    return sign * (exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25));
}

static double from_bf16(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof(value));
    return (double)value;
}

double data_load(enum ring_dtype dtype, const void *array, size_t index)
{
    switch (dtype) {
    case RING_FP32:
        return (double)((const float *)array)[index];
    case RING_BF16:
        return from_bf16(((const uint16_t *)array)[index]);
    case RING_FP16:
        return from_fp16(((const uint16_t *)array)[index]);
    case RING_FP64:
        return ((const double *)array)[index];
    case RING_N_DTYPES:
        break;
    }
    return NAN;
}

void data_store(enum ring_dtype dtype, void *array, size_t index, double value)
{
    switch (dtype) {
    case RING_FP32:
        ((float *)array)[index] = (float)value;
        break;
    case RING_BF16:
        ((uint16_t *)array)[index] = round_to_16(value, 8, 7);
        break;
    case RING_FP16:
        ((uint16_t *)array)[index] = round_to_16(value, 5, 10);
        break;
    case RING_FP64:
        ((double *)array)[index] = value;
        break;
    case RING_N_DTYPES:
        break;
    }
}
