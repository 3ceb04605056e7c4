/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "isa/x86/vector.h"

#include <xmmintrin.h>

#include "signal_safe.h"

enum { MXCSR_STICKY = 0x3f };

void x86_vector_set(struct interpreter *it, const struct micro_op *op, const uint8_t *bytes)
{
    uint8_t *to = vector_bytes(it, op->d);
    if (op->width == 16)
        memmove(to, bytes, 16);
    else
        memmove(to, bytes, op->width);
    if (op->immediate > op->width)
        memset(to + op->width, 0, (size_t)op->immediate - op->width);
}

enum memory_outcome x86_vector_load(struct interpreter *it, const struct micro_op *op,
                                    uint64_t address)
{
    uint8_t bytes[VECTOR_BYTES];
    enum memory_outcome outcome = memory_read(it, address, bytes, op->width);
    if (outcome == MEMORY_KNOWN)
        x86_vector_set(it, op, bytes);
    return outcome;
}

void x86_zero_upper(struct interpreter *it, const struct micro_op *op)
{
    for (unsigned i = 0; i < 16; i++) {
        unsigned kept = op->scale ? 0 : 16;
        memset(it->vector[i] + kept, 0, VECTOR_BYTES - kept);
        if (op->scale)
            it->poison &= ~REGISTER_BIT(REGISTER_VECTOR + i);
    }
}

void x86_load_mxcsr(struct interpreter *it, const struct micro_op *op)
{
    if (it->poison >> op->s & 1) {
        it->mxcsr_poisoned = true;
        return;
    }
    it->mxcsr = (uint32_t)it->r[op->s] & MXCSR_WRITABLE;
    it->mxcsr_poisoned = false;
    _mm_setcsr(it->mxcsr | MXCSR_ALL_MASKED);
}

void x86_store_mxcsr(struct interpreter *it, const struct micro_op *op)
{
    it->r[op->d] = (it->mxcsr & ~(uint32_t)MXCSR_STICKY) | (_mm_getcsr() & MXCSR_STICKY);
    it->poison = (it->poison & ~REGISTER_BIT(op->d)) | (uint64_t)it->mxcsr_poisoned << op->d;
}

void x86_poison(struct interpreter *it, const struct micro_op *op)
{
    it->poison |= (uint64_t)op->immediate;
    if (op->scale)
        lazy_flags_poison(&it->flags);
    if (op->width)
        it->x87_poisoned = true;
}

uint32_t x86_enter_mxcsr(struct interpreter *it)
{
    uint32_t saved = _mm_getcsr();
    _mm_setcsr(it->mxcsr | MXCSR_ALL_MASKED);
    return saved;
}

void x86_leave_mxcsr(struct interpreter *it, uint32_t saved)
{
    it->mxcsr = (it->mxcsr & ~(uint32_t)MXCSR_STICKY) | (_mm_getcsr() & MXCSR_STICKY);
    _mm_setcsr(saved);
}
