/* SPDX-License-Identifier: BSD-3-Clause */
/* See registers.h. */
#include "simulate/registers.h"

/* Adds to the filter's counts of all lines that the slot's range touches. */
static void mark(struct simulated_registers *registers, unsigned slot, int change)
{
    uint64_t line = registers->slot[slot].low >> REGISTERS_LINE_SHIFT;
    uint64_t last =
        (registers->slot[slot].low + registers->slot[slot].size - 1) >> REGISTERS_LINE_SHIFT;

    for (; line <= last; line++)
        registers->filter[line & (REGISTERS_FILTER - 1)] += (uint8_t)change;
}

void registers_arm(struct simulated_registers *registers, unsigned slot, uint64_t low,
                   uint64_t size, uint32_t generation)
{
    registers_disarm(registers, slot);
    registers->slot[slot].low = low;
    registers->slot[slot].size = size;
    registers->slot[slot].generation = generation;
    registers->armed |= 1u << slot;
    mark(registers, slot, 1);
}

void registers_disarm(struct simulated_registers *registers, unsigned slot)
{
    if (!(registers->armed & 1u << slot))
        return;
    registers->armed &= ~(1u << slot);
    mark(registers, slot, -1);
}

unsigned registers_touched(const struct simulated_registers *registers, uint64_t address,
                           unsigned width)
{
    unsigned touched = 0;

    for (unsigned left = registers->armed; left; left &= left - 1) {
        unsigned slot = (unsigned)__builtin_ctz(left);
        uint64_t low = registers->slot[slot].low;

        /* The first byte within the range, or the range's first byte within the access. */
        if (address - low < registers->slot[slot].size || low - address < width)
            touched |= 1u << slot;
    }
    return touched;
}
