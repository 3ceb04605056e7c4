/* SPDX-License-Identifier: BSD-3-Clause */
/* What an instruction does to memory, as far as the engine must know: from its encoding. */
#ifndef REUSE_EXACT_OPERANDS_H
#define REUSE_EXACT_OPERANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "instructions.h"

/*
 * Fills operand_bytes, role and length. False when the instruction touches no memory. One that
 * cannot be decoded is assumed to touch memory, in whole operands.
 */
bool operands_decode(const void *code, size_t size, struct instruction *);

#endif
