/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "isa/x86/masked.h"

#include "isa/x86/vector.h"

#include "signal_safe.h"

static struct mask_layout layout_of(const struct micro_op *op)
{
    struct mask_layout layout;
    memcpy(&layout, &op->immediate, sizeof layout);
    return layout;
}

static bool is_poisoned(const struct interpreter *it, unsigned r)
{
    return it->poison >> r & 1;
}

/* The mask's bits, one for each element that it speaks of. */
static uint64_t mask_value(struct interpreter *it, const struct mask_layout *layout)
{
    if (layout->mask < REGISTER_VECTOR)
        return it->opmask[layout->mask - REGISTER_OPMASK] & store_buffer_mask(layout->mask_bits);
    const uint8_t *bytes = vector_bytes(it, layout->mask);
    uint64_t value = 0;
    for (unsigned i = 0; i < layout->mask_bits; i++) {
        unsigned top = (i + 1) * layout->mask_element_bytes - 1;
        value |= (uint64_t)(bytes[top] >> 7) << i;
    }
    return value;
}

/* The selected elements of the memory operand. */
static uint64_t selected(struct interpreter *it, const struct mask_layout *layout)
{
    uint64_t value = mask_value(it, layout);
    if (value == 0)
        return 0;
    switch (layout->mode) {
    case MASK_ANY:
        return store_buffer_mask(layout->elements);
    case MASK_PACKED:
        return store_buffer_mask((unsigned)__builtin_popcountll(value));
    default:
        return value;
    }
}

static void report(struct access **out, const struct micro_op *op, uint64_t ip, uint64_t address,
                   unsigned width)
{
    *(*out)++ = (struct access){.ip = ip,
                                .address = address,
                                .width = (uint8_t)width,
                                .kind = (uint8_t)(op->access >> 8),
                                .read_modify_write = op->access >> 16};
}

/* Bytes [*first, *first + returned) of the operand hold the selected elements. */
static unsigned extent(uint64_t elements, unsigned element_bytes, unsigned *first)
{
    unsigned low = (unsigned)__builtin_ctzll(elements);
    unsigned high = 63 - (unsigned)__builtin_clzll(elements);
    *first = low * element_bytes;
    return (high - low + 1) * element_bytes;
}

enum memory_outcome x86_masked_load(struct interpreter *it, const struct micro_op *op, uint64_t ip,
                                    uint64_t address, struct access **out)
{
    struct mask_layout layout = layout_of(op);
    uint64_t bit = REGISTER_BIT(REGISTER_SCRATCH);
    if (is_poisoned(it, layout.mask)) {
        report(out, op, ip, address, op->width);
        it->poison |= bit;
        return MEMORY_POISONED;
    }
    uint64_t elements = selected(it, &layout);
    memset(it->scratch, 0, sizeof it->scratch);
    it->poison &= ~bit;
    if (elements == 0)
        return MEMORY_KNOWN;
    unsigned first, size = extent(elements, layout.element_bytes, &first);
    enum memory_outcome outcome = memory_read(it, address + first, it->scratch + first, size);
    if (outcome == MEMORY_POISONED)
        it->poison |= bit;
    if (outcome != MEMORY_FAULT)
        report(out, op, ip, address + first, size);
    return outcome;
}

void x86_masked_store(struct interpreter *it, const struct micro_op *op, uint64_t ip,
                      uint64_t address, struct access **out)
{
    struct mask_layout layout = layout_of(op);
    if (is_poisoned(it, layout.mask)) {
        report(out, op, ip, address, op->width);
        store_buffer_write(&it->store, address, NULL, op->width);
        return;
    }
    uint64_t elements = selected(it, &layout);
    if (elements == 0)
        return;
    unsigned first, size = extent(elements, layout.element_bytes, &first);
    report(out, op, ip, address + first, size);
    bool known = !is_poisoned(it, REGISTER_SCRATCH);
    for (; elements != 0; elements &= elements - 1) {
        unsigned at = (unsigned)__builtin_ctzll(elements) * layout.element_bytes;
        store_buffer_write(&it->store, address + at, known ? it->scratch + at : NULL,
                           layout.element_bytes);
    }
}

