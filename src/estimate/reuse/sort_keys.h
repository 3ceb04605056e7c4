/* SPDX-License-Identifier: BSD-3-Clause */
/* Sorting many numbers in linear time, without a call for each comparison. Pure. */
#ifndef REUSE_REUSE_SORT_KEYS_H
#define REUSE_REUSE_SORT_KEYS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct sort_key {
    uint64_t key;
    uint32_t index; /* the caller's */
};

/* A key that orders times as they are; time >= 0, may be INFINITY, not -0. */
static inline uint64_t sort_key_of_time(double time)
{
    uint64_t bits;

    memcpy(&bits, &time, sizeof bits);
    return bits;
}

/* By ascending key; equal keys keep their order. scratch: room for n more. Returns the one of the
 * two that holds the result. */
struct sort_key *sort_keys(struct sort_key *keys, struct sort_key *scratch, size_t n);

#endif
