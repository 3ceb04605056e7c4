/* SPDX-License-Identifier: BSD-3-Clause */
/* Pseudo-random numbers that every run repeats (Marsaglia 2003: xorshift). */
#ifndef FIDELITY_RANDOM_H
#define FIDELITY_RANDOM_H

#include <stdint.h>

static inline uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Uniform over 0 .. limit-1, limit below 2^32. */
static inline uint64_t random_below(uint64_t *state, uint64_t limit)
{
    return (random_next(state) >> 32) * limit >> 32;
}

#endif
