/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Little-endian fields at any alignment. All units that we decode write little-endian, and so does
 * every processor that libreuse runs on; files of the other byte order are refused before.
 */
#ifndef REUSE_PMU_BYTES_H
#define REUSE_PMU_BYTES_H

#include <stdint.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "hardware records are little-endian");

static inline uint16_t load16(const uint8_t *at)
{
    uint16_t value;

    memcpy(&value, at, sizeof value);
    return value;
}

static inline uint32_t load32(const uint8_t *at)
{
    uint32_t value;

    memcpy(&value, at, sizeof value);
    return value;
}

static inline uint64_t load64(const uint8_t *at)
{
    uint64_t value;

    memcpy(&value, at, sizeof value);
    return value;
}

static inline void store16(uint8_t *at, uint16_t value)
{
    memcpy(at, &value, sizeof value);
}

static inline void store32(uint8_t *at, uint32_t value)
{
    memcpy(at, &value, sizeof value);
}

static inline void store64(uint8_t *at, uint64_t value)
{
    memcpy(at, &value, sizeof value);
}

/* `width` bits of value from bit `low` on; width 1..63. */
static inline uint64_t bits(uint64_t value, unsigned low, unsigned width)
{
    return value >> low & ((UINT64_C(1) << width) - 1);
}

#endif
