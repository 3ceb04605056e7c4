/* SPDX-License-Identifier: BSD-3-Clause */
/* System registers. Signal-safe. */
#include "isa/a64/system.h"

#ifdef __aarch64__
#include <elf.h>
#include <sys/auxv.h>
#endif

#include "isa/a64/execute.h"

#include "signal_safe.h"

unsigned a64_vector_length(void)
{
#ifdef __aarch64__
    enum { HAS_SCALABLE = 1 << 22 };
    uint64_t bytes = 0;
    if (getauxval(AT_HWCAP) & HAS_SCALABLE) /* rdvl, whose name the assembler may not know */
        __asm__ volatile(".inst 0x04bf5020\n\tmov %0, x0" : "=r"(bytes) : : "x0");
    return (unsigned)bytes;
#else
    return 64;
#endif
}

bool a64_read_system(struct interpreter *it, const struct a64_operation *op)
{
    switch (op->immediate) {
    case A64_NZCV:
        it->r[op->d] = (uint64_t)it->flags.nzcv << NZCV_SHIFT;
        return !it->flags.unknown;
    case A64_FPCR:
        it->r[op->d] = it->fpcr;
        return !it->fpcr_unknown;
    case A64_TPIDR:
        it->r[op->d] = it->thread_pointer;
        return true;
    case A64_DCZID:
        it->r[op->d] = a64_dczid();
        return true;
    default:
        return false;
    }
}

bool a64_write_system(struct interpreter *it, const struct a64_operation *op, bool known)
{
    uint64_t value = it->r[op->n];
    switch (op->immediate) {
    case A64_NZCV:
        it->flags.nzcv = (uint32_t)(value >> NZCV_SHIFT) & 15;
        it->flags.unknown = !known;
        it->flags.from_result = false;
        return true;
    case A64_FPCR:
        it->fpcr = value;
        it->fpcr_unknown = !known;
        return true;
    case A64_FPSR: /* never read back as known */
        return true;
    case A64_TPIDR:
        it->thread_pointer = value;
        return known;
    default:
        return false;
    }
}
