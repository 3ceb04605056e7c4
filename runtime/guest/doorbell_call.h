/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends a message of objects/doorbell.h. The system call is made here and not by the C library's
 * function, whose own accesses would count as the program's. Signal-safe; errno is not touched.
 */
#ifndef REUSE_RUNTIME_DOORBELL_CALL_H
#define REUSE_RUNTIME_DOORBELL_CALL_H

#include <stdint.h>

#include "objects/doorbell.h"

#if defined(__x86_64__)
static inline void doorbell(enum doorbell_operation operation, uint64_t a, uint64_t b, uint64_t c,
                            uint64_t d, uint64_t e)
{
    register uint64_t fourth __asm__("r10") = c, fifth __asm__("r8") = d, sixth __asm__("r9") = e;
    uint64_t number = DOORBELL_NUMBER;
    __asm__ volatile("syscall"
                     : "+a"(number)
                     : "D"((uint64_t)operation), "S"(a), "d"(b), "r"(fourth), "r"(fifth), "r"(sixth)
                     : "rcx", "r11", "memory");
}
#elif defined(__aarch64__)
static inline void doorbell(enum doorbell_operation operation, uint64_t a, uint64_t b, uint64_t c,
                            uint64_t d, uint64_t e)
{
    register uint64_t number __asm__("x8") = DOORBELL_NUMBER;
    register uint64_t first __asm__("x0") = operation, second __asm__("x1") = a,
                            third __asm__("x2") = b, fourth __asm__("x3") = c,
                            fifth __asm__("x4") = d, sixth __asm__("x5") = e;
    __asm__ volatile("svc 0"
                     : "+r"(first)
                     : "r"(number), "r"(second), "r"(third), "r"(fourth), "r"(fifth), "r"(sixth)
                     : "memory");
}
#endif

#endif
