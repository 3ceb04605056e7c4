/* SPDX-License-Identifier: BSD-3-Clause */
/* System registers. Signal-safe. */
#include "isa/a64/system.h"
#include "isa/a64/execute.h"

#include "signal_safe.h"

enum { NZCV_SHIFT = 28 };

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
