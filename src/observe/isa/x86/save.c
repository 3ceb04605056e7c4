/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "isa/x86/save.h"

#include <xmmintrin.h>

#include "isa/x86/processor.h"

#include "signal_safe.h"

enum { COMPONENT_X87 = 1, HEADER = 512, HEADER_SIZE = 64 };

static uint64_t components_of(const struct interpreter *it)
{
    return (it->r[REGISTER_RAX] & 0xffffffff) | it->r[REGISTER_RDX] << 32;
}

static bool area_of(const struct interpreter *it, const struct micro_op *op, unsigned *size)
{
    const uint64_t mask = REGISTER_BIT(REGISTER_RAX) | REGISTER_BIT(REGISTER_RDX);
    if (it->poison & mask)
        return false;
    *size = x86_processor_save_size(components_of(it), op->s);
    return *size <= SAVE_AREA_MAX;
}

static void report(struct access **out, const struct micro_op *op, uint64_t ip, uint64_t address,
                   unsigned size)
{
    for (unsigned done = 0; done < size; done += 64) {
        unsigned piece = size - done < 64 ? size - done : 64;
        *(*out)++ = (struct access){.ip = ip,
                                    .address = address + done,
                                    .width = (uint8_t)piece,
                                    .kind = (uint8_t)(op->access >> 8)};
    }
}

bool x86_save_state(struct interpreter *it, const struct micro_op *op, uint64_t ip,
                    uint64_t address, struct access **out)
{
    unsigned size;
    if (!area_of(it, op, &size))
        return false;
    report(out, op, ip, address, size);
    for (unsigned done = 0; done < size; done += 64)
        store_buffer_write(&it->store, address + done, NULL, size - done < 64 ? size - done : 64);
    it->saved.address = address;
    it->saved.components = components_of(it);
    it->saved.poison = it->poison;
    it->saved.mxcsr = _mm_getcsr();
    it->saved.target_mxcsr = it->mxcsr;
    it->saved.mxcsr_poisoned = it->mxcsr_poisoned;
    memcpy(it->saved.vector, it->vector, sizeof it->vector);
    memcpy(it->saved.opmask, it->opmask, sizeof it->opmask);
    return true;
}

/* Nothing was stored over the header since: it is poisoned through and through. */
static bool is_untouched(struct interpreter *it, uint64_t address)
{
    for (unsigned i = 0; i < HEADER_SIZE; i += 8) {
        uint64_t word;
        if (memory_read(it, address + HEADER + i, &word, 8) != MEMORY_POISONED)
            return false;
    }
    return true;
}

bool x86_restore_state(struct interpreter *it, const struct micro_op *op, uint64_t ip,
                       uint64_t address, struct access **out)
{
    const uint64_t all = ~UINT64_C(0) << REGISTER_OPMASK;
    unsigned size;
    if (!area_of(it, op, &size))
        return false;
    report(out, op, ip, address, size);
    uint64_t components = components_of(it);
    if (components & COMPONENT_X87)
        it->x87_poisoned = true;
    if (it->saved.address != address || it->saved.components != components ||
        !x86_processor_saves_vectors(components) || !is_untouched(it, address)) {
        it->poison |= all;
        it->mxcsr_poisoned = true;
        return true;
    }
    memcpy(it->vector, it->saved.vector, sizeof it->vector);
    memcpy(it->opmask, it->saved.opmask, sizeof it->opmask);
    it->poison = (it->poison & ~all) | (it->saved.poison & all);
    it->mxcsr = it->saved.target_mxcsr;
    it->mxcsr_poisoned = it->saved.mxcsr_poisoned;
    _mm_setcsr(it->saved.mxcsr);
    return true;
}
