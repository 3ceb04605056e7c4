/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads and stores of at most 8 bytes as the interpreted program sees them: the fast paths. */
#ifndef REUSE_ISA_MEMORY_H
#define REUSE_ISA_MEMORY_H

#include "isa/line_times.h"
#include "isa/state.h"

/* The general case, out of the way: a value whose address is taken does not stay in a register. */
static inline enum memory_outcome memory_load_any(struct interpreter *it, uint64_t address,
                                                  uint64_t *value, unsigned size)
{
    uint64_t loaded = 0;
    enum memory_outcome outcome = memory_read(it, address, &loaded, size);
    *value = loaded;
    return outcome;
}

/* A load of bits / 8 bytes, zero-extended. */
#define MEMORY_LOAD(bits)                                                                          \
    static inline __attribute__((always_inline)) enum memory_outcome memory_load_##bits(           \
        struct interpreter *it, uint64_t address, uint64_t *value)                                 \
    {                                                                                              \
        unsigned offset = address % STORE_LINE;                                                    \
        *value = 0;                                                                                \
        if (__builtin_expect(offset > STORE_LINE - bits / 8 || it->options.read != NULL, 0))       \
            return memory_load_any(it, address, value, bits / 8);                                  \
        const struct store_line *line = store_buffer_find(&it->store, address - offset);           \
        if (line) {                                                                                \
            uint64_t mask = (~UINT64_C(0) >> (64 - bits / 8)) << offset;                           \
            if ((line->written & mask) == mask) {                                                  \
                uint##bits##_t loaded;                                                             \
                if (line->poisoned & mask)                                                         \
                    return MEMORY_POISONED;                                                        \
                memcpy(&loaded, line->data + offset, bits / 8);                                    \
                *value = loaded;                                                                   \
                return MEMORY_KNOWN;                                                               \
            }                                                                                      \
            if (line->written & mask || line->avoided)                                             \
                return memory_load_any(it, address, value, bits / 8);                              \
        }                                                                                          \
        if (__builtin_expect(it->options.times != NULL, 0))                                        \
            line_times_load(it->options.times, address);                                           \
        return guarded_load_##bits(address, value) ? MEMORY_KNOWN : MEMORY_FAULT;                  \
    }
MEMORY_LOAD(8)
MEMORY_LOAD(16)
MEMORY_LOAD(32)
MEMORY_LOAD(64)
#undef MEMORY_LOAD

/* A store of the low width bytes of value; the caller has seen to room. */
static inline void memory_store(struct interpreter *it, uint64_t address, uint64_t value,
                                unsigned width)
{
    unsigned offset = address % STORE_LINE;
    if (__builtin_expect(offset > STORE_LINE - width, 0)) {
        store_buffer_write(&it->store, address, &value, width);
        return;
    }
    struct store_line *line = store_buffer_make(&it->store, address - offset);
    uint64_t mask = store_buffer_mask(width) << offset;
    line->written |= mask;
    line->poisoned &= ~mask;
    memcpy(line->data + offset, &value, width);
}

#endif
