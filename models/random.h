/* SPDX-License-Identifier: MIT
 *
 * Random numbers that are the same on every machine: splitmix64 (Steele, Lea, Flood, "Fast splittable
 * pseudorandom number generators", 2014). A sequence is its state, any 64 bits to begin with. */
#ifndef MODEL_RANDOM_H
#define MODEL_RANDOM_H

#include <stdint.h>

#define MODEL_RANDOM_STEP UINT64_C(0x9e3779b97f4a7c15)

/* The number that a state stands for. */
static inline uint64_t model_random_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* The next number of a sequence. */
static inline uint64_t model_random_next(uint64_t *state)
{
    return model_random_mix(*state += MODEL_RANDOM_STEP);
}

/* The next number of a sequence, spread over 0 to limit - 1. */
static inline uint32_t model_random_below(uint64_t *state, uint32_t limit)
{
    return (uint32_t)((model_random_next(state) >> 32) * limit >> 32);
}

#endif
