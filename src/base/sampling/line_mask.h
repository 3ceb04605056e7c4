/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bytes of a line as a mask of 64 bits: bit i is byte i in lines of up to 64 bytes, and the bytes
 * from i * line_size / 64 in longer ones. Pure; signal-safe.
 */
#ifndef REUSE_SAMPLING_LINE_MASK_H
#define REUSE_SAMPLING_LINE_MASK_H

#include <stdint.h>

/* First byte of the line that holds the address. */
static inline uint64_t line_start(uint64_t address, uint32_t line_size)
{
    return address & ~(uint64_t)(line_size - 1);
}

/* What width bytes from address on touch of the line that starts at `line`; 0: nothing. */
static inline uint64_t line_mask(uint64_t line, uint32_t line_size, uint64_t address,
                                 uint32_t width)
{
    uint32_t granule = line_size > 64 ? line_size / 64 : 1;
    uint64_t first = address, last = address + width - 1;

    if (width == 0 || last < line || first >= line + line_size)
        return 0;
    if (first < line)
        first = line;
    if (last >= line + line_size)
        last = line + line_size - 1;
    first = (first - line) / granule;
    last = (last - line) / granule;
    return ((UINT64_C(2) << (last - first)) - 1) << first;
}

/* Words of 8 bytes that a mask of bytes touches, bit per word from the line's start. Lines beyond
 * 512 bytes have more words than bits: 0. */
static inline uint64_t line_mask_words(uint64_t mask, uint32_t line_size)
{
    uint32_t per_word = line_size > 64 ? 512 / line_size : 8; /* bits of a word */
    uint64_t words = 0;

    if (per_word == 0)
        return 0;
    for (unsigned word = 0; word * per_word < 64; word++)
        if (mask >> (word * per_word) & ((UINT64_C(1) << per_word) - 1))
            words |= UINT64_C(1) << word;
    return words;
}

#endif
