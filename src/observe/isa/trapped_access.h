/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which access has just trapped in a debug register. Signal-safe; reads nothing but `code`.
 *
 * x86 traps after the access: the processor tells the address of the instruction after it, but
 * neither that instruction's length nor whether it read or wrote. So the code before is decoded at
 * every length, and what does not touch the watched word, or does not end where the trap points, is
 * ruled out. A64 traps before the access: the trap points to the instruction, and its registers are
 * those that it is about to use.
 */
#ifndef REUSE_ISA_TRAPPED_ACCESS_H
#define REUSE_ISA_TRAPPED_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "access.h"
#include "isa/interpreter.h"

/* The code to show: so many bytes from so many before the trap's instruction pointer on. */
#ifdef ISA_A64
enum { TRAPPED_CODE_BYTES = 4, TRAPPED_CODE_BEFORE = 0 };
#else
enum { TRAPPED_CODE_BYTES = 15 /* longest instruction */, TRAPPED_CODE_BEFORE = 15 };
#endif

struct trapped_access {
    uint64_t ip;      /* of the instruction */
    uint64_t address; /* first byte of its operand */
    uint8_t width;
    uint8_t kind; /* enum access_kind; both bits: it reads and writes the operand */
};

/*
 * code: the bytes described above; fewer of them (size) if the first ones cannot be read. trapped:
 * registers as the trap shows them. word: the watched bytes. expected: address of an instruction
 * that it may well be, which is preferred to others that fit; 0: none. False: not to be told, or
 * not without doubt.
 */
bool trapped_access_find(const void *code, size_t size, const struct interpreter_registers *trapped,
                         uint64_t word, uint32_t word_size, uint64_t expected,
                         struct trapped_access *out);

/* Of one instruction's accesses: the operand that touches the word, its loads and stores united. */
bool trapped_access_among(const struct access *, unsigned count, uint64_t word, uint32_t word_size,
                          struct trapped_access *out);

#endif
