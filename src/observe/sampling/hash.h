/* SPDX-License-Identifier: BSD-3-Clause */
/* Spreads the bits of a number evenly: the finaliser of MurmurHash3. Pure; signal-safe. */
#ifndef REUSE_SAMPLING_HASH_H
#define REUSE_SAMPLING_HASH_H

#include <stdint.h>

static inline uint64_t hash_mix(uint64_t x)
{
    x = (x ^ x >> 33) * UINT64_C(0xff51afd7ed558ccd);
    x = (x ^ x >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return x ^ x >> 33;
}

#endif
