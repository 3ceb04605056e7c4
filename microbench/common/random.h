/* SPDX-License-Identifier: BSD-3-Clause */
/* Pseudo-random numbers that live in registers: they add no memory access to a kernel. */
#ifndef MICROBENCH_RANDOM_H
#define MICROBENCH_RANDOM_H

#include <stdint.h>

/* The state that belongs to a seed, by the mixing function of SplitMix64 (Steele, Lea and Flood
 * 2014), so that neighbouring seeds give unlike sequences. Never 0. */
static inline uint64_t random_start(uint64_t seed)
{
    uint64_t z = seed + 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) | 1;
}

/* xorshift64* (Vigna 2016): advances *state, which must not be 0. Good high bits, one constant. */
static inline uint64_t random_next(uint64_t *state)
{
    uint64_t x = *state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return x * 0x2545f4914f6cdd1du;
}

/* 0 .. bound-1, from the high bits; the bias is below bound / 2^64. */
static inline uint64_t random_below(uint64_t *state, uint64_t bound)
{
    return (uint64_t)(((unsigned __int128)random_next(state) * bound) >> 64);
}

/* [0, 1) */
static inline double random_unit(uint64_t *state)
{
    return (double)(random_next(state) >> 11) * 0x1p-53;
}

#endif
