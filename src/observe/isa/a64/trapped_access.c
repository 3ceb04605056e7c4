/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "isa/trapped_access.h"

#include "signal_safe.h"

enum { OPERANDS_MAX = 64 };

bool trapped_access_find(const void *code, size_t size, const struct interpreter_registers *trapped,
                         uint64_t word, uint32_t word_size, uint64_t expected,
                         struct trapped_access *out)
{
    struct access accesses[OPERANDS_MAX];
    unsigned length;
    int count = instruction_accesses(code, size, trapped, accesses, OPERANDS_MAX, &length);

    (void)expected; /* it is where the trap points to */
    return count > 0 && trapped_access_among(accesses, (unsigned)count, word, word_size, out);
}
