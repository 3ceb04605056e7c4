/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "isa/x86/integer.h"

#include "signal_safe.h"

static bool is_poisoned(const struct interpreter *it, unsigned r)
{
    return it->poison >> r & 1;
}

static void set_poison(struct interpreter *it, unsigned r, bool poisoned)
{
    it->poison = (it->poison & ~REGISTER_BIT(r)) | (uint64_t)poisoned << r;
}

void x86_rotate_carry(struct interpreter *it, const struct micro_op *op)
{
    unsigned bits = 8u * op->width;
    unsigned count = (unsigned)it->r[op->s] & (bits == 64 ? 63 : 31);
    bool once = count == 1, never = count == 0;
    count %= bits + 1;
    uint64_t value = register_value(it, op->d, op->width);
    if (count == 0) {
        if (op->width == 4)
            it->r[op->d] = value;
        if (!never)
            lazy_flags_assign(&it->flags, 0, 0, FLAG_OF);
        return;
    }
    if (it->flags.kind & FLAG_CF) {
        it->poison |= REGISTER_BIT(op->d);
        lazy_flags_poison(&it->flags);
        return;
    }
    bool carry = lazy_flags_value(&it->flags) & FLAG_CF;
    bool overflow;
    if (op->scale == 0) {
        for (unsigned i = 0; i < count; i++) {
            bool out = value >> (bits - 1) & 1;
            value = value << 1 | carry;
            carry = out;
        }
        value &= ~UINT64_C(0) >> (64 - bits);
        overflow = (value >> (bits - 1) & 1) != carry;
    } else {
        for (unsigned i = 0; i < count; i++) {
            bool out = value & 1;
            value = value >> 1 | (uint64_t)carry << (bits - 1);
            carry = out;
        }
        overflow = (value >> (bits - 1) & 1) != (value >> (bits - 2) & 1);
    }
    register_write(it, op->d, op->width, value);
    lazy_flags_assign(&it->flags, (carry ? FLAG_CF : 0) | (overflow ? FLAG_OF : 0),
                      FLAG_CF | FLAG_OF, once ? 0 : FLAG_OF);
}

void x86_double_shift(struct interpreter *it, const struct micro_op *op)
{
    unsigned bits = 8u * op->width;
    unsigned count = (unsigned)it->r[op->index] & (bits == 64 ? 63 : 31);
    bool unknown = is_poisoned(it, op->d) || is_poisoned(it, op->index) ||
                   (is_poisoned(it, op->s) && count != 0) || count > bits;
    set_poison(it, op->d, unknown);
    if (unknown) {
        lazy_flags_poison(&it->flags);
        return;
    }
    uint64_t a = register_value(it, op->d, op->width), b = register_value(it, op->s, op->width);
    if (count == 0) {
        register_write(it, op->d, op->width, a);
        return;
    }
    uint64_t result;
    bool carry;
    if (op->scale == 0) {
        result = a << count | (count == bits ? b : b >> (bits - count));
        if (count == bits)
            result = b;
        carry = a >> (bits - count) & 1;
    } else {
        result = (count == 64 ? 0 : a >> count) | b << (bits - count);
        carry = a >> (count - 1) & 1;
    }
    bool overflow = ((a ^ result) >> (bits - 1)) & 1;
    register_write(it, op->d, op->width, result);
    it->flags.result = sign_extend(result, op->width);
    it->flags.carries = (uint64_t)carry << 63 | (uint64_t)(carry != overflow) << 62;
    it->flags.kind = FLAG_AF | (count == 1 ? 0 : FLAG_OF);
}

