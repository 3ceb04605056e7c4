/* SPDX-License-Identifier: BSD-3-Clause */
/* Registers of an A64 program (see isa/registers.h). */
#ifndef REUSE_ISA_A64_REGISTERS_H
#define REUSE_ISA_A64_REGISTERS_H

#include <stdint.h>

/* x0 ... x30, then the stack pointer. */
enum {
    INTERPRETER_REGISTERS = 32,
    INTERPRETER_FRAME_POINTER = 29,
    INTERPRETER_LINK_REGISTER = 30,
    INTERPRETER_STACK_POINTER = 31,
    INTERPRETER_RED_ZONE = 0,
};

struct interpreter_registers {
    uint64_t general[INTERPRETER_REGISTERS];
    uint64_t ip;
    uint64_t flags;          /* N, Z, C, V in bits 31..28, as in pstate of a signal frame */
    uint64_t thread_pointer; /* tpidr_el0 */
};

#endif