static uint64_t element_address(struct interpreter *it, const struct micro_op *op,
                                const struct mask_layout *layout, unsigned i)
{
    const uint8_t *indices = vector_bytes(it, op->index);
    int64_t index;
    if (layout->index_bytes == 4) {
        int32_t narrow;
        memcpy(&narrow, indices + (size_t)4 * i, 4);
        index = narrow;
    } else {
        memcpy(&index, indices + (size_t)8 * i, 8);
    }
    return it->r[op->base] + ((uint64_t)index << op->scale) + (uint64_t)op->displacement;
}

static bool addresses_unknown(const struct interpreter *it, const struct micro_op *op,
                              const struct mask_layout *layout)
{
    return it->poison &
           (REGISTER_BIT(op->base) | REGISTER_BIT(op->index) | REGISTER_BIT(layout->mask));
}

/* The mask is used up. */
static void clear_mask(struct interpreter *it, const struct mask_layout *layout)
{
    if (layout->mask < REGISTER_VECTOR)
        it->opmask[layout->mask - REGISTER_OPMASK] = 0;
    else
        memset(vector_bytes(it, layout->mask), 0, VECTOR_BYTES);
}

enum interpreter_stop x86_gather(struct interpreter *it, const struct micro_op *op, uint64_t ip,
                                 struct access **out)
{
    struct mask_layout layout = layout_of(op);
    struct access *next = *out;
    uint8_t result[VECTOR_BYTES];
    bool unknown = is_poisoned(it, op->d);
    if (addresses_unknown(it, op, &layout))
        return INTERPRETER_POISONED_ADDRESS;
    uint64_t elements = mask_value(it, &layout);
    memcpy(result, vector_bytes(it, op->d), sizeof result);
    unsigned size = layout.elements * layout.element_bytes;
    memset(result + size, 0, sizeof result - size);
    if (elements == store_buffer_mask(layout.elements))
        unknown = false;
    for (; elements != 0; elements &= elements - 1) {
        unsigned i = (unsigned)__builtin_ctzll(elements);
        uint64_t address = element_address(it, op, &layout, i);
        enum memory_outcome outcome = memory_read(
            it, address, result + (size_t)i * layout.element_bytes, layout.element_bytes);
        if (outcome == MEMORY_FAULT)
            return INTERPRETER_UNREADABLE;
        unknown |= outcome == MEMORY_POISONED;
        report(&next, op, ip, address, layout.element_bytes);
    }
    *out = next;
    clear_mask(it, &layout);
    memcpy(vector_bytes(it, op->d), result, sizeof result);
    it->poison = (it->poison & ~REGISTER_BIT(op->d)) | (uint64_t)unknown << op->d;
    return INTERPRETER_FULL;
}

enum interpreter_stop x86_scatter(struct interpreter *it, const struct micro_op *op, uint64_t ip,
                                  struct access **out)
{
    struct mask_layout layout = layout_of(op);
    if (addresses_unknown(it, op, &layout))
        return INTERPRETER_POISONED_ADDRESS;
    const uint8_t *source = vector_bytes(it, op->s);
    bool known = !is_poisoned(it, op->s);
    for (uint64_t elements = mask_value(it, &layout); elements != 0; elements &= elements - 1) {
        unsigned i = (unsigned)__builtin_ctzll(elements);
        uint64_t address = element_address(it, op, &layout, i);
        report(out, op, ip, address, layout.element_bytes);
        store_buffer_write(&it->store, address,
                           known ? source + (size_t)i * layout.element_bytes : NULL,
                           layout.element_bytes);
    }
    clear_mask(it, &layout);
    return INTERPRETER_FULL;
}
