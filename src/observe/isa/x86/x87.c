/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "isa/x86/x87.h"

#include <xmmintrin.h>

#include "signal_safe.h"

/* FXSAVE area. (Intel SDM volume 1, 10.5.) */
enum {
    AREA_CONTROL = 0,
    AREA_STATUS = 2,
    AREA_TAGS = 4,
    AREA_MXCSR = 24,
    AREA_REGISTERS_END = 160,
    CONTROL_INITIAL = 0x37f,
    CONTROL_ALL_MASKED = 0x3f,
};

void x87_begin(struct interpreter *it, const uint8_t *area, bool in_initial_state)
{
    it->x87_poisoned = area == NULL;
    it->x87_live = false;
    memset(it->x87_area, 0, sizeof it->x87_area);
    it->x87_control = CONTROL_INITIAL;
    if (area && !in_initial_state) {
        memcpy(it->x87_area, area, AREA_REGISTERS_END);
        memcpy(&it->x87_control, area + AREA_CONTROL, 2);
    }
}

static void make_live(struct interpreter *it)
{
    uint16_t control = it->x87_control | CONTROL_ALL_MASKED;
    uint32_t mxcsr = _mm_getcsr();
    memcpy(it->x87_area + AREA_CONTROL, &control, sizeof control);
    memcpy(it->x87_area + AREA_MXCSR, &mxcsr, sizeof mxcsr);
    /* Loads the vector registers too, with zeros: all of them may be changed by a function. */
    __asm__ volatile("fxrstor64 %0"
                     :
                     : "m"(it->x87_area)
                     : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",
                       "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
    it->x87_live = true;
}

void x87_leave(struct interpreter *it)
{
    if (!it->x87_live)
        return;
    __asm__ volatile("fxsave64 %0\n\tfninit" : "=m"(it->x87_area));
    memset(it->x87_area + AREA_REGISTERS_END, 0, sizeof it->x87_area - AREA_REGISTERS_END);
    it->x87_live = false;
}

void x87_stub(struct interpreter *it, const struct micro_op *op)
{
    const struct micro_op *masks = op + 1;
    uint32_t set = masks->access & 0xffff, undefined = masks->access >> 16;
    bool unknown = it->x87_poisoned || it->poison & (uint64_t)masks->displacement ||
                   it->flags.kind & (uint64_t)op->displacement;
    if (unknown) {
        it->x87_poisoned = true;
        it->poison |= (uint64_t)masks->immediate;
        if (set | undefined)
            lazy_flags_assign(&it->flags, 0, 0, set | undefined);
        return;
    }
    if (!it->x87_live)
        make_live(it);
    it->poison &= ~(uint64_t)masks->immediate;
    if (op->displacement)
        it->stub_flags = lazy_flags_value(&it->flags) & FLAGS_ARITHMETIC;
    ((void (*)(struct interpreter *))(uintptr_t)op->immediate)(it);
    if (set | undefined)
        lazy_flags_assign(&it->flags, it->stub_flags, set, undefined);
}

void x87_load_control(struct interpreter *it, const struct micro_op *op)
{
    if (it->poison >> op->s & 1) {
        it->x87_poisoned = true;
        return;
    }
    it->x87_control = (uint16_t)it->r[op->s];
    if (it->x87_live) {
        uint16_t control = it->x87_control | CONTROL_ALL_MASKED;
        __asm__ volatile("fldcw %0" : : "m"(control));
    }
}

void x87_store_control(struct interpreter *it, const struct micro_op *op)
{
    it->r[op->d] = it->x87_control;
    it->poison = (it->poison & ~REGISTER_BIT(op->d)) | (uint64_t)it->x87_poisoned << op->d;
}
