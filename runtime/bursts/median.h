/* SPDX-License-Identifier: BSD-3-Clause */
/* Of a few readings of the clock. Signal-safe. */
#ifndef REUSE_RUNTIME_MEDIAN_H
#define REUSE_RUNTIME_MEDIAN_H

#include <stdint.h>

/* The upper one of two in the middle; n > 0. Sorts the values. */
static inline uint64_t median_of(uint64_t *values, unsigned n)
{
    for (unsigned i = 1; i < n; i++)
        for (unsigned k = i; k > 0 && values[k - 1] > values[k]; k--) {
            uint64_t value = values[k];

            values[k] = values[k - 1];
            values[k - 1] = value;
        }
    return values[n / 2];
}

#endif
