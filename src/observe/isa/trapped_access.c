/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "isa/trapped_access.h"

#include "signal_safe.h"

bool trapped_access_among(const struct access *accesses, unsigned count, uint64_t word,
                          uint32_t word_size, struct trapped_access *found)
{
    found->kind = 0;
    for (unsigned i = 0; i < count; i++) {
        const struct access *access = &accesses[i];

        if (access->address >= word + word_size || access->address + access->width <= word)
            continue;
        if (found->kind && found->address != access->address)
            continue;
        found->ip = access->ip;
        found->address = access->address;
        found->width = access->width;
        found->kind |= access->kind;
    }
    return found->kind != 0;
}
