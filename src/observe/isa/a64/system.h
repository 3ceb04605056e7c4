/* SPDX-License-Identifier: BSD-3-Clause */
/* System registers that programs use, and what the processor at hand does. Signal-safe. */
#ifndef REUSE_ISA_A64_SYSTEM_H
#define REUSE_ISA_A64_SYSTEM_H

#include <stdbool.h>
#include <stdint.h>

/* Numbers as in mrs and msr: op0, op1, CRn, CRm, op2. */
#define A64_SYSTEM_REGISTER(op0, op1, crn, crm, op2)                                               \
    ((op0) << 14 | (op1) << 11 | (crn) << 7 | (crm) << 3 | (op2))
enum {
    A64_DCZID = A64_SYSTEM_REGISTER(3, 3, 0, 0, 7),
    A64_NZCV = A64_SYSTEM_REGISTER(3, 3, 4, 2, 0),
    A64_FPCR = A64_SYSTEM_REGISTER(3, 3, 4, 4, 0),
    A64_FPSR = A64_SYSTEM_REGISTER(3, 3, 4, 4, 1),
    A64_TPIDR = A64_SYSTEM_REGISTER(3, 3, 13, 0, 2),
    A64_RNDR = A64_SYSTEM_REGISTER(3, 3, 2, 4, 0),
    A64_RNDRRS = A64_SYSTEM_REGISTER(3, 3, 2, 4, 1),
};

enum { A64_ZERO_BLOCK_MAX = 2048 };

static inline bool a64_system_is_readable(unsigned number)
{
    return number == A64_DCZID || number == A64_NZCV || number == A64_FPCR || number == A64_TPIDR;
}

static inline bool a64_system_is_writable(unsigned number)
{
    return number == A64_NZCV || number == A64_FPCR || number == A64_FPSR || number == A64_TPIDR;
}

/* dczid_el0: bits 3..0 log2 of the words that dc zva clears, bit 4 set if it is not permitted. On
 * other machines 64 bytes, as most processors have. */
static inline uint64_t a64_dczid(void)
{
#ifdef __aarch64__
    uint64_t value;
    __asm__("mrs %0, dczid_el0" : "=r"(value));
    return value;
#else
    return 4;
#endif
}

/* How the processor at hand rounds and flushes in this thread; 0 on other machines, the default. */
static inline uint64_t a64_fpcr(void)
{
#ifdef __aarch64__
    uint64_t value;
    __asm__ volatile("mrs %0, fpcr" : "=r"(value));
    return value;
#else
    return 0;
#endif
}

/* Bytes of a scalable vector register in this thread, 0 if there are none; 64 on other machines. */
unsigned a64_vector_length(void);

/*
 * Pointer authentication, by the instructions that do nothing on processors without it: a signature
 * with the process's own key, or the pointer without its signature. On other machines pointers have
 * none.
 */
static inline uint64_t a64_sign(uint64_t pointer, uint64_t modifier, bool second_key)
{
#ifdef __aarch64__
    register uint64_t x17 __asm__("x17") = pointer;
    register uint64_t x16 __asm__("x16") = modifier;
    if (second_key)
        __asm__("hint #10" : "+r"(x17) : "r"(x16));
    else
        __asm__("hint #8" : "+r"(x17) : "r"(x16));
    return x17;
#else
    (void)modifier;
    (void)second_key;
    return pointer;
#endif
}

static inline uint64_t a64_strip(uint64_t pointer)
{
#ifdef __aarch64__
    register uint64_t x30 __asm__("x30") = pointer;
    __asm__("hint #7" : "+r"(x30));
    return x30;
#else
    return pointer;
#endif
}

#endif
