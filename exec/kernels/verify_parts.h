/* SPDX-License-Identifier: MIT
 *
 * What verify.c and verify_gradient.c share: how far two numbers are apart, which rows are looked at, and the
 * sum over all bytes. Private to those two. */
#ifndef VERIFY_PARTS_H
#define VERIFY_PARTS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#define VERIFY_FNV_BEGIN 0xcbf29ce484222325u

static inline uint64_t verify_fnv1a(uint64_t hash, const void *data, size_t n_bytes)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < n_bytes; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

/* |found - wanted|; 0 if they are the same, infinities and NaN included; infinite if only one is NaN. */
static inline double verify_distance(double found, double wanted)
{
    if (found == wanted || (isnan(found) && isnan(wanted)))
        return 0.0;
    double apart = fabs(found - wanted);
    return isnan(apart) ? INFINITY : apart;
}

/* How many of a shard's tokens are looked at: up to most (0: all), and of several always two. */
static inline uint64_t verify_n_checked(uint64_t most, uint64_t tokens)
{
    uint64_t n = most == 0 || most > tokens ? tokens : most;
    return n == 1 && tokens > 1 ? 2 : n;
}

/* The one at place i of n: evenly spread, the first and the last among them. */
static inline uint64_t verify_token(uint64_t i, uint64_t n, uint64_t tokens)
{
    return n == 1 ? 0 : i * (tokens - 1) / (n - 1);
}

#endif
