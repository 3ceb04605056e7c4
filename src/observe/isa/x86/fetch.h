/* SPDX-License-Identifier: BSD-3-Clause */
/* Instruction fetch: from code bytes in the target's memory to blocks. Async-signal-safe. */
#ifndef REUSE_ISA_X86_FETCH_H
#define REUSE_ISA_X86_FETCH_H

#include "isa/state.h"

/* Whether the target's code is still what block was decoded from. */
bool x86_block_matches(struct interpreter *, const struct block *);

/* The same, inline for the own address space. */
static inline bool x86_block_is_current(struct interpreter *it, const struct block *block)
{
    unsigned size = block->code_size, at = 0;
    uint64_t now, then;
    if (__builtin_expect(it->options.read != NULL || size < 8, 0))
        return x86_block_matches(it, block);
    do {
        memcpy(&then, block->code + at, 8);
        if (!guarded_load_64(block->ip + at, &now) || now != then)
            return false;
        at += 8;
    } while (at + 8 <= size);
    if (at == size)
        return true;
    memcpy(&then, block->code + size - 8, 8);
    return guarded_load_64(block->ip + size - 8, &now) && now == then;
}

/*
 * Decodes the block at ip and caches it if it can. Always returns one; the interpreter's own if it
 * could not be cached, valid until the next call.
 */
struct block *x86_fetch_block(struct interpreter *, uint64_t ip, unsigned generation);

/* The interpreter's own copy of block, ending after count of its instructions (at least one, fewer
 * than it has). */
struct block *x86_shorten_block(struct interpreter *, const struct block *, unsigned count);

#endif