void x86_bit_scan(struct interpreter *it, const struct micro_op *op)
{
    enum { OTHERS = FLAG_PF | FLAG_AF | FLAG_SF | FLAG_OF };
    unsigned bits = 8u * op->width;
    uint64_t value = register_value(it, op->s, op->width);
    uint64_t result = 0;
    switch (op->scale) {
    case SCAN_BSF:
    case SCAN_BSR:
        lazy_flags_assign(&it->flags, value ? 0 : FLAG_ZF, FLAG_ZF, OTHERS | FLAG_CF);
        if (value == 0) {
            /* Left as it was by all known processors, undefined by the manuals. */
            it->poison |= REGISTER_BIT(op->d);
            return;
        }
        result = op->scale == SCAN_BSF ? (unsigned)__builtin_ctzll(value)
                                       : 63u - (unsigned)__builtin_clzll(value);
        break;
    case SCAN_TZCNT:
    case SCAN_LZCNT:
        result = value == 0                ? bits
                 : op->scale == SCAN_TZCNT ? (unsigned)__builtin_ctzll(value)
                                           : (unsigned)__builtin_clzll(value) - (64 - bits);
        lazy_flags_assign(&it->flags, (value ? 0 : FLAG_CF) | (result ? 0 : FLAG_ZF),
                          FLAG_CF | FLAG_ZF, OTHERS);
        break;
    default:
        result = (unsigned)__builtin_popcountll(value);
        lazy_flags_assign(&it->flags, value ? 0 : FLAG_ZF, FLAGS_ARITHMETIC, 0);
        break;
    }
    it->r[op->d] = result;
}

void x86_multiply_wide(struct interpreter *it, const struct micro_op *op)
{
    unsigned width = op->width, bits = 8 * width;
    bool unknown = is_poisoned(it, REGISTER_RAX) || is_poisoned(it, op->s);
    uint64_t a = register_value(it, REGISTER_RAX, width), b = register_value(it, op->s, width);
    uint64_t low, high;
    bool wide;
    if (op->scale) {
        __int128 product =
            (__int128)(int64_t)sign_extend(a, width) * (int64_t)sign_extend(b, width);
        low = (uint64_t)product;
        high = bits == 64 ? (uint64_t)(product >> 64) : (uint64_t)((int64_t)low >> bits);
        wide = product != (int64_t)sign_extend(low, width);
    } else {
        unsigned __int128 product = (unsigned __int128)a * b;
        low = (uint64_t)product;
        high = bits == 64 ? (uint64_t)(product >> 64) : low >> bits;
        wide = high != 0;
    }
    if (width == 1) {
        register_write(it, REGISTER_RAX, 2, low);
        it->poison |= (uint64_t)unknown << REGISTER_RAX;
    } else {
        /* 16-bit results leave the upper parts, which may be unknown. */
        bool keeps = width == 2 && is_poisoned(it, REGISTER_RDX);
        register_write(it, REGISTER_RAX, width, low);
        register_write(it, REGISTER_RDX, width, high);
        set_poison(it, REGISTER_RAX, unknown);
        set_poison(it, REGISTER_RDX, unknown || keeps);
    }
    if (unknown) {
        lazy_flags_poison(&it->flags);
        return;
    }
    it->flags.carries = (uint64_t)wide << 63;
    it->flags.result = 0;
    it->flags.kind = FLAG_SF | FLAG_ZF | FLAG_AF | FLAG_PF;
}

