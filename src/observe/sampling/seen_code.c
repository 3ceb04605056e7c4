/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "sampling/seen_code.h"

#include "signal_safe.h"

enum { BLOCK_SHIFT = 7 };

static uint32_t bit_of(uint64_t block)
{
    return (uint32_t)(block * UINT64_C(0x9e3779b97f4a7c15) >> 49);
}

_Static_assert(SEEN_CODE_BITS == 1 << (64 - 49), "bit_of() reaches all bits");

void seen_code_add(struct seen_code *seen, const struct access *accesses, size_t n)
{
    uint64_t last = UINT64_MAX;

    for (size_t i = 0; i < n; i++) {
        uint64_t block = accesses[i].ip >> BLOCK_SHIFT, mask;
        _Atomic uint64_t *word;

        if (block == last)
            continue;
        last = block;
        word = &seen->words[bit_of(block) / 64];
        mask = UINT64_C(1) << bit_of(block) % 64;
        /* Most are set already, and other threads read them. */
        if (!(atomic_load_explicit(word, memory_order_relaxed) & mask))
            atomic_fetch_or_explicit(word, mask, memory_order_relaxed);
    }
}

void seen_code_clear(struct seen_code *seen)
{
    for (size_t i = 0; i < sizeof seen->words / sizeof *seen->words; i++)
        atomic_store_explicit(&seen->words[i], 0, memory_order_relaxed);
}

static bool has(const struct seen_code *seen, uint64_t block)
{
    uint64_t word = atomic_load_explicit(&seen->words[bit_of(block) / 64], memory_order_relaxed);

    return word >> bit_of(block) % 64 & 1;
}

bool seen_code_has(const struct seen_code *seen, uint64_t ip)
{
    uint64_t block = ip >> BLOCK_SHIFT;

    return has(seen, block) || has(seen, block - 1) || has(seen, block + 1);
}
