/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interpreter's state, shared by the files of this folder only. Each instruction set has its
 * own struct interpreter, with these members in common: options, store, r (registers in the
 * interface's order first), poison, ip, instructions, accesses.
 */
#ifndef REUSE_ISA_STATE_H
#define REUSE_ISA_STATE_H

#include "isa/interpreter.h"

#ifdef ISA_A64
#include "isa/a64/state.h"
#else
#include "isa/x86/state.h"
#endif

/* Outcome of a memory read. */
enum memory_outcome { MEMORY_KNOWN, MEMORY_POISONED, MEMORY_FAULT };

/* Reads size bytes at any address, without the store buffer; false if that would fault. */
bool memory_read_target(const struct interpreter *, uint64_t address, void *buffer, size_t size);

/* Reads size bytes (1..64) at any address as the interpreted program sees them. */
enum memory_outcome memory_read(struct interpreter *, uint64_t address, void *buffer,
                                unsigned size);

#endif
