/* SPDX-License-Identifier: BSD-3-Clause */
/* Registers of an x86-64 program (see isa/registers.h). */
#ifndef REUSE_ISA_X86_REGISTERS_H
#define REUSE_ISA_X86_REGISTERS_H

#include <stdint.h>

/* General-purpose registers in hardware encoding order, rax = 0 ... r15 = 15. */
enum {
    INTERPRETER_REGISTERS = 16,
    INTERPRETER_STACK_POINTER = 4,
    INTERPRETER_FRAME_POINTER = 5,
    INTERPRETER_RED_ZONE = 128,
};

struct interpreter_registers {
    uint64_t general[INTERPRETER_REGISTERS];
    uint64_t ip;
    uint64_t flags; /* rflags */
    uint64_t fs_base;
    uint64_t gs_base;
};

#endif
