/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which access has just trapped in a debug register. The processor tells the address of the
 * instruction after it, but neither that instruction's length nor whether it read or wrote. So the
 * code before is decoded at every length, and what does not touch the watched word, or does not end
 * where the trap points, is ruled out. Signal-safe; reads nothing but `code`.
 */
#ifndef REUSE_ISA_TRAPPED_ACCESS_H
#define REUSE_ISA_TRAPPED_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "access.h"
#include "isa/interpreter.h"

enum { TRAPPED_CODE_BYTES = 15 /* longest instruction */ };

struct trapped_access {
    uint64_t ip;      /* of the instruction */
    uint64_t address; /* first byte of its operand */
    uint8_t width;
    uint8_t kind; /* enum access_kind; both bits: it reads and writes the operand */
};

/*
 * code: the `size` bytes before after->ip (at most TRAPPED_CODE_BYTES count). after: registers as
 * the trap left them. word: the watched bytes. False: not to be told, or not without doubt.
 */
bool trapped_access_find(const void *code, size_t size, const struct interpreter_registers *after,
                         uint64_t word, uint32_t word_size, struct trapped_access *out);

#endif
