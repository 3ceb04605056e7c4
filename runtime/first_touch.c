/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "first_touch.h"

#include <stdatomic.h>
#include <string.h>

#include "memory.h"

#include "signal_safe.h"

/* Small enough to leave the target its caches; a collision only hides a first touch. */
enum { BITS_LOG2 = 19, BYTES = 1 << (BITS_LOG2 - 3) };

static atomic_flag borrowed = ATOMIC_FLAG_INIT;
static uint64_t *bits; /* belongs to the borrower */

bool first_touch_begin(void)
{
    if (atomic_flag_test_and_set(&borrowed))
        return false;
    if (!bits)
        bits = memory_map(BYTES);
    else
        memset(bits, 0, BYTES);
    if (!bits)
        atomic_flag_clear(&borrowed);
    return bits != NULL;
}

void first_touch_end(void)
{
    atomic_flag_clear(&borrowed);
}

/* Notes the word; true if its bit was not set. */
static bool note(uint64_t word)
{
    /* Fibonacci hashing: neighbouring words spread over the whole table. */
    uint64_t hash = word * UINT64_C(0x9e3779b97f4a7c15) >> (64 - BITS_LOG2);
    uint64_t bit = UINT64_C(1) << (hash % 64);
    bool fresh = !(bits[hash / 64] & bit);

    bits[hash / 64] |= bit;
    return fresh;
}

bool first_touch(const struct access *access)
{
    uint64_t first = access->address >> 3, last = (access->address + access->width - 1) >> 3;
    bool fresh = note(first);

    for (uint64_t word = first + 1; word <= last; word++)
        note(word);
    return fresh;
}

void first_touch_reset_after_fork(void)
{
    atomic_flag_clear(&borrowed);
}
