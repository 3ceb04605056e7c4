/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The six arithmetic flags, computed only when something asks for them.
 *
 * An operation leaves its result and its carry vector (carry out of every bit position; for
 * subtraction, borrow). CF and OF follow from the two topmost carries, AF from the carry out of
 * bit 3, the rest from the result. Flags set from a value (popf, comisd, bt) are kept as a value.
 * kind holds, per flag, whether it is unknown: undefined by the architecture or poisoned.
 */
#ifndef REUSE_ISA_X86_LAZY_FLAGS_H
#define REUSE_ISA_X86_LAZY_FLAGS_H

#include <stdbool.h>
#include <stdint.h>

/* Bit positions in rflags. */
enum {
    FLAG_CF = 0x1,
    FLAG_PF = 0x4,
    FLAG_AF = 0x10,
    FLAG_ZF = 0x40,
    FLAG_SF = 0x80,
    FLAG_DF = 0x400,
    FLAG_OF = 0x800,
    FLAGS_ARITHMETIC = FLAG_CF | FLAG_PF | FLAG_AF | FLAG_ZF | FLAG_SF | FLAG_OF,
    FLAGS_FROM_VALUE = 0x10000, /* in kind: flags are in value, not in result and carries */
};

struct lazy_flags {
    uint64_t result;  /* sign-extended to 64 bits */
    uint64_t carries; /* bits 63, 62: the topmost carries of the operand's width; bit 3: AF */
    uint64_t value;   /* with FLAGS_FROM_VALUE */
    uint32_t kind;    /* unknown flags | FLAGS_FROM_VALUE */
    uint32_t other;   /* rflags bits other than the six, always known */
};

static inline bool lazy_cf(const struct lazy_flags *flags)
{
    return flags->carries >> 63;
}

static inline bool lazy_of(const struct lazy_flags *flags)
{
    return (flags->carries ^ flags->carries << 1) >> 63;
}

static inline bool lazy_pf(const struct lazy_flags *flags)
{
    return !__builtin_parity((unsigned)(flags->result & 0xff));
}

/* The six flags; unknown ones have any value. */
static inline uint64_t lazy_flags_value(const struct lazy_flags *flags)
{
    if (flags->kind & FLAGS_FROM_VALUE)
        return flags->value;
    return (lazy_cf(flags) ? FLAG_CF : 0) | (lazy_pf(flags) ? FLAG_PF : 0) |
           (flags->carries & 8 ? FLAG_AF : 0) | (flags->result == 0 ? FLAG_ZF : 0) |
           (flags->result >> 63 ? FLAG_SF : 0) | (lazy_of(flags) ? FLAG_OF : 0);
}

/* Sets the flags in mask from value, makes those in unknown unknown, and keeps the rest. */
static inline void lazy_flags_assign(struct lazy_flags *flags, uint64_t value, uint32_t mask,
                                     uint32_t unknown)
{
    uint64_t old = mask == FLAGS_ARITHMETIC ? 0 : lazy_flags_value(flags);
    flags->value = (old & ~(uint64_t)mask) | (value & mask);
    flags->kind = (((flags->kind & FLAGS_ARITHMETIC) & ~mask) | unknown) | FLAGS_FROM_VALUE;
}

static inline void lazy_flags_poison(struct lazy_flags *flags)
{
    flags->kind = FLAGS_ARITHMETIC | FLAGS_FROM_VALUE;
}

/* Flags that condition code cc (0..15, as encoded in jcc) depends on. */
static inline uint32_t condition_flags(unsigned cc)
{
    static const uint16_t needed[8] = {
        FLAG_OF, FLAG_CF, FLAG_ZF,           FLAG_CF | FLAG_ZF,
        FLAG_SF, FLAG_PF, FLAG_SF | FLAG_OF, FLAG_SF | FLAG_OF | FLAG_ZF};
    return needed[cc >> 1];
}

/* Condition cc on flags given as a value. */
static inline bool condition_of_value(uint64_t value, unsigned cc)
{
    bool less = !(value & FLAG_SF) != !(value & FLAG_OF);
    bool holds = false;
    switch (cc >> 1) {
    case 0:
        holds = value & FLAG_OF;
        break;
    case 1:
        holds = value & FLAG_CF;
        break;
    case 2:
        holds = value & FLAG_ZF;
        break;
    case 3:
        holds = value & (FLAG_CF | FLAG_ZF);
        break;
    case 4:
        holds = value & FLAG_SF;
        break;
    case 5:
        holds = value & FLAG_PF;
        break;
    case 6:
        holds = less;
        break;
    case 7:
        holds = less || (value & FLAG_ZF);
        break;
    }
    return holds != (cc & 1);
}

#endif
