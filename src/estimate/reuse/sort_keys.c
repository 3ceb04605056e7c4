/* SPDX-License-Identifier: BSD-3-Clause */
/* Radix sort from the least significant byte on; bytes that all keys share are passed over. */
#include "reuse/sort_keys.h"

enum { BYTES = 8, VALUES = 256, FEW = 32 };

static void insert_all(struct sort_key *keys, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        struct sort_key key = keys[i];
        size_t at = i;
        for (; at > 0 && keys[at - 1].key > key.key; at--)
            keys[at] = keys[at - 1];
        keys[at] = key;
    }
}

static unsigned byte_of(uint64_t key, unsigned byte)
{
    return key >> 8 * byte & (VALUES - 1);
}

struct sort_key *sort_keys(struct sort_key *keys, struct sort_key *scratch, size_t n)
{
    size_t counts[BYTES][VALUES] = {0};

    if (n <= FEW) {
        insert_all(keys, n);
        return keys;
    }
    for (size_t i = 0; i < n; i++)
        for (unsigned byte = 0; byte < BYTES; byte++)
            counts[byte][byte_of(keys[i].key, byte)]++;
    for (unsigned byte = 0; byte < BYTES; byte++) {
        size_t at = 0;
        if (counts[byte][byte_of(keys[0].key, byte)] == n)
            continue;
        for (unsigned value = 0; value < VALUES; value++) {
            size_t count = counts[byte][value];
            counts[byte][value] = at;
            at += count;
        }
        for (size_t i = 0; i < n; i++)
            scratch[counts[byte][byte_of(keys[i].key, byte)]++] = keys[i];
        struct sort_key *sorted = scratch;
        scratch = keys;
        keys = sorted;
    }
    return keys;
}
