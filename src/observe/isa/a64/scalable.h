/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scalable vectors: memory operands in full, predicates and counting as far as loops need them, a
 * little arithmetic on indices; all else leaves its result unknown. Signal-safe.
 */
#ifndef REUSE_ISA_A64_SCALABLE_H
#define REUSE_ISA_A64_SCALABLE_H

#include "isa/a64/decode.h"
#include "isa/a64/execute.h"

enum { SCALABLE_REGISTERS_MAX = 4, SCALABLE_SPAN_MAX = SCALABLE_REGISTERS_MAX * VECTOR_BYTES };

/* What is moved between memory and registers. */
enum a64_scalable_shape {
    SHAPE_ELEMENTS,  /* one after the other, each to one lane, of one to four registers in turn */
    SHAPE_REGISTER,  /* ldr, str of a whole register, without a predicate */
    SHAPE_PREDICATE, /* of a whole predicate */
    SHAPE_BROADCAST, /* one element to all lanes */
    SHAPE_SEGMENT,   /* 16 or 32 bytes to all segments of that size */
    SHAPE_SCATTERED, /* an address for each lane */
};

enum a64_scalable_address {
    SCALABLE_BY_REGISTER,  /* n + (m << scale) */
    SCALABLE_BY_VECTORS,   /* n + immediate times the bytes of all lanes in memory */
    SCALABLE_BY_BYTES,     /* n + immediate */
    SCALABLE_OFFSETS_64,   /* n + (lane of vector m << scale) */
    SCALABLE_OFFSETS_UXTW, /* the same with the low 32 bits of the lane */
    SCALABLE_OFFSETS_SXTW,
    SCALABLE_BASES,          /* lane of vector n + immediate */
    SCALABLE_BASES_REGISTER, /* lane of vector n + m */
};

struct a64_scalable_memory {
    enum a64_scalable_shape shape;
    enum a64_scalable_address address;
    bool loads, is_signed;
    bool prefetches;    /* touches nothing */
    bool forgives;      /* faults end it at the element: what the first-fault register is about */
    unsigned registers; /* 1..4 */
    unsigned element;   /* bytes of a lane; of a segment */
    unsigned memory;    /* bytes of it in memory */
    unsigned scale;
    int64_t immediate;
};

/* False: not a memory instruction that is known. Pure. */
bool a64_scalable_memory(uint32_t word, struct a64_scalable_memory *);

/* Bytes from the lowest to the highest byte of a contiguous operand. */
unsigned a64_scalable_span(const struct a64_scalable_memory *, unsigned vector_length);

/* Where a contiguous operand begins. */
uint64_t a64_scalable_start(const struct a64_scalable_memory *, const struct a64_operation *,
                            const uint64_t *r, unsigned vector_length);

/* What other instructions do. */
enum a64_scalable_family {
    SCALABLE_MEMORY,
    SCALABLE_UNKNOWN_VECTOR,    /* results that are not modelled, by what they are */
    SCALABLE_UNKNOWN_PREDICATE, /* and flags */
    SCALABLE_UNKNOWN_GENERAL,
    SCALABLE_UNKNOWN_FLAGS,
    SCALABLE_COUNT,      /* cntb and the like */
    SCALABLE_INCREMENT,  /* incb, decb and the like, of general registers */
    SCALABLE_ADD_LENGTH, /* addvl, addpl, rdvl */
    SCALABLE_TRUE,       /* ptrue, ptrues */
    SCALABLE_FALSE,
    SCALABLE_WHILE,
    SCALABLE_TEST,             /* ptest */
    SCALABLE_LOGICAL,          /* of predicates */
    SCALABLE_COUNT_ACTIVE,     /* cntp */
    SCALABLE_INCREMENT_ACTIVE, /* incp, decp */
    SCALABLE_READ_FAULT,       /* rdffr */
    SCALABLE_WRITE_FAULT,      /* wrffr, setffr */
    SCALABLE_DUPLICATE,        /* dup of an immediate or a general register */
    SCALABLE_INDEX,            /* index */
    SCALABLE_ADD,              /* add, sub of whole vectors */
};

/* scalable_memory.c */
enum interpreter_stop a64_scalable_transfer(struct interpreter *, const struct a64_operation *,
                                            struct a64_step *);

#endif
