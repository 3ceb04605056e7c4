/* SPDX-License-Identifier: BSD-3-Clause */
/* Small, fast, seedable generator (xorshift64*, Vigna 2016). One per thread; signal-safe. */
#ifndef REUSE_SAMPLING_RANDOM_H
#define REUSE_SAMPLING_RANDOM_H

#include <stdint.h>

struct random {
    uint64_t state; /* never 0 */
};

/* Spreads any seed, also 0 and small consecutive ones, over the state (splitmix64 finaliser). */
static inline void random_seed(struct random *random, uint64_t seed)
{
    seed += 0x9e3779b97f4a7c15u;
    seed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9u;
    seed = (seed ^ (seed >> 27)) * 0x94d049bb133111ebu;
    seed ^= seed >> 31;
    random->state = seed ? seed : 1;
}

static inline uint64_t random_next(struct random *random)
{
    uint64_t x = random->state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    random->state = x;
    return x * 0x2545f4914f6cdd1du;
}

/* Uniform over 0 .. bound-1; bound >= 1. The bias of the multiply-shift is below bound / 2^32. */
static inline uint32_t random_below(struct random *random, uint32_t bound)
{
    return (uint32_t)(((random_next(random) >> 32) * bound) >> 32);
}

#endif
