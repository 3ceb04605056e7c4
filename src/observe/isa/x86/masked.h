/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory operands of which a mask selects elements: masked moves, operands of masked AVX-512
 * instructions, gathers and scatters. Async-signal-safe.
 *
 * A masked operand is one access from the first to the last selected element, none if no element
 * is selected, and its full width if the mask is unknown. A gather or scatter is one access for
 * each selected element.
 */
#ifndef REUSE_ISA_X86_MASKED_H
#define REUSE_ISA_X86_MASKED_H

#include "isa/state.h"

/* How mask bits select elements of the operand. */
enum mask_mode {
    MASK_BY_ELEMENT,
    MASK_ANY,    /* all elements if any bit is set (broadcasts, tuples) */
    MASK_PACKED, /* as many elements as bits are set, from the first (expand, compress) */
};

/* micro_op.immediate of MASKED_LOAD, MASKED_STORE, GATHER and SCATTER. */
struct mask_layout {
    uint8_t mask;          /* register: an opmask, or a vector whose elements' sign bits count */
    uint8_t mask_bits;     /* number of elements that the mask speaks of */
    uint8_t element_bytes; /* of the memory operand */
    uint8_t elements;      /* in the memory operand */
    uint8_t mask_element_bytes;
    uint8_t mode;        /* enum mask_mode */
    uint8_t index_bytes; /* GATHER, SCATTER: 4 or 8 */
    uint8_t unused;
};
_Static_assert(sizeof(struct mask_layout) == 8, "fits micro_op.immediate");

/* Between memory at address and the scratch area. Report their accesses at *out. */
enum memory_outcome x86_masked_load(struct interpreter *, const struct micro_op *, uint64_t ip,
                                    uint64_t address, struct access **out);
void x86_masked_store(struct interpreter *, const struct micro_op *, uint64_t ip, uint64_t address,
                      struct access **out);

/* Return why they must stop, or INTERPRETER_FULL if they need not. */
enum interpreter_stop x86_gather(struct interpreter *, const struct micro_op *, uint64_t ip,
                                 struct access **out);
enum interpreter_stop x86_scatter(struct interpreter *, const struct micro_op *, uint64_t ip,
                                  struct access **out);

#endif
