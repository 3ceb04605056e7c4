/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of 1 to 8 bytes in words of 64 bits. Pure. */
#ifndef REUSE_ISA_A64_BYTES_H
#define REUSE_ISA_A64_BYTES_H

#include <stdint.h>

static inline uint64_t bytes_mask(unsigned bytes)
{
    return ~UINT64_C(0) >> (64 - 8 * bytes);
}

/* What the low bytes say as a signed number. */
static inline int64_t bytes_signed(uint64_t value, unsigned bytes)
{
    return (int64_t)(value << (64 - 8 * bytes)) >> (64 - 8 * bytes);
}

/* Of a value that has so many bits. */
static inline unsigned leading_zeros(uint64_t value, unsigned bits)
{
    return value == 0 ? bits : (unsigned)__builtin_clzll(value) - (64 - bits);
}

#endif
