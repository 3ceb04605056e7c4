/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Registers of the instruction set that is interpreted: this machine's, or A64 anywhere if ISA_A64
 * is defined. (Decoding and interpreting are pure, so tests run A64 code on other machines.)
 *
 * Both headers define struct interpreter_registers with at least general, ip and flags, and
 * INTERPRETER_REGISTERS, INTERPRETER_STACK_POINTER, INTERPRETER_FRAME_POINTER (numbers in general)
 * and INTERPRETER_RED_ZONE (bytes below the stack pointer that hold variables).
 */
#ifndef REUSE_ISA_REGISTERS_H
#define REUSE_ISA_REGISTERS_H

#if defined(__aarch64__) && !defined(ISA_A64)
#define ISA_A64
#endif

#ifdef ISA_A64
#include "isa/a64/registers.h"
#else
#include "isa/x86/registers.h"
#endif

#endif