bool x86_divide(struct interpreter *it, const struct micro_op *op)
{
    unsigned width = op->width, bits = 8 * width;
    lazy_flags_poison(&it->flags);
    uint64_t poisoned = REGISTER_BIT(REGISTER_RAX) | REGISTER_BIT(op->s) |
                        (width == 1 ? 0 : REGISTER_BIT(REGISTER_RDX));
    if (it->poison & poisoned) {
        it->poison |= REGISTER_BIT(REGISTER_RAX);
        if (width != 1)
            it->poison |= REGISTER_BIT(REGISTER_RDX);
        return true;
    }
    uint64_t divisor = register_value(it, op->s, width);
    uint64_t low = register_value(it, REGISTER_RAX, width);
    uint64_t high = width == 1 ? register_value(it, REGISTER_RAX, 2) >> 8
                               : register_value(it, REGISTER_RDX, width);
    uint64_t quotient, remainder;
    if (divisor == 0)
        return false;
    if (op->scale) {
        int64_t d = (int64_t)sign_extend(divisor, width);
        __int128 dividend = bits == 64
                                ? (__int128)((unsigned __int128)high << 64 | low)
                                : (__int128)(int64_t)sign_extend(high << bits | low, 2 * width);
        if (dividend == (__int128)(int64_t)dividend && d != -1) {
            quotient = (uint64_t)((int64_t)dividend / d);
            remainder = (uint64_t)((int64_t)dividend % d);
        } else if (d == -1) {
            if (dividend < -(((__int128)1 << (bits - 1)) - 1))
                return false;
            quotient = (uint64_t)-dividend;
            remainder = 0;
        } else {
            __int128 wide = dividend / d;
            if (wide != (int64_t)wide)
                return false;
            quotient = (uint64_t)wide;
            remainder = (uint64_t)(dividend % d);
        }
        if ((int64_t)quotient != (int64_t)sign_extend(quotient, width))
            return false;
    } else {
        if (high >= divisor)
            return false;
        if (high == 0 || bits < 64) {
            uint64_t dividend = bits < 64 ? high << bits | low : low;
            quotient = dividend / divisor;
            remainder = dividend % divisor;
        } else {
            unsigned __int128 dividend = (unsigned __int128)high << 64 | low;
            quotient = (uint64_t)(dividend / divisor);
            remainder = (uint64_t)(dividend % divisor);
        }
    }
    if (width == 1) {
        register_write(it, REGISTER_RAX, 2, (quotient & 0xff) | (remainder & 0xff) << 8);
    } else {
        register_write(it, REGISTER_RAX, width, quotient);
        register_write(it, REGISTER_RDX, width, remainder);
    }
    return true;
}

void x86_sign_to_rdx(struct interpreter *it, const struct micro_op *op)
{
    bool unknown =
        is_poisoned(it, REGISTER_RAX) || (op->width == 2 && is_poisoned(it, REGISTER_RDX));
    uint64_t sign = (uint64_t)((int64_t)sign_extend(it->r[REGISTER_RAX], op->width) >> 63);
    register_write(it, REGISTER_RDX, op->width, sign);
    set_poison(it, REGISTER_RDX, unknown);
}

void x86_compare_exchange(struct interpreter *it, const struct micro_op *op)
{
    if (it->flags.kind & FLAG_ZF) {
        it->poison |= REGISTER_BIT(op->d) | REGISTER_BIT(REGISTER_RAX);
    } else if (lazy_flags_value(&it->flags) & FLAG_ZF) {
        it->r[op->d] = it->r[op->s];
        set_poison(it, op->d, is_poisoned(it, op->s));
    } else {
        register_write(it, REGISTER_RAX, op->width, it->r[op->d]);
        if (op->width >= 4)
            set_poison(it, REGISTER_RAX, is_poisoned(it, op->d));
    }
}

bool x86_compare_exchange_wide(struct interpreter *it, const struct micro_op *op, uint64_t old[2],
                               bool old_known)
{
    uint64_t compared = REGISTER_BIT(REGISTER_RAX) | REGISTER_BIT(REGISTER_RDX);
    uint64_t replacing = REGISTER_BIT(REGISTER_RBX) | REGISTER_BIT(REGISTER_RCX);
    unsigned half = op->width / 2u;
    if (!old_known || it->poison & compared) {
        it->poison |= compared;
        lazy_flags_assign(&it->flags, 0, 0, FLAG_ZF);
        return true;
    }
    uint64_t low = old[0], high = old[1];
    if (half == 4) {
        low = old[0] & 0xffffffff;
        high = old[0] >> 32;
    }
    bool equal = low == register_value(it, REGISTER_RAX, half) &&
                 high == register_value(it, REGISTER_RDX, half);
    lazy_flags_assign(&it->flags, equal ? FLAG_ZF : 0, FLAG_ZF, 0);
    if (!equal) {
        register_write(it, REGISTER_RAX, half, low);
        register_write(it, REGISTER_RDX, half, high);
        return false;
    }
    if (half == 4) {
        old[0] = register_value(it, REGISTER_RBX, 4) | it->r[REGISTER_RCX] << 32;
    } else {
        old[0] = it->r[REGISTER_RBX];
        old[1] = it->r[REGISTER_RCX];
    }
    return (it->poison & replacing) != 0;
}
