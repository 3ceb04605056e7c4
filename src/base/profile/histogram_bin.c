/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Histogram bins: values below 128 have a bin each, every octave above has 64 equal ones. A bin is
 * thus narrower than 1/64 of its values, and no table is needed in either direction.
 */
#include "profile/histogram_bin.h"

enum { EXACT_BINS = 128, BINS_PER_OCTAVE = 64, FIRST_OCTAVE = 7 /* 2^7 == EXACT_BINS */ };

uint32_t histogram_bin_of(uint64_t value)
{
    if (value < EXACT_BINS)
        return (uint32_t)value;
    if (value > INT64_MAX)
        value = INT64_MAX;
    unsigned octave = 63 - (unsigned)__builtin_clzll(value);
    unsigned step = octave - 6; /* log2 of the width of a bin: 2^octave / 64 */
    return EXACT_BINS + (octave - FIRST_OCTAVE) * BINS_PER_OCTAVE + (uint32_t)(value >> step) -
           BINS_PER_OCTAVE;
}

uint64_t histogram_bin_low(uint32_t bin)
{
    if (bin < EXACT_BINS)
        return bin;
    if (bin >= HISTOGRAM_BIN_COUNT)
        return (uint64_t)1 << 63;
    unsigned octave = FIRST_OCTAVE + (bin - EXACT_BINS) / BINS_PER_OCTAVE;
    uint64_t within = (bin - EXACT_BINS) % BINS_PER_OCTAVE;
    return (within + BINS_PER_OCTAVE) << (octave - 6);
}
